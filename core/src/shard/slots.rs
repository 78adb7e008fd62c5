//! The slots of a shard, and what has to be known of all of them at once.
//!
//! A shard may have thousands of partitions, and each step asks whether one is still being opened
//! and which one wants a tick first, and how much is not synced: that is kept count of, not looked
//! for.
//!
//! Invariant: `opening` is the number of slots being opened.

use std::collections::BTreeMap;

use super::deadlines::Deadlines;
use super::slot::Slot;
use super::unflushed::Unflushed;
use crate::partition::Partition;
use crate::time::{Deadline, Now};

/// What a shard holds, by slot number.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    held: BTreeMap<u32, Slot>,
    opening: usize,
    deadlines: Deadlines,
    pub(super) unflushed: Unflushed,
}

impl Slots {
    pub(super) fn new(unflushed: Unflushed) -> Self {
        Self { held: BTreeMap::new(), opening: 0, deadlines: Deadlines::default(), unflushed }
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Slot> {
        self.held.get(&slot)
    }

    /// What the slot holds; to put something else into it, take it out and insert.
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Slot> {
        self.held.get_mut(&slot)
    }

    pub(super) fn insert(&mut self, slot: u32, content: Slot) {
        self.opening += usize::from(content.is_opening());
        let before = self.held.insert(slot, content);
        assert!(before.is_none(), "slot {slot} holds something already");
        self.look_at(slot);
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Slot> {
        let content = self.held.remove(&slot)?;
        self.opening -= usize::from(content.is_opening());
        self.look_at(slot);
        Some(content)
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        self.held.iter().map(|(slot, content)| (*slot, content))
    }

    /// The partitions that serve.
    pub(super) fn open(&self) -> impl Iterator<Item = &Partition> {
        self.held.values().filter_map(Slot::open)
    }

    /// The partitions that serve.
    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.held.values_mut().filter_map(Slot::open_mut)
    }

    pub(super) fn any_opening(&self) -> bool {
        self.opening > 0
    }

    /// How many are being opened.
    pub(super) fn opening(&self) -> usize {
        self.opening
    }

    /// The partition in `slot` may want its tick at another time now, or have other bytes to sync.
    pub(super) fn look_at(&mut self, slot: u32) {
        let open = self.held.get(&slot).and_then(Slot::open);
        self.deadlines.set(slot, open.and_then(Partition::deadline));
        let log = open.map(Partition::log);
        self.unflushed.set(slot, log.map(|log| (log.folder().dir, log.unsynced())));
    }

    /// When the first partition wants a tick.
    pub(super) fn deadline(&self) -> Deadline {
        self.deadlines.first()
    }

    /// The slots whose partitions want a tick by now.
    pub(super) fn due(&self, now: Now) -> Vec<u32> {
        self.deadlines.due(now)
    }
}
