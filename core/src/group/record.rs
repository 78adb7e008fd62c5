//! What is remembered of groups: the facts that a coordinator writes to its partition of
//! `__consumer_offsets` and learns from it when it begins.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::{PartitionIndex, Timestamp};

use super::request::{Committed, GroupId, MemberId};

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
