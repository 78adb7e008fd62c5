//! Metadata: brokers, topics, partitions and their leaders; topics that are made on demand.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{TopicId, Uuid};
use dohle_wire::message::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};

use crate::image::{PartitionImage, TopicImage};
use crate::mail::{AdminReply, AdminRequest, Answer, NewTopic};
use crate::time::Instant;

use super::lookup::{is_internal, is_valid_topic_name, numbers};
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// What stands for "not asked" among authorized operations.
pub(super) const NO_OPERATIONS: i32 = i32::MIN;

/// A Metadata request that waits for the topics it caused to be made.
#[derive(Clone, Debug)]
pub(crate) struct AutoCreation {
    request: MetadataRequest,
    names: Vec<String>,
    refused: Vec<(String, ErrorCode)>,
    replied: bool,
    deadline: Instant,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: MetadataRequest = ctx.decode(body)?;
    let names = missing(ctx, &request);
    if names.is_empty() {
        let response = response(ctx, &request, &[]);
        return Ok(reply::at_once(ctx, &response));
    }
    let topics = names.iter().map(|name| new_topic(name)).collect();
    ctx.send_control(AdminRequest::CreateTopics { topics, validate_only: false });
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    Ok(AutoCreation { request, names, refused: Vec::new(), replied: false, deadline }.into())
}

/// Names of topics that are to be made: asked for by name, allowed by client and broker.
fn missing(ctx: &Ctx<'_>, request: &MetadataRequest) -> Vec<String> {
    // Before version 4 the client could not say, and was taken to want it.
    let wanted = request.allow_auto_topic_creation || ctx.version() < 4;
    if !wanted || !ctx.settings.config.auto_create_topics_enable {
        return Vec::new();
    }
    let asked = request.topics.iter().flatten().filter_map(|topic| topic.name.as_deref());
    let new = |name: &&str| ctx.image.topic(name).is_none() && is_valid_topic_name(name);
    let mut names: Vec<_> = asked.filter(new).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
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

impl AutoCreation {
    /// The topics are there once control said so and the image has them.
    fn progress(&self, ctx: &Ctx<'_>) -> Progress {
        let refused = |name: &String| self.refused.iter().any(|(known, _)| known == name);
        let there = |name: &String| refused(name) || ctx.image.topic(name).is_some();
        Progress::complete_if(self.replied && self.names.iter().all(there))
    }
}

impl Work for AutoCreation {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        let Answer::Admin(answer) = answer else { return Progress::Waiting };
        self.replied = true;
        match answer {
            AdminReply::Created(results) => {
                let refused = self.names.iter().zip(results);
                let refused = refused.filter_map(|(name, result)| {
                    let code = result.err()?.code;
                    (code != ErrorCode::TopicAlreadyExists).then(|| (name.clone(), code))
                });
                self.refused = refused.collect();
            }
            _ => {
                let all = self.names.iter();
                self.refused =
                    all.map(|name| (name.clone(), ErrorCode::LeaderNotAvailable)).collect();
            }
        }
        self.progress(ctx)
    }

    fn on_image(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        self.progress(ctx)
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let response = response(ctx, &self.request, &self.refused);
        reply::answer(ctx, &response)
    }
}

fn response(
    ctx: &Ctx<'_>,
    request: &MetadataRequest,
    refused: &[(String, ErrorCode)],
) -> MetadataResponse {
    MetadataResponse {
        throttle_time_ms: 0,
        brokers: brokers(ctx),
        cluster_id: Some(ctx.image.cluster_id.to_string()),
        controller_id: ctx.controller_for_clients(),
        topics: topics(ctx, request, refused),
        cluster_authorized_operations: NO_OPERATIONS,
        error_code: ErrorCode::None.code(),
    }
}

fn brokers(ctx: &Ctx<'_>) -> Vec<MetadataResponseBroker> {
    let alive = ctx.image.brokers.values().filter(|broker| ctx.is_alive(broker.id));
    let known = alive.filter_map(|broker| {
        let (host, port) = ctx.address_of(broker)?;
        let rack = broker.rack.clone();
        Some(MetadataResponseBroker { node_id: broker.id.0, host, port: port.into(), rack })
    });
    known.collect()
}

fn topics(
    ctx: &Ctx<'_>,
    request: &MetadataRequest,
    refused: &[(String, ErrorCode)],
) -> Vec<MetadataResponseTopic> {
    let all = || ctx.image.topics.values().map(|topic| describe(ctx, topic)).collect();
    match &request.topics {
        None => all(),
        // Version 0 had no null: an empty list asked for everything.
        Some(asked) if asked.is_empty() && ctx.version() == 0 => all(),
        Some(asked) => {
            let each = asked.iter().map(|topic| match &topic.name {
                Some(name) => by_name(ctx, name, refused),
                None => by_id(ctx, topic.topic_id),
            });
            each.collect()
        }
    }
}

fn by_name(ctx: &Ctx<'_>, name: &str, refused: &[(String, ErrorCode)]) -> MetadataResponseTopic {
    if let Some(topic) = ctx.image.topic(name) {
        return describe(ctx, topic);
    }
    let refusal = refused.iter().find(|(known, _)| known == name).map(|(_, code)| *code);
    let code = match refusal {
        Some(code) => code,
        None if is_valid_topic_name(name) => ErrorCode::UnknownTopicOrPartition,
        None => ErrorCode::InvalidTopicException,
    };
    MetadataResponseTopic {
        error_code: code.code(),
        name: Some(name.to_owned()),
        is_internal: is_internal(name),
        topic_authorized_operations: NO_OPERATIONS,
        ..Default::default()
    }
}

fn by_id(ctx: &Ctx<'_>, id: Uuid) -> MetadataResponseTopic {
    match ctx.image.topic_by_id(&TopicId(id)) {
        Some(topic) => describe(ctx, topic),
        None => MetadataResponseTopic {
            error_code: ErrorCode::UnknownTopicId.code(),
            // Only version 12 and later can leave the name out.
            name: (ctx.version() < 12).then(String::new),
            topic_id: id,
            topic_authorized_operations: NO_OPERATIONS,
            ..Default::default()
        },
    }
}

fn describe(ctx: &Ctx<'_>, topic: &TopicImage) -> MetadataResponseTopic {
    let partitions = topic.partitions.iter().zip(0..);
    MetadataResponseTopic {
        error_code: ErrorCode::None.code(),
        name: Some(topic.name.to_string()),
        topic_id: topic.id.0,
        is_internal: is_internal(&topic.name),
        partitions: partitions
            .map(|(state, index)| describe_partition(ctx, index, state))
            .collect(),
        topic_authorized_operations: NO_OPERATIONS,
    }
}

fn describe_partition(
    ctx: &Ctx<'_>,
    partition_index: i32,
    state: &PartitionImage,
) -> MetadataResponsePartition {
    let leader = state.leader.filter(|leader| ctx.is_alive(*leader));
    let error = if leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable };
    MetadataResponsePartition {
        error_code: error.code(),
        partition_index,
        leader_id: leader.map_or(-1, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        replica_nodes: numbers(&state.replicas),
        isr_nodes: numbers(&state.isr),
        offline_replicas: ctx.offline(state),
    }
}
