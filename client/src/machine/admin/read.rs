//! Answers as replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp};
use dohle_wire::message::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeConfigsRequest, DescribeConfigsResourceResult, IncrementalAlterConfigsRequest,
    ListOffsetsRequest, MetadataRequest,
};
use dohle_wire::{DecodeError, ErrorCode};

use super::group::{self, Plan};
use super::quorum;
use super::{
    Call, ClusterDescription, ConfigEntry, ConfigResource, ConfigSource, FoundOffset, ItemError,
    QuorumDescription, Reply, Tag, TopicDescription,
};
use crate::machine::TopicPartition;
use crate::machine::cluster::{Answer, ClusterView, TopicInfo};

/// What an answer says besides the results it holds.
#[derive(Default)]
pub(super) struct Outcome {
    /// Items to be asked for again, and why.
    pub(super) retry: BTreeMap<usize, ErrorCode>,
    /// The request was refused as a whole.
    pub(super) refused: Option<ItemError>,
    pub(super) throttle_ms: i32,
    /// Groups that only the older request can describe.
    pub(super) classic: Vec<usize>,
}

impl Outcome {
    pub(super) fn throttled(throttle_ms: i32) -> Self {
        Self { throttle_ms, ..Self::default() }
    }
}

/// The reply of a call before any answer.
pub(super) fn empty_reply(call: &Call) -> Reply {
    match call {
        Call::CreateTopics(_)
        | Call::DeleteTopics(_)
        | Call::CreatePartitions(_)
        | Call::AlterConfigs(_) => Reply::Each(BTreeMap::new()),
        Call::DescribeTopics(_) => Reply::Topics(BTreeMap::new()),
        Call::DescribeConfigs(_) => Reply::Configs(BTreeMap::new()),
        Call::DeleteRecords(_) | Call::ListOffsets(_) => Reply::Offsets(BTreeMap::new()),
        Call::DescribeCluster => {
            Reply::Cluster(ClusterDescription { id: None, controller: None, brokers: Vec::new() })
        }
        Call::DescribeQuorum => Reply::Quorum(QuorumDescription {
            leader: None,
            epoch: LeaderEpoch(-1),
            high_watermark: Offset(-1),
            voters: Vec::new(),
            observers: Vec::new(),
        }),
        Call::Group(call) => Reply::Group(group::empty_reply(call)),
    }
}

/// Notes that nobody served an item. Gives the error back if the call is a single question, which
/// has no items that fail alone.
pub(super) fn fail_item(
    call: &Call,
    item: usize,
    plan: &Plan,
    error: ItemError,
    reply: &mut Reply,
) -> Result<(), ItemError> {
    match (call, reply) {
        (Call::CreateTopics(list), Reply::Each(each)) => {
            each.insert(Arc::clone(&list[item].name), Err(error));
        }
        (Call::DeleteTopics(list), Reply::Each(each)) => {
            each.insert(Arc::clone(&list[item]), Err(error));
        }
        (Call::CreatePartitions(list), Reply::Each(each)) => {
            each.insert(Arc::clone(&list[item].0), Err(error));
        }
        (Call::AlterConfigs(list), Reply::Each(each)) => {
            each.insert(resource_name(&list[item].0), Err(error));
        }
        (Call::DescribeConfigs(list), Reply::Configs(configs)) => {
            configs.insert(list[item].clone(), Err(error));
        }
        (Call::DeleteRecords(list), Reply::Offsets(offsets)) => {
            offsets.insert(list[item].0.clone(), Err(error));
        }
        (Call::ListOffsets(list), Reply::Offsets(offsets)) => {
            offsets.insert(list[item].0.clone(), Err(error));
        }
        (Call::Group(call), Reply::Group(reply)) => {
            return group::fail_item(call, item, plan, error, reply);
        }
        (Call::DescribeTopics(_) | Call::DescribeCluster | Call::DescribeQuorum, _) => {
            return Err(error);
        }
        _ => unreachable!("a reply has the kind of its call"),
    }
    Ok(())
}

