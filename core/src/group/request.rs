//! What clients ask of a coordinator, and what they are told, without wire versions.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};

use super::classic::ClassicState;
use super::consumer::ConsumerState;
pub use super::consumer::request::{
    ConsumerBeat, ConsumerDescription, ConsumerHeartbeat, ConsumerMember,
};
use crate::mail::Refusal;

/// A group's name.
pub type GroupId = Arc<str>;

/// A member's id, given by the coordinator.
pub type MemberId = Arc<str>;

/// A request to the coordinator of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// JoinGroup.
    Join(Join),
    /// SyncGroup.
    Sync(Sync),
    /// Heartbeat.
    Heartbeat(Caller),
    /// LeaveGroup.
    Leave(Leave),
    /// ConsumerGroupHeartbeat.
    ConsumerHeartbeat(Box<ConsumerHeartbeat>),
    /// ConsumerGroupDescribe, of one group.
    DescribeConsumer(GroupId),
    /// OffsetCommit.
    Commit(Commit),
    /// OffsetFetch, of one group.
    Fetch(Fetch),
    /// OffsetDelete.
    DeleteOffsets(DeleteOffsets),
    /// ListGroups: every group that this coordinator has.
    List,
    /// DescribeGroups, of one group.
    Describe(GroupId),
    /// DeleteGroups, of one group.
    Delete(GroupId),
}

impl Request {
    /// Whether it is about members, not of one.
    pub(super) fn is_of_operator(&self) -> bool {
        match self {
            Self::List | Self::Describe(_) | Self::DescribeConsumer(_) => true,
            Self::Delete(_) | Self::DeleteOffsets(_) => true,
            Self::Join(_) | Self::Sync(_) | Self::Heartbeat(_) | Self::Leave(_) => false,
            Self::ConsumerHeartbeat(_) | Self::Commit(_) | Self::Fetch(_) => false,
        }
    }

    /// The answer that says no more than that it could not be done.
    #[must_use]
    pub fn refused(&self, code: ErrorCode) -> Answer {
        match self {
            Self::Join(join) => {
                let member = join.member.clone();
                Answer::Joined(Err(JoinRefusal { code, member }))
            }
            Self::Sync(_) => Answer::Synced(Err(code)),
            Self::Heartbeat(_) => Answer::Beaten(code),
            Self::Leave(_) => Answer::Left(Err(code)),
            Self::ConsumerHeartbeat(_) => Answer::ConsumerBeaten(Err(code.into())),
            Self::DescribeConsumer(_) => Answer::ConsumerDescribed(Err(code.into())),
            Self::Commit(_) => Answer::Committed(Err(code)),
            Self::Fetch(_) => Answer::Fetched(Err(code)),
            Self::DeleteOffsets(_) => Answer::OffsetsDeleted(Err(code)),
            Self::List => Answer::Listed(Err(code)),
            Self::Describe(_) => Answer::Described(Err(code.into())),
            Self::Delete(_) => Answer::Deleted(code),
        }
    }
}

/// A member that says who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The group.
    pub group: GroupId,
    /// The member; empty for none.
    pub member: MemberId,
    /// The instance of a static member (KIP-345).
    pub instance: Option<Arc<str>>,
    /// The generation (or member epoch) that the member believes in; -1 for none.
    pub generation: i32,
}

/// A member that wants in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The group.
    pub group: GroupId,
    /// The id that it has; empty when it comes for the first time.
    pub member: MemberId,
    /// The instance of a static member (KIP-345).
    pub instance: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Its address, `/` in front as Kafka writes it.
    pub client_host: Arc<str>,
    /// Milliseconds without a sign of life after which it is out.
    pub session_timeout_ms: i32,
    /// Milliseconds that it may take to join again when the group rebalances.
    pub rebalance_timeout_ms: i32,
    /// `consumer`, `connect`, …
    pub protocol_type: Arc<str>,
    /// What it can do, best first: name and metadata.
    pub protocols: Vec<(Arc<str>, Bytes)>,
    /// Whether it may be asked to come again with an id (KIP-394: from version 4 on).
    pub needs_member_id: bool,
    /// Whether it understands that a leader may skip the assignment (KIP-814: from version 9 on).
    pub can_skip_assignment: bool,
    /// Why, in its own words (KIP-800).
    pub reason: Option<Arc<str>>,
}

/// A join that was refused. The id is the one to come again with, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRefusal {
    /// Kafka's error code.
    pub code: ErrorCode,
    /// The id that it has, or with MEMBER_ID_REQUIRED the one that it is given.
    pub member: MemberId,
}

/// A member of a new generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The generation.
    pub generation: i32,
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The protocol chosen.
    pub protocol: Arc<str>,
    /// Who computes the assignment.
    pub leader: MemberId,
    /// Who the member is.
    pub member: MemberId,
    /// Whether a leader need not compute an assignment (KIP-814).
    pub skip_assignment: bool,
    /// For the leader only: everyone, with the metadata for the protocol chosen.
    pub members: Vec<JoinedMember>,
}

/// One of the members that a leader assigns to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its id.
    pub member: MemberId,
    /// The instance of a static member.
    pub instance: Option<Arc<str>>,
    /// What it said for the protocol chosen.
    pub metadata: Bytes,
}

/// A member that asks for its assignment, the leader with everyone's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sync {
    /// Who asks.
    pub caller: Caller,
    /// The protocol type that it believes in, from version 5 on.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol that it believes in, from version 5 on.
    pub protocol: Option<Arc<str>>,
    /// By the leader: an assignment for each member.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// A member's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The protocol chosen.
    pub protocol: Arc<str>,
    /// What the leader gave it.
    pub assignment: Bytes,
}

