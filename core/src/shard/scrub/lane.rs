//! The search in one data directory.
//!
//! State: the segment that is being gone through, when the next step is due, how far each log has
//! been looked at. A cycle goes through every closed segment; then there is a pause, in which only
//! what is closed meanwhile is looked at.
//!
//! Invariants: one operation is under way at most, and the next one is not asked for before the
//! time has passed that the last one may take at the allowed rate; what was not used is not saved
//! up. An operation about a segment is asked for only while the log has it.

use std::collections::BTreeMap;

use super::Scrubbed;
use super::place::{Place, is_there};
use crate::disk::{DiskOp, FileIds, IoDone, IoId, What};
use crate::fx::Fx;
use crate::partition::Partition;
use crate::scrub::job::{Job, Progress, Report, Target};
use crate::scrub::walk::Around;
use crate::shard::slot::Slot;
use crate::shard::slots::Slots;
use crate::time::{Deadline, Instant, Now};

/// How fast the search goes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    pub(super) bytes_per_second: u64,
    /// Pause between two cycles.
    pub(super) interval_ms: i64,
}

/// A start has other things to read than this.
const START_DELAY_MS: i64 = 60_000;
/// So often it is looked for segments that were closed meanwhile.
const LOOK_MS: i64 = 10_000;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    dir: u16,
    pace: Pace,
    /// When the next step is due; none before the shard is ready.
    at: Option<Instant>,
    job: Option<(u32, Job)>,
    /// The operation under way.
    waiting: Option<i64>,
    token: i64,
    places: BTreeMap<u32, Place>,
    /// The slot that had its turn last.
    last: Option<u32>,
    cycle: Cycle,
    counted: Scrubbed,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Cycle {
    UnderWay,
    PausedUntil(Instant),
}

impl Lane {
    pub(super) fn new(dir: u16, pace: Pace) -> Self {
        Self {
            dir,
            pace,
            at: None,
            job: None,
            waiting: None,
            token: 0,
            places: BTreeMap::new(),
            last: None,
            cycle: Cycle::PausedUntil(Instant(0)),
            counted: Scrubbed::default(),
        }
    }

    pub(super) fn begin(&mut self, now: Now) {
        self.at = Some(now.mono.plus_ms(START_DELAY_MS.min(self.pace.interval_ms)));
    }

    pub(super) fn deadline(&self) -> Deadline {
        let at = self.at.filter(|_| self.waiting.is_none())?;
        Some((at, "dohle.scrub.max.bytes.per.second"))
    }

    /// What was gone through counts for the cycle.
    pub(super) fn count(&mut self, one: Scrubbed) {
        self.counted.add(one);
    }

    /// Takes the next step if it is due. Gives what a cycle went through that has ended.
    pub(super) fn tick<E: From<DiskOp>>(
        &mut self,
        now: Now,
        slots: &Slots,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Option<Scrubbed> {
        if self.deadline().is_none_or(|(at, _)| at > now.mono) {
            return None;
        }
        self.begin_cycle(now, slots);
        self.drop_what_is_gone(slots, fx);
        if self.job.is_none() {
            self.job = self.choose(slots).map(|(slot, target)| (slot, Job::new(target)));
        }
        let Some((_, job)) = &mut self.job else { return self.rest(now) };
        self.token += 1;
        self.waiting = Some(self.token);
        let (owner, generation) = (IoId::UNIT, u32::from(self.dir));
        job.ask(IoId { owner, generation, what: What::Scrub, end: self.token }, files, fx);
        None
    }

    fn begin_cycle(&mut self, now: Now, slots: &Slots) {
        if matches!(self.cycle, Cycle::PausedUntil(at) if at <= now.mono) {
            self.cycle = Cycle::UnderWay;
            self.places.retain(|slot, _| slots.get(*slot).is_some());
            self.places.values_mut().for_each(Place::again);
        }
    }

    /// There is nothing to be looked at for now.
    fn rest(&mut self, now: Now) -> Option<Scrubbed> {
        let look = LOOK_MS.min(self.pace.interval_ms).max(1);
        self.at = Some(now.mono.plus_ms(look));
        if self.cycle != Cycle::UnderWay {
            return None;
        }
        self.cycle = Cycle::PausedUntil(now.mono.plus_ms(self.pace.interval_ms.max(1)));
        Some(std::mem::take(&mut self.counted))
    }

    fn drop_what_is_gone<E: From<DiskOp>>(&mut self, slots: &Slots, fx: &mut Fx<E>) {
        let gone = |slot: u32, job: &Job| {
            partition(slots, slot).is_none_or(|open| !is_there(open.log(), job.target()))
        };
        if let Some((_, mut job)) = self.job.take_if(|(slot, job)| gone(*slot, job)) {
            job.release(fx);
        }
    }

    /// The next segment: partitions take turns.
    fn choose(&mut self, slots: &Slots) -> Option<(u32, Target)> {
        let last = self.last;
        let later = slots.iter().filter(|(slot, _)| last.is_none_or(|last| *slot > last));
        let again = slots.iter().filter(|(slot, _)| last.is_some_and(|last| *slot <= last));
        let in_cycle = self.cycle == Cycle::UnderWay;
        for (slot, held) in later.chain(again) {
            let here = |open: &&Partition| open.log().folder().dir == self.dir;
            let Some(open) = held.open().filter(here) else { continue };
            let place = self.places.entry(slot).or_insert_with(|| Place::new(open.log(), in_cycle));
            if let Some(target) = place.next(open, in_cycle) {
                self.last = Some(slot);
                return Some((slot, target));
            }
        }
        None
    }

    /// Takes in the end of an operation. Gives what came of a segment that was gone through.
    pub(super) fn on_io<E: From<DiskOp>>(
        &mut self,
        now: Now,
        done: IoDone,
        slots: &Slots,
        fx: &mut Fx<E>,
    ) -> Option<(Target, Report)> {
        if self.waiting != Some(done.id.end) {
            return None;
        }
        self.waiting = None;
        self.at = Some(now.mono);
        self.drop_what_is_gone(slots, fx);
        let (slot, job) = self.job.as_mut()?;
        let log = partition(slots, *slot)?.log();
        let around = Around { epochs: log.epochs(), start: log.log_start() };
        match job.on_io(done, &around, fx) {
            Progress::More(cost) => {
                self.at = Some(self.after(now, cost));
                None
            }
            Progress::Done(report) => {
                self.at = Some(self.after(now, 0));
                let (_, job) = self.job.take()?;
                Some((job.target().clone(), *report))
            }
        }
    }

    /// When a step of that cost has taken as long as it may.
    fn after(&self, now: Now, cost: u64) -> Instant {
        let ns = u128::from(cost) * 1_000_000_000 / u128::from(self.pace.bytes_per_second.max(1));
        let ns = u64::try_from(ns).unwrap_or(u64::MAX).max(1);
        Instant(now.mono.0.saturating_add(ns))
    }

    pub(super) fn stop<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if let Some((_, mut job)) = self.job.take() {
            job.release(fx);
        }
    }
}

fn partition(slots: &Slots, slot: u32) -> Option<&Partition> {
    slots.get(slot).and_then(Slot::open)
}
