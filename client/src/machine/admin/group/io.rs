//! Calls about groups, and their results.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset};

use super::{GroupState, GroupType};
use crate::machine::TopicPartition;
use crate::machine::admin::ItemError;

/// Something to do with groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupCall {
    /// List the groups of all brokers. Gives [`GroupReply::Listing`].
    List(GroupFilter),
    /// Describe groups. Gives [`GroupReply::Described`].
    Describe(Vec<Arc<str>>),
    /// Delete groups that have no members. Gives [`GroupReply::Deleted`].
    Delete(Vec<Arc<str>>),
    /// Find the committed offsets of groups: of these partitions, or of all for `None`. Gives
    /// [`GroupReply::Offsets`].
    ListOffsets(Vec<(Arc<str>, Option<Vec<TopicPartition>>)>),
    /// Commit offsets for a group without members. Gives [`GroupReply::Partitions`].
    AlterOffsets {
        /// The group; it need not exist.
        group: Arc<str>,
        /// What to commit.
        offsets: Vec<(TopicPartition, CommittedOffset)>,
    },
    /// Forget committed offsets of topics that no member subscribes to. Gives
    /// [`GroupReply::Partitions`].
    DeleteOffsets {
        /// The group.
        group: Arc<str>,
        /// Whose offsets to forget.
        partitions: Vec<TopicPartition>,
    },
    /// Remove members from a classic group. Gives [`GroupReply::Members`].
    RemoveMembers {
        /// The group.
        group: Arc<str>,
        /// The members.
        members: Vec<MemberIdentity>,
        /// Why, for the broker's log.
        reason: Option<String>,
    },
}

/// Which groups to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFilter {
    /// Those in one of these states; in any for none.
    pub states: Vec<GroupState>,
    /// Those of one of these types; of any for none.
    pub types: Vec<GroupType>,
}

/// Result of a call about groups; items may have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupReply {
    /// The groups.
    Listing(GroupListing),
    /// Descriptions by group.
    Described(BTreeMap<Arc<str>, Result<GroupDescription, ItemError>>),
    /// Success or failure by group.
    Deleted(BTreeMap<Arc<str>, Result<(), ItemError>>),
    /// Committed offsets by group.
    Offsets(BTreeMap<Arc<str>, Result<GroupOffsets, ItemError>>),
    /// Success or failure by partition.
    Partitions(BTreeMap<TopicPartition, Result<(), ItemError>>),
    /// Success or failure by member.
    Members(BTreeMap<MemberIdentity, Result<(), ItemError>>),
}

/// What the brokers said of their groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupListing {
    /// The groups, by id.
    pub groups: BTreeMap<Arc<str>, ListedGroup>,
    /// Brokers that did not tell; their groups are missing.
    pub failed: BTreeMap<NodeId, ItemError>,
}

/// A group in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The broker that listed it.
    pub coordinator: NodeId,
    /// Kind of protocol the members speak, `consumer` for consumers; empty if only offsets were
    /// committed.
    pub protocol_type: String,
    /// What the group is doing.
    pub state: GroupState,
    /// Which protocol it speaks.
    pub group_type: GroupType,
}

/// A group and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// The broker that answered.
    pub coordinator: NodeId,
    /// Which protocol the group speaks.
    pub group_type: GroupType,
    /// What it is doing.
    pub state: GroupState,
    /// Kind of protocol the members speak, `consumer` for consumers.
    pub protocol_type: String,
    /// How partitions are assigned; empty for none.
    pub assignor: String,
    /// Epoch of the group, and the epoch of which the assignment is; only with
    /// [`GroupType::Consumer`].
    pub epochs: Option<(i32, i32)>,
    /// The members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its id.
    pub id: String,
    /// Id that the user gave to it, if it is static.
    pub instance_id: Option<String>,
    /// Its client id.
    pub client_id: String,
    /// Its address.
    pub host: String,
    /// Its epoch; only with [`GroupType::Consumer`].
    pub epoch: Option<i32>,
    /// Partitions that it reads, in order; none if the members do not speak the consumers' protocol.
    pub assignment: Vec<TopicPartition>,
    /// Partitions that it is meant to read; only with [`GroupType::Consumer`].
    pub target: Option<Vec<TopicPartition>>,
}

/// Committed offsets of one group: `None` where there is none.
pub type GroupOffsets = BTreeMap<TopicPartition, Result<Option<CommittedOffset>, ItemError>>;

/// How far a group has read a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// Offset of the next record.
    pub offset: Offset,
    /// Leader epoch of the last record; -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// A note of the client's.
    pub metadata: String,
}

impl CommittedOffset {
    /// An offset, with nothing else known.
    pub const fn new(offset: Offset) -> Self {
        Self { offset, leader_epoch: LeaderEpoch(-1), metadata: String::new() }
    }
}

/// By what a member is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberIdentity {
    /// The id that the broker gave to it.
    Member(String),
    /// The id that the user gave to it (`group.instance.id`).
    Instance(String),
}

impl fmt::Display for MemberIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(id) => f.write_str(id),
            Self::Instance(id) => write!(f, "group.instance.id={id}"),
        }
    }
}
