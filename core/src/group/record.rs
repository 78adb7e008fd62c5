//! What is remembered of groups: the facts that a coordinator writes to its partition of
//! `__consumer_offsets` and learns from it when it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::{PartitionIndex, Timestamp};

use super::request::{Committed, GroupId, MemberId};
use super::topics::Part;

/// A fact. Without a value: it holds no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A committed offset.
    Offset {
        /// Whose.
        group: GroupId,
        /// The topic's name.
        topic: Arc<str>,
        /// The partition.
        partition: PartitionIndex,
        /// The position.
        value: Option<Committed>,
    },
    /// A classic group: the generation that was last complete, or that it is empty.
    Group {
        /// Which.
        group: GroupId,
        /// What it was.
        value: Option<GroupValue>,
    },
    /// Something about a consumer group.
    Consumer {
        /// Which.
        group: GroupId,
        /// What.
        fact: Fact,
    },
}

impl Record {
    /// The group that it is about.
    #[must_use]
    pub fn group(&self) -> &GroupId {
        match self {
            Self::Offset { group, .. }
            | Self::Group { group, .. }
            | Self::Consumer { group, .. } => group,
        }
    }
}

/// A fact about a consumer group. Without a value: it holds no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The group's epoch and the hash of the topics that it reads.
    Epoch(Option<EpochValue>),
    /// What a member said.
    Member(MemberId, Option<AboutMember>),
    /// The epoch of the group that the target assignment was made for, and when.
    TargetEpoch(Option<(i32, Timestamp)>),
    /// What a member shall own.
    Target(MemberId, Option<BTreeSet<Part>>),
    /// What a member owns, and its epoch.
    Current(MemberId, Option<Current>),
    /// The topics that a pattern stands for.
    Pattern(Arc<str>, Option<PatternValue>),
}

impl Fact {
    /// Whether it says that something holds no longer.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match self {
            Self::Epoch(value) => value.is_none(),
            Self::Member(_, value) => value.is_none(),
            Self::TargetEpoch(value) => value.is_none(),
            Self::Target(_, value) => value.is_none(),
            Self::Current(_, value) => value.is_none(),
            Self::Pattern(_, value) => value.is_none(),
        }
    }
}

/// A consumer group's epoch as it is remembered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EpochValue {
    /// Rises with each change of members, subscriptions or topics.
    pub epoch: i32,
    /// Of the topics that it reads.
    pub hash: i64,
}

/// What a member of a consumer group said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutMember {
    /// The instance of a static member.
    pub instance: Option<Arc<str>>,
    /// Where it is.
    pub rack: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Its address.
    pub client_host: Arc<str>,
    /// The topics that it reads.
    pub topics: BTreeSet<Arc<str>>,
    /// Which topics it reads besides, by their names.
    pub pattern: Option<Arc<str>>,
    /// Milliseconds that it may take to give up partitions.
    pub rebalance_timeout_ms: i32,
    /// The assignor that it wants.
    pub assignor: Option<Arc<str>>,
    /// What a member of the classic protocol has besides.
    pub classic: Option<ClassicPart>,
}

/// What a member of a consumer group that uses the classic protocol has besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicPart {
    /// Milliseconds without a sign of life after which it is out.
    pub session_timeout_ms: i32,
    /// What it can do, best first: name and metadata.
    pub protocols: Vec<(Arc<str>, Bytes)>,
}

/// Partitions that a member owns, each with the member's epoch when it got it.
pub type Owned = BTreeMap<Part, i32>;

/// Where a member of a consumer group is between what it owned and what it shall own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Current {
    /// Its epoch: that of the target assignment that it follows.
    pub epoch: i32,
    /// The one before, which it still has if it missed an answer.
    pub previous_epoch: i32,
    /// What it waits for.
    pub state: MemberState,
    /// What it may read.
    pub assigned: Owned,
    /// What it has to give up, and owns until then.
    pub revoking: Owned,
}

/// What a member of a consumer group waits for (Kafka's `MemberState`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum MemberState {
    /// Nothing: it has all that it shall have.
    #[default]
    Stable,
    /// For itself: it has to give up partitions.
    Unrevoked,
    /// For others: they have to give up partitions.
    Unreleased,
    /// A state that a newer broker left behind.
    Unknown(i8),
}

/// A pattern of topics as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternValue {
    /// The names that it matched.
    pub topics: BTreeSet<Arc<str>>,
    /// The offset of the metadata that they were found in.
    pub version: i64,
    /// When.
    pub at: Timestamp,
}

/// A classic group as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupValue {
    /// `consumer`, `connect`, …; empty for none.
    pub protocol_type: Arc<str>,
    /// The generation.
    pub generation: i32,
    /// The protocol chosen; none for an empty group.
    pub protocol: Option<Arc<str>>,
    /// Who computed the assignment; none for an empty group.
    pub leader: Option<MemberId>,
    /// When it came into this state.
    pub since: Timestamp,
    /// Who is in it.
    pub members: Vec<MemberValue>,
}

/// A member as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberValue {
    /// Its id.
    pub member: MemberId,
    /// The instance of a static member.
    pub instance: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Its address.
    pub client_host: Arc<str>,
    /// See [`super::request::Join`].
    pub rebalance_timeout_ms: i32,
    /// See [`super::request::Join`].
    pub session_timeout_ms: i32,
    /// What it said for the protocol chosen.
    pub subscription: Bytes,
    /// What it was assigned.
    pub assignment: Bytes,
}
