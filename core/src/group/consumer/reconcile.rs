//! One step of a member from what it owns towards what it shall own (Kafka's
//! `CurrentAssignmentBuilder`).
//!
//! A member that has to give up partitions keeps its epoch until it no longer names them; then it
//! takes on the epoch of the target assignment, with those of its partitions that nobody else
//! owns any more. So a partition has at most one owner at any time (G1), whatever answers are lost.

use std::collections::BTreeSet;

use dohle_wire::id::TopicId;

use crate::group::record::{Current, MemberState, Owned};
use crate::group::topics::Part;
use crate::mutant::{Mutant, Mutants};

/// What a member's step depends on.
pub(super) struct Goal<'a> {
    /// The epoch that the target assignment was made for.
    pub(super) epoch: i32,
    /// What the member shall own.
    pub(super) target: &'a BTreeSet<Part>,
    /// The topics that it reads now; what it shall own may be older.
    pub(super) subscribed: &'a BTreeSet<TopicId>,
    /// Whether it has just said that it reads other topics.
    pub(super) changed: bool,
    /// What it says that it owns; nothing said means: what it was given.
    pub(super) owned: Option<&'a BTreeSet<Part>>,
    /// Planted bugs.
    pub(super) mutants: Mutants,
}

impl Goal<'_> {
    fn still_owns_one_of(&self, revoked: &Owned) -> bool {
        self.owned.is_none_or(|owned| owned.iter().any(|part| revoked.contains_key(part)))
    }
}

/// Where a member is next, given whether a partition is owned by anyone.
pub(super) fn next(now: &Current, goal: &Goal<'_>, has_owner: impl Fn(&Part) -> bool) -> Current {
    match now.state {
        MemberState::Stable if now.epoch == goal.epoch && goal.changed => narrowed(now, goal),
        MemberState::Stable if now.epoch == goal.epoch => now.clone(),
        MemberState::Unrevoked if goal.still_owns_one_of(&now.revoking) => match goal.changed {
            true => narrowed(now, goal),
            false => now.clone(),
        },
        MemberState::Stable
        | MemberState::Unrevoked
        | MemberState::Unreleased
        | MemberState::Unknown(_) => advanced(now, goal, has_owner),
    }
}

/// Without partitions of topics that the member no longer reads.
fn narrowed(now: &Current, goal: &Goal<'_>) -> Current {
    let (kept, dropped) = split(&now.assigned, |(topic, _)| goal.subscribed.contains(topic));
    if dropped.is_empty() {
        return now.clone();
    }
    let mut revoking = now.revoking.clone();
    revoking.extend(dropped);
    if goal.still_owns_one_of(&revoking) {
        return moved(now, now.epoch, MemberState::Unrevoked, kept, revoking);
    }
    moved(now, now.epoch, now.state, kept, now.revoking.clone())
}

/// On the way to the target assignment, as far as others and the member itself let it.
fn advanced(now: &Current, goal: &Goal<'_>, has_owner: impl Fn(&Part) -> bool) -> Current {
    let target = || goal.target.iter().filter(|(topic, _)| goal.subscribed.contains(topic));
    let stays = |part: &Part| goal.target.contains(part) && goal.subscribed.contains(&part.0);
    let (kept, dropped) = split(&now.assigned, stays);
    if !dropped.is_empty() && goal.still_owns_one_of(&dropped) {
        let early = goal.mutants.has(Mutant::EpochBeforeRevocation);
        let epoch = if early { goal.epoch } else { now.epoch };
        return moved(now, epoch, MemberState::Unrevoked, kept, dropped);
    }
    // What it has given up itself is free, though it is still written that it owns it.
    let is_free = |part: &Part| !has_owner(part) || now.revoking.contains_key(part);
    let missing: Vec<Part> = target().filter(|part| !kept.contains_key(part)).copied().collect();
    let (free, taken): (Vec<Part>, Vec<Part>) = missing.into_iter().partition(is_free);
    let mut assigned = kept;
    assigned.extend(free.into_iter().map(|part| (part, goal.epoch)));
    let state = if taken.is_empty() { MemberState::Stable } else { MemberState::Unreleased };
    moved(now, goal.epoch, state, assigned, Owned::new())
}

fn split(owned: &Owned, keep: impl Fn(&Part) -> bool) -> (Owned, Owned) {
    owned.iter().map(|(part, epoch)| (*part, *epoch)).partition(|(part, _)| keep(part))
}

/// The member in an epoch, which may be the one that it is in.
fn moved(
    now: &Current,
    epoch: i32,
    state: MemberState,
    assigned: Owned,
    revoking: Owned,
) -> Current {
    Current { epoch, previous_epoch: now.epoch, state, assigned, revoking }
}
