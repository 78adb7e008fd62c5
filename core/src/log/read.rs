//! Where the bytes for a read lie.

use dohle_wire::codec::Hole;
use dohle_wire::id::{Offset, Timestamp};

use super::Log;
use super::index::TimeEntry;
use super::locate::{LocatePlan, Located, Target};
use super::names::FileKind;
use super::segment::Segment;
use super::tail::Span;
use super::txn::{Aborted, Committed};
use crate::mutant::Mutant;

/// What is known about a read at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// There is nothing below the bound.
    Empty,
    /// Here it is.
    At(Span),
    /// A driver has to look it up.
    Locate(LocatePlan),
}

impl Log {
    /// Where to read from `from` (at or past the log start) up to `upper`, within one segment.
    #[must_use]
    pub fn read(&self, from: Offset, upper: Offset) -> Reading {
        let at_roll = self.segments.last().is_some_and(|active| active.base == upper);
        let stale = at_roll && self.settings.mutants.has(Mutant::BoundLostAtRoll);
        let upper = if stale { self.end } else { upper };
        if from >= upper {
            return Reading::Empty;
        }
        if let Some(span) = self.tail.find(from, upper) {
            return Reading::At(span);
        }
        match self.segment_of(from) {
            Some(at) => Reading::Locate(self.plan(at, Target::Offset(from), upper)),
            None => Reading::Empty,
        }
    }

    /// What a reader of committed records leaves out of what it reads from `from` up to `upper`,
    /// and how far it reads.
    #[must_use]
    pub fn committed(&self, from: Offset, upper: Offset) -> Committed {
        self.aborted.committed(from, upper)
    }

    /// Which transactions were aborted, in the order of their markers.
    #[must_use]
    pub fn aborted(&self) -> &[Aborted] {
        self.aborted.entries()
    }

    /// Where to go on looking when the segment of `plan` holds nothing at or past its offset: what
    /// was there is gone (compaction leaves such gaps), and the next segment has what follows.
    #[must_use]
    pub fn read_further(&self, plan: &LocatePlan, upper: Offset) -> Option<LocatePlan> {
        let at = self.segments.partition_point(|segment| segment.base <= plan.base);
        let base = self.segments.get(at)?.base;
        (base < upper).then(|| self.plan(at, Target::Offset(base), upper))
    }

    /// Where to look for the first record below `upper` at or after `time`; `None` when no
    /// segment is young enough. One segment is looked at, as in Kafka
    /// (UnifiedLog.searchOffsetInLocalLog).
    #[must_use]
    pub fn read_time(&self, time: Timestamp, upper: Offset) -> Option<LocatePlan> {
        let at = self.segments.iter().position(|segment| segment.max_timestamp.0 >= time)?;
        // Of a segment with nothing below the bound there may be no file yet.
        (self.segments[at].base < upper).then(|| self.plan(at, Target::Timestamp(time), upper))
    }

    /// The greatest timestamp there is; `None` when no record has one.
    #[must_use]
    pub fn max_timestamp(&self) -> Option<Timestamp> {
        let max = self.segments.iter().map(|segment| segment.max_timestamp.0).max()?;
        (max.0 >= 0).then_some(max)
    }

    fn segment_of(&self, offset: Offset) -> Option<usize> {
        self.segments.partition_point(|segment| segment.base <= offset).checked_sub(1)
    }

    pub(super) fn plan(&self, at: usize, target: Target, upper: Offset) -> LocatePlan {
        let segment = &self.segments[at];
        let in_memory = at + 1 == self.segments.len() || segment.unsealed > 0;
        let side = |kind| (!in_memory).then(|| self.store.file(kind, segment.base));
        let by_time = matches!(target, Target::Timestamp(_));
        let (from, older) =
            if in_memory { hint(segment, target, self.log_start) } else { (0, None) };
        LocatePlan {
            file: segment.file,
            base: segment.base,
            index: side(FileKind::Index),
            times: side(FileKind::TimeIndex).filter(|_| by_time),
            from,
            older,
            size: segment.size,
            target,
            lower: self.log_start,
            upper,
            next: self.segment_next(at),
        }
    }
}

/// Where to start, and for a time the entry that says so. Indexes in memory may come from files.
fn hint(segment: &Segment, target: Target, lower: Offset) -> (u64, Option<TimeEntry>) {
    let of = |offset| segment.relative(offset).map_or(0, |r| segment.indexes.position_for(r));
    let older = match target {
        Target::Offset(_) => None,
        Target::Timestamp(time) => segment.indexes.last_older(time),
    };
    let older = older.filter(|entry| segment.base.plus(i64::from(entry.relative)) > lower);
    let from = match (target, older) {
        (Target::Offset(offset), _) => of(offset),
        (Target::Timestamp(_), Some(entry)) => segment.indexes.position_for(entry.relative),
        (Target::Timestamp(_), None) => of(lower),
    };
    (u64::from(from), older)
}

impl Span {
    /// The span that a look-up found.
    #[must_use]
    pub fn located(plan: &LocatePlan, found: &Located) -> Self {
        Self {
            file: plan.file,
            position: found.position,
            available: found.end.saturating_sub(found.position),
            first_batch_len: found.batch_len,
            more: found.more,
        }
    }

    /// The part of a file to send: up to `max_bytes`, but the first batch always whole.
    #[must_use]
    pub fn hole(&self, max_bytes: u32) -> Hole {
        let wanted = u64::from(max_bytes.max(self.first_batch_len)).min(self.available);
        let len = u32::try_from(wanted).unwrap_or(u32::MAX);
        Hole { file: self.file.0, position: self.position, len }
    }
}
