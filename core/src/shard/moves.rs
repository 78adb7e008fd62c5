//! Replicas on their way from one data directory to another (AlterReplicaLogDirs, KIP-113, KIP-858).
//!
//! State: for each of them the future log, which is filled while the current one serves, and how
//! close to the end it is. The last steps, during which records that come wait:
//!
//! 1. all of the current log is made durable and copied, the copy is made durable and closed;
//! 2. the metadata takes note of the new directory;
//! 3. the copy takes the log's name in the new directory and is opened, as after a clean stop;
//! 4. only when it is open the old folder goes.
//!
//! Invariants: until 3 is durable the current log holds everything, and a start goes on with it,
//! whatever the metadata says; from then on the copy does. Records wait for so long at most; if
//! something takes longer they go on to the current log, and the end is tried again.
//!
//! Must never know: who asked for it, what records are.

use super::slot::Opening;
use super::*;
use crate::disk::FilePath;
use crate::log::Log;
use crate::log::future::{Copied, Future, Next};
use crate::log::recover::{Recovery, aside_name};
use crate::mutant::Mutant;

/// So many logs of a shard are copied at once; others wait.
const ACTIVE: usize = 4;

/// Bytes read at a time; a larger batch comes whole.
const PIECE_BYTES: u32 = 256 << 10;

/// The last steps begin when no more than this is left.
const LAST_BYTES: u64 = 4 << 20;

/// Records wait for so long at most.
const PAUSE_MS: i64 = 1000;

/// After that the last steps are not tried again for so long.
const BACKOFF_MS: i64 = 2000;

/// Why a copy is given up before it finds no space itself.
const FULL: &str = "its disk is full";

/// Of what is copied in a second at most.
const RATE: &str = "replica.alter.log.dirs.io.max.bytes.per.second";

/// The moves of a shard.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    /// By the owner number of the future log.
    held: BTreeMap<u32, Move>,
    /// When the next piece may be read.
    next_piece: Instant,
    /// When a move can go on that waits for nothing but time.
    wake: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Move {
    slot: u32,
    dir: u16,
    future: Future,
    step: Step,
    /// The last steps do not begin before.
    not_before: Instant,
}

/// How far a move has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    Copying,
    /// What is left is copied; records wait until then.
    Last {
        until: Instant,
    },
    /// The copy is made durable.
    Sealing {
        until: Instant,
    },
    /// The metadata is to take note.
    Asked {
        until: Instant,
    },
}

impl Step {
    fn until(self) -> Option<Instant> {
        match self {
            Self::Copying => None,
            Self::Last { until } | Self::Sealing { until } | Self::Asked { until } => Some(until),
        }
    }
}

/// A future log as DescribeLogDirs shows it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shown {
    pub(super) slot: u32,
    pub(super) dir: u16,
    pub(super) bytes: u64,
    pub(super) end: Offset,
}

impl Moves {
    pub(super) fn has(&self, owner: u32) -> bool {
        self.held.contains_key(&owner)
    }

    fn of(&self, slot: u32) -> Option<u32> {
        self.held.iter().find(|(_, one)| one.slot == slot).map(|(owner, _)| *owner)
    }

    /// Whether the log in `slot` is at its last steps.
    fn holds_back(&self, slot: u32) -> bool {
        let mut active = self.held.values().take(ACTIVE);
        active.any(|one| one.slot == slot && one.step != Step::Copying)
    }

    pub(super) fn deadline(&self) -> Deadline {
        let steps = self.held.values().filter_map(|one| one.step.until());
        let first = steps.chain(self.wake).min()?;
        Some((first, "move between log directories"))
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = Shown> {
        self.held.values().map(|one| {
            let (bytes, end) = one.future.extent();
            Shown { slot: one.slot, dir: one.dir, bytes, end }
        })
    }
}

impl Shard {
    pub(super) fn on_alter_dir(
        &mut self,
        now: Now,
        reply: ReplyTo,
        id: &PartitionId,
        dir: u16,
        fx: &mut Fx<Effect>,
    ) {
        let answer = self.alter_dir(now, id, dir, fx);
        answer_to(reply, Answer::DirAltered(answer), fx);
    }

