//! Appended bytes that are not synced: never many in a data directory, so that little has to be
//! looked through after a crash, and little is lost with the power.
//!
//! State: for each log, copies of logs on their way to another directory included, its bytes that
//! no completed sync covers, and whether a sync is under way; by directory their sum, the logs that
//! wait for a sync, the one that has waited longest first, and whether it is *closed*. When a half
//! of what is allowed waits, the oldest are synced until a quarter does. When all that is allowed
//! is not on the disk, the directory closes: producers are held back, and nothing is copied into
//! it, until syncs have brought it down to three quarters. How much was synced without a checkpoint
//! is counted too: a recovery point that is only known in memory spares nobody anything.
//!
//! Invariants: a producer's batch is appended, and a piece of a copy read, only where less than is
//! allowed is unsynced, so that there is never more than that, one batch, and a piece of each copy
//! (coordinators are not held back: members would be taken for dead; what they write is little); a
//! directory that is closed has a sync under way. While what was held back is tried again no
//! directory opens, so that no batch of a partition overtakes an earlier one.
//!
//! What a log has that is being opened is not known, and not counted until it is open.
//!
//! Must never know: which bytes they are, when the operating system writes them by itself.

use super::*;
use crate::log::Unsynced;

/// A checkpoint is worth writing when so many times the allowance was synced.
const CHECKPOINT_EVERY: u64 = 4;

/// The unsynced bytes of a shard's logs.
#[derive(Clone, Debug)]
pub(super) struct Unflushed {
    /// A directory's share of the shard; none if there is no limit.
    most: Option<u64>,
    dirs: BTreeMap<u16, Dir>,
    /// Those that have some.
    logs: BTreeMap<u32, Known>,
    /// Numbers those that wait, in the order in which they began to.
    next: u64,
    /// Bytes that were synced since the last checkpoint.
    synced: u64,
    /// Some directory is closed.
    tight: bool,
    /// Something may have to be done since it was last looked at.
    changed: bool,
    mutants: Mutants,
}

#[derive(Clone, Debug, Default)]
struct Dir {
    bytes: u64,
    /// As many of them are of logs that wait.
    waiting: u64,
    oldest_first: BTreeMap<u64, u32>,
    /// Nothing may be appended until some of it is synced.
    closed: bool,
}

#[derive(Copy, Clone, Debug)]
struct Known {
    dir: u16,
    bytes: u64,
    /// Its number, if it waits: while a sync is under way it does not.
    waits: Option<u64>,
}

impl Unflushed {
    pub(super) fn new(config: &BrokerConfig, shards: u16) -> Self {
        let most = u64::try_from(config.unflushed_bytes).unwrap_or(0);
        let share = (most / u64::from(shards)).max(1);
        Self::with((most > 0).then_some(share))
    }

    fn with(most: Option<u64>) -> Self {
        Self {
            most,
            dirs: BTreeMap::new(),
            logs: BTreeMap::new(),
            next: 0,
            synced: 0,
            tight: false,
            changed: false,
            mutants: Mutants::default(),
        }
    }

    pub(super) fn plant(&mut self, mutants: Mutants) {
        self.mutants = mutants;
    }

    /// What there is now of the log in `slot`; nothing, if there is no such log any more.
    pub(super) fn set(&mut self, slot: u32, now: Option<(u16, Unsynced)>) {
        if now.is_some_and(|(dir, log)| self.grow(slot, dir, log)) {
            return;
        }
        let known = self.logs.remove(&slot);
        if let Some(known) = known {
            self.take_out(known);
        }
        if let Some((dir, log)) = now {
            let before = known.filter(|known| known.dir == dir);
            self.synced += before.map_or(0, |known| known.bytes.saturating_sub(log.bytes));
            self.put_in(slot, dir, log, before.and_then(|known| known.waits));
            self.close_if_full(dir);
        }
        self.changed = true;
    }

    /// The common case: there are some more bytes, and all else is as it was.
    fn grow(&mut self, slot: u32, dir: u16, log: Unsynced) -> bool {
        let (Some(known), Some(here)) = (self.logs.get_mut(&slot), self.dirs.get_mut(&dir)) else {
            return false;
        };
        let waits = known.waits.is_some();
        if known.dir != dir || waits == log.syncing || log.bytes < known.bytes {
            return false;
        }
        let more = log.bytes - known.bytes;
        if more == 0 {
            return true;
        }
        known.bytes += more;
        here.bytes += more;
        here.waiting += if waits { more } else { 0 };
        let most = self.most.unwrap_or(u64::MAX);
        self.changed |= here.waiting > most / 2;
        if here.bytes >= most {
            self.close_if_full(dir);
        }
        true
    }

