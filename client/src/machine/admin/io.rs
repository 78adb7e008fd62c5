//! Inputs and effects of an admin client.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp, TopicId, Uuid};
use thiserror::Error;

use super::{GroupCall, GroupReply};
use crate::machine::{BrokerInfo, NetEffect, NetInput, PartitionInfo, Token, TopicPartition};

/// What an admin client reacts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened to a connection.
    Net(NetInput),
    /// Do this. Answered by one [`Effect::Done`].
    Call {
        /// Repeated in the answer.
        token: Token,
        /// What to do.
        call: Call,
    },
    /// Fail the calls under way and close all connections.
    Close,
    /// The deadline passed.
    Tick,
}

impl From<NetInput> for Input {
    fn from(input: NetInput) -> Self {
        Self::Net(input)
    }
}

/// What an admin client wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Something about connections.
    Net(NetEffect),
    /// A call is over.
    Done {
        /// Which call.
        token: Token,
        /// Its result.
        result: Result<Reply, AdminError>,
    },
}

impl From<NetEffect> for Effect {
    fn from(effect: NetEffect) -> Self {
        Self::Net(effect)
    }
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Create topics. Gives [`Reply::Each`], by topic.
    CreateTopics(Vec<NewTopic>),
    /// Delete topics. Gives [`Reply::Each`], by topic.
    DeleteTopics(Vec<Arc<str>>),
    /// Describe these topics, or all for `None`. Gives [`Reply::Topics`].
    DescribeTopics(Option<Vec<Arc<str>>>),
    /// Raise the number of partitions of topics to this. Gives [`Reply::Each`], by topic.
    CreatePartitions(Vec<(Arc<str>, i32)>),
    /// Read the settings of resources. Gives [`Reply::Configs`].
    DescribeConfigs(Vec<ConfigResource>),
    /// Change settings of resources. Gives [`Reply::Each`], by name of the resource.
    AlterConfigs(Vec<(ConfigResource, Vec<ConfigChange>)>),
    /// Delete the records before an offset; -1 deletes all. Gives [`Reply::Offsets`]: the new start
    /// of each log.
    DeleteRecords(Vec<(TopicPartition, Offset)>),
    /// Find offsets. Gives [`Reply::Offsets`].
    ListOffsets(Vec<(TopicPartition, OffsetSpec)>),
    /// Describe the cluster. Gives [`Reply::Cluster`].
    DescribeCluster,
    /// Describe the metadata quorum. Gives [`Reply::Quorum`].
    DescribeQuorum,
    /// Something about groups. Gives [`Reply::Group`].
    Group(GroupCall),
}

/// A topic to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Number of partitions; -1 lets the broker choose.
    pub partitions: i32,
    /// Number of replicas; -1 lets the broker choose.
    pub replication_factor: i16,
    /// Settings that differ from the broker's defaults.
    pub configs: Vec<(String, String)>,
}

/// Something that has settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigResource {
    /// A topic.
    Topic(Arc<str>),
    /// A broker; `None` is the default of all brokers.
    Broker(Option<NodeId>),
}

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigChange {
    /// Give it a value.
    Set(String, String),
    /// Let the default hold.
    Delete(String),
    /// Add to a list.
    Append(String, String),
    /// Remove from a list.
    Subtract(String, String),
}

/// Which offset to find.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// That of the first record.
    Earliest,
    /// That after the last record.
    Latest,
    /// That of the record with the largest timestamp.
    MaxTimestamp,
    /// That of the first record of this time or later.
    Timestamp(Timestamp),
}

/// Result of a call as a whole; items may have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Success or failure of each item.
    Each(BTreeMap<Arc<str>, Result<(), ItemError>>),
    /// Topics.
    Topics(BTreeMap<Arc<str>, Result<TopicDescription, ItemError>>),
    /// Settings.
    Configs(BTreeMap<ConfigResource, Result<Vec<ConfigEntry>, ItemError>>),
    /// Offsets.
    Offsets(BTreeMap<TopicPartition, Result<FoundOffset, ItemError>>),
    /// The cluster.
    Cluster(ClusterDescription),
    /// The metadata quorum.
    Quorum(QuorumDescription),
    /// Something about groups.
    Group(GroupReply),
}

/// Why one item of a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code}{}", message.as_ref().map_or_else(String::new, |text| format!(": {text}")))]
pub struct ItemError {
    /// The broker's error code.
    pub code: ErrorCode,
    /// The broker's explanation.
    pub message: Option<String>,
}

/// Why a call failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AdminError {
    /// `default.api.timeout.ms` passed.
    #[error("no answer within default.api.timeout.ms ({0})")]
    TimedOut(
        /// What was waited for last.
        &'static str,
    ),
    /// No broker that can be reached knows the request.
    #[error("the brokers do not support {0}")]
    Unsupported(
        /// The request.
        &'static str,
    ),
    /// The request cannot be written in the version that the broker speaks.
    #[error("the request cannot be made: {0}")]
    Unencodable(
        /// What is wrong.
        String,
    ),
    /// The broker refused the request as a whole.
    #[error(transparent)]
    Refused(#[from] ItemError),
    /// The client was closed.
    #[error("the admin client is closed")]
    Closed,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its id; zero if the broker has none.
    pub id: TopicId,
    /// Whether it serves the cluster itself.
    pub internal: bool,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionInfo>,
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; `None` if it is null or secret.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it cannot be changed.
    pub read_only: bool,
    /// Whether it is secret.
    pub sensitive: bool,
}

/// Where the value of a setting comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Set on the topic.
    Topic,
    /// Set on the broker while it ran.
    DynamicBroker,
    /// Set for all brokers while they ran.
    DynamicDefaultBroker,
    /// Set in the broker's configuration at its start.
    StaticBroker,
    /// The default.
    Default,
    /// Anything else, by its number.
    Other(i8),
}

/// An offset that was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The offset; -1 for none.
    pub offset: Offset,
    /// Timestamp of the record; -1 if unknown.
    pub timestamp: Timestamp,
    /// Leader epoch of the record; -1 if unknown.
    pub leader_epoch: LeaderEpoch,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id.
    pub id: Option<String>,
    /// The controller, as far as clients may know it.
    pub controller: Option<NodeId>,
    /// Its brokers.
    pub brokers: Vec<BrokerInfo>,
}

/// The metadata quorum, as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumDescription {
    /// The leader.
    pub leader: Option<NodeId>,
    /// Its epoch.
    pub epoch: LeaderEpoch,
    /// Everything below is committed.
    pub high_watermark: Offset,
    /// Those that vote.
    pub voters: Vec<QuorumReplica>,
    /// Those that only follow.
    pub observers: Vec<QuorumReplica>,
}

/// A member of the metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumReplica {
    /// Its node.
    pub node: NodeId,
    /// Id of the directory that holds its metadata log; zero if the voters are static.
    pub directory: Uuid,
    /// The offset behind its last record; -1 if unknown.
    pub log_end: Offset,
    /// When it last fetched; -1 if unknown.
    pub last_fetch: Timestamp,
    /// When it last had everything that the leader has; -1 if unknown.
    pub last_caught_up: Timestamp,
}
