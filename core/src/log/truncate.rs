//! Cutting a log's end off, as a follower does whose leader has another history (KIP-101), or
//! emptying it, as one does whose leader's log begins past its end.
//!
//! State: the log as it was, which nobody appends to or reads from meanwhile, and how far the
//! truncation has come. Inputs: ends of disk operations. Effects: disk operations. In the end the
//! log is opened again ([`Recovery`]), so that everything derived (indexes, epochs, producers,
//! what is durable) is what a replay of the rest gives, by the very code that replays it.
//!
//! Invariants: a crash at any moment leaves a log that opens as a prefix of the old one, or as the
//! new one; once the truncation has ended nothing of what was cut comes back. For this the steps
//! go in this order, each after the one before has ended:
//! 1. What the log itself had under way.
//! 2. [`TRUNCATED_TO`]: checkpoints may say that more was durable than there will be, and a log
//!    that ends below is otherwise taken for damaged.
//! 3. Later segments and snapshots are removed, the file is cut at a batch.
//! 4. Epochs end with the log. Being durable, that file also makes the removals so.
//! 5. When the log is emptied: where it starts.
//!
//! Must never know: why, or whether anybody has seen what is cut (R10 is for the caller).

use bytes::Bytes;
use dohle_wire::id::Offset;

use super::Log;
use super::epoch::EpochCache;
use super::index::Indexes;
use super::locate::{Located, Target};
use super::names::{FileKind, LEADER_EPOCHS, LOG_START, TRUNCATED_TO};
use super::offset_file;
use super::recover::{Gaps, Recovered, Recovery, RecoveryPlan};
use super::segment::Segment;
use crate::disk::{DirEntry, DiskOp, FileId, FileIds, IoDone, IoId, IoOk, What};
use crate::fx::Fx;
use crate::mutant::Mutant;
use crate::time::Now;

/// What a truncation leaves to be done.
#[derive(Debug)]
pub enum Truncating {
    /// Nothing: the log ends there already.
    Done(Box<Log>),
    /// The log comes back from [`Truncation::step`].
    Working(Box<Truncation>),
}

/// A truncation under way.
#[derive(Clone, Debug)]
pub struct Truncation {
    log: Log,
    aim: Aim,
    /// Of its own operations and of the log that comes back.
    generation: u32,
    step: Step,
    /// Operations under way, besides those of the log itself.
    pending: u32,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Aim {
    /// The log shall end there, or at the batch that holds it.
    End(Offset),
    /// The log shall be empty, and begin there.
    Start(Offset),
}

/// Where the log is cut.
#[derive(Copy, Clone, Debug)]
struct Place {
    /// Nothing at or past it is kept.
    end: Offset,
    /// Everything below it is kept: the segment that is cut begins there. (Where offsets have
    /// gaps, what is left may end well below `end`.)
    kept: Offset,
    /// The file and its length, if a file is cut.
    file: Option<(FileId, u64)>,
}

#[derive(Clone, Debug)]
enum Step {
    Settle,
    Locate,
    Bound { cut: Place },
    List,
    Cut { cut: Place },
    Epochs { cut: Place },
    Start,
    Reopen(Box<Recovery>),
}

impl Log {
    /// Cuts the log at `to`, or where the batch begins that holds it. Below its start there is
    /// nothing to keep: then it is emptied (Kafka's `UnifiedLog.truncateTo`).
    pub fn truncate_to<E: From<DiskOp>>(
        mut self,
        to: Offset,
        generation: u32,
        fx: &mut Fx<E>,
    ) -> Truncating {
        if to < self.log_start {
            return self.truncate_fully_and_start_at(to, generation, fx);
        }
        if to < self.end {
            return Truncation::begin(self, Aim::End(to), generation, fx);
        }
        // A leader notes its epoch before its first record. If it never got that far, the next
        // leader's records may be older than its epoch (KAFKA-10706).
        let conflict = self.epochs.latest_start().is_some_and(|start| start >= self.end);
        if conflict && !self.settings.mutants.has(Mutant::EpochsOutliveTruncation) {
            self.epochs.cut_end(self.end);
            if self.store.has_folder() {
                self.store.put_epochs(&self.epochs, fx);
            }
        }
        Truncating::Done(Box::new(self))
    }

    /// Throws everything away; the log shall be empty and begin at `start`.
    pub fn truncate_fully_and_start_at<E: From<DiskOp>>(
        self,
        start: Offset,
        generation: u32,
        fx: &mut Fx<E>,
    ) -> Truncating {
        Truncation::begin(self, Aim::Start(start), generation, fx)
    }

