//! From items to requests.

use dohle_wire::id::Timestamp;
use dohle_wire::message::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListOffsetsRequest, MetadataRequest,
    MetadataRequestTopic, Request, create_partitions_request as partitions,
    create_topics_request as create, delete_records_request as records,
    delete_topics_request as delete, describe_configs_request as describe,
    incremental_alter_configs_request as alter, list_offsets_request as offsets,
};

use super::{Admin, AdminError, ConfigChange, Item, NewTopic, OffsetSpec, Tag};
use crate::machine::cluster::{Peer, SendError};
use crate::machine::{Now, Token, TopicPartition};

impl Admin {
    /// Sends one request for these items, which are of one kind.
    pub(super) fn send(
        &mut self,
        now: Now,
        peer: Peer,
        token: Token,
        items: Vec<Item>,
    ) -> Result<(), AdminError> {
        let timeout_ms =
            i32::try_from(self.config.connection.request_timeout.as_millis()).unwrap_or(i32::MAX);
        let to = (now, peer, Tag { token, items });
        let Some(first) = to.2.items.first() else { return Ok(()) };
        match first {
            Item::CreateTopic(_) => self.send_as(to, |_, items| CreateTopicsRequest {
                topics: items.iter().filter_map(new_topic).collect(),
                timeout_ms,
                validate_only: false,
            }),
            Item::DeleteTopic(_) => {
                self.send_as(to, |version, items| delete_topics(version, items, timeout_ms))
            }
            Item::CreatePartitions(..) => self.send_as(to, |_, items| CreatePartitionsRequest {
                topics: items.iter().filter_map(more_partitions).collect(),
                timeout_ms,
                validate_only: false,
            }),
            Item::DescribeTopics(_) | Item::DescribeCluster => {
                self.send_as(to, |version, items| metadata(version, items.first()))
            }
            Item::DescribeConfig(_) => self.send_as(to, |_, items| DescribeConfigsRequest {
                resources: items.iter().filter_map(resource).collect(),
                ..DescribeConfigsRequest::default()
            }),
            Item::AlterConfig(..) => self.send_as(to, |_, items| IncrementalAlterConfigsRequest {
                resources: items.iter().filter_map(changes).collect(),
                validate_only: false,
            }),
            Item::DeleteRecords(..) => {
                self.send_as(to, |_, items| delete_records(items, timeout_ms))
            }
            Item::ListOffset(..) => self.send_as(to, |_, items| list_offsets(items, timeout_ms)),
        }
    }

    fn send_as<R: Request>(
        &mut self,
        (now, peer, tag): (Now, Peer, Tag),
        make: impl FnOnce(i16, &[Item]) -> R,
    ) -> Result<(), AdminError> {
        let unsupported = AdminError::Unsupported(R::KEY.name());
        let Some(version) = self.cluster.version(peer, R::KEY, i16::MAX) else {
            return Err(unsupported);
        };
        let request = make(version, &tag.items);
        self.cluster.send(now, peer, version, &request, Some(tag)).map_err(|error| match error {
            SendError::Encode(error) => AdminError::Unencodable(error.to_string()),
            SendError::NotReady | SendError::Unsupported => unsupported,
        })
    }
}

fn new_topic(item: &Item) -> Option<create::CreatableTopic> {
    let Item::CreateTopic(NewTopic { name, partitions, replication_factor, configs }) = item else {
        return None;
    };
    let setting = |(name, value): &(String, String)| create::CreatableTopicConfig {
        name: name.clone(),
        value: Some(value.clone()),
    };
    Some(create::CreatableTopic {
        name: name.to_string(),
        num_partitions: *partitions,
        replication_factor: *replication_factor,
        assignments: Vec::new(),
        configs: configs.iter().map(setting).collect(),
    })
}

fn delete_topics(version: i16, items: &[Item], timeout_ms: i32) -> DeleteTopicsRequest {
    let names = items.iter().filter_map(|item| match item {
        Item::DeleteTopic(name) => Some(name.to_string()),
        _ => None,
    });
    let mut request = DeleteTopicsRequest { timeout_ms, ..DeleteTopicsRequest::default() };
    if version < 6 {
        request.topic_names = names.collect();
    } else {
        let state = |name| delete::DeleteTopicState { name: Some(name), ..Default::default() };
        request.topics = names.map(state).collect();
    }
    request
}

