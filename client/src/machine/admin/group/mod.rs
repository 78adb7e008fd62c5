//! Calls about groups: what they are, whom to ask, what the answers say.
//!
//! A group is served by its coordinator alone, so each item of such a call waits until that is known
//! ([`Coordinators`]); a listing asks every broker instead, since each knows only its own groups.

mod coordinators;
mod io;
mod names;
mod read;
mod write;

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::id::NodeId;

pub use self::io::{
    CommittedOffset, GroupCall, GroupDescription, GroupFilter, GroupListing, GroupMember,
    GroupOffsets, GroupReply, ListedGroup, MemberIdentity,
};
pub use self::names::{GroupState, GroupType};

pub(super) use self::coordinators::Coordinators;
pub(super) use self::read::{empty_reply, fail_item, read};
pub(super) use self::write::{FIND_MANY, lookup, name, per_request, write};

/// What was found out about the items of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The brokers that a listing asks, by item; `None` until metadata has named them.
    pub(super) brokers: Option<Vec<NodeId>>,
    /// Groups that only the older request can describe, by item.
    pub(super) classic: BTreeSet<usize>,
}

/// Number of items of a call. A listing has one until its brokers are known.
pub(super) fn items(call: &GroupCall) -> usize {
    match call {
        GroupCall::List(_) => 1,
        GroupCall::Describe(groups) | GroupCall::Delete(groups) => groups.len(),
        GroupCall::ListOffsets(groups) => groups.len(),
        GroupCall::AlterOffsets { offsets, .. } => offsets.len(),
        GroupCall::DeleteOffsets { partitions, .. } => partitions.len(),
        GroupCall::RemoveMembers { members, .. } => members.len(),
    }
}

/// The group that an item is about; a listing is about none.
pub(super) fn group_of(call: &GroupCall, item: usize) -> Option<&Arc<str>> {
    match call {
        GroupCall::List(_) => None,
        GroupCall::Describe(groups) | GroupCall::Delete(groups) => Some(&groups[item]),
        GroupCall::ListOffsets(groups) => Some(&groups[item].0),
        GroupCall::AlterOffsets { group, .. }
        | GroupCall::DeleteOffsets { group, .. }
        | GroupCall::RemoveMembers { group, .. } => Some(group),
    }
}