    /// A checkpoint says now that this log is durable up to `durable` and has to be recovered from
    /// `recovery_point`. When that is so, what a truncation had to hold against older checkpoints
    /// is not needed any more.
    pub fn on_checkpoint<E: From<DiskOp>>(
        &mut self,
        recovery_point: Offset,
        durable: Offset,
        fx: &mut Fx<E>,
    ) {
        let so = recovery_point <= self.stated_recovery_point() && durable <= self.recovery_point();
        if self.store.bounded && so {
            self.store.bounded = false;
            self.store.remove(self.store.folder.join(TRUNCATED_TO), fx);
        }
    }

    /// Nothing is under way that replaces a file of this log.
    pub(super) fn is_settled(&self) -> bool {
        self.segments.iter().all(|segment| segment.unsealed == 0) && self.store.is_idle()
    }
}

impl Truncation {
    fn begin<E: From<DiskOp>>(log: Log, aim: Aim, generation: u32, fx: &mut Fx<E>) -> Truncating {
        assert!(!log.closing, "a log that is being closed is not cut");
        assert!(generation != log.generation(), "completions of the log as it was are told apart");
        let mut truncation = Self { log, aim, generation, step: Step::Settle, pending: 0 };
        truncation.settle(fx);
        Truncating::Working(Box::new(truncation))
    }

    /// The log as it was when the truncation began.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Takes in the end of an operation, of the log as it was or of the truncation.
    pub fn step<E: From<DiskOp>>(
        &mut self,
        now: Now,
        done: IoDone,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Recovered {
        let own = done.id.generation == self.generation && done.id.what == What::Recover;
        let owned = own || done.id.generation == self.log.generation();
        if let (true, Err(error)) = (owned, &done.result) {
            return Recovered::Failed(format!("{}: {error}", self.log.folder().path));
        }
        match &mut self.step {
            Step::Reopen(recovery) => match recovery.step(now, done, ids, fx) {
                Recovered::Done(log, note) => Recovered::Done(self.finished(log), note),
                other => other,
            },
            _ if own => {
                self.pending -= 1;
                self.on_answer(done, fx)
            }
            Step::Settle => {
                self.log.on_io(&done, fx);
                self.settle(fx);
                Recovered::Working
            }
            _ => Recovered::Working,
        }
    }

    fn on_answer<E: From<DiskOp>>(&mut self, done: IoDone, fx: &mut Fx<E>) -> Recovered {
        if self.pending > 0 {
            return Recovered::Working;
        }
        match (self.step.clone(), done.result) {
            (Step::Locate, Ok(IoOk::Located(found))) => self.on_located(found, fx),
            (Step::Bound { cut }, _) => self.begin_cut(cut, fx),
            (Step::List, Ok(IoOk::Listing(found))) => self.on_list(found, fx),
            (Step::Cut { cut }, _) => self.cut_epochs(cut, fx),
            (Step::Epochs { cut }, _) => self.put_start(cut, fx),
            (Step::Start, _) => self.reopen(self.log.log_start, fx),
            (step, answer) => unreachable!("an answer {answer:?} that {step:?} does not have"),
        }
        Recovered::Working
    }

    fn ask<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>, op: impl FnOnce(IoId) -> DiskOp) {
        self.pending += 1;
        let id = IoId { generation: self.generation, ..self.log.store.id(What::Recover, 0) };
        fx.push(E::from(op(id)));
    }

    fn settle<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if !self.log.is_settled() {
            return;
        }
        match self.aim {
            Aim::End(to) => self.locate(to, fx),
            Aim::Start(_) => self.bound(NOTHING, fx),
        }
    }

    /// Looks for the batch that holds `to`, or is the first behind it.
    fn locate<E: From<DiskOp>>(&mut self, to: Offset, fx: &mut Fx<E>) {
        let at = self.log.holding(to);
        let plan = self.log.plan(at, Target::Offset(to), self.log.end);
        self.step = Step::Locate;
        self.ask(fx, |id| DiskOp::Locate { id, plan });
    }

    fn on_located<E: From<DiskOp>>(&mut self, found: Option<Located>, fx: &mut Fx<E>) {
        let Aim::End(to) = self.aim else { return };
        let segment = &self.log.segments[self.log.holding(to)];
        let (file, kept) = (segment.file, segment.base);
        let end = found.as_ref().map_or(to, |batch| batch.base.min(to));
        let file = found.map(|batch| (file, batch.position));
        self.bound(Place { end, kept, file }, fx);
    }

    fn bound<E: From<DiskOp>>(&mut self, cut: Place, fx: &mut Fx<E>) {
        self.step = Step::Bound { cut };
        let path = self.log.store.folder.join(TRUNCATED_TO);
        // A checkpoint from before an earlier truncation may still be the latest.
        let trusted = cut.kept.min(self.log.recovery_point());
        let data = offset_file::encode(trusted);
        self.ask(fx, |id| DiskOp::Put { id, path, data, durable: true });
    }