    /// ReplicaManager.alterReplicaLogDirs.
    fn alter_dir(
        &mut self,
        now: Now,
        id: &PartitionId,
        dir: u16,
        fx: &mut Fx<Effect>,
    ) -> Result<(), ErrorCode> {
        if self.failed_dirs.contains(&dir) {
            return Err(ErrorCode::KafkaStorageError);
        }
        let slot = *self.by_id.get(id).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let here = self.open(id)?.log().folder().dir;
        if let Some(owner) = self.moves.of(slot) {
            if self.moves.held[&owner].dir == dir {
                return Ok(());
            }
            self.cancel_move(now, owner, fx);
        }
        if here == dir {
            return Ok(());
        }
        // A move to a directory that is away now may have been begun.
        if !self.failed_dirs.is_empty() || self.full_dirs.has(dir) {
            return Err(ErrorCode::KafkaStorageError);
        }
        let owner = self.fresh_slot();
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return Ok(()) };
        let log = partition.log();
        let name = aside_name(&log.folder().path, id.topic, "future");
        let folder = FilePath::new(dir, name);
        let future = Future::new(owner, folder, id.topic, log.settings().clone());
        let one = Move { slot, dir, future, step: Step::Copying, not_before: Instant(0) };
        self.moves.held.insert(owner, one);
        Ok(())
    }

    pub(super) fn fresh_slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// Goes on with what an earlier process has begun.
    pub(super) fn resume_moves(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for (name, mut folders) in std::mem::take(&mut self.futures) {
            let named = |slot: &Slot| {
                let partition = slot.open()?;
                let log = partition.log();
                let found = *log.folder().path == *name;
                found.then(|| (partition.id(), log.folder().dir, log.settings().clone()))
            };
            let found = self.slots.iter().find_map(|(at, slot)| Some((at, named(slot)?)));
            // It belongs to another shard, or its log cannot be opened now.
            let Some((slot, (id, here, settings))) = found else { continue };
            let last = folders.pop_if(|folder| folder.dir != here);
            for path in folders {
                let id = IoId { owner: self.fresh_slot(), generation: 0, what: What::Side, end: 0 };
                fx.push(Effect::Disk(DiskOp::Remove { id, path }));
            }
            let Some(folder) = last else { continue };
            let (owner, dir) = (self.fresh_slot(), folder.dir);
            let mut inner = std::mem::take(&mut self.inner);
            let future = Future::resume(owner, folder, id.topic, settings, &mut inner);
            let one = Move { slot, dir, future, step: Step::Copying, not_before: Instant(0) };
            self.moves.held.insert(owner, one);
            self.carry_out(now, inner, fx);
            if self.full_dirs.has(dir) {
                self.give_up_move(now, owner, FULL, fx);
            }
        }
    }

    /// An operation of a future log ended.
    pub(super) fn on_move_io(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        let owner = done.id.owner;
        let Some(one) = self.moves.held.get_mut(&owner) else { return };
        let source = self.slots.get(one.slot).and_then(Slot::open).map(Partition::log);
        let mut inner = std::mem::take(&mut self.inner);
        let copied = one.future.on_io(now, done, source, &mut self.files, &mut inner);
        let dir = one.dir;
        self.count_copy(owner);
        self.carry_out(now, inner, fx);
        match copied {
            Copied::Working => {}
            Copied::Foreign => self.cancel_move(now, owner, fx),
            Copied::Failed(why) | Copied::Full(why) => self.give_up_move(now, owner, &why, fx),
            Copied::DirFailed(why) => self.on_dir_failed(now, dir, &why, fx),
        }
    }

    /// What a copy has not synced counts as what a log has not.
    fn count_copy(&mut self, owner: u32) {
        let one =
            self.moves.held.get(&owner).filter(|_| !self.mutants.has(Mutant::CopiesNotCounted));
        self.slots.unflushed.set(owner, one.and_then(|one| one.future.unsynced()));
    }

    pub(super) fn flush_copy(&mut self, owner: u32, inner: &mut Fx<partition::Effect>) {
        if let Some(one) = self.moves.held.get_mut(&owner) {
            one.future.flush(inner);
        }
        self.count_copy(owner);
    }

    fn take_move(&mut self, owner: u32) -> Option<Move> {
        let one = self.moves.held.remove(&owner);
        self.count_copy(owner);
        one
    }

