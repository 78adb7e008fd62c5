//! CreateTopics, DeleteTopics and CreatePartitions: control decides, in one piece.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex, TopicId, Uuid};
use dohle_wire::message::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreatePartitionsRequest,
    CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
    CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult, DeleteTopicState,
    DeleteTopicsRequest, DeleteTopicsResponse,
};

use crate::config::describe::describe_topic;
use crate::mail::{
    AdminReply, AdminRequest, Answer, CreatedTopic, MorePartitions, NewTopic, Refusal, TopicRef,
};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// First version of DeleteTopics that names topics by id too.
const DELETE_BY_ID_FROM: i16 = 6;

/// First version of DeleteTopics that knows TOPIC_DELETION_DISABLED.
const DELETION_DISABLED_FROM: i16 = 3;

/// Puts one result, or one refusal of everything, into the items that miss theirs.
pub(super) fn fill<T>(
    results: &mut Gather<Result<T, Refusal>>,
    reply: Result<Vec<Result<T, Refusal>>, Refusal>,
) -> Progress {
    match reply {
        Ok(list) => results.fill(list),
        Err(refusal) => results.fill(std::iter::repeat_with(|| Err(refusal.clone()))),
    };
    Progress::Complete
}

/// What an item is told that control has not answered in time.
pub(super) fn late<T>() -> Result<T, Refusal> {
    Err(ErrorCode::RequestTimedOut.into())
}

fn code_and_message<T>(result: Result<T, Refusal>) -> (i16, Option<String>) {
    let refusal = result.err().unwrap_or_else(|| ErrorCode::None.into());
    (refusal.code.code(), refusal.message)
}

/// A CreateTopics request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct CreateTopics {
    names: Vec<String>,
    results: Gather<Result<CreatedTopic, Refusal>>,
}

pub(super) fn begin_create(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: CreateTopicsRequest = ctx.decode(body)?;
    let names = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut results = Gather::until(ctx.until(request.timeout_ms));
    results.ask_many(request.topics.len());
    let work = CreateTopics { names, results };
    if request.topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    let topics = request.topics.into_iter().map(new_topic).collect();
    ctx.send_control(AdminRequest::CreateTopics { topics, validate_only: request.validate_only });
    Ok(work.into())
}

fn new_topic(topic: CreatableTopic) -> NewTopic {
    let nodes = |ids: Vec<i32>| ids.into_iter().map(NodeId).collect();
    let assignments = topic.assignments.into_iter();
    NewTopic {
        name: topic.name,
        partitions: (topic.num_partitions != -1).then_some(topic.num_partitions),
        replication: (topic.replication_factor != -1).then_some(topic.replication_factor),
        assignments: assignments
            .map(|each| (PartitionIndex(each.partition_index), nodes(each.broker_ids)))
            .collect(),
        configs: topic.configs.into_iter().map(|config| (config.name, config.value)).collect(),
    }
}

impl Work for CreateTopics {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Created(list)) => fill(&mut self.results, Ok(list)),
            Answer::Admin(AdminReply::Refused(refusal)) => fill(&mut self.results, Err(refusal)),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.names.into_iter().zip(self.results.finish(late));
        let topics = results.map(|(name, result)| created(ctx, name, result)).collect();
        reply::answer(ctx, &CreateTopicsResponse { throttle_time_ms: 0, topics })
    }
}

fn created(
    ctx: &Ctx<'_>,
    name: String,
    result: Result<CreatedTopic, Refusal>,
) -> CreatableTopicResult {
    let mut answer = CreatableTopicResult { name, ..Default::default() };
    match result {
        Err(refusal) => {
            answer.error_code = refusal.code.code();
            answer.error_message = refusal.message;
            answer.configs = Some(Vec::new());
        }
        Ok(topic) => {
            answer.topic_id = topic.id.0;
            answer.num_partitions = topic.partitions;
            answer.replication_factor = topic.replication;
            answer.configs = Some(configs_of(ctx, topic));
        }
    }
    answer
}

/// All settings that the new topic has.
fn configs_of(ctx: &Ctx<'_>, topic: CreatedTopic) -> Vec<CreatableTopicConfigs> {
    let overrides = topic.configs.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let (broker, default) = ctx.image.broker_overrides();
    let config = &ctx.settings.config;
    let entries = describe_topic(&overrides.collect(), &broker, &default, config);
    let entries = entries.into_iter().map(|entry| CreatableTopicConfigs {
        name: entry.name,
        value: entry.value,
        read_only: entry.read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.sensitive,
    });
    entries.collect()
}

