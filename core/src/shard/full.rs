//! Data directories without space: they are read, and not written to until there is some again.
//!
//! State: the full directories, and when the next trial write of each is due.
//!
//! A write that found no space is not tried again in place. Its partition gives up what was not
//! acknowledged and opens its log anew, which needs no space; readers go on. Producers are refused,
//! retriably. Coordinators go on too, as long as they have nothing to write: a step of theirs that
//! would append is not taken. A trial write that ends well, once a second, ends all of that.
//!
//! Must never know: how much space there is.

use dohle_wire::error::ErrorCode;

use super::lifecycle::dir_of;
use super::slot::Opening;
use super::*;
use crate::disk::{FilePath, IoError};
use crate::log::recover::Recovery;
use crate::mail::Refusal;
use crate::mutant::Mutant;

/// A trial write is made this often.
const PROBE_INTERVAL_MS: i64 = 1000;

/// As much has to fit before producers are served again; more than control keeps in reserve.
const PROBE_BYTES: usize = 4 << 20;

/// How the files of trial writes begin, which the shard's number ends.
pub(crate) const SPACE_PROBE: &str = "dohle-space-probe-";

/// Generation of trial writes among the unit's own operations.
const PROBE: u32 = 1;

/// The directories that are full.
#[derive(Clone, Debug, Default)]
pub(super) struct FullDirs {
    /// When the next trial is due; none while one is under way.
    dirs: BTreeMap<u16, Option<Instant>>,
}

impl FullDirs {
    pub(super) fn has(&self, dir: u16) -> bool {
        self.dirs.contains_key(&dir)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    pub(super) fn deadline(&self) -> Deadline {
        let first = self.dirs.values().flatten().min()?;
        Some((*first, "space on a full disk"))
    }

    fn is_due(&self, now: Now) -> Option<u16> {
        let due = self.dirs.iter().find(|(_, at)| at.is_some_and(|at| at <= now.mono));
        due.map(|(dir, _)| *dir)
    }
}

/// Whether an operation of the unit was a trial write, or swept one away.
pub(super) fn is_probe(done: &IoDone) -> bool {
    done.id.generation == PROBE
}

fn probe_id(dir: u16) -> IoId {
    IoId { owner: IoId::UNIT, generation: PROBE, what: What::Meta, end: i64::from(dir) }
}

impl Shard {
    /// An open partition that may be written to.
    ///
    /// # Errors
    /// As [`Shard::open`]; KAFKA_STORAGE_ERROR while its disk is full.
    pub(super) fn writable(&mut self, id: &PartitionId) -> Result<(u32, &mut Partition), Refusal> {
        if !self.full_dirs.is_empty() {
            let dir = self.open(id)?.log().folder().dir;
            if self.full_dirs.has(dir) {
                let message = format!("no space left in {}", self.dir_path(dir));
                return Err(Refusal::new(ErrorCode::KafkaStorageError, message));
            }
        }
        Ok(self.open_mut(id)?)
    }

    pub(super) fn dir_path(&self, dir: u16) -> &str {
        self.config.log_dirs.get(usize::from(dir)).map_or("", String::as_str)
    }

    /// A write of the log in `slot` found no space.
    pub(super) fn on_full(&mut self, now: Now, slot: u32, why: &str, fx: &mut Fx<Effect>) {
        let Some(partition) = self.slots.get_mut(slot).and_then(Slot::open_mut) else { return };
        let dir = partition.log().folder().dir;
        let mut inner = std::mem::take(&mut self.inner);
        partition.abandon(ErrorCode::KafkaStorageError, &mut inner);
        let (plan, config, state) = partition.reopening();
        let id = partition.id();
        self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        if self.stopping == Stopping::No {
            self.slots.remove(slot);
            let recovery = Recovery::begin(plan, &mut inner);
            let opening = Box::new(Opening { id, recovery, config, state, leaves: None });
            self.slots.insert(slot, Slot::Opening(opening));
        } else {
            self.set_failed(slot);
            fx.push(Effect::Control(ToControl::LeftOpen { dir }));
        }
        self.carry_out(now, inner, fx);
        self.begin_full(now, dir, why, fx);
    }

    /// The log in `slot` cannot be opened without space.
    pub(super) fn on_starved(&mut self, now: Now, slot: u32, why: &str, fx: &mut Fx<Effect>) {
        let Some(Slot::Opening(opening)) = self.slots.remove(slot) else { return };
        let dir = opening.recovery.folder().dir;
        self.slots.insert(slot, Slot::Starved(opening));
        self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        if self.stopping != Stopping::No {
            fx.push(Effect::Control(ToControl::LeftOpen { dir }));
        }
        self.begin_full(now, dir, why, fx);
        self.unpark(now, fx);
    }

