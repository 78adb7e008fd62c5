//! Groups of the consumer protocol (KIP-848): members say what they read and hear what is theirs,
//! the coordinator assigns.
//!
//! There are three epochs. The group's rises whenever members, subscriptions or topics change. The
//! target assignment is made for one of them, not more often than
//! `group.consumer.assignment.interval.ms`, and when that is over at the latest. A member has the epoch of the target assignment that it
//! follows; it takes it on once it has given up what it shall no longer own, and it is given what it
//! shall own once nobody else owns it (`reconcile`).
//!
//! All of it but the times is what its records say: a fact is applied in the same way when it is
//! decided and when it is read back (`facts`). Invariants: a partition has at most one owner (G1);
//! no epoch goes back (G2); an instance stands for one member (G7); a member that does not give up
//! what it has to, or is silent, is out in time (G10).

mod assign;
pub mod assignor;
mod classic_members;
mod commits;
mod describe;
mod facts;
mod heartbeat;
mod leave;
mod members;
pub mod migrate;
mod pattern;
mod reconcile;
pub mod request;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::id::Timestamp;

pub use self::members::Member;
use self::members::Members;
use self::timers::Clocks;
use super::notes::quoted;
use super::record::{EpochValue, Fact, PatternValue, Record};
use super::request::{GroupId, MemberId};
use super::topics::{Part, Topic, Topics, hash_of};
use super::{Ctx, GroupSettings};
use crate::time::{Deadline, Instant, earlier};

/// The epoch of a heartbeat that joins.
const JOIN_EPOCH: i32 = 0;

/// The epoch of a heartbeat that leaves.
const LEAVE_EPOCH: i32 = -1;

/// The epoch of a heartbeat of a static member that leaves and comes back, and of the member
/// meanwhile.
const LEAVE_STATIC_EPOCH: i32 = -2;

/// How far a consumer group has come (Kafka's `ConsumerGroupState`).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ConsumerState {
    /// It has no members.
    Empty,
    /// There is no target assignment for its epoch yet.
    Assigning,
    /// Not every member follows the target assignment yet.
    Reconciling,
    /// Everyone has what it shall have.
    Stable,
}

impl ConsumerState {
    /// Its name in ConsumerGroupDescribe and ListGroups.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
        }
    }
}

/// A group of the consumer protocol.
#[derive(Clone, Debug)]
pub struct ConsumerGroup {
    name: GroupId,
    epoch: EpochValue,
    target_epoch: i32,
    target_made: Timestamp,
    members: Members,
    targets: BTreeMap<MemberId, BTreeSet<Part>>,
    patterns: BTreeMap<Arc<str>, PatternValue>,
    /// Who owns each partition, as long as it may read it.
    owners: BTreeMap<Part, MemberId>,
    soft: Soft,
}

/// What begins anew with the coordinator.
#[derive(Clone, Debug, Default)]
struct Soft {
    /// The topics that patterns and hash were last made of.
    seen: Option<Arc<Topics>>,
    /// When they are made anew whatever happens.
    refresh_at: Instant,
    /// When the group's epoch last rose.
    changed: Option<Instant>,
    /// When the target assignment was last made.
    assigned: Option<Instant>,
    clocks: Clocks,
    due: Deadline,
}