/// A DeleteTopics request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct DeleteTopics {
    topics: Vec<DeleteTopicState>,
    results: Gather<Result<(String, TopicId), Refusal>>,
}

pub(super) fn begin_delete(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DeleteTopicsRequest = ctx.decode(body)?;
    let named = request.topic_names.into_iter();
    let named = named.map(|name| DeleteTopicState { name: Some(name), topic_id: Uuid::ZERO });
    let topics: Vec<_> =
        if ctx.version() >= DELETE_BY_ID_FROM { request.topics } else { named.collect() };
    let mut work =
        DeleteTopics { topics: Vec::new(), results: Gather::until(ctx.until(request.timeout_ms)) };
    let mut asked = Vec::new();
    for topic in topics {
        match wanted(&topic) {
            Ok(wanted) => {
                work.results.ask();
                asked.push(wanted);
            }
            Err(refusal) => work.results.known(Err(refusal)),
        }
        work.topics.push(topic);
    }
    if asked.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    ctx.send_control(AdminRequest::DeleteTopics { topics: asked });
    Ok(work.into())
}

fn wanted(topic: &DeleteTopicState) -> Result<TopicRef, Refusal> {
    let invalid = |text: &str| Err(Refusal::new(ErrorCode::InvalidRequest, text));
    match (&topic.name, topic.topic_id) {
        (Some(name), Uuid::ZERO) => Ok(TopicRef::Name(name.clone())),
        (None, Uuid::ZERO) => invalid("Neither topic name nor id were specified."),
        (None, id) => Ok(TopicRef::Id(TopicId(id))),
        (Some(_), _) => invalid("You may not specify both topic name and topic id."),
    }
}

impl Work for DeleteTopics {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Deleted(list)) => fill(&mut self.results, Ok(list)),
            Answer::Admin(AdminReply::Refused(refusal)) => fill(&mut self.results, Err(refusal)),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.topics.into_iter().zip(self.results.finish(late));
        let disabled_is_known = ctx.version() >= DELETION_DISABLED_FROM;
        let responses = results.map(|(topic, result)| {
            let mut answer = deleted(topic, result);
            if answer.error_code == ErrorCode::TopicDeletionDisabled.code() && !disabled_is_known {
                answer.error_code = ErrorCode::InvalidRequest.code();
            }
            answer
        });
        let responses = responses.collect();
        reply::answer(ctx, &DeleteTopicsResponse { throttle_time_ms: 0, responses })
    }
}

fn deleted(
    asked: DeleteTopicState,
    result: Result<(String, TopicId), Refusal>,
) -> DeletableTopicResult {
    let (name, topic_id) = match &result {
        Ok((name, id)) => (Some(name.clone()), id.0),
        Err(_) => (asked.name, asked.topic_id),
    };
    let (error_code, error_message) = code_and_message(result);
    DeletableTopicResult { name, topic_id, error_code, error_message }
}

/// A CreatePartitions request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct CreatePartitions {
    names: Vec<String>,
    results: Gather<Result<(), Refusal>>,
}

pub(super) fn begin_grow(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: CreatePartitionsRequest = ctx.decode(body)?;
    let names = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut results = Gather::until(ctx.until(request.timeout_ms));
    results.ask_many(request.topics.len());
    let work = CreatePartitions { names, results };
    if request.topics.is_empty() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    let topics = request.topics.into_iter().map(more_partitions).collect();
    let validate_only = request.validate_only;
    ctx.send_control(AdminRequest::CreatePartitions { topics, validate_only });
    Ok(work.into())
}

fn more_partitions(topic: CreatePartitionsTopic) -> MorePartitions {
    let assignments = topic.assignments.map(|list| {
        let nodes = |ids: Vec<i32>| ids.into_iter().map(NodeId).collect();
        list.into_iter().map(|each| nodes(each.broker_ids)).collect()
    });
    MorePartitions { topic: topic.name, total: topic.count, assignments }
}

impl Work for CreatePartitions {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Grown(list)) => fill(&mut self.results, Ok(list)),
            Answer::Admin(AdminReply::Refused(refusal)) => fill(&mut self.results, Err(refusal)),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.names.into_iter().zip(self.results.finish(late));
        let results = results.map(|(name, result)| {
            let (error_code, error_message) = code_and_message(result);
            CreatePartitionsTopicResult { name, error_code, error_message }
        });
        let results = results.collect();
        reply::answer(ctx, &CreatePartitionsResponse { throttle_time_ms: 0, results })
    }
}
