//! From answers to results.

use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp, TopicId};
use dohle_wire::message::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListOffsetsRequest, MetadataRequest,
    MetadataResponse, describe_configs_response as configs,
};
use dohle_wire::{DecodeError, ErrorCode};

use super::{
    Admin, ClusterDescription, ConfigEntry, ConfigSource, FoundOffset, Item, ItemError, NewTopic,
    Pending, Reply, Tag, TopicDescription, fail,
};
use crate::machine::Now;
use crate::machine::cluster::{Answer, BrokerInfo, numbered};

/// What became of one item: an error code and its text, and what the reply says on success.
struct Outcome {
    code: ErrorCode,
    message: Option<String>,
    value: Value,
}

/// What an item gives.
enum Value {
    Nothing,
    Offset(FoundOffset),
    Entries(Vec<ConfigEntry>),
    Metadata(Box<MetadataResponse>),
}

/// Finds the outcome of an item in an answer; `None` if the broker left it out.
type Find = Box<dyn FnMut(&Item) -> Option<Outcome>>;

impl Admin {
    pub(super) fn on_answer(&mut self, now: Now, answer: &Answer<Tag>) {
        let tag = answer.tag.clone();
        let Some(first) = tag.items.first() else { return };
        let read = match first {
            Item::CreateTopic(_) => created(answer),
            Item::DeleteTopic(_) => deleted(answer),
            Item::CreatePartitions(..) => extended(answer),
            Item::DescribeTopics(_) | Item::DescribeCluster => metadata(answer),
            Item::DescribeConfig(_) => described(answer),
            Item::AlterConfig(..) => altered(answer),
            Item::DeleteRecords(..) => trimmed(answer),
            Item::ListOffset(..) => listed(answer),
        };
        match read {
            Ok((throttle_ms, find)) => {
                self.cluster.throttle(now, answer.peer, throttle_ms);
                self.settle(now, tag, find);
            }
            Err(_) => {
                self.cluster.distrust(now, answer.peer);
                self.put_back(now, tag);
            }
        }
    }

    /// Writes what is decided into the reply; asks again for the rest.
    fn settle(&mut self, now: Now, tag: Tag, mut find: Find) {
        let Some(pending) = self.calls.get_mut(&tag.token) else { return };
        let (mut again, mut stale) = (Vec::new(), false);
        for item in tag.items {
            let Some(outcome) = find(&item) else {
                again.push(item);
                continue;
            };
            let unknown = outcome.code == ErrorCode::UnknownTopicOrPartition;
            // Only a leader that does not know a partition may be behind; for anything else the
            // answer stands.
            let stands = unknown && item.partition().is_none();
            if outcome.code.is_retriable() && !stands {
                stale |= outcome.code.refreshes_metadata();
                again.push(item);
            } else {
                pending.record(&item, outcome);
            }
        }
        if stale {
            self.cluster.want_metadata();
        }
        if again.is_empty() {
            pending.under_way -= 1;
            return;
        }
        pending.waits_for = "a broker that can do it now";
        self.put_back(now, Tag { token: tag.token, items: again });
    }
}

impl Pending {
    fn record(&mut self, item: &Item, outcome: Outcome) {
        let Outcome { code, message, value } = outcome;
        if code != ErrorCode::None {
            return fail(&mut self.reply, item, code, message);
        }
        match (&mut self.reply, item, value) {
            (Reply::Each(each), Item::CreateTopic(NewTopic { name, .. }), _)
            | (Reply::Each(each), Item::DeleteTopic(name) | Item::CreatePartitions(name, _), _) => {
                each.insert(Arc::clone(name), Ok(()));
            }
            (Reply::Each(each), Item::AlterConfig(resource, _), _) => {
                each.insert(resource.name(), Ok(()));
            }
            (Reply::Configs(configs), Item::DescribeConfig(resource), Value::Entries(entries)) => {
                configs.insert(resource.clone(), Ok(entries));
            }
            (
                Reply::Offsets(offsets),
                Item::DeleteRecords(of, _) | Item::ListOffset(of, _),
                Value::Offset(found),
            ) => {
                offsets.insert(of.clone(), Ok(found));
            }
            (Reply::Topics(topics), _, Value::Metadata(answer)) => describe_topics(topics, *answer),
            (Reply::Cluster(cluster), _, Value::Metadata(answer)) => {
                *cluster = describe_cluster(*answer);
            }
            _ => unreachable!("an item and its reply are of the same call"),
        }
    }
}

fn describe_topics(
    topics: &mut std::collections::BTreeMap<Arc<str>, Result<TopicDescription, ItemError>>,
    answer: MetadataResponse,
) {
    for topic in answer.topics {
        let Some(name) = topic.name else { continue };
        let code = ErrorCode::from(topic.error_code);
        let result = if code == ErrorCode::None {
            Ok(TopicDescription {
                id: TopicId(topic.topic_id),
                internal: topic.is_internal,
                partitions: numbered(topic.partitions),
            })
        } else {
            Err(ItemError { code, message: None })
        };
        topics.insert(name.into(), result);
    }
}