/// A member that leaves: its id (empty to go by the instance alone), its instance, its reason.
pub type Leaver = (MemberId, Option<Arc<str>>, Option<Arc<str>>);

/// Members that leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The group.
    pub group: GroupId,
    /// Who.
    pub members: Vec<Leaver>,
}

/// Offsets to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Who commits; without a member and generation, somebody who assigns by hand.
    pub caller: Caller,
    /// Whether it understands what members of the consumer protocol are told (KIP-848: from
    /// version 9 on).
    pub knows_epochs: bool,
    /// What to keep.
    pub offsets: Vec<CommitPart>,
}

/// An offset of one partition to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPart {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The topic's id, when it is known.
    pub topic_id: Option<TopicId>,
    /// The partition.
    pub partition: PartitionIndex,
    /// What to keep.
    pub value: Committed,
}

/// A committed position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The next offset to read.
    pub offset: Offset,
    /// Epoch of the record before it; -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// Whatever the client wants to remember.
    pub metadata: Arc<str>,
    /// When it was committed; the coordinator stamps it, whatever a request says.
    pub at: Timestamp,
    /// When it may be forgotten, for old clients that say so.
    pub expires: Option<Timestamp>,
    /// The topic's id, when it was known.
    pub topic_id: Option<TopicId>,
}

/// Which committed offsets to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Whose.
    pub group: GroupId,
    /// The member of a consumer group that asks, with its epoch (KIP-848); none for somebody who
    /// does not say.
    pub member: Option<(MemberId, i32)>,
    /// Which; none for all.
    pub partitions: Option<Vec<(Arc<str>, PartitionIndex)>>,
}

/// What was found: nothing for a partition without a committed offset.
pub type Found = Vec<(Arc<str>, PartitionIndex, Option<Committed>)>;

/// Which committed offsets to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOffsets {
    /// Whose.
    pub group: GroupId,
    /// Which.
    pub partitions: Vec<(Arc<str>, PartitionIndex)>,
}

/// An answer of the coordinator.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`Request::Join`].
    Joined(Result<Joined, JoinRefusal>),
    /// To [`Request::Sync`].
    Synced(Result<Synced, ErrorCode>),
    /// To [`Request::Heartbeat`].
    Beaten(ErrorCode),
    /// To [`Request::Leave`]: a code for each member, in the request's order.
    Left(Result<Vec<ErrorCode>, ErrorCode>),
    /// To [`Request::ConsumerHeartbeat`].
    ConsumerBeaten(Result<ConsumerBeat, Refusal>),
    /// To [`Request::DescribeConsumer`].
    ConsumerDescribed(Result<ConsumerDescription, Refusal>),
    /// To [`Request::Commit`]: a code for each offset, in the request's order.
    Committed(Result<Vec<ErrorCode>, ErrorCode>),
    /// To [`Request::Fetch`].
    Fetched(Result<Found, ErrorCode>),
    /// To [`Request::DeleteOffsets`]: a code for each partition, in the request's order.
    OffsetsDeleted(Result<Vec<ErrorCode>, ErrorCode>),
    /// To [`Request::List`].
    Listed(Result<Vec<ListedGroup>, ErrorCode>),
    /// To [`Request::Describe`].
    Described(Result<Description, Refusal>),
    /// To [`Request::Delete`].
    Deleted(ErrorCode),
}

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its name.
    pub group: GroupId,
    /// `consumer`, …; empty for one that only has offsets.
    pub protocol_type: Arc<str>,
    /// Its state.
    pub state: GroupState,
}

/// The state of a group of either kind.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// Of one whose members assign among themselves.
    Classic(ClassicState),
    /// Of one whose coordinator assigns.
    Consumer(ConsumerState),
}

impl GroupState {
    /// The type of such groups, in ListGroups.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic(state) => state.name(),
            Self::Consumer(state) => state.name(),
        }
    }
}

/// A group as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its state.
    pub state: ClassicState,
    /// `consumer`, …; empty for one that only has offsets.
    pub protocol_type: Arc<str>,
    /// The protocol chosen; empty while there is none.
    pub protocol: Arc<str>,
    /// Who is in it.
    pub members: Vec<DescribedMember>,
}

/// A member as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// Its id.
    pub member: MemberId,
    /// The instance of a static member.
    pub instance: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Its address.
    pub client_host: Arc<str>,
    /// What it said for the protocol chosen.
    pub metadata: Bytes,
    /// What it was assigned.
    pub assignment: Bytes,
}

impl Answer {
    /// The same kind of answer, saying that it could not be done.
    #[must_use]
    pub fn refused(self, code: ErrorCode) -> Self {
        match self {
            Self::Joined(joined) => {
                let member = match joined {
                    Ok(joined) => joined.member,
                    Err(refusal) => refusal.member,
                };
                Self::Joined(Err(JoinRefusal { code, member }))
            }
            Self::Synced(_) => Self::Synced(Err(code)),
            Self::Beaten(_) => Self::Beaten(code),
            Self::Left(_) => Self::Left(Err(code)),
            Self::ConsumerBeaten(_) => Self::ConsumerBeaten(Err(code.into())),
            Self::ConsumerDescribed(_) => Self::ConsumerDescribed(Err(code.into())),
            Self::Committed(_) => Self::Committed(Err(code)),
            Self::Fetched(_) => Self::Fetched(Err(code)),
            Self::OffsetsDeleted(_) => Self::OffsetsDeleted(Err(code)),
            Self::Listed(_) => Self::Listed(Err(code)),
            Self::Described(_) => Self::Described(Err(code.into())),
            Self::Deleted(_) => Self::Deleted(code),
        }
    }
}
