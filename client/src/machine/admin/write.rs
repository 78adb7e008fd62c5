//! Calls as requests.

use std::sync::Arc;
use std::time::Duration;

use dohle_wire::message::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use dohle_wire::message::{
    CreatableTopic, CreatableTopicConfig, CreatePartitionsRequest, CreatePartitionsTopic,
    CreateTopicsRequest, DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
    DeleteTopicState, DeleteTopicsRequest, DescribeConfigsRequest, DescribeConfigsResource,
    IncrementalAlterConfigsRequest, ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
    MetadataRequest, MetadataRequestTopic, Request,
};

use super::group::{self, Plan};
use super::quorum;
use super::{Call, ConfigChange, ConfigResource, NewTopic, OffsetSpec, Tag};
use crate::machine::cluster::{Cluster, ClusterView, Peer, SendError};
use crate::machine::{Now, TopicPartition};

/// First version of DeleteTopics that can name topics by id, and has another shape.
const DELETE_BY_ID: i16 = 6;

/// Name of the request that a call makes.
pub(super) const fn name(call: &Call) -> &'static str {
    match call {
        Call::CreateTopics(_) => "CreateTopics",
        Call::DeleteTopics(_) => "DeleteTopics",
        Call::CreatePartitions(_) => "CreatePartitions",
        Call::DescribeConfigs(_) => "DescribeConfigs",
        Call::AlterConfigs(_) => "IncrementalAlterConfigs",
        Call::DeleteRecords(_) => "DeleteRecords",
        Call::ListOffsets(_) => "ListOffsets",
        Call::DescribeTopics(_) | Call::DescribeCluster => "Metadata",
        Call::DescribeQuorum => "DescribeQuorum",
        Call::Group(call) => group::name(call),
    }
}

/// Sends items of a call to a broker.
pub(super) fn write(
    out: &mut Out<'_>,
    call: &Call,
    items: &[usize],
    plan: &Plan,
    timeout: Duration,
) -> Result<(), SendError> {
    let ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    match call {
        Call::CreateTopics(list) => out.send(i16::MAX, |_| create_topics(pick(list, items), ms)),
        Call::DeleteTopics(list) => {
            out.send(i16::MAX, |version| delete_topics(pick(list, items), ms, version))
        }
        Call::CreatePartitions(list) => {
            out.send(i16::MAX, |_| create_partitions(pick(list, items), ms))
        }
        Call::DescribeConfigs(list) => out.send(i16::MAX, |_| describe_configs(pick(list, items))),
        Call::AlterConfigs(list) => out.send(i16::MAX, |_| alter_configs(pick(list, items))),
        Call::DeleteRecords(list) => out.send(i16::MAX, |_| delete_records(pick(list, items), ms)),
        Call::ListOffsets(list) => {
            let view = out.cluster.view().clone();
            out.send(i16::MAX, |_| list_offsets(pick(list, items), &view, ms))
        }
        Call::DescribeTopics(names) => out.send(i16::MAX, |_| describe(names.as_deref())),
        Call::DescribeCluster => out.send(i16::MAX, |_| describe(Some(&[]))),
        Call::DescribeQuorum => out.send(i16::MAX, |_| quorum::request()),
        Call::Group(call) => group::write(out, call, items, plan),
    }
}

/// Where a request goes, and what its answer is for.
pub(super) struct Out<'a> {
    pub(super) cluster: &'a mut Cluster<Tag>,
    pub(super) now: Now,
    pub(super) peer: Peer,
    pub(super) tag: Tag,
}

impl Out<'_> {
    /// Sends a request in the newest version that both sides speak, at most `cap`.
    pub(super) fn send<R: Request>(
        &mut self,
        cap: i16,
        request: impl FnOnce(i16) -> R,
    ) -> Result<(), SendError> {
        let version = self.cluster.version(self.peer, R::KEY, cap);
        let version = version.ok_or(SendError::Unsupported)?;
        self.cluster.send(self.now, self.peer, version, &request(version), self.tag.clone())
    }
}

pub(super) fn pick<'a, T>(list: &'a [T], items: &'a [usize]) -> impl Iterator<Item = &'a T> {
    items.iter().map(|item| &list[*item])
}

fn create_topics<'a>(
    topics: impl Iterator<Item = &'a NewTopic>,
    timeout_ms: i32,
) -> CreateTopicsRequest {
    let topics = topics.map(|topic| CreatableTopic {
        name: topic.name.to_string(),
        num_partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        assignments: Vec::new(),
        configs: topic
            .configs
            .iter()
            .map(|(name, value)| CreatableTopicConfig {
                name: name.clone(),
                value: Some(value.clone()),
            })
            .collect(),
    });
    CreateTopicsRequest { topics: topics.collect(), timeout_ms, validate_only: false }
}