fn describe_cluster(answer: MetadataResponse) -> ClusterDescription {
    let broker = |broker: dohle_wire::message::MetadataResponseBroker| {
        let port = u16::try_from(broker.port).ok()?;
        let (id, host) = (NodeId(broker.node_id), broker.host.into());
        Some(BrokerInfo { id, host, port, rack: broker.rack })
    };
    ClusterDescription {
        id: answer.cluster_id,
        controller: (answer.controller_id >= 0).then_some(NodeId(answer.controller_id)),
        brokers: answer.brokers.into_iter().filter_map(broker).collect(),
    }
}

type Read = Result<(i32, Find), DecodeError>;

fn plain(code: i16, message: Option<String>) -> Outcome {
    Outcome { code: ErrorCode::from(code), message, value: Value::Nothing }
}

fn created(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<CreateTopicsRequest>()?;
    let topics = response.topics;
    let find: Find = Box::new(move |item| {
        let Item::CreateTopic(NewTopic { name, .. }) = item else { return None };
        let found = topics.iter().find(|topic| topic.name == **name)?;
        Some(plain(found.error_code, found.error_message.clone()))
    });
    Ok((response.throttle_time_ms, find))
}

fn deleted(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<DeleteTopicsRequest>()?;
    let topics = response.responses;
    let find: Find = Box::new(move |item| {
        let Item::DeleteTopic(name) = item else { return None };
        let found = topics.iter().find(|topic| topic.name.as_deref() == Some(&**name))?;
        Some(plain(found.error_code, found.error_message.clone()))
    });
    Ok((response.throttle_time_ms, find))
}

fn extended(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<CreatePartitionsRequest>()?;
    let topics = response.results;
    let find: Find = Box::new(move |item| {
        let Item::CreatePartitions(name, _) = item else { return None };
        let found = topics.iter().find(|topic| topic.name == **name)?;
        Some(plain(found.error_code, found.error_message.clone()))
    });
    Ok((response.throttle_time_ms, find))
}

fn metadata(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<MetadataRequest>()?;
    let throttle = response.throttle_time_ms;
    let mut once = Some(Box::new(response));
    let find: Find = Box::new(move |_| {
        let answer = once.take()?;
        let code = ErrorCode::from(answer.error_code);
        Some(Outcome { code, message: None, value: Value::Metadata(answer) })
    });
    Ok((throttle, find))
}

fn described(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<DescribeConfigsRequest>()?;
    let results = response.results;
    let find: Find = Box::new(move |item| {
        let Item::DescribeConfig(resource) = item else { return None };
        let (kind, name) = resource.parts();
        let found =
            results.iter().find(|r| (r.resource_type, &r.resource_name) == (kind, &name))?;
        let entries = found.configs.iter().map(entry).collect();
        let outcome = plain(found.error_code, found.error_message.clone());
        Some(Outcome { value: Value::Entries(entries), ..outcome })
    });
    Ok((response.throttle_time_ms, find))
}

fn entry(found: &configs::DescribeConfigsResourceResult) -> ConfigEntry {
    let source = match found.config_source {
        1 => ConfigSource::Topic,
        2 => ConfigSource::DynamicBroker,
        3 => ConfigSource::DynamicDefaultBroker,
        4 => ConfigSource::StaticBroker,
        5 => ConfigSource::Default,
        other => ConfigSource::Other(other),
    };
    ConfigEntry {
        name: found.name.clone(),
        value: found.value.clone(),
        source,
        read_only: found.read_only,
        sensitive: found.is_sensitive,
    }
}

fn altered(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<IncrementalAlterConfigsRequest>()?;
    let results = response.responses;
    let find: Find = Box::new(move |item| {
        let Item::AlterConfig(resource, _) = item else { return None };
        let (kind, name) = resource.parts();
        let found =
            results.iter().find(|r| (r.resource_type, &r.resource_name) == (kind, &name))?;
        Some(plain(found.error_code, found.error_message.clone()))
    });
    Ok((response.throttle_time_ms, find))
}

fn trimmed(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<DeleteRecordsRequest>()?;
    let topics = response.topics;
    let find: Find = Box::new(move |item| {
        let of = item.partition()?;
        let topic = topics.iter().find(|topic| topic.name == *of.topic)?;
        let found = topic.partitions.iter().find(|part| part.partition_index == of.partition)?;
        let offset = FoundOffset {
            offset: Offset(found.low_watermark),
            timestamp: Timestamp(-1),
            leader_epoch: LeaderEpoch(-1),
        };
        Some(Outcome { value: Value::Offset(offset), ..plain(found.error_code, None) })
    });
    Ok((response.throttle_time_ms, find))
}

fn listed(answer: &Answer<Tag>) -> Read {
    let response = answer.decode::<ListOffsetsRequest>()?;
    let topics = response.topics;
    let find: Find = Box::new(move |item| {
        let of = item.partition()?;
        let topic = topics.iter().find(|topic| topic.name == *of.topic)?;
        let found = topic.partitions.iter().find(|part| part.partition_index == of.partition)?;
        let offset = FoundOffset {
            offset: Offset(found.offset),
            timestamp: Timestamp(found.timestamp),
            leader_epoch: LeaderEpoch(found.leader_epoch),
        };
        Some(Outcome { value: Value::Offset(offset), ..plain(found.error_code, None) })
    });
    Ok((response.throttle_time_ms, find))
}
