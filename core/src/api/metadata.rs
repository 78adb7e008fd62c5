//! Metadata: brokers, topics, and topics made because somebody asked for them.
//!
//! A topic that does not exist is made when both the client and `auto.create.topics.enable` say
//! so. The answer waits until the topic is there, so that the client learns its leader at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{TopicId, Uuid};
use dohle_wire::message::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};

use crate::image::{PartitionImage, TopicImage};
use crate::mail::{AdminReply, AdminRequest, Answer, NewTopic};
use crate::time::Instant;

use super::lookup::{is_internal, is_valid_topic_name, numbers};
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, authorized, reply};

/// First version in which null asks for all topics; before it, no topic does.
const NULL_IS_ALL_FROM: i16 = 1;

/// First version in which topics may be asked for by id.
const IDS_FROM: i16 = 12;

/// First version that knows LISTENER_NOT_FOUND.
const LISTENER_ERRORS_FROM: i16 = 6;

/// What a topic is told that could not be made now, or that is not in the metadata yet.
const NOT_NOW: ErrorCode = ErrorCode::LeaderNotAvailable;

/// How long after a topic was made the metadata that has it may take to get here.
const IMAGE_WAIT_MS: i64 = 200;

/// A metadata request that waits for the topics it made.
#[derive(Clone, Debug)]
pub(crate) struct AutoCreation {
    topics: Vec<Asked>,
    rights: Rights,
    /// Whether control has answered: only newer metadata is missing then.
    answered: bool,
    deadline: Instant,
}

/// A topic asked for and, if it is being made, what has become of that so far. Control answers in
/// the order in which topics were asked for.
#[derive(Clone, Debug)]
struct Asked {
    wish: Wish,
    made: Option<ErrorCode>,
}

/// How a topic is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    Name(String),
    Id(TopicId),
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: MetadataRequest = ctx.decode(body)?;
    let version = ctx.version();
    let rights = Rights {
        cluster: request.include_cluster_authorized_operations,
        topics: request.include_topic_authorized_operations,
    };
    let asked = match request.topics {
        None => return Ok(reply::at_once(ctx, &rights.told(all(ctx)))),
        Some(none) if version < NULL_IS_ALL_FROM && none.is_empty() => {
            return Ok(reply::at_once(ctx, &rights.told(all(ctx))));
        }
        Some(asked) => asked,
    };
    if version < IDS_FROM && asked.iter().any(|t| t.name.is_none() || t.topic_id != Uuid::ZERO) {
        return Ok(reply::at_once(ctx, &refuse_ids(ctx, &asked)));
    }
    let auto = request.allow_auto_topic_creation && ctx.settings.config.auto_create_topics_enable;
    let ask = |wish| Asked { made: (auto && is_missing(ctx, &wish)).then_some(NOT_NOW), wish };
    let topics = wishes(asked).map(ask).collect();
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    let work = AutoCreation { topics, rights, answered: false, deadline };
    let topics: Vec<_> = work.being_made().map(|(name, _)| new_topic(name)).collect();
    if topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    ctx.send_control(AdminRequest::CreateTopics { topics, validate_only: false });
    Ok(work.into())
}

/// What to look up: ids alone if there are any, and nothing twice.
fn wishes(asked: Vec<MetadataRequestTopic>) -> impl Iterator<Item = Wish> {
    let by_id = asked.iter().any(|topic| topic.topic_id != Uuid::ZERO);
    let mut seen = BTreeSet::new();
    let wish = move |topic: MetadataRequestTopic| match by_id {
        true => (topic.topic_id != Uuid::ZERO).then_some(Wish::Id(TopicId(topic.topic_id))),
        false => topic.name.map(Wish::Name),
    };
    asked.into_iter().filter_map(wish).filter(move |wish| seen.insert(wish.clone()))
}

/// Whether a topic would have to be made. Internal topics have a shape of their own, which is
/// whoever needs them to give.
fn is_missing(ctx: &Ctx<'_>, wish: &Wish) -> bool {
    match wish {
        Wish::Name(name) if is_internal(name) || !is_valid_topic_name(name) => false,
        Wish::Name(name) => ctx.image.topic(name).is_none(),
        Wish::Id(_) => false,
    }
}

fn new_topic(name: &str) -> NewTopic {
    NewTopic {
        name: name.to_owned(),
        partitions: None,
        replication: None,
        assignments: Vec::new(),
        configs: Vec::new(),
    }
}

/// Older versions have ids in their encoding, but no broker has ever looked at them.
fn refuse_ids(ctx: &Ctx<'_>, asked: &[MetadataRequestTopic]) -> MetadataResponse {
    let refused = asked.iter().map(|topic| MetadataResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(topic.name.clone().unwrap_or_default()),
        topic_id: topic.topic_id,
        ..Default::default()
    });
    MetadataResponse { topics: refused.collect(), ..cluster(ctx) }
}

impl AutoCreation {
    /// Topics being made, and what has become of each.
    fn being_made(&self) -> impl Iterator<Item = (&str, ErrorCode)> {
        self.topics.iter().filter_map(|asked| match (&asked.wish, asked.made) {
            (Wish::Name(name), Some(made)) => Some((name.as_str(), made)),
            (Wish::Name(_) | Wish::Id(_), _) => None,
        })
    }

