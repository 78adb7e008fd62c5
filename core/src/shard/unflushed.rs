//! Written bytes that are not synced: a background flush keeps them few in each data directory, so
//! that little has to be looked through after a crash, and little is lost with the power.
//!
//! State: for each directory, logs with such bytes, the one that has waited longest first. When a
//! half of what is allowed has come together, the oldest are synced until a quarter is left. How
//! much is synced without a checkpoint is counted too: a recovery point that is only known in
//! memory spares nobody anything.
//!
//! Must never know: which bytes they are, when the operating system writes them by itself.

use std::collections::VecDeque;

use super::*;

/// A checkpoint is worth writing when so many times the allowance was synced.
const CHECKPOINT_EVERY: u64 = 4;

/// The unsynced bytes of a shard's logs.
#[derive(Clone, Debug)]
pub(super) struct Unflushed {
    /// A directory's share of the shard; none if there is no limit.
    most: Option<u64>,
    dirs: BTreeMap<u16, Dir>,
    by_log: BTreeMap<u32, u64>,
    /// Bytes that were synced since the last checkpoint.
    synced: u64,
}

#[derive(Clone, Debug, Default)]
struct Dir {
    bytes: u64,
    oldest_first: VecDeque<u32>,
}

impl Unflushed {
    pub(super) fn new(config: &BrokerConfig, shards: u16) -> Self {
        let most = u64::try_from(config.unflushed_bytes).unwrap_or(0);
        let share = (most / u64::from(shards)).max(1);
        let most = (most > 0).then_some(share);
        Self { most, dirs: BTreeMap::new(), by_log: BTreeMap::new(), synced: 0 }
    }

    /// So many bytes were appended to the log in `slot`. Gives the logs to be synced.
    fn note(&mut self, slot: u32, dir: u16, bytes: u64) -> Vec<u32> {
        let Some(most) = self.most else { return Vec::new() };
        let here = self.dirs.entry(dir).or_default();
        here.bytes += bytes;
        match self.by_log.get_mut(&slot) {
            Some(known) => *known += bytes,
            None => {
                here.oldest_first.push_back(slot);
                self.by_log.insert(slot, bytes);
            }
        }
        let mut due = Vec::new();
        if here.bytes <= most / 2 {
            return due;
        }
        while here.bytes > most / 4 {
            let Some(oldest) = here.oldest_first.pop_front() else { break };
            let synced = self.by_log.remove(&oldest).unwrap_or(0);
            here.bytes -= synced;
            self.synced += synced;
            due.push(oldest);
        }
        due
    }

    /// Bytes that wait for a sync in each data directory that had some.
    pub(super) fn by_dir(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.dirs.iter().map(|(dir, here)| (*dir, here.bytes))
    }

    /// The log in `slot` is not in `dir` any more.
    pub(super) fn forget(&mut self, slot: u32, dir: u16) {
        let bytes = self.by_log.remove(&slot).unwrap_or(0);
        if let Some(here) = self.dirs.get_mut(&dir) {
            here.bytes -= bytes;
            here.oldest_first.retain(|other| *other != slot);
        }
    }

    /// Whether it is time for a checkpoint; asked again, the next one is meant.
    fn wants_checkpoint(&mut self) -> bool {
        let wants = self.most.is_some_and(|most| self.synced / CHECKPOINT_EVERY >= most);
        if wants {
            self.synced = 0;
        }
        wants
    }
}

impl Shard {
    /// The log in `slot` has grown by so many bytes: perhaps some have to be synced.
    pub(super) fn note_unflushed(
        &mut self,
        slot: u32,
        bytes: u64,
        inner: &mut Fx<partition::Effect>,
        fx: &mut Fx<Effect>,
    ) {
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        if bytes == 0 || partition.log().settings().syncs_before_ack() {
            return;
        }
        for due in self.unflushed.note(slot, partition.log().folder().dir, bytes) {
            if let Some(partition) = self.slots.get_mut(due).and_then(Slot::open_mut) {
                partition.flush(inner);
                self.slots.look_at(due);
            }
        }
        if self.unflushed.wants_checkpoint() {
            fx.push(Effect::Control(ToControl::CheckpointDue));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unflushed(most: u64) -> Unflushed {
        Unflushed { most: Some(most), dirs: BTreeMap::new(), by_log: BTreeMap::new(), synced: 0 }
    }

    #[test]
    fn the_oldest_are_synced_until_a_quarter_is_left() {
        let mut all = unflushed(100);
        assert_eq!(all.note(1, 0, 20), [0; 0]);
        assert_eq!(all.note(2, 0, 15), [0; 0]);
        assert_eq!(all.note(1, 0, 15), [0; 0]);
        assert_eq!(all.note(4, 1, 50), [0; 0], "of another directory");
        assert_eq!(all.note(3, 0, 1), [1]);
        assert_eq!(all.note(1, 0, 40), [2, 3, 1]);
        assert!(all.dirs.values().all(|dir| dir.bytes <= 50));
    }

    #[test]
    fn a_log_that_moves_counts_where_it_is() {
        let mut all = unflushed(100);
        assert_eq!(all.note(1, 0, 40), [0; 0]);
        all.forget(1, 0);
        assert_eq!(all.note(1, 1, 30), [0; 0]);
        assert_eq!(all.note(2, 0, 45), [0; 0]);
        assert_eq!(all.note(2, 0, 10), [2]);
        assert_eq!(all.note(1, 1, 30), [1]);
        assert!(all.dirs.values().all(|dir| dir.bytes == 0 && dir.oldest_first.is_empty()));
    }

    #[test]
    fn one_log_alone_is_synced_too() {
        let mut all = unflushed(100);
        for round in 1..10 {
            assert_eq!(all.note(7, 0, 50), [0; 0]);
            assert_eq!(all.note(7, 0, 1), [7]);
            assert_eq!(all.wants_checkpoint(), round % 8 == 0, "{round}");
        }
    }

    #[test]
    fn without_a_limit_nothing_is() {
        let mut all = Unflushed { most: None, ..unflushed(1) };
        assert_eq!(all.note(7, 0, u64::MAX), [0; 0]);
        assert!(!all.wants_checkpoint());
    }
}
