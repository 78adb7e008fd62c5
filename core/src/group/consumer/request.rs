//! What members of consumer groups ask, and what they and operators are told.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ConsumerState;
use crate::group::record::{AboutMember, Current};
use crate::group::request::{GroupId, MemberId};
use crate::group::topics::Part;

/// A sign of life of a member, which is how it joins, changes and leaves too. What is not said is
/// as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerHeartbeat {
    /// The group.
    pub group: GroupId,
    /// The member, by an id that it chose; empty to be given one.
    pub member: MemberId,
    /// The epoch that it believes in; 0 to join, -1 to leave, -2 to leave and come back.
    pub epoch: i32,
    /// The instance of a static member.
    pub instance: Option<Arc<str>>,
    /// Where it is.
    pub rack: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Its address, `/` in front as Kafka writes it.
    pub client_host: Arc<str>,
    /// Milliseconds that it may take to give up partitions.
    pub rebalance_timeout_ms: Option<i32>,
    /// The topics that it reads.
    pub topics: Option<BTreeSet<Arc<str>>>,
    /// Which topics it reads besides, by their names; empty for none.
    pub pattern: Option<Arc<str>>,
    /// The assignor that it wants.
    pub assignor: Option<Arc<str>>,
    /// What it owns.
    pub owned: Option<BTreeSet<Part>>,
    /// Whether it has to choose an id (from version 1 on).
    pub chooses_id: bool,
}

/// What a member is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerBeat {
    /// Who it is.
    pub member: MemberId,
    /// Its epoch.
    pub epoch: i32,
    /// Milliseconds after which it shall be heard of again.
    pub interval_ms: i32,
    /// What it may read, if that is news.
    pub assigned: Option<BTreeSet<Part>>,
}

/// A consumer group as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerDescription {
    /// Its state.
    pub state: ConsumerState,
    /// Its epoch.
    pub epoch: i32,
    /// The epoch that the target assignment was made for.
    pub target_epoch: i32,
    /// Who makes target assignments.
    pub assignor: Arc<str>,
    /// Who is in it.
    pub members: Vec<ConsumerMember>,
}

/// A member of a consumer group as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerMember {
    /// Its id.
    pub member: MemberId,
    /// What it said.
    pub about: AboutMember,
    /// Where it is.
    pub current: Current,
    /// What it shall own.
    pub target: BTreeSet<Part>,
}