impl ConsumerGroup {
    /// A group that nobody has heard of.
    pub(super) fn new(name: GroupId) -> Self {
        Self {
            name,
            epoch: EpochValue { epoch: 0, hash: 0 },
            target_epoch: 0,
            target_made: Timestamp(0),
            members: Members::default(),
            targets: BTreeMap::new(),
            patterns: BTreeMap::new(),
            owners: BTreeMap::new(),
            soft: Soft::default(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &GroupId {
        &self.name
    }

    /// Its epoch.
    #[must_use]
    pub fn epoch(&self) -> i32 {
        self.epoch.epoch
    }

    /// The epoch that the target assignment was made for.
    #[must_use]
    pub fn target_epoch(&self) -> i32 {
        self.target_epoch
    }

    /// Everyone in it, by id.
    pub fn members(&self) -> impl Iterator<Item = (&MemberId, &Member)> {
        self.members.iter()
    }

    /// What a member shall own.
    #[must_use]
    pub fn target(&self, member: &str) -> Option<&BTreeSet<Part>> {
        self.targets.get(member)
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> ConsumerState {
        let settled = |(_, member): (_, &Member)| member.is_reconciled_to(self.target_epoch);
        match () {
            () if self.members.is_empty() => ConsumerState::Empty,
            () if self.epoch.epoch > self.target_epoch => ConsumerState::Assigning,
            () if self.members.iter().all(settled) => ConsumerState::Stable,
            () => ConsumerState::Reconciling,
        }
    }

    /// Whether the log says anything of it.
    pub(super) fn is_recorded(&self) -> bool {
        let epochs = self.epoch.epoch > 0 || self.target_epoch > 0;
        let rest = self.targets.is_empty() && self.patterns.is_empty();
        epochs || !rest || !self.members.is_empty()
    }

    /// Whether nobody is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// When it next has to be looked at.
    pub(super) fn due(&self, settings: &GroupSettings) -> Deadline {
        let waits = self.awaits_assignment();
        let next = waits.then(|| (self.assigns_at(settings), "the next assignment of a group"));
        earlier(self.soft.due, next)
    }

    /// Whether a member reads a topic.
    pub(super) fn is_subscribed(&self, topic: &str) -> bool {
        self.members.names(topic) || self.patterns.values().any(|p| p.topics.contains(topic))
    }

    /// The topics that members read, those alone that there are.
    fn topics<'a>(&self, topics: &'a Topics) -> impl Iterator<Item = &'a Arc<Topic>> + use<'a> {
        let mut names: BTreeSet<&Arc<str>> = self.members.topics().collect();
        names.extend(self.patterns.values().flat_map(|pattern| &pattern.topics));
        let found: Vec<_> = names.into_iter().filter_map(|name| topics.get(name)).collect();
        found.into_iter()
    }

    /// Makes a fact true, and has it remembered.
    fn write(&mut self, fact: Fact, out: &mut Vec<Record>) {
        if let Fact::Current(id, Some(current)) = &fact {
            for part in current.assigned.keys().chain(current.revoking.keys()) {
                let owner = self.owners.get(part);
                assert!(owner.is_none_or(|owner| owner == id), "G1: {part:?} is {owner:?}'s");
            }
        }
        self.apply(fact.clone());
        out.push(Record::Consumer { group: Arc::clone(&self.name), fact });
    }

    /// The group's epoch rises.
    fn bump(&mut self, why: &str, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let hash = hash_of(self.topics(ctx.topics));
        let epoch = self.epoch.epoch.saturating_add(1);
        self.write(Fact::Epoch(Some(EpochValue { epoch, hash })), out);
        self.soft.changed = Some(ctx.now.mono);
        self.tell(&format!("rebalances: {why}"), ctx);
    }

    fn tell(&self, what: &str, ctx: &mut Ctx<'_>) {
        ctx.note(format!("group {}, epoch {}: {what}", quoted(&self.name), self.epoch.epoch));
    }

    /// Asserts what must always hold, where that is cheap.
    pub(super) fn invariants(&self) {
        let name = &self.name;
        self.members.invariants();
        let (owners, owned) = (self.owners.len(), self.members.owned());
        assert_eq!(owners, owned, "G1: {name}: as many owners as owned partitions");
        let (target, epoch) = (self.target_epoch, self.epoch.epoch);
        assert!(target <= epoch, "G2: {name}: an assignment for {target} in epoch {epoch}");
    }

    /// As [`Self::invariants`], but looks at every member.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        self.invariants();
        self.members.audit();
        for (id, member) in self.members.iter() {
            let current = &member.current;
            for part in current.assigned.keys().chain(current.revoking.keys()) {
                assert_eq!(self.owners.get(part), Some(id), "G1: the owner of {part:?}");
            }
            assert!(current.epoch <= self.epoch.epoch, "G2: {id} is ahead of its group");
        }
        for id in self.targets.keys() {
            assert!(self.members.get(id).is_some(), "{id} shall own and is not in");
        }
    }
}