    fn close_if_full(&mut self, dir: u16) {
        let (Some(most), Some(here)) = (self.most, self.dirs.get_mut(&dir)) else { return };
        let bytes = match self.mutants.has(Mutant::SyncedWhenAsked) {
            true => here.waiting,
            false => here.bytes,
        };
        here.closed |= bytes >= most;
        self.tight |= here.closed;
    }

    fn take_out(&mut self, known: Known) {
        let Some(dir) = self.dirs.get_mut(&known.dir) else { return };
        dir.bytes -= known.bytes;
        if let Some(number) = known.waits {
            dir.waiting -= known.bytes;
            dir.oldest_first.remove(&number);
        }
    }

    fn put_in(&mut self, slot: u32, dir: u16, log: Unsynced, waited: Option<u64>) {
        if log.bytes == 0 {
            return;
        }
        let here = self.dirs.entry(dir).or_default();
        here.bytes += log.bytes;
        let mut waits = None;
        if !log.syncing {
            let number = waited.unwrap_or(self.next);
            self.next = self.next.max(number + 1);
            here.waiting += log.bytes;
            here.oldest_first.insert(number, slot);
            waits = Some(number);
        }
        self.logs.insert(slot, Known { dir, bytes: log.bytes, waits });
    }

    /// The logs that are to be synced now.
    fn due(&self) -> Vec<u32> {
        let Some(most) = self.most else { return Vec::new() };
        let late = self.dirs.values().filter(|dir| dir.waiting > most / 2);
        late.flat_map(|dir| self.oldest(dir, dir.waiting - most / 4)).collect()
    }

    /// Those that have waited longest, until they come to so many bytes.
    fn oldest<'a>(&'a self, dir: &'a Dir, bytes: u64) -> impl Iterator<Item = u32> + 'a {
        let size = |slot: &u32| self.logs.get(slot).map_or(0, |known| known.bytes);
        dir.oldest_first.values().copied().scan(bytes, move |left, slot| {
            let wanted = *left > 0;
            *left = left.saturating_sub(size(&slot));
            wanted.then_some(slot)
        })
    }

    /// Whether nothing may be appended there until a sync has ended.
    pub(super) fn holds_back(&self, dir: u16) -> bool {
        self.tight && self.dirs.get(&dir).is_some_and(|here| here.closed)
    }

    /// Opens the directories in which enough was synced; whether there were any.
    fn reopen(&mut self) -> bool {
        let (Some(most), true) = (self.most, self.tight) else { return false };
        let mut opened = false;
        for here in self.dirs.values_mut().filter(|here| here.closed) {
            here.closed = here.bytes > most - most.div_ceil(4);
            opened |= !here.closed;
        }
        self.tight = self.dirs.values().any(|here| here.closed);
        opened
    }

    /// So much may be copied at a time, of `bytes`: pieces are small beside what is allowed.
    pub(super) fn piece(&self, bytes: u32) -> u32 {
        let quarter = self.most.unwrap_or(u64::MAX) / 4;
        u32::try_from(quarter).map_or(bytes, |quarter| bytes.min(quarter.max(1)))
    }

    /// Bytes that wait for a sync in each data directory that had some.
    pub(super) fn by_dir(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.dirs.iter().map(|(dir, here)| (*dir, here.bytes))
    }

    /// Whether it is time for a checkpoint; asked again, the next one is meant.
    fn wants_checkpoint(&mut self) -> bool {
        let wants = self.most.is_some_and(|most| self.synced / CHECKPOINT_EVERY >= most);
        if wants {
            self.synced = 0;
        }
        wants
    }

    fn invariants(&self) {
        for (number, dir) in &self.dirs {
            let idle = dir.closed && dir.bytes == dir.waiting;
            assert!(!idle, "{} unsynced bytes in directory {number}, and no sync", dir.bytes);
        }
    }
}

impl Shard {
    /// Has synced what is due, and lets producers go on once that is done.
    pub(super) fn bound_unflushed(&mut self, now: Now, fx: &mut Fx<Effect>) {
        if !std::mem::take(&mut self.slots.unflushed.changed) {
            return;
        }
        self.flush_due(now, fx);
        while self.slots.unflushed.reopen() {
            // Copies first: a piece is little, and producers would leave no room for it.
            self.drive_moves(now, fx);
            self.unpark(now, fx);
            self.flush_due(now, fx);
        }
        if self.slots.unflushed.wants_checkpoint() {
            fx.push(Effect::Control(ToControl::CheckpointDue));
        }
        self.slots.unflushed.invariants();
    }