    /// From now on nothing is written there.
    pub(super) fn begin_full(&mut self, now: Now, dir: u16, why: &str, fx: &mut Fx<Effect>) {
        if self.full_dirs.has(dir) || self.failed_dirs.contains(&dir) {
            return;
        }
        self.full_dirs.dirs.insert(dir, Some(now.mono.plus_ms(PROBE_INTERVAL_MS)));
        fx.push(Effect::Control(ToControl::DirFull { dir, why: why.to_owned() }));
        self.cancel_moves_to(now, dir, fx);
    }

    /// Tries whether there is space.
    pub(super) fn probe(&mut self, now: Now, fx: &mut Fx<Effect>) {
        while let Some(dir) = self.full_dirs.is_due(now) {
            self.full_dirs.dirs.insert(dir, None);
            let data = crate::disk::ballast(PROBE_BYTES);
            let (id, path) = (probe_id(dir), self.probe_path(dir));
            fx.push(Effect::Disk(DiskOp::Put { id, path, data, durable: false }));
        }
    }

    fn probe_path(&self, dir: u16) -> FilePath {
        FilePath::new(dir, format!("{SPACE_PROBE}{}", self.id.0))
    }

    /// A trial write ended, or the removal of one.
    pub(super) fn on_probed(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        let dir = u16::try_from(done.id.end).unwrap_or(0);
        let waits = self.full_dirs.dirs.get(&dir) == Some(&None);
        match done.result {
            Ok(_) if waits => {
                let (id, path) = (probe_id(dir), self.probe_path(dir));
                fx.push(Effect::Disk(DiskOp::Remove { id, path }));
                self.end_full(now, dir, fx);
            }
            Err(IoError::NoSpace(_)) if waits => {
                let next = now.mono.plus_ms(PROBE_INTERVAL_MS);
                self.full_dirs.dirs.insert(dir, Some(next));
            }
            Err(IoError::Failed(why) | IoError::Damaged(why)) => {
                self.on_dir_failed(now, dir, &why, fx);
            }
            Ok(_) | Err(IoError::NoSpace(_)) => {}
        }
    }

    /// There is space again.
    fn end_full(&mut self, now: Now, dir: u16, fx: &mut Fx<Effect>) {
        self.full_dirs.dirs.remove(&dir);
        fx.push(Effect::Control(ToControl::DirSpace { dir }));
        if self.stopping != Stopping::No {
            return;
        }
        let here: Vec<u32> =
            self.slots.iter().filter(|(_, slot)| dir_of(slot) == dir).map(|(at, _)| at).collect();
        let mut inner = std::mem::take(&mut self.inner);
        for slot in here {
            match self.slots.get_mut(slot) {
                Some(Slot::Open(partition)) => partition.on_space(&mut inner),
                Some(Slot::Starved(_)) if self.mutants.has(Mutant::StarvedForgotten) => {}
                Some(Slot::Starved(_)) => self.open_starved(slot, &mut inner),
                Some(Slot::Opening(_) | Slot::Failed(_) | Slot::Deleting(_)) | None => {}
            }
        }
        self.carry_out(now, inner, fx);
        self.resume_ledgers(now, fx);
    }

    fn open_starved(&mut self, slot: u32, inner: &mut Fx<partition::Effect>) {
        let Some(Slot::Starved(mut opening)) = self.slots.remove(slot) else { return };
        opening.recovery = opening.recovery.again(inner);
        self.slots.insert(slot, Slot::Opening(opening));
    }

    /// A stop leaves logs that could not be opened: what they hold has to be recovered.
    pub(super) fn leave_starved(&self, fx: &mut Fx<Effect>) {
        let starved = self.slots.iter().filter(|(_, slot)| matches!(slot, Slot::Starved(_)));
        for dir in starved.map(|(_, slot)| dir_of(slot)) {
            fx.push(Effect::Control(ToControl::LeftOpen { dir }));
        }
    }

    /// Whether nothing can be appended to the log in `slot` because its disk is full.
    pub(super) fn is_full(&self, slot: u32) -> bool {
        let held = self.slots.get(slot);
        !self.full_dirs.is_empty() && held.is_some_and(|held| self.full_dirs.has(dir_of(held)))
    }
}