    /// Whether records for the log in `slot` have to wait.
    pub(super) fn holds_back(&self, slot: u32) -> bool {
        self.moves.holds_back(slot) && !self.mutants.has(Mutant::WritesDuringSwap)
    }

    /// A move ends without having moved anything, and leaves nothing behind.
    fn cancel_move(&mut self, now: Now, owner: u32, fx: &mut Fx<Effect>) {
        let Some(one) = self.take_move(owner) else { return };
        let mut inner = std::mem::take(&mut self.inner);
        one.future.remove(&mut inner);
        self.carry_out(now, inner, fx);
        self.resume_writes(now, one.slot, fx);
    }

    /// The partition in `slot` is being deleted: so is its copy.
    pub(super) fn delete_future(&mut self, slot: u32, fx: &mut Fx<Effect>) {
        let one = self.moves.of(slot).and_then(|owner| self.take_move(owner));
        let Some(one) = one else { return };
        let mut inner: Fx<Effect> = Fx::new();
        one.future.remove(&mut inner);
        inner.drain().for_each(|effect| fx.push(effect));
    }

    /// Moves from and to a directory that has failed are left as they are, for the next start.
    pub(super) fn leave_moves(&mut self, now: Now, dir: u16, fx: &mut Fx<Effect>) {
        let slots = &self.slots;
        let hit = |one: &Move| {
            let from = slots.get(one.slot).map(lifecycle::dir_of);
            one.dir == dir || from == Some(dir)
        };
        let left: Vec<u32> =
            self.moves.held.iter().filter(|(_, one)| hit(one)).map(|(owner, _)| *owner).collect();
        for owner in left {
            let Some(one) = self.take_move(owner) else { continue };
            let mut inner = std::mem::take(&mut self.inner);
            one.future.release(&mut inner);
            self.carry_out(now, inner, fx);
            self.resume_writes(now, one.slot, fx);
        }
    }

    /// The log in `slot` stays where it is, for now: what waited goes on there.
    fn resume_writes(&mut self, now: Now, slot: u32, fx: &mut Fx<Effect>) {
        self.tell_place(slot, fx);
        self.follow_leadership(now, slot, fx);
        self.resume_ledger(now, slot, fx);
        self.unpark(now, fx);
    }

    /// Has the metadata say where the log in `slot` is, if it says otherwise.
    fn tell_place(&self, slot: u32, fx: &mut Fx<Effect>) {
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        // What was asked for before may still be on its way into the metadata.
        let (partition, dir) = (partition.id(), partition.log().folder().dir);
        fx.push(Effect::Control(ToControl::Placed { partition, dir }));
    }

    /// Whether the metadata says that a partition is in `dir`.
    fn is_placed(&self, id: &PartitionId, dir: u16) -> bool {
        let topic = self.image.as_ref().and_then(|image| image.topic_by_id(&id.topic));
        let state = topic.and_then(|topic| topic.partition(id.index));
        let named = state.and_then(|state| self.directory_of(state));
        named.is_some() && named.as_ref() == self.dirs.get(&dir)
    }

    /// Has every move do what it can do now.
    pub(super) fn drive_moves(&mut self, now: Now, fx: &mut Fx<Effect>) {
        self.moves.wake = None;
        if self.moves.held.is_empty() || self.stopping != Stopping::No || !self.announced {
            return;
        }
        let active: Vec<u32> = self.moves.held.keys().copied().take(ACTIVE).collect();
        for owner in active {
            self.drive_move(now, owner, fx);
        }
    }

    fn drive_move(&mut self, now: Now, owner: u32, fx: &mut Fx<Effect>) {
        let Some(one) = self.moves.held.get(&owner) else { return };
        let slot = one.slot;
        if one.step.until().is_some_and(|until| until <= now.mono) {
            return self.put_off(now, owner, fx);
        }
        match self.slots.get(slot) {
            Some(Slot::Open(_)) => {}
            Some(Slot::Opening(_) | Slot::Starved(_)) => return,
            Some(Slot::Failed(_) | Slot::Deleting(_)) | None => {
                self.take_move(owner);
                return self.unpark(now, fx);
            }
        }
        match one.step {
            Step::Copying => self.copy(now, owner, fx),
            Step::Last { until } => self.copy_last(now, owner, until, fx),
            Step::Sealing { until } => self.ask_if_sealed(owner, until, fx),
            Step::Asked { .. } => {}
        }
        self.swap_if_placed(now, owner, fx);
    }