/// Takes the results of an answer over into the reply.
pub(super) fn read(
    answer: &Answer<Tag>,
    items: &[usize],
    call: &Call,
    plan: &Plan,
    reply: &mut Reply,
) -> Result<Outcome, DecodeError> {
    match (call, reply) {
        (Call::CreateTopics(list), Reply::Each(each)) => {
            let response = answer.decode::<CreateTopicsRequest>()?;
            let found = response.topics.into_iter();
            let found = found.map(|t| (t.name, t.error_code, t.error_message)).collect();
            let name = |item: usize| Arc::clone(&list[item].name);
            Ok(each_of(items, found, name, each, response.throttle_time_ms))
        }
        (Call::DeleteTopics(list), Reply::Each(each)) => {
            let response = answer.decode::<DeleteTopicsRequest>()?;
            let found = response.responses.into_iter();
            let found = found.filter_map(|t| Some((t.name?, t.error_code, t.error_message)));
            let name = |item: usize| Arc::clone(&list[item]);
            Ok(each_of(items, found.collect(), name, each, response.throttle_time_ms))
        }
        (Call::CreatePartitions(list), Reply::Each(each)) => {
            let response = answer.decode::<CreatePartitionsRequest>()?;
            let found = response.results.into_iter();
            let found = found.map(|t| (t.name, t.error_code, t.error_message)).collect();
            let name = |item: usize| Arc::clone(&list[item].0);
            Ok(each_of(items, found, name, each, response.throttle_time_ms))
        }
        (Call::AlterConfigs(list), Reply::Each(each)) => {
            let response = answer.decode::<IncrementalAlterConfigsRequest>()?;
            let found = response.responses.into_iter();
            let found = found.map(|r| (r.resource_name, r.error_code, r.error_message)).collect();
            let name = |item: usize| resource_name(&list[item].0);
            Ok(each_of(items, found, name, each, response.throttle_time_ms))
        }
        (Call::DescribeConfigs(list), Reply::Configs(configs)) => {
            read_configs(answer, items, list, configs)
        }
        (Call::DeleteRecords(list), Reply::Offsets(offsets)) => {
            let response = answer.decode::<DeleteRecordsRequest>()?;
            let mut found = BTreeMap::new();
            for topic in response.topics {
                for part in topic.partitions {
                    let at = TopicPartition::new(topic.name.as_str(), part.partition_index);
                    let offset = FoundOffset {
                        offset: Offset(part.low_watermark),
                        timestamp: Timestamp(-1),
                        leader_epoch: LeaderEpoch(-1),
                    };
                    found.insert(at, (part.error_code, offset));
                }
            }
            let wanted = items.iter().map(|item| (*item, &list[*item].0));
            Ok(offsets_of(wanted, &found, offsets, response.throttle_time_ms))
        }
        (Call::ListOffsets(list), Reply::Offsets(offsets)) => {
            let response = answer.decode::<ListOffsetsRequest>()?;
            let mut found = BTreeMap::new();
            for topic in response.topics {
                for part in topic.partitions {
                    let at = TopicPartition::new(topic.name.as_str(), part.partition_index);
                    let offset = FoundOffset {
                        offset: Offset(part.offset),
                        timestamp: Timestamp(part.timestamp),
                        leader_epoch: LeaderEpoch(part.leader_epoch),
                    };
                    found.insert(at, (part.error_code, offset));
                }
            }
            let wanted = items.iter().map(|item| (*item, &list[*item].0));
            Ok(offsets_of(wanted, &found, offsets, response.throttle_time_ms))
        }
        (Call::DescribeTopics(_), Reply::Topics(topics)) => {
            let (view, outcome) = read_metadata(answer, items)?;
            *topics = view.topics.into_iter().map(|(name, info)| (name, described(info))).collect();
            Ok(outcome)
        }
        (Call::DescribeCluster, Reply::Cluster(cluster)) => {
            let (view, outcome) = read_metadata(answer, items)?;
            *cluster = ClusterDescription {
                id: view.cluster_id,
                controller: view.controller,
                brokers: view.brokers.into_values().collect(),
            };
            Ok(outcome)
        }
        (Call::DescribeQuorum, Reply::Quorum(found)) => quorum::read(answer, items, found),
        (Call::Group(call), Reply::Group(reply)) => group::read(answer, items, call, plan, reply),
        _ => unreachable!("a reply has the kind of its call"),
    }
}

/// Errors after which a broker is asked again: nothing was done, and the next answer may differ.
const fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NotController | ErrorCode::ThrottlingQuotaExceeded)
}

pub(super) fn error(code: ErrorCode, message: Option<String>) -> Result<(), ItemError> {
    if code == ErrorCode::None { Ok(()) } else { Err(ItemError { code, message }) }
}

/// What the broker does not mention, it did not do.
pub(super) const UNANSWERED: ErrorCode = ErrorCode::UnknownServerError;

