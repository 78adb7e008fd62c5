//! What the client knows of brokers, topics and leaders.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, TopicId};
use dohle_wire::message::{MetadataResponse, MetadataResponsePartition, MetadataResponseTopic};

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its id.
    pub id: NodeId,
    /// Host name or address.
    pub host: Arc<str>,
    /// TCP port.
    pub port: u16,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

/// A topic, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its id; zero if the broker has none.
    pub id: TopicId,
    /// What the broker says of the topic.
    pub error: ErrorCode,
    /// Whether it serves the cluster itself.
    pub internal: bool,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionInfo>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its number.
    pub index: i32,
    /// Its leader, if it has one.
    pub leader: Option<NodeId>,
    /// Epoch of the leader; -1 if unknown.
    pub epoch: LeaderEpoch,
    /// Its replicas, the preferred leader first.
    pub replicas: Vec<NodeId>,
    /// Its replicas that are in sync.
    pub isr: Vec<NodeId>,
    /// Its replicas that are not available.
    pub offline: Vec<NodeId>,
}

/// The newest state of the cluster that the client has heard of.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClusterView {
    /// Id of the cluster.
    pub cluster_id: Option<String>,
    /// A broker that takes administrative requests.
    pub controller: Option<NodeId>,
    /// All brokers.
    pub brokers: BTreeMap<NodeId, BrokerInfo>,
    /// The topics asked for.
    pub topics: BTreeMap<Arc<str>, TopicInfo>,
}

impl ClusterView {
    /// A topic that is known and not in error.
    pub fn topic(&self, name: &str) -> Option<&TopicInfo> {
        self.topics.get(name).filter(|topic| !topic.partitions.is_empty())
    }

    /// A partition that is known.
    pub fn partition(&self, topic: &str, index: i32) -> Option<&PartitionInfo> {
        self.topic(topic)?.partitions.get(usize::try_from(index).ok()?)
    }

    /// The name of the topic with this id.
    pub fn name_of(&self, id: TopicId) -> Option<&Arc<str>> {
        self.topics.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name)
    }

    /// Takes over what a broker answered. Topics that the answer does not mention stay.
    ///
    /// Metadata travels by way of many brokers, so an answer can be older than what is known: the
    /// leader of a partition is only replaced by one of the same or a newer epoch, unless the topic
    /// was created anew.
    pub(super) fn apply(&mut self, answer: MetadataResponse) {
        self.cluster_id = answer.cluster_id.or_else(|| self.cluster_id.take());
        self.controller = node(answer.controller_id);
        self.brokers = answer
            .brokers
            .into_iter()
            .filter_map(|broker| {
                let id = NodeId(broker.node_id);
                let port = u16::try_from(broker.port).ok()?;
                Some((id, BrokerInfo { id, host: broker.host.into(), port, rack: broker.rack }))
            })
            .collect();
        for topic in answer.topics {
            self.apply_topic(topic);
        }
    }

    fn apply_topic(&mut self, topic: MetadataResponseTopic) {
        let Some(name) = topic.name else { return };
        let error = ErrorCode::from(topic.error_code);
        let name: Arc<str> = name.into();
        let id = TopicId(topic.topic_id);
        let old = self.topics.remove(&name);
        if error.is_retriable() && old.as_ref().is_some_and(|old| !old.partitions.is_empty()) {
            // A broker that is behind may not know a topic yet that another one described.
            let old = old.expect("just seen");
            self.topics.insert(name, TopicInfo { error, ..old });
            return;
        }
        let old = old.filter(|old| old.id == id);
        let partitions = numbered(topic.partitions)
            .into_iter()
            .map(|new| {
                let known = old.as_ref().and_then(|old| old.partitions.get(new.index as usize));
                match known {
                    Some(known) if known.epoch > new.epoch && new.epoch.0 >= 0 => known.clone(),
                    _ => new,
                }
            })
            .collect();
        self.topics.insert(name, TopicInfo { id, error, internal: topic.is_internal, partitions });
    }

    /// Takes over a leader that a broker named in an error; gives whether that was news.
    pub(super) fn hint(
        &mut self,
        topic: &str,
        index: i32,
        leader: NodeId,
        epoch: LeaderEpoch,
    ) -> bool {
        let partition = self
            .topics
            .get_mut(topic)
            .and_then(|topic| topic.partitions.get_mut(usize::try_from(index).ok()?));
        match partition {
            Some(partition) if epoch > partition.epoch => {
                partition.leader = Some(leader);
                partition.epoch = epoch;
                true
            }
            _ => false,
        }
    }
}

/// The partitions whose numbers go from 0 on without a gap; a topic is never described otherwise.
pub(crate) fn numbered(mut partitions: Vec<MetadataResponsePartition>) -> Vec<PartitionInfo> {
    partitions.sort_by_key(|partition| partition.partition_index);
    let ids = |list: Vec<i32>| list.into_iter().map(NodeId).collect();
    partitions
        .into_iter()
        .zip(0i32..)
        .take_while(|(partition, index)| partition.partition_index == *index)
        .map(|(partition, index)| PartitionInfo {
            index,
            leader: node(partition.leader_id),
            epoch: LeaderEpoch(partition.leader_epoch),
            replicas: ids(partition.replica_nodes),
            isr: ids(partition.isr_nodes),
            offline: ids(partition.offline_replicas),
        })
        .collect()
}

const fn node(id: i32) -> Option<NodeId> {
    if id < 0 { None } else { Some(NodeId(id)) }
}

impl From<MetadataResponse> for ClusterView {
    fn from(answer: MetadataResponse) -> Self {
        let mut view = Self::default();
        view.apply(answer);
        view
    }
}