    /// The last steps took too long.
    fn put_off(&mut self, now: Now, owner: u32, fx: &mut Fx<Effect>) {
        let Some(one) = self.moves.held.get_mut(&owner) else { return };
        let slot = one.slot;
        let mut inner = std::mem::take(&mut self.inner);
        if !matches!(one.step, Step::Last { .. }) {
            one.future.unseal(&mut inner);
        }
        one.step = Step::Copying;
        one.not_before = now.mono.plus_ms(BACKOFF_MS);
        self.count_copy(owner);
        self.carry_out(now, inner, fx);
        self.resume_writes(now, slot, fx);
    }

    fn copy(&mut self, now: Now, owner: u32, fx: &mut Fx<Effect>) {
        let rate = self.move_rate();
        let piece = self.slots.unflushed.piece(PIECE_BYTES);
        let Some(one) = self.moves.held.get_mut(&owner) else { return };
        let waits = self.slots.unflushed.holds_back(one.dir);
        let Some(Slot::Open(partition)) = self.slots.get_mut(one.slot) else { return };
        let mut inner = std::mem::take(&mut self.inner);
        let mut last = false;
        match one.future.next(partition.log(), &mut inner) {
            Next::Busy => {}
            Next::Piece if waits || rate == Some(0) => {}
            Next::Piece if self.moves.next_piece > now.mono => {
                self.moves.wake = Some(self.moves.next_piece);
            }
            Next::Piece => {
                one.future.copy(partition.log(), piece, &mut inner);
                self.moves.next_piece = after_piece(now, piece, rate);
            }
            Next::CaughtUp if one.not_before > now.mono => {
                let wake = self.moves.wake.map_or(one.not_before, |at| at.min(one.not_before));
                self.moves.wake = Some(wake);
            }
            Next::CaughtUp => {
                let left = partition.log().size().saturating_sub(one.future.extent().0);
                last = !waits && left <= rate.map_or(LAST_BYTES, |rate| rate.min(LAST_BYTES));
                partition.flush(&mut inner);
            }
        }
        let slot = one.slot;
        if last {
            one.step = Step::Last { until: now.mono.plus_ms(PAUSE_MS) };
            self.interrupt_loading(slot, fx);
        }
        self.count_copy(owner);
        self.slots.look_at(slot);
        self.carry_out(now, inner, fx);
    }

    /// Bytes that may be copied in a second, if that is limited: each shard has its share.
    fn move_rate(&self) -> Option<u64> {
        let (own, all) = self.image.as_ref()?.broker_overrides();
        let text = own.get(RATE).or_else(|| all.get(RATE))?;
        let bytes: u64 = text.parse().ok()?;
        Some(bytes.div_ceil(u64::from(self.shards)))
    }

    fn copy_last(&mut self, now: Now, owner: u32, until: Instant, fx: &mut Fx<Effect>) {
        let piece = self.slots.unflushed.piece(PIECE_BYTES);
        let Some(one) = self.moves.held.get_mut(&owner) else { return };
        let (slot, waits) = (one.slot, self.slots.unflushed.holds_back(one.dir));
        let Some(Slot::Open(partition)) = self.slots.get_mut(slot) else { return };
        let mut inner = std::mem::take(&mut self.inner);
        match one.future.next(partition.log(), &mut inner) {
            Next::Busy => {}
            Next::Piece if waits => {}
            Next::Piece => one.future.copy(partition.log(), piece, &mut inner),
            Next::CaughtUp if partition.log().durable() < partition.log().end() => {
                partition.flush(&mut inner);
            }
            Next::CaughtUp => {
                one.future.seal(partition.log(), &mut inner);
                one.step = Step::Sealing { until };
            }
        }
        self.count_copy(owner);
        self.slots.look_at(slot);
        self.carry_out(now, inner, fx);
    }