    fn begin_cut<E: From<DiskOp>>(&mut self, cut: Place, fx: &mut Fx<E>) {
        let Aim::End(to) = self.aim else { return self.list(fx) };
        if let Some((file, len)) = cut.file {
            self.ask(fx, |id| DiskOp::Truncate { id, file, len });
        }
        let at = self.log.holding(to);
        let indexes = self.log.segments[at..].iter().flat_map(|segment| names(segment, &INDEXES));
        let later = &self.log.segments[at + 1..];
        let records = later.iter().flat_map(|segment| names(segment, &[FileKind::Log]));
        let gone: Vec<String> = indexes.chain(records).collect();
        self.remove(cut, gone, fx);
    }

    /// What a log that shall be empty has on disk: snapshots of long ago, too.
    fn list<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        self.step = Step::List;
        let path = self.log.store.folder.clone();
        self.ask(fx, |id| DiskOp::List { id, path });
    }

    fn on_list<E: From<DiskOp>>(&mut self, found: Option<Vec<DirEntry>>, fx: &mut Fx<E>) {
        let names = found.into_iter().flatten().map(|entry| entry.name);
        let gone = names.filter(|name| FileKind::parse(name).is_some()).collect();
        self.remove(NOTHING, gone, fx);
    }

    fn remove<E: From<DiskOp>>(&mut self, cut: Place, gone: Vec<String>, fx: &mut Fx<E>) {
        self.step = Step::Cut { cut };
        self.log.release(fx);
        for name in gone {
            let path = self.log.store.folder.join(&name);
            self.ask(fx, |id| DiskOp::Remove { id, path });
        }
        if self.pending == 0 {
            self.cut_epochs(cut, fx);
        }
    }

    fn cut_epochs<E: From<DiskOp>>(&mut self, cut: Place, fx: &mut Fx<E>) {
        match self.aim {
            Aim::End(_) => self.log.epochs.cut_end(cut.end),
            Aim::Start(_) => self.log.epochs = EpochCache::default(),
        }
        self.step = Step::Epochs { cut };
        let path = self.log.store.folder.join(LEADER_EPOCHS);
        let data = Bytes::from(self.log.epochs.encode());
        let durable = !self.log.settings.mutants.has(Mutant::EpochsNotSynced);
        self.ask(fx, |id| DiskOp::Put { id, path, data, durable });
    }

    fn put_start<E: From<DiskOp>>(&mut self, cut: Place, fx: &mut Fx<E>) {
        let Aim::Start(start) = self.aim else {
            return self.reopen(cut.kept, fx);
        };
        self.log.log_start = start;
        if self.log.settings.mutants.has(Mutant::EmptiedLogForgetsStart) {
            return self.reopen(start, fx);
        }
        self.step = Step::Start;
        let path = self.log.store.folder.join(LOG_START);
        let data = offset_file::encode(start);
        self.ask(fx, |id| DiskOp::Put { id, path, data, durable: true });
    }

    fn reopen<E: From<DiskOp>>(&mut self, kept: Offset, fx: &mut Fx<E>) {
        let (log, trusted) = (&self.log, kept.min(self.log.recovery_point()));
        let plan = RecoveryPlan {
            owner: log.store.id(What::Recover, 0).owner,
            generation: self.generation,
            folder: log.folder().clone(),
            topic_id: log.store.topic_id,
            own: true,
            anonymous: true,
            clean: false,
            recovery_point: trusted,
            durable: trusted,
            gaps: Gaps::Upto(log.gaps_upto),
            log_start: Some(log.log_start),
            settings: log.settings.clone(),
        };
        self.step = Step::Reopen(Box::new(Recovery::begin(plan, fx)));
    }

    fn finished(&self, mut log: Box<Log>) -> Box<Log> {
        let (old, mutants) = (&self.log, log.settings.mutants);
        if mutants.has(Mutant::ProducersOutliveTruncation) {
            log.producers = old.producers.clone();
        }
        if mutants.has(Mutant::AbortedOutliveTruncation) {
            log.aborted = old.aborted.clone();
        }
        if let (true, Some(active)) =
            (mutants.has(Mutant::IndexOutlivesTruncation), log.segments.last_mut())
        {
            let before = old.segments.iter().find(|segment| segment.base == active.base);
            active.indexes = before.map_or_else(Indexes::default, |s| s.indexes.clone());
        }
        if mutants.has(Mutant::EmptiedLogForgetsStart) && matches!(self.aim, Aim::Start(_)) {
            let start = old.log_start;
            (log.log_start, log.end, log.written, log.durable) = (start, start, start, start);
        }
        log
    }
}

const NOTHING: Place = Place { end: Offset(0), kept: Offset(0), file: None };

/// The indexes of the segment that is cut say too much; those of the active one live in memory.
const INDEXES: [FileKind; 3] = [FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex];

fn names(segment: &Segment, kinds: &'static [FileKind]) -> impl Iterator<Item = String> + use<> {
    let base = segment.base;
    kinds.iter().map(move |kind| kind.name(base))
}
