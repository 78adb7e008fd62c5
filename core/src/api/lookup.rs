//! What requests look up in the metadata: topics, partitions, leaders, addresses.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex, TopicId, Uuid};

use crate::image::{BrokerImage, Image, PartitionImage, TopicImage};
use crate::mail::{PartitionId, ShardId};
use crate::node::shard_of;
use crate::session::SessionSettings;

use super::Ctx;

/// Topics that the cluster keeps for itself.
const INTERNAL: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// Whether the cluster keeps this topic for itself (Topic.isInternal).
pub(crate) fn is_internal(topic: &str) -> bool {
    INTERNAL.contains(&topic)
}

/// Longest name of a topic.
const TOPIC_NAME_MAX: usize = 249;

/// Whether a topic may have this name (Topic.validate).
pub(crate) fn is_valid_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=TOPIC_NAME_MAX).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.bytes().all(legal)
}

/// How a client names a topic: by name in older versions, by id in newer ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TopicKey {
    /// By name.
    Name(Arc<str>),
    /// By id.
    Id(TopicId),
}

impl TopicKey {
    /// The name in versions that have one, otherwise the id.
    pub(crate) fn of(by_id: bool, name: String, id: Uuid) -> Self {
        if by_id { Self::Id(TopicId(id)) } else { Self::Name(name.into()) }
    }

    /// The field for the name: empty when the topic is named by id.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Name(name) => name.to_string(),
            Self::Id(_) => String::new(),
        }
    }

    /// The field for the id: zero when the topic is named by name.
    pub(crate) fn id(&self) -> Uuid {
        match self {
            Self::Name(_) => Uuid::ZERO,
            Self::Id(id) => id.0,
        }
    }

    /// The topic it names.
    pub(crate) fn find<'a>(&self, image: &'a Image) -> Result<&'a Arc<TopicImage>, ErrorCode> {
        match self {
            Self::Name(name) => image.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition),
            Self::Id(id) => {
                let topic = image.topic_by_id(id).ok_or(ErrorCode::UnknownTopicId)?;
                if topic.id == *id { Ok(topic) } else { Err(ErrorCode::InconsistentTopicId) }
            }
        }
    }
}

/// Where a partition's requests go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which partition.
    pub(crate) partition: PartitionId,
    /// The shard that owns it.
    pub(crate) shard: ShardId,
}

impl Ctx<'_> {
    /// The partition of `topic`, if this node holds a replica of it.
    pub(crate) fn place(&self, topic: &TopicImage, index: i32) -> Result<Place, ErrorCode> {
        let index = PartitionIndex(index);
        let found = topic.partition(index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        if !found.replicas.contains(&self.settings.node()) {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let partition = PartitionId { topic: topic.id, index };
        Ok(Place { partition, shard: shard_of(&topic.name, index, self.settings.shards) })
    }

    /// The partition of the topic with this name, if this node holds a replica of it.
    pub(crate) fn place_by_name(&self, topic: &str, index: i32) -> Result<Place, ErrorCode> {
        let topic = self.image.topic(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        self.place(topic, index)
    }

    /// Where this client reaches a node: the address that the node advertises on the client's
    /// listener or, on a single node that advertises none, the address the client dialled.
    pub(crate) fn address(&self, node: NodeId) -> Option<(String, u16)> {
        self.address_of(self.image.brokers.get(&node)?)
    }

    /// See [`Self::address`].
    pub(crate) fn address_of(&self, broker: &BrokerImage) -> Option<(String, u16)> {
        let (host, port) = &self.settings.local;
        if is_alone(self.settings, self.image) && broker.id == self.settings.node() {
            return Some((host.to_string(), *port));
        }
        let endpoint = broker.endpoints.iter().find(|e| *e.listener == *self.settings.listener)?;
        // A node may advertise a port alone: its host is then the one that clients dial.
        let host = if endpoint.host.is_empty() { host } else { &*endpoint.host };
        Some((host.to_owned(), endpoint.port))
    }

    /// Whether a node serves this client now.
    pub(crate) fn is_alive(&self, node: NodeId) -> bool {
        let broker = self.image.brokers.get(&node);
        broker.is_some_and(|broker| !broker.fenced && self.address_of(broker).is_some())
    }

    /// The node to send administrative requests to: this one, which passes them on.
    pub(crate) fn controller_for_clients(&self) -> i32 {
        let own = self.settings.node();
        if self.image.brokers.contains_key(&own) { own.0 } else { -1 }
    }

    /// Replicas that do not serve this client now.
    pub(crate) fn offline(&self, partition: &PartitionImage) -> Vec<i32> {
        let offline = partition.replicas.iter().filter(|node| !self.is_alive(**node));
        offline.map(|node| node.0).collect()
    }
}

/// Whether the cluster is this node alone, and no address was configured for clients.
fn is_alone(settings: &SessionSettings, image: &Image) -> bool {
    settings.config.advertised_listeners.is_none() && image.brokers.size() <= 1
}

/// The plain numbers of nodes.
pub(crate) fn numbers(nodes: &[NodeId]) -> Vec<i32> {
    nodes.iter().map(|node| node.0).collect()
}

/// Where a client finds the leader that this node is not: (leader, epoch).
pub(crate) fn leader_hint(image: &Image, partition: &PartitionId) -> Option<(NodeId, i32)> {
    let topic = image.topic_by_id(&partition.topic)?;
    let found = topic.partition(partition.index)?;
    Some((found.leader?, found.leader_epoch.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_name(name: &str, valid: bool) {
        assert_eq!(is_valid_topic_name(name), valid, "{name:?}");
    }

    #[test]
    fn names_of_topics() {
        check_name("orders", true);
        check_name("a.B_c-9", true);
        check_name(&"x".repeat(249), true);
        check_name(&"x".repeat(250), false);
        check_name("", false);
        check_name(".", false);
        check_name("..", false);
        check_name("...", true);
        check_name("a b", false);
        check_name("grün", false);
    }
}