    fn flush_due(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let due = self.slots.unflushed.due();
        if due.is_empty() {
            return;
        }
        let mut inner = std::mem::take(&mut self.inner);
        for slot in due {
            if let Some(partition) = self.slots.get_mut(slot).and_then(Slot::open_mut) {
                partition.flush(&mut inner);
                self.slots.look_at(slot);
            } else {
                self.flush_copy(slot, &mut inner);
            }
        }
        self.carry_out(now, inner, fx);
    }

    /// Whether a producer's batch has to wait: too much in its directory is not synced.
    pub(super) fn awaits_sync(&self, partition: &PartitionId) -> bool {
        if !self.slots.unflushed.tight {
            return false;
        }
        let open = self.slot(partition).and_then(Slot::open);
        open.is_some_and(|open| self.slots.unflushed.holds_back(open.log().folder().dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unflushed(most: u64) -> Unflushed {
        Unflushed::with(Some(most))
    }

    fn set(all: &mut Unflushed, slot: u32, dir: u16, bytes: u64, syncing: bool) {
        all.set(slot, Some((dir, Unsynced { bytes, syncing })));
    }

    fn bytes(all: &Unflushed) -> Vec<(u16, u64)> {
        all.by_dir().collect()
    }

    #[test]
    fn the_oldest_are_synced_until_a_quarter_is_left() {
        let mut all = unflushed(100);
        set(&mut all, 1, 0, 20, false);
        set(&mut all, 2, 0, 15, false);
        set(&mut all, 1, 0, 35, false);
        set(&mut all, 4, 1, 50, false);
        assert_eq!(all.due(), [0; 0], "the other one is of another directory");
        set(&mut all, 3, 0, 1, false);
        assert_eq!(all.due(), [1]);
        set(&mut all, 1, 0, 35, true);
        assert_eq!(all.due(), [0; 0]);
        set(&mut all, 3, 0, 40, false);
        assert_eq!(all.due(), [2, 3]);
        assert_eq!(bytes(&all), [(0, 90), (1, 50)]);
    }

    #[test]
    fn what_is_being_synced_counts_until_it_is() {
        let mut all = unflushed(100);
        set(&mut all, 7, 0, 60, true);
        assert!(!all.holds_back(0));
        set(&mut all, 7, 0, 100, true);
        assert!(all.holds_back(0) && !all.holds_back(1) && !all.reopen());
        set(&mut all, 7, 0, 76, true);
        assert!(!all.reopen() && all.holds_back(0), "it stays closed until there is some room");
        set(&mut all, 7, 0, 75, true);
        assert!(all.holds_back(0), "it opens only where what waited is tried again");
        assert!(all.reopen() && !all.holds_back(0) && !all.reopen());
    }

    #[test]
    fn the_smallest_allowance_opens_when_all_is_synced() {
        let mut all = unflushed(1);
        set(&mut all, 7, 0, 1, true);
        assert!(all.holds_back(0) && !all.reopen());
        all.invariants();
        set(&mut all, 7, 0, 0, false);
        assert!(all.reopen() && !all.holds_back(0));
    }

    #[test]
    #[should_panic(expected = "and no sync")]
    fn a_closed_directory_has_a_sync_under_way() {
        let mut all = unflushed(100);
        set(&mut all, 7, 0, 100, true);
        set(&mut all, 7, 0, 80, false);
        all.invariants();
    }

    #[test]
    fn a_log_that_moves_counts_where_it_is() {
        let mut all = unflushed(100);
        set(&mut all, 2, 1, 30, false);
        set(&mut all, 1, 0, 100, true);
        assert!(all.holds_back(0));
        set(&mut all, 1, 1, 25, false);
        assert!(all.reopen() && !all.holds_back(0));
        assert_eq!((bytes(&all), all.due()), (vec![(0, 0), (1, 55)], vec![2]));
        set(&mut all, 2, 1, 55, true);
        all.set(2, None);
        assert_eq!((bytes(&all), all.due()), (vec![(0, 0), (1, 25)], vec![]));
        assert_eq!(all.synced, 0);
    }

    #[test]
    fn what_was_synced_is_worth_a_checkpoint() {
        let mut all = unflushed(100);
        for round in 1..10 {
            set(&mut all, 7, 0, 55, true);
            assert!(!all.wants_checkpoint());
            set(&mut all, 7, 0, 5, false);
            assert_eq!(all.wants_checkpoint(), round % 8 == 0, "{round}");
        }
    }

    #[test]
    fn without_a_limit_nothing_is() {
        let mut all = Unflushed::with(None);
        set(&mut all, 7, 0, u64::MAX, false);
        assert!(all.due().is_empty() && !all.holds_back(0) && !all.wants_checkpoint());
    }
}