fn each_of(
    items: &[usize],
    found: Vec<(String, i16, Option<String>)>,
    name: impl Fn(usize) -> Arc<str>,
    each: &mut BTreeMap<Arc<str>, Result<(), ItemError>>,
    throttle_ms: i32,
) -> Outcome {
    let mut outcome = Outcome { throttle_ms, ..Outcome::default() };
    for item in items {
        let name = name(*item);
        let result = found.iter().find(|(found, ..)| **found == *name);
        let (code, message) = result.map_or((UNANSWERED, None), |(_, code, message)| {
            (ErrorCode::from(*code), message.clone())
        });
        if is_passing(code) {
            outcome.retry.insert(*item, code);
        } else {
            each.insert(name, error(code, message));
        }
    }
    outcome
}

fn offsets_of<'a>(
    wanted: impl Iterator<Item = (usize, &'a TopicPartition)>,
    found: &BTreeMap<TopicPartition, (i16, FoundOffset)>,
    offsets: &mut BTreeMap<TopicPartition, Result<FoundOffset, ItemError>>,
    throttle_ms: i32,
) -> Outcome {
    let mut outcome = Outcome { throttle_ms, ..Outcome::default() };
    for (item, at) in wanted {
        let result = found.get(at);
        let code = result.map_or(UNANSWERED, |(code, _)| ErrorCode::from(*code));
        match result {
            _ if code.is_retriable() => drop(outcome.retry.insert(item, code)),
            Some((_, offset)) if code == ErrorCode::None => {
                offsets.insert(at.clone(), Ok(*offset));
            }
            _ => {
                offsets.insert(at.clone(), Err(ItemError { code, message: None }));
            }
        }
    }
    outcome
}

fn resource_name(resource: &ConfigResource) -> Arc<str> {
    match resource {
        ConfigResource::Topic(name) => Arc::clone(name),
        ConfigResource::Broker(node) => node.map_or_else(String::new, |id| id.to_string()).into(),
    }
}

fn read_configs(
    answer: &Answer<Tag>,
    items: &[usize],
    list: &[ConfigResource],
    configs: &mut BTreeMap<ConfigResource, Result<Vec<ConfigEntry>, ItemError>>,
) -> Result<Outcome, DecodeError> {
    let response = answer.decode::<DescribeConfigsRequest>()?;
    let mut outcome = Outcome { throttle_ms: response.throttle_time_ms, ..Outcome::default() };
    for item in items {
        let resource = &list[*item];
        let kind = if matches!(resource, ConfigResource::Topic(_)) { 2 } else { 4 };
        let name = resource_name(resource);
        let found = response
            .results
            .iter()
            .find(|found| found.resource_type == kind && *found.resource_name == *name);
        let (code, message) = found.map_or((UNANSWERED, None), |found| {
            (ErrorCode::from(found.error_code), found.error_message.clone())
        });
        if is_passing(code) {
            outcome.retry.insert(*item, code);
            continue;
        }
        let entries = error(code, message)
            .map(|()| found.map_or_else(Vec::new, |f| f.configs.iter().map(entry).collect()));
        configs.insert(resource.clone(), entries);
    }
    Ok(outcome)
}

fn entry(config: &DescribeConfigsResourceResult) -> ConfigEntry {
    ConfigEntry {
        name: config.name.clone(),
        value: config.value.clone(),
        source: match config.config_source {
            1 => ConfigSource::Topic,
            2 => ConfigSource::DynamicBroker,
            3 => ConfigSource::DynamicDefaultBroker,
            4 => ConfigSource::StaticBroker,
            5 => ConfigSource::Default,
            other => ConfigSource::Other(other),
        },
        read_only: config.read_only,
        sensitive: config.is_sensitive,
    }
}

fn read_metadata(
    answer: &Answer<Tag>,
    items: &[usize],
) -> Result<(ClusterView, Outcome), DecodeError> {
    let response = answer.decode::<MetadataRequest>()?;
    let code = ErrorCode::from(response.error_code);
    let again = code.is_retriable();
    let outcome = Outcome {
        retry: items.iter().filter(|_| again).map(|item| (*item, code)).collect(),
        refused: error(code, None).err().filter(|_| !again),
        throttle_ms: response.throttle_time_ms,
        classic: Vec::new(),
    };
    Ok((ClusterView::from(response), outcome))
}

fn described(info: TopicInfo) -> Result<TopicDescription, ItemError> {
    let TopicInfo { id, error: code, internal, partitions } = info;
    error(code, None).map(|()| TopicDescription { id, internal, partitions })
}

impl From<NodeId> for ConfigResource {
    fn from(node: NodeId) -> Self {
        Self::Broker(Some(node))
    }
}