fn delete_topics<'a>(
    names: impl Iterator<Item = &'a Arc<str>>,
    timeout_ms: i32,
    version: i16,
) -> DeleteTopicsRequest {
    let mut request = DeleteTopicsRequest { timeout_ms, ..DeleteTopicsRequest::default() };
    for name in names {
        let name = name.to_string();
        if version >= DELETE_BY_ID {
            request
                .topics
                .push(DeleteTopicState { name: Some(name), ..DeleteTopicState::default() });
        } else {
            request.topic_names.push(name);
        }
    }
    request
}

fn create_partitions<'a>(
    topics: impl Iterator<Item = &'a (Arc<str>, i32)>,
    timeout_ms: i32,
) -> CreatePartitionsRequest {
    let topics = topics.map(|(name, count)| CreatePartitionsTopic {
        name: name.to_string(),
        count: *count,
        assignments: None,
    });
    CreatePartitionsRequest { topics: topics.collect(), timeout_ms, validate_only: false }
}

/// Kind and name of a resource on the wire.
fn resource(resource: &ConfigResource) -> (i8, String) {
    match resource {
        ConfigResource::Topic(name) => (2, name.to_string()),
        ConfigResource::Broker(node) => (4, node.map_or_else(String::new, |id| id.to_string())),
    }
}

fn describe_configs<'a>(
    resources: impl Iterator<Item = &'a ConfigResource>,
) -> DescribeConfigsRequest {
    let resources = resources.map(|each| {
        let (resource_type, resource_name) = resource(each);
        DescribeConfigsResource { resource_type, resource_name, configuration_keys: None }
    });
    DescribeConfigsRequest { resources: resources.collect(), ..DescribeConfigsRequest::default() }
}

fn alter_configs<'a>(
    changes: impl Iterator<Item = &'a (ConfigResource, Vec<ConfigChange>)>,
) -> IncrementalAlterConfigsRequest {
    let resources = changes.map(|(each, changes)| {
        let (resource_type, resource_name) = resource(each);
        let configs = changes.iter().map(alterable).collect();
        AlterConfigsResource { resource_type, resource_name, configs }
    });
    IncrementalAlterConfigsRequest { resources: resources.collect(), validate_only: false }
}

fn alterable(change: &ConfigChange) -> AlterableConfig {
    let (name, config_operation, value) = match change {
        ConfigChange::Set(name, value) => (name, 0, Some(value)),
        ConfigChange::Delete(name) => (name, 1, None),
        ConfigChange::Append(name, value) => (name, 2, Some(value)),
        ConfigChange::Subtract(name, value) => (name, 3, Some(value)),
    };
    AlterableConfig { name: name.clone(), config_operation, value: value.cloned() }
}

fn delete_records<'a>(
    list: impl Iterator<Item = &'a (TopicPartition, dohle_wire::id::Offset)>,
    timeout_ms: i32,
) -> DeleteRecordsRequest {
    let mut request = DeleteRecordsRequest { timeout_ms, ..DeleteRecordsRequest::default() };
    for (at, offset) in list {
        let part = DeleteRecordsPartition { partition_index: at.partition, offset: offset.0 };
        match request.topics.iter_mut().find(|topic| *topic.name == *at.topic) {
            Some(topic) => topic.partitions.push(part),
            None => request
                .topics
                .push(DeleteRecordsTopic { name: at.topic.to_string(), partitions: vec![part] }),
        }
    }
    request
}

fn list_offsets<'a>(
    list: impl Iterator<Item = &'a (TopicPartition, OffsetSpec)>,
    view: &ClusterView,
    timeout_ms: i32,
) -> ListOffsetsRequest {
    let mut request =
        ListOffsetsRequest { replica_id: -1, timeout_ms, ..ListOffsetsRequest::default() };
    for (at, spec) in list {
        let known = view.partition(&at.topic, at.partition);
        let part = ListOffsetsPartition {
            partition_index: at.partition,
            current_leader_epoch: known.map_or(-1, |partition| partition.epoch.0),
            timestamp: match spec {
                OffsetSpec::Latest => -1,
                OffsetSpec::Earliest => -2,
                OffsetSpec::MaxTimestamp => -3,
                OffsetSpec::Timestamp(time) => time.0,
            },
        };
        match request.topics.iter_mut().find(|topic| *topic.name == *at.topic) {
            Some(topic) => topic.partitions.push(part),
            None => request
                .topics
                .push(ListOffsetsTopic { name: at.topic.to_string(), partitions: vec![part] }),
        }
    }
    request
}

fn describe(names: Option<&[Arc<str>]>) -> MetadataRequest {
    let topics = names.map(|names| {
        let of = |name: &Arc<str>| MetadataRequestTopic {
            name: Some(name.to_string()),
            ..MetadataRequestTopic::default()
        };
        names.iter().map(of).collect()
    });
    MetadataRequest { topics, allow_auto_topic_creation: false, ..MetadataRequest::default() }
}
