//! How far the search has come in one log.

use dohle_wire::id::Offset;

use crate::log::Log;
use crate::log::sums::Owner;
use crate::partition::Partition;
use crate::scrub::job::Target;

/// Two readers of one log: the cycle, which goes through all of it, and a second one that follows
/// the segments as they are closed, so that they have their sums soon.
#[derive(Copy, Clone, Debug)]
pub(super) struct Place {
    cycle_next: Offset,
    fresh_next: Offset,
    fresh_turn: bool,
}

impl Place {
    /// In a log that was not looked at before. While a cycle goes on that takes what is closed.
    pub(super) fn new(log: &Log, in_cycle: bool) -> Self {
        let fresh_next = if in_cycle { active(log) } else { Offset(0) };
        Self { cycle_next: Offset(0), fresh_next, fresh_turn: false }
    }

    /// Another cycle begins.
    pub(super) fn again(&mut self) {
        self.cycle_next = Offset(0);
    }

    /// The segment whose turn it is.
    pub(super) fn next(&mut self, partition: &Partition, in_cycle: bool) -> Option<Target> {
        let log = partition.log();
        // A log that was cut has what follows anew.
        self.fresh_next = self.fresh_next.min(active(log));
        let settled = log.settled();
        let from = |next: Offset| settled.partition_point(|segment| segment.base < next);
        let (fresh, cycled) = (from(self.fresh_next), from(self.cycle_next));
        let cycle_left = in_cycle && cycled < settled.len();
        let fresh_left = fresh < settled.len();
        let is_fresh = fresh_left && (self.fresh_turn || !cycle_left);
        if !is_fresh && !cycle_left {
            return None;
        }
        self.fresh_turn = !is_fresh;
        let target = target(partition, if is_fresh { fresh } else { cycled });
        match is_fresh {
            true => self.fresh_next = target.next,
            false => self.cycle_next = target.next,
        }
        Some(target)
    }
}

fn active(log: &Log) -> Offset {
    log.segments().last().map_or(log.end(), |segment| segment.base)
}

fn target(partition: &Partition, at: usize) -> Target {
    let log = partition.log();
    let segment = &log.segments()[at];
    let id = partition.id();
    Target {
        folder: log.folder().clone(),
        owner: Owner { topic: id.topic, partition: id.index, base: segment.base },
        next: log.segments()[at + 1].base,
        size: segment.size,
        file: segment.file,
    }
}

/// Whether a segment is still in the log, and closed.
pub(super) fn is_there(log: &Log, target: &Target) -> bool {
    let settled = log.settled();
    let found = settled.binary_search_by_key(&target.owner.base, |segment| segment.base);
    found.is_ok_and(|at| target.is(&settled[at], log.segments()[at + 1].base))
}