fn more_partitions(item: &Item) -> Option<partitions::CreatePartitionsTopic> {
    let Item::CreatePartitions(name, count) = item else { return None };
    Some(partitions::CreatePartitionsTopic {
        name: name.to_string(),
        count: *count,
        assignments: None,
    })
}

fn metadata(version: i16, item: Option<&Item>) -> MetadataRequest {
    let topics = match item {
        // Version 0 asks for all topics with an empty list.
        Some(Item::DescribeTopics(None)) => (version < 1).then(Vec::new),
        Some(Item::DescribeTopics(Some(names))) => {
            let of = |name: &std::sync::Arc<str>| MetadataRequestTopic {
                name: Some(name.to_string()),
                ..MetadataRequestTopic::default()
            };
            Some(names.iter().map(of).collect())
        }
        _ => Some(Vec::new()),
    };
    MetadataRequest {
        topics,
        // Versions before 4 cannot say that nothing is to be created.
        allow_auto_topic_creation: version < 4,
        ..MetadataRequest::default()
    }
}

fn resource(item: &Item) -> Option<describe::DescribeConfigsResource> {
    let Item::DescribeConfig(resource) = item else { return None };
    let (resource_type, resource_name) = resource.parts();
    Some(describe::DescribeConfigsResource {
        resource_type,
        resource_name,
        configuration_keys: None,
    })
}

fn changes(item: &Item) -> Option<alter::AlterConfigsResource> {
    let Item::AlterConfig(resource, changes) = item else { return None };
    let (resource_type, resource_name) = resource.parts();
    let change = |change: &ConfigChange| {
        let (name, config_operation, value) = match change {
            ConfigChange::Set(name, value) => (name, 0, Some(value.clone())),
            ConfigChange::Delete(name) => (name, 1, None),
            ConfigChange::Append(name, value) => (name, 2, Some(value.clone())),
            ConfigChange::Subtract(name, value) => (name, 3, Some(value.clone())),
        };
        alter::AlterableConfig { name: name.clone(), config_operation, value }
    };
    Some(alter::AlterConfigsResource {
        resource_type,
        resource_name,
        configs: changes.iter().map(change).collect(),
    })
}

/// Puts the partitions of each topic together.
fn by_topic<P, T>(
    parts: impl Iterator<Item = (TopicPartition, P)>,
    make: impl Fn(String, Vec<P>) -> T,
) -> Vec<T> {
    let mut topics = std::collections::BTreeMap::<_, Vec<P>>::new();
    for (of, part) in parts {
        topics.entry(of.topic).or_default().push(part);
    }
    topics.into_iter().map(|(name, parts)| make(name.to_string(), parts)).collect()
}

fn delete_records(items: &[Item], timeout_ms: i32) -> DeleteRecordsRequest {
    let parts = items.iter().filter_map(|item| match item {
        Item::DeleteRecords(of, offset) => {
            let partition_index = of.partition;
            let part = records::DeleteRecordsPartition { partition_index, offset: offset.0 };
            Some((of.clone(), part))
        }
        _ => None,
    });
    let topics =
        by_topic(parts, |name, partitions| records::DeleteRecordsTopic { name, partitions });
    DeleteRecordsRequest { topics, timeout_ms }
}

fn list_offsets(items: &[Item], timeout_ms: i32) -> ListOffsetsRequest {
    let parts = items.iter().filter_map(|item| match item {
        Item::ListOffset(of, spec) => {
            let part = offsets::ListOffsetsPartition {
                partition_index: of.partition,
                timestamp: spec.code(),
                ..offsets::ListOffsetsPartition::default()
            };
            Some((of.clone(), part))
        }
        _ => None,
    });
    let topics = by_topic(parts, |name, partitions| offsets::ListOffsetsTopic { name, partitions });
    ListOffsetsRequest { replica_id: -1, topics, timeout_ms, ..ListOffsetsRequest::default() }
}

impl OffsetSpec {
    /// The number that stands for it in the place of a timestamp.
    const fn code(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::Timestamp(Timestamp(at)) => at,
        }
    }
}
