//! Coming up, checkpoints, failing directories, stopping.

use dohle_wire::id::PartitionIndex;

use super::groups::group_answer;
use super::slot::Gone;
use super::*;
use crate::disk::{DirEntry, FilePath, IoOk};
use crate::image::PartitionImage;
use crate::log::names::future_of;
use crate::log::recover::{Recovered, aside_name, stray_name};
use crate::mail::{LogCheckpoint, ReadOutcome, ReadPart};
use crate::mutant::Mutant;

/// An opening of logs that takes longer tells of itself, this often.
const PROGRESS_INTERVAL_MS: i64 = 1000;

impl Shard {
    pub(super) fn on_start(&mut self, now: Now, checkpoints: Arc<Checkpoints>) {
        self.dirs.clone_from(&checkpoints.directories.ids);
        self.failed_dirs = checkpoints.directories.failed.iter().copied().collect();
        self.futures.clone_from(&checkpoints.directories.futures);
        self.checkpoints = checkpoints;
        self.next_progress = Some(now.mono.plus_ms(PROGRESS_INTERVAL_MS));
    }

    /// The first shard looks through the data directories once: folders of deletions that a crash
    /// cut short go, folders that no topic owns are set aside.
    pub(super) fn begin_sweep(&mut self, fx: &mut Fx<Effect>) {
        if self.id != ShardId(0) {
            return;
        }
        let count = u16::try_from(self.config.log_dirs.len()).unwrap_or(u16::MAX).max(1);
        for dir in (0..count).filter(|dir| !self.failed_dirs.contains(dir)).collect::<Vec<_>>() {
            let id = sweep_id(i64::from(dir));
            self.sweeping += 1;
            fx.push(Effect::Disk(DiskOp::List { id, path: FilePath::new(dir, "") }));
        }
    }

    pub(super) fn on_sweep(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        self.sweeping -= 1;
        let dir = u16::try_from(done.id.end).unwrap_or(0);
        match done.result {
            Ok(IoOk::Listing(Some(entries))) => self.sweep(now, dir, &entries, fx),
            Ok(_) => {}
            Err(error) => self.on_dir_failed(now, dir, &error.to_string(), fx),
        }
    }

    fn sweep(&mut self, now: Now, dir: u16, entries: &[DirEntry], fx: &mut Fx<Effect>) {
        for entry in entries.iter().filter(|entry| entry.is_dir) {
            let path = FilePath::new(dir, entry.name.as_str());
            let id = sweep_id(i64::from(dir));
            if is_doomed(&entry.name) || self.is_lost(&entry.name) {
                self.sweeping += 1;
                fx.push(Effect::Disk(DiskOp::Remove { id, path }));
            } else if self.is_stray(dir, &entry.name) {
                self.sweeping += 1;
                let taken = |name: &str| entries.iter().any(|entry| entry.name == name);
                let name = match self.mutants.has(Mutant::StrayNamedTwice) {
                    true => aside_name(&entry.name, Default::default(), "stray"),
                    false => stray_name(&entry.name, now, taken),
                };
                let to = FilePath::new(dir, name);
                let text = format!("{}: no such partition here, moved to {}", entry.name, to.path);
                note(Level::Warn, text, fx);
                fx.push(Effect::Disk(DiskOp::Rename { id, from: path, to }));
            }
        }
    }

    /// Whether a folder is named like a partition that the metadata does not have, or has in
    /// another directory.
    fn is_stray(&self, dir: u16, name: &str) -> bool {
        match self.partition_named(name) {
            None => false,
            Some(None) => true,
            Some(Some(state)) => {
                let wanted = self.directory_of(&state);
                let here = self.dirs.get(&dir).copied();
                wanted.is_some_and(|id| Some(id) != here && self.dirs.values().any(|d| *d == id))
            }
        }
    }

    /// Whether a folder would have become the log of a partition that there is not.
    fn is_lost(&self, name: &str) -> bool {
        let partition = future_of(name).map(|name| self.partition_named(name));
        partition.is_some_and(|partition| partition.flatten().is_none())
    }

    /// The partition that a folder is named like, if there is one; none for other names.
    fn partition_named(&self, name: &str) -> Option<Option<Arc<PartitionImage>>> {
        let (topic, number) = name.rsplit_once('-')?;
        let index = PartitionIndex(number.parse().ok()?);
        if topic == "__cluster_metadata" {
            return None;
        }
        let known = self.image.as_ref().and_then(|image| image.topic(topic));
        Some(known.and_then(|topic| topic.partition(index)).cloned())
    }