    /// Whether all topics that were made are in the metadata.
    fn progress(&self, ctx: &Ctx<'_>) -> Progress {
        let expected = self.being_made().filter(|(_, made)| is_there(*made));
        let mut missing = expected.filter(|(name, _)| ctx.image.topic(name).is_none());
        Progress::complete_if(self.answered && missing.next().is_none())
    }
}

/// Whether a topic whose creation ended so is or will soon be in the metadata.
fn is_there(error: ErrorCode) -> bool {
    matches!(error, NOT_NOW | ErrorCode::TopicAlreadyExists)
}

impl Work for AutoCreation {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        let made = self.topics.iter_mut().filter_map(|asked| asked.made.as_mut());
        match answer {
            Answer::Admin(AdminReply::Created(results)) => {
                for (made, result) in made.zip(results) {
                    *made = result.err().map_or(NOT_NOW, |refusal| refusal.code);
                }
            }
            // Whatever keeps control from deciding will pass: clients ask again.
            Answer::Admin(_) => made.for_each(|made| *made = NOT_NOW),
            _ => return Progress::Waiting,
        }
        self.answered = true;
        self.deadline = ctx.now.mono.plus_ms(IMAGE_WAIT_MS);
        self.progress(ctx)
    }

    fn on_image(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        self.progress(ctx)
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let topics = self.topics.iter().map(|asked| match &asked.wish {
            Wish::Id(id) => match ctx.image.topic_by_id(id) {
                Some(topic) => describe(ctx, topic),
                None => unknown(None, *id, ErrorCode::UnknownTopicId),
            },
            Wish::Name(name) => match ctx.image.topic(name) {
                Some(topic) => describe(ctx, topic),
                None => unknown(Some(name), TopicId::default(), why_not(name, asked.made)),
            },
        });
        let response = MetadataResponse { topics: topics.collect(), ..cluster(ctx) };
        reply::answer(ctx, &self.rights.told(response))
    }
}

/// What a client wants to know of its rights.
#[derive(Copy, Clone, Debug)]
struct Rights {
    cluster: bool,
    topics: bool,
}

impl Rights {
    /// Adds them to what is known already.
    fn told(self, mut response: MetadataResponse) -> MetadataResponse {
        response.cluster_authorized_operations =
            authorized::if_asked(self.cluster, authorized::CLUSTER);
        let known = |topic: &&mut MetadataResponseTopic| topic.error_code == 0;
        for topic in response.topics.iter_mut().filter(known) {
            topic.topic_authorized_operations =
                authorized::if_asked(self.topics, authorized::TOPIC);
        }
        response
    }
}

fn why_not(name: &str, made: Option<ErrorCode>) -> ErrorCode {
    match made {
        _ if !is_valid_topic_name(name) => ErrorCode::InvalidTopicException,
        Some(ErrorCode::TopicAlreadyExists) => NOT_NOW,
        Some(error) => error,
        None => ErrorCode::UnknownTopicOrPartition,
    }
}

fn all(ctx: &Ctx<'_>) -> MetadataResponse {
    let topics = ctx.image.topics.values().map(|topic| describe(ctx, topic));
    MetadataResponse { topics: topics.collect(), ..cluster(ctx) }
}

/// What the response says of the cluster.
fn cluster(ctx: &Ctx<'_>) -> MetadataResponse {
    let alive = ctx.image.brokers.values().filter(|broker| !broker.fenced);
    let brokers = alive.filter_map(|broker| {
        let (host, port) = ctx.address_of(broker)?;
        let (node_id, rack) = (broker.id.0, broker.rack.clone());
        Some(MetadataResponseBroker { node_id, host, port: port.into(), rack })
    });
    MetadataResponse {
        brokers: brokers.collect(),
        cluster_id: Some(ctx.image.cluster_id.to_string()),
        controller_id: ctx.controller_for_clients(),
        ..Default::default()
    }
}

fn unknown(name: Option<&str>, id: TopicId, error: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: error.code(),
        name: name.map(str::to_owned),
        topic_id: id.0,
        is_internal: name.is_some_and(is_internal),
        ..Default::default()
    }
}

fn describe(ctx: &Ctx<'_>, topic: &TopicImage) -> MetadataResponseTopic {
    let partitions = topic.partitions.iter().zip(0i32..);
    MetadataResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id.0,
        is_internal: is_internal(&topic.name),
        partitions: partitions.map(|(p, index)| describe_partition(ctx, p, index)).collect(),
        ..Default::default()
    }
}

fn describe_partition(
    ctx: &Ctx<'_>,
    partition: &Arc<PartitionImage>,
    partition_index: i32,
) -> MetadataResponsePartition {
    let alive = partition.leader.filter(|leader| ctx.is_alive(*leader));
    let error = match (partition.leader, alive) {
        (_, Some(_)) => ErrorCode::None,
        (Some(_), None) if ctx.version() >= LISTENER_ERRORS_FROM => ErrorCode::ListenerNotFound,
        (_, None) => ErrorCode::LeaderNotAvailable,
    };
    MetadataResponsePartition {
        error_code: error.code(),
        partition_index,
        leader_id: alive.map_or(-1, |leader| leader.0),
        leader_epoch: partition.leader_epoch.0,
        replica_nodes: numbers(&partition.replicas),
        isr_nodes: numbers(&partition.isr),
        offline_replicas: ctx.offline(partition),
    }
}
