//! CreateTopics, DeleteTopics, CreatePartitions.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex, TopicId, Uuid};
use dohle_wire::message::create_topics_request::CreatableTopic;
use dohle_wire::message::{
    CreatableTopicConfigs, CreatableTopicResult, CreatePartitionsRequest, CreatePartitionsResponse,
    CreatePartitionsTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicsRequest, DeleteTopicsResponse,
};

use crate::config::describe::describe_topic;
use crate::image::resource;
use crate::mail::{
    AdminReply, AdminRequest, Answer, CreatedTopic, MorePartitions, NewTopic, Refusal, TopicRef,
};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// What stands for "as the broker is set" among counts.
const BROKER_DEFAULT: i32 = -1;

/// A CreateTopics request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct CreateTopics {
    names: Vec<String>,
    results: Gather<Result<CreatedTopic, Refusal>>,
}

pub(super) fn begin_create(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: CreateTopicsRequest = ctx.decode(body)?;
    let mut results = Gather::until(ctx.until(request.timeout_ms));
    let names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics: Vec<_> = request.topics.into_iter().map(new_topic).collect();
    for _ in &topics {
        results.ask();
    }
    let work = CreateTopics { names, results };
    if topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    ctx.send_control(AdminRequest::CreateTopics { topics, validate_only: request.validate_only });
    Ok(work.into())
}

fn new_topic(topic: CreatableTopic) -> NewTopic {
    let assignments = topic.assignments.into_iter().map(|assignment| {
        let brokers = assignment.broker_ids.into_iter().map(NodeId).collect();
        (PartitionIndex(assignment.partition_index), brokers)
    });
    let factor = topic.replication_factor;
    NewTopic {
        name: topic.name,
        partitions: (topic.num_partitions != BROKER_DEFAULT).then_some(topic.num_partitions),
        replication: (i32::from(factor) != BROKER_DEFAULT).then_some(factor),
        assignments: assignments.collect(),
        configs: topic.configs.into_iter().map(|config| (config.name, config.value)).collect(),
    }
}

impl Work for CreateTopics {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Created(results)) => self.results.fill(results),
            Answer::Admin(AdminReply::Refused(refusal)) => {
                self.results.fill(std::iter::repeat_n(Err(refusal), self.names.len()))
            }
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.results.finish(|| Err(ErrorCode::RequestTimedOut.into()));
        let topics = self.names.into_iter().zip(results);
        let topics = topics.map(|(name, result)| created(ctx, name, result)).collect();
        reply::answer(ctx, &CreateTopicsResponse { throttle_time_ms: 0, topics })
    }
}

fn created(
    ctx: &Ctx<'_>,
    name: String,
    result: Result<CreatedTopic, Refusal>,
) -> CreatableTopicResult {
    match result {
        Ok(topic) => CreatableTopicResult {
            name,
            topic_id: topic.id.0,
            num_partitions: topic.partitions,
            replication_factor: topic.replication,
            configs: Some(configs(ctx, &topic)),
            ..Default::default()
        },
        Err(refusal) => CreatableTopicResult {
            name,
            error_code: refusal.code.code(),
            error_message: refusal.message,
            num_partitions: -1,
            replication_factor: -1,
            ..Default::default()
        },
    }
}

/// All configs of the new topic, with their sources.
fn configs(ctx: &Ctx<'_>, topic: &CreatedTopic) -> Vec<CreatableTopicConfigs> {
    let given = topic.configs.iter();
    let overrides = given.filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect();
    let config = &ctx.settings.config;
    let dynamic = ctx.image.overrides(resource::BROKER, &config.node_id.to_string());
    let default = ctx.image.overrides(resource::BROKER, "");
    let entries = describe_topic(&overrides, &dynamic, &default, config).into_iter();
    let shown = entries.map(|entry| CreatableTopicConfigs {
        name: entry.name,
        value: entry.value,
        read_only: entry.read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.sensitive,
    });
    shown.collect()
}

/// A DeleteTopics request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct DeleteTopics {
    topics: Vec<TopicRef>,
    results: Gather<Result<(String, TopicId), Refusal>>,
}

pub(super) fn begin_delete(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DeleteTopicsRequest = ctx.decode(body)?;
    let mut results = Gather::until(ctx.until(request.timeout_ms));
    let named = request.topic_names.into_iter().map(TopicRef::Name);
    let states = request.topics.into_iter().map(|topic| match topic.name {
        Some(name) => TopicRef::Name(name),
        None => TopicRef::Id(TopicId(topic.topic_id)),
    });
    let topics: Vec<_> = named.chain(states).collect();
    for _ in &topics {
        results.ask();
    }
    let work = DeleteTopics { topics: topics.clone(), results };
    if topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    ctx.send_control(AdminRequest::DeleteTopics { topics });
    Ok(work.into())
}

impl Work for DeleteTopics {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Deleted(results)) => self.results.fill(results),
            Answer::Admin(AdminReply::Refused(refusal)) => {
                self.results.fill(std::iter::repeat_n(Err(refusal), self.topics.len()))
            }
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.results.finish(|| Err(ErrorCode::RequestTimedOut.into()));
        let responses = self.topics.into_iter().zip(results);
        let responses = responses.map(|(topic, result)| deleted(topic, result)).collect();
        reply::answer(ctx, &DeleteTopicsResponse { throttle_time_ms: 0, responses })
    }
}

fn deleted(topic: TopicRef, result: Result<(String, TopicId), Refusal>) -> DeletableTopicResult {
    let (name, topic_id) = match topic {
        TopicRef::Name(name) => (Some(name), Uuid::ZERO),
        TopicRef::Id(id) => (None, id.0),
    };
    match result {
        Ok((name, id)) => {
            DeletableTopicResult { name: Some(name), topic_id: id.0, ..Default::default() }
        }
        Err(refusal) => DeletableTopicResult {
            name,
            topic_id,
            error_code: refusal.code.code(),
            error_message: refusal.message,
        },
    }
}

/// A CreatePartitions request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct CreatePartitions {
    names: Vec<String>,
    results: Gather<Result<(), Refusal>>,
}

pub(super) fn begin_grow(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: CreatePartitionsRequest = ctx.decode(body)?;
    let mut results = Gather::until(ctx.until(request.timeout_ms));
    let names = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let topics = request.topics.into_iter().map(|topic| {
        results.ask();
        let assignments = topic.assignments.map(|all| {
            let brokers = |ids: Vec<i32>| ids.into_iter().map(NodeId).collect();
            all.into_iter().map(|assignment| brokers(assignment.broker_ids)).collect()
        });
        MorePartitions { topic: topic.name, total: topic.count, assignments }
    });
    let topics: Vec<_> = topics.collect();
    let work = CreatePartitions { names, results };
    if topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    let validate_only = request.validate_only;
    ctx.send_control(AdminRequest::CreatePartitions { topics, validate_only });
    Ok(work.into())
}

impl Work for CreatePartitions {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Grown(results)) => self.results.fill(results),
            Answer::Admin(AdminReply::Refused(refusal)) => {
                self.results.fill(std::iter::repeat_n(Err(refusal), self.names.len()))
            }
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.results.finish(|| Err(ErrorCode::RequestTimedOut.into()));
        let results = self.names.into_iter().zip(results).map(|(name, result)| {
            let (code, error_message) = match result {
                Ok(()) => (ErrorCode::None, None),
                Err(refusal) => (refusal.code, refusal.message),
            };
            CreatePartitionsTopicResult { name, error_code: code.code(), error_message }
        });
        let results = results.collect();
        reply::answer(ctx, &CreatePartitionsResponse { throttle_time_ms: 0, results })
    }
}