    pub(super) fn on_recovery(
        &mut self,
        now: Now,
        slot: u32,
        done: IoDone,
        mut inner: Fx<partition::Effect>,
        fx: &mut Fx<Effect>,
    ) {
        let mut files = self.files.clone();
        let Some(Slot::Opening(opening)) = self.slots.get_mut(slot) else { return };
        // What the log asked for where it was before is none of this: it has another generation.
        let renames = done.id.generation == 0 && done.id.what == What::Side;
        if let (true, Some(_), Err(error)) = (renames, &opening.leaves, &done.result) {
            let (dir, why) = (opening.recovery.folder().dir, error.to_string());
            self.carry_out(now, inner, fx);
            return self.on_dir_failed(now, dir, &why, fx);
        }
        let recovered = opening.recovery.step(now, done, &mut files, &mut inner);
        self.files = files;
        match recovered {
            Recovered::Working => self.carry_out(now, inner, fx),
            Recovered::Done(log, found) => {
                if let Some(text) = found {
                    note(Level::Warn, text, fx);
                }
                self.serve(now, slot, *log, inner, fx);
            }
            Recovered::Full(why) => {
                self.carry_out(now, inner, fx);
                self.on_starved(now, slot, &why, fx);
            }
            Recovered::Failed(why) => {
                self.carry_out(now, inner, fx);
                note(Level::Error, why, fx);
                self.set_failed(slot);
                self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
                self.unpark(now, fx);
            }
        }
    }

    /// An opened log becomes a partition that serves.
    fn serve(
        &mut self,
        now: Now,
        slot: u32,
        log: crate::log::Log,
        mut inner: Fx<partition::Effect>,
        fx: &mut Fx<Effect>,
    ) {
        let Some(Slot::Opening(opening)) = self.slots.remove(slot) else { return };
        let mut partition = Partition::new(
            opening.id,
            self.local(),
            log,
            Arc::clone(&opening.config),
            Arc::clone(&opening.state),
            self.mutants,
        );
        partition.on_image(&opening.config, &opening.state, &mut inner);
        if self.stopping == Stopping::Closing {
            partition.close(&mut inner);
        }
        self.slots.insert(slot, Slot::Open(Box::new(partition)));
        self.carry_out(now, inner, fx);
        let moved = opening.leaves.is_some();
        if let Some(old) = opening.leaves {
            self.settle_move(slot, old, fx);
        }
        if self.stopping == Stopping::No {
            self.follow_leadership(now, slot, fx);
            if moved {
                self.resume_ledger(now, slot, fx);
            }
        }
        self.unpark(now, fx);
    }

    pub(super) fn set_failed(&mut self, slot: u32) {
        let gone = match self.slots.remove(slot) {
            Some(Slot::Open(p)) => Gone { folder: p.log().folder().clone() },
            Some(Slot::Opening(o) | Slot::Starved(o)) => {
                Gone { folder: o.recovery.folder().clone() }
            }
            Some(Slot::Failed(gone) | Slot::Deleting(gone)) => gone,
            None => return,
        };
        self.slots.insert(slot, Slot::Failed(gone));
    }

    /// Nothing of a data directory is served once one of its disk operations failed: what the
    /// page cache says may not be on the disk any more (no retry in place).
    pub(super) fn on_dir_failed(&mut self, now: Now, dir: u16, why: &str, fx: &mut Fx<Effect>) {
        if self.failed_dirs.contains(&dir) {
            return;
        }
        self.failed_dirs.push(dir);
        self.leave_moves(now, dir, fx);
        let dead: Vec<u32> =
            self.slots.iter().filter(|(_, s)| dir_of(s) == dir).map(|(k, _)| k).collect();
        let mut inner = std::mem::take(&mut self.inner);
        for slot in dead {
            if let Some(partition) = self.slots.get_mut(slot).and_then(Slot::open_mut) {
                partition.abandon(ErrorCode::KafkaStorageError, &mut inner);
            }
            self.set_failed(slot);
            self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        }
        let text = why.to_owned();
        fx.push(Effect::Control(ToControl::DirFailed { dir, why: text }));
        self.carry_out(now, inner, fx);
        self.unpark(now, fx);
    }

    /// Says how far the opening of the first image's logs has come, if it takes long.
    pub(super) fn report_progress(&mut self, now: Now, fx: &mut Fx<Effect>) {
        if self.next_progress.is_none_or(|at| at > now.mono) {
            return;
        }
        self.next_progress = Some(now.mono.plus_ms(PROGRESS_INTERVAL_MS));
        let (all, opening) = (self.slots.len(), self.slots.opening());
        let text = format!("shard {}: {} of {all} logs are open", self.id.0, all - opening);
        note(Level::Info, text, fx);
    }

    /// Says once that every log of the first image is open.
    pub(super) fn announce(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let opened = self.image.is_some() && self.sweeping == 0 && !self.slots.any_opening();
        if opened && !self.announced {
            self.announced = true;
            self.next_progress = None;
            self.begin_scrub(now);
            self.resume_moves(now, fx);
            fx.push(Effect::Control(ToControl::Ready(self.id)));
        }
    }