    fn ask_if_sealed(&mut self, owner: u32, until: Instant, fx: &mut Fx<Effect>) {
        let Some(one) = self.moves.held.get_mut(&owner) else { return };
        let Some(Slot::Open(partition)) = self.slots.get(one.slot) else { return };
        if !one.future.is_sealed() {
            return;
        }
        one.step = Step::Asked { until };
        let (partition, dir) = (partition.id(), one.dir);
        fx.push(Effect::Control(ToControl::Placed { partition, dir }));
    }

    /// The copy takes the place of the current log, once the metadata says so.
    fn swap_if_placed(&mut self, now: Now, owner: u32, fx: &mut Fx<Effect>) {
        let Some(one) = self.moves.held.get(&owner) else { return };
        let Some(Slot::Open(partition)) = self.slots.get(one.slot) else { return };
        let asked = matches!(one.step, Step::Asked { .. });
        if !asked || !self.is_placed(&partition.id(), one.dir) {
            return;
        }
        let Some(one) = self.take_move(owner) else { return };
        let Some(Slot::Open(mut partition)) = self.slots.remove(one.slot) else { return };
        let mut inner = std::mem::take(&mut self.inner);
        let old = partition.log().folder().clone();
        let folder = FilePath::new(one.dir, Arc::clone(&old.path));
        let plan = Future::succession(partition.log(), folder.clone());
        let (_, config, state) = partition.reopening();
        partition.abandon(ErrorCode::NotLeaderOrFollower, &mut inner);
        one.future.release(&mut inner);
        let id = IoId { owner: one.slot, generation: 0, what: What::Side, end: 0 };
        let mut leaves = Some(old);
        if self.mutants.has(Mutant::CurrentRemovedFirst)
            && let Some(old) = leaves.take()
        {
            self.begin_removal(partition.id().topic, old, fx);
        }
        let from = one.future.folder().clone();
        inner.push(DiskOp::Rename { id, from, to: folder });
        let recovery = Recovery::begin(plan, &mut inner);
        let opening = Opening { id: partition.id(), recovery, config, state, leaves };
        self.slots.insert(one.slot, Slot::Opening(Box::new(opening)));
        self.carry_out(now, inner, fx);
    }

    /// The log that took another one's place is open.
    pub(super) fn settle_move(&mut self, slot: u32, old: FilePath, fx: &mut Fx<Effect>) {
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        let (topic, to) = (partition.id().topic, partition.log().folder().dir);
        let text = format!("{} was moved to {}", old.path, self.dir_path(to));
        note(Level::Info, text, fx);
        self.begin_removal(topic, old, fx);
        self.tell_place(slot, fx);
        fx.push(Effect::Control(ToControl::CheckpointDue));
    }

    /// A stop leaves what was copied as it is, for the next start.
    pub(super) fn stop_moves(&mut self) {
        for owner in self.moves.held.keys().copied().collect::<Vec<_>>() {
            self.take_move(owner);
        }
        self.moves = Moves::default();
    }

    /// The logs that are being copied, for checkers.
    pub fn copies(&self) -> impl Iterator<Item = &Log> {
        self.moves.held.values().filter_map(|one| one.future.log())
    }

    /// Copies to a directory that is full are given up: they take what others need.
    pub(super) fn cancel_moves_to(&mut self, now: Now, dir: u16, fx: &mut Fx<Effect>) {
        let there = self.moves.held.iter().filter(|(_, one)| one.dir == dir);
        for owner in there.map(|(owner, _)| *owner).collect::<Vec<_>>() {
            self.give_up_move(now, owner, FULL, fx);
        }
    }

    fn give_up_move(&mut self, now: Now, owner: u32, why: &str, fx: &mut Fx<Effect>) {
        let Some(one) = self.moves.held.get(&owner) else { return };
        let (name, to) = (&one.future.folder().path, self.dir_path(one.dir));
        let text = format!("{name}: the move to {to} is given up: {why}");
        note(Level::Error, text, fx);
        self.cancel_move(now, owner, fx);
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn moving(&self) -> usize {
        self.moves.held.len()
    }
}

/// When the next piece may be read after one of so many bytes at `now`.
fn after_piece(now: Now, bytes: u32, rate: Option<u64>) -> Instant {
    let Some(rate) = rate.filter(|rate| *rate > 0) else { return Instant(0) };
    let ms = u64::from(bytes).saturating_mul(1000) / rate;
    now.mono.plus_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}
