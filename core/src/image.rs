//! The image: a node's picture of the cluster's metadata at one offset of the metadata log.
//!
//! An image never changes; `controller::apply` makes the next one, which shares all that stayed
//! the same. Everything outside the control unit reads images and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerId, TopicId, Uuid};
use rpds::RedBlackTreeMapSync;

use crate::config::broker::BrokerConfig;
use crate::config::topic::TopicConfig;

/// Config overrides of one resource.
pub type Overrides = Arc<BTreeMap<String, String>>;

/// The metadata at [`Image::offset`].
#[derive(Clone, Debug)]
pub struct Image {
    /// The last metadata record applied; -1 when there is none.
    pub offset: Offset,
    /// The quorum epoch of that record.
    pub epoch: LeaderEpoch,
    /// The cluster's id.
    pub cluster_id: Arc<str>,
    /// The node whose image this is; its static settings decide config defaults.
    pub local: Arc<BrokerConfig>,
    /// The controller that leads the quorum.
    pub controller: Option<NodeId>,
    /// Topics by name.
    pub topics: RedBlackTreeMapSync<Arc<str>, Arc<TopicImage>>,
    /// Names of topics by id.
    pub topic_names: RedBlackTreeMapSync<TopicId, Arc<str>>,
    /// Registered brokers.
    pub brokers: RedBlackTreeMapSync<NodeId, Arc<BrokerImage>>,
    /// Registered controllers.
    pub controllers: RedBlackTreeMapSync<NodeId, Arc<ControllerImage>>,
    /// Config overrides by (resource type, resource name).
    pub configs: RedBlackTreeMapSync<(i8, Arc<str>), Overrides>,
    /// Finalized feature levels.
    pub features: RedBlackTreeMapSync<Arc<str>, i16>,
    /// The first producer id that no block holds yet.
    pub next_producer_id: ProducerId,
}

/// One topic.
#[derive(Clone, Debug)]
pub struct TopicImage {
    /// Its name.
    pub name: Arc<str>,
    /// Its id, never used again.
    pub id: TopicId,
    /// Its partitions; the index is the partition's number.
    pub partitions: Vec<Arc<PartitionImage>>,
    /// Its settings as they hold on this node (derived: overrides over broker settings over
    /// defaults; not part of the replicated state).
    pub config: Arc<TopicConfig>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionImage {
    /// Brokers that hold it, the preferred leader first.
    pub replicas: Vec<NodeId>,
    /// Those in sync.
    pub isr: Vec<NodeId>,
    /// Log directory of each replica.
    pub directories: Vec<Uuid>,
    /// Eligible leader replicas.
    pub elr: Vec<NodeId>,
    /// Members of the last known eligible set.
    pub last_known_elr: Vec<NodeId>,
    /// Replicas on their way out.
    pub removing: Vec<NodeId>,
    /// Replicas on their way in.
    pub adding: Vec<NodeId>,
    /// Who leads, if anyone.
    pub leader: Option<NodeId>,
    /// Whether the leader was elected uncleanly and has not said otherwise.
    pub recovering: bool,
    /// Rises with each leader.
    pub leader_epoch: LeaderEpoch,
    /// Rises with each change of this record.
    pub partition_epoch: i32,
}

/// One broker as it registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerImage {
    /// Its id.
    pub id: NodeId,
    /// Its registration: the offset of that record.
    pub epoch: i64,
    /// The run of the process that registered.
    pub incarnation: Uuid,
    /// Where it can be reached: (listener, host, port, security protocol).
    pub endpoints: Vec<Endpoint>,
    /// Its rack.
    pub rack: Option<String>,
    /// Not serving clients (yet, or any more).
    pub fenced: bool,
    /// Leaving in an orderly way.
    pub shutting_down: bool,
    /// Ids of its log directories.
    pub log_dirs: Vec<Uuid>,
    /// Feature levels it supports: (name, min, max).
    pub features: Vec<(String, i16, i16)>,
}

/// One controller as it registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerImage {
    /// Its id.
    pub id: NodeId,
    /// The run of the process that registered.
    pub incarnation: Uuid,
    /// Where it can be reached.
    pub endpoints: Vec<Endpoint>,
    /// Feature levels it supports: (name, min, max).
    pub features: Vec<(String, i16, i16)>,
}

/// An address of a broker or controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub listener: String,
    /// Host to dial.
    pub host: String,
    /// Port to dial.
    pub port: u16,
    /// Kafka's code of the security protocol: 0 PLAINTEXT.
    pub security: i16,
}

/// Resource types of configs.
pub mod resource {
    /// A topic.
    pub const TOPIC: i8 = 2;
    /// A broker; the empty name is the default of all.
    pub const BROKER: i8 = 4;
    /// A group, of whatever protocol, whether it exists or not.
    pub const GROUP: i8 = 32;
}

impl Image {
    /// The metadata of a cluster in which nothing has happened yet.
    #[must_use]
    pub fn empty(cluster_id: Arc<str>, local: Arc<BrokerConfig>) -> Self {
        Self {
            offset: Offset(-1),
            epoch: LeaderEpoch(0),
            cluster_id,
            local,
            controller: None,
            topics: RedBlackTreeMapSync::new_sync(),
            topic_names: RedBlackTreeMapSync::new_sync(),
            brokers: RedBlackTreeMapSync::new_sync(),
            controllers: RedBlackTreeMapSync::new_sync(),
            configs: RedBlackTreeMapSync::new_sync(),
            features: RedBlackTreeMapSync::new_sync(),
            next_producer_id: ProducerId(0),
        }
    }

    /// A topic by name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topics.get(name)
    }

    /// A topic by id.
    #[must_use]
    pub fn topic_by_id(&self, id: &TopicId) -> Option<&Arc<TopicImage>> {
        self.topic_names.get(id).and_then(|name| self.topics.get(name))
    }

    /// Config overrides of a resource, empty when it has none.
    #[must_use]
    pub fn overrides(&self, resource_type: i8, name: &str) -> Overrides {
        self.configs.get(&(resource_type, Arc::from(name))).cloned().unwrap_or_default()
    }

    /// Dynamic configs of this node, and those of all brokers.
    #[must_use]
    pub fn broker_overrides(&self) -> (Overrides, Overrides) {
        let own = self.local.node_id.to_string();
        (self.overrides(resource::BROKER, &own), self.overrides(resource::BROKER, ""))
    }
}

impl TopicImage {
    /// A partition by number.
    #[must_use]
    pub fn partition(&self, index: PartitionIndex) -> Option<&Arc<PartitionImage>> {
        usize::try_from(index.0).ok().and_then(|at| self.partitions.get(at))
    }
}