    pub(super) fn report_checkpoint(&self, fx: &mut Fx<Effect>) {
        let logs = self.partitions().map(|partition| {
            let log = partition.log();
            let first = log.segments().first().map(|segment| segment.base);
            let start = log.log_start();
            LogCheckpoint {
                name: Arc::clone(&log.folder().path),
                dir: log.folder().dir,
                recovery_point: log.stated_recovery_point(),
                durable: log.recovery_point(),
                log_start: (first != Some(start) && start.0 > 0).then_some(start),
                high_watermark: partition.high_watermark(),
            }
        });
        let logs = logs.collect();
        fx.push(Effect::Control(ToControl::Checkpoint { shard: self.id, logs }));
    }

    pub(super) fn on_stop(&mut self, now: Now, fx: &mut Fx<Effect>) {
        if self.stopping != Stopping::No {
            return;
        }
        self.stopping = Stopping::Closing;
        self.stop_scrub(fx);
        self.stop_moves();
        for mail in std::mem::take(&mut self.parked) {
            self.on_late_mail(mail, fx);
        }
        self.end_ledgers(ErrorCode::NotCoordinator, fx);
        let mut inner = std::mem::take(&mut self.inner);
        for partition in self.slots.open_mut() {
            partition.close(&mut inner);
        }
        self.leave_starved(fx);
        self.unsettled = self.slots.iter().map(|(slot, _)| slot).collect();
        self.carry_out(now, inner, fx);
    }

    /// A shard that stops takes nothing on: clients look for the leader elsewhere, or again.
    pub(super) fn on_late_mail(&mut self, mail: ToShard, fx: &mut Fx<Effect>) {
        let gone = ErrorCode::NotLeaderOrFollower;
        match mail {
            ToShard::Produce(produce) => {
                answer_to(produce.reply, Answer::Produced(Err(gone.into())), fx);
            }
            ToShard::Read(read) => {
                let outcome = |part: &ReadPart| ReadOutcome { slot: part.slot, result: Err(gone) };
                let outcomes = read.parts.iter().map(outcome).collect();
                answer_to(read.reply, Answer::Read(outcomes), fx);
            }
            ToShard::ListOffset { reply, .. } => answer_to(reply, Answer::Offset(Err(gone)), fx),
            ToShard::DeleteRecords { reply, .. } => {
                answer_to(reply, Answer::Deleted(Err(gone.into())), fx);
            }
            ToShard::EpochEnd { reply, .. } => answer_to(reply, Answer::EpochEnd(Err(gone)), fx),
            ToShard::Group { reply, request, .. } => {
                group_answer(reply, request.refused(ErrorCode::NotCoordinator), fx);
            }
            ToShard::ListGroups { reply } => self.on_list_groups(reply, fx),
            ToShard::LogSizes { reply } => answer_to(reply, Answer::Sizes(Vec::new()), fx),
            ToShard::Statistics { reply } => self.on_statistics(reply, fx),
            ToShard::AlterDir { reply, .. } => answer_to(reply, Answer::DirAltered(Err(gone)), fx),
            ToShard::Start(_)
            | ToShard::Image(_)
            | ToShard::Unwatch { .. }
            | ToShard::DirFull { .. }
            | ToShard::Checkpoint
            | ToShard::Stop => {}
        }
    }

    pub(super) fn finish_stop(&mut self, fx: &mut Fx<Effect>) {
        if self.stopping != Stopping::Closing {
            return;
        }
        // What has settled stays so: each slot is looked at until then, not all of them each time.
        let settled = |slot: &u32| self.slots.get(*slot).is_none_or(Slot::is_settled);
        while self.unsettled.pop_if(|slot| settled(slot)).is_some() {}
        if self.unsettled.is_empty() {
            self.stopping = Stopping::Done;
            self.report_checkpoint(fx);
            fx.push(Effect::Control(ToControl::Stopped(self.id)));
        }
    }
}

/// Whether a folder was renamed to be removed (`<partition>.<32 hexadecimal digits>-delete`, as
/// Kafka names them); anything else may be an operator's.
fn is_doomed(name: &str) -> bool {
    let unique = name.strip_suffix("-delete").and_then(|rest| rest.rsplit_once('.'));
    unique.is_some_and(|(_, id)| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

pub(super) fn dir_of(slot: &Slot) -> u16 {
    match slot {
        Slot::Open(partition) => partition.log().folder().dir,
        Slot::Opening(opening) | Slot::Starved(opening) => opening.recovery.folder().dir,
        Slot::Failed(gone) | Slot::Deleting(gone) => gone.folder.dir,
    }
}

fn sweep_id(dir: i64) -> IoId {
    IoId { owner: IoId::UNIT, generation: 0, what: What::Meta, end: dir }
}
