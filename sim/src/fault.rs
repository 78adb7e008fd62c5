//! The nemesis: which faults happen when.
//!
//! Each enabled kind of crash happens at least twice in a run. A crash is armed at a drawn time
//! and strikes at a drawn number of disk operations later, because that is where crashes hurt;
//! a node that does nothing is struck after a while all the same. Now and then a second crash is
//! armed for the recovery from the first.

use serde::{Deserialize, Serialize};

use crate::choice::{Choices, Stream};
use crate::clock::{MS, SEC};
use crate::disk::Crash;

/// The kinds of fault that the nemesis schedules.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The process ends, the page cache survives.
    Kill,
    /// The machine loses power.
    Power,
    /// The process is asked to stop and does.
    Stop,
    /// The wall clock jumps.
    ClockJump,
    /// Links are clogged for a while.
    Clog,
    /// The disks are full for a while.
    Full,
    /// Replicas are moved from one data directory to another.
    Move,
    /// A data directory fails, until the node was started again.
    Sick,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::Power,
        Self::Stop,
        Self::ClockJump,
        Self::Clog,
        Self::Full,
        Self::Move,
        Self::Sick,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Power => "power",
            Self::Stop => "stop",
            Self::ClockJump => "clock-jump",
            Self::Clog => "clog",
            Self::Full => "full",
            Self::Move => "move",
            Self::Sick => "sick",
        }
    }

    /// The crash that it is, if it is one.
    #[must_use]
    pub fn crash(self) -> Option<Crash> {
        match self {
            Self::Kill => Some(Crash::Kill),
            Self::Power => Some(Crash::Power),
            Self::Stop | Self::ClockJump | Self::Clog | Self::Full | Self::Move | Self::Sick => {
                None
            }
        }
    }
}

/// A crash that waits for its moment.
#[derive(Copy, Clone, Debug)]
struct Armed {
    fault: Fault,
    operations: u64,
}

/// Decides on faults for one node.
#[derive(Clone, Debug, Default)]
pub struct Nemesis {
    armed: Option<Armed>,
    /// How often each kind happened, in the order of [`Fault::ALL`].
    pub happened: [u64; 8],
    over: bool,
}

/// An armed crash strikes after this time even when the disk is idle.
pub const STRIKES_AFTER: u64 = 2 * SEC;

impl Nemesis {
    /// The faults of a run of length `length`: when each begins.
    pub fn plan(choices: &mut Choices, enabled: &[Fault], length: u64) -> Vec<(u64, Fault)> {
        let mut faults = Vec::new();
        for fault in enabled {
            let count = choices.range(Stream::Faults, "count", 2, 4);
            faults.extend(std::iter::repeat_n(*fault, count as usize));
        }
        // Each fault has a slice of the run; their order is drawn.
        let slice = length / (faults.len() as u64 + 1);
        let mut plan = Vec::new();
        for index in 0..faults.len() as u64 {
            let which = choices.below(Stream::Faults, "which", faults.len() as u64) as usize;
            let within = choices.below(Stream::Faults, "when", slice.max(1));
            let fault = (index * slice + slice / 2 + within, faults.swap_remove(which));
            if choices.fault() {
                plan.push(fault);
            }
        }
        plan
    }

    /// Lets a crash wait for its moment. False when another one does already.
    pub fn arm(&mut self, choices: &mut Choices, fault: Fault, within: u64) -> bool {
        if self.armed.is_some() || self.over {
            return false;
        }
        let operations = choices.below(Stream::Faults, "operations", within);
        self.armed = Some(Armed { fault, operations });
        true
    }

    /// After a crash: perhaps the recovery is struck too.
    pub fn arm_for_recovery(&mut self, choices: &mut Choices, fault: Fault) {
        if choices.chance(Stream::Faults, "again", 250_000) && choices.fault() {
            self.arm(choices, fault, 60);
        }
    }

    /// A disk operation is about to take effect: the crash that strikes now instead.
    pub fn on_disk_operation(&mut self) -> Option<Fault> {
        let armed = self.armed.as_mut()?;
        if armed.operations > 0 {
            armed.operations -= 1;
            return None;
        }
        self.armed.take().map(|armed| armed.fault)
    }

    /// The crash that has waited long enough.
    pub fn overdue(&mut self) -> Option<Fault> {
        self.armed.take().map(|armed| armed.fault)
    }

    /// Takes note that a fault happened.
    pub fn count(&mut self, fault: Fault) {
        self.happened[fault as usize] += 1;
    }

    /// No more faults from now on.
    pub fn stop(&mut self) {
        self.over = true;
        self.armed = None;
    }

    /// Whether faults are over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// How long a node stays down.
    pub fn downtime(&self, choices: &mut Choices) -> u64 {
        choices.heavy(Stream::Faults, "downtime", 200 * MS).min(4 * SEC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_each_fault_twice_and_in_time() {
        for seed in 0..100 {
            let plan = Nemesis::plan(&mut Choices::new(seed), &Fault::ALL, 50 * SEC);
            for fault in Fault::ALL {
                assert!(plan.iter().filter(|(_, f)| *f == fault).count() >= 2);
            }
            assert!(plan.iter().all(|(at, _)| *at <= 50 * SEC));
        }
    }

    #[test]
    fn an_armed_crash_strikes_once() {
        let mut choices = Choices::new(1);
        let mut nemesis = Nemesis::default();
        assert!(nemesis.arm(&mut choices, Fault::Kill, 5));
        assert!(!nemesis.arm(&mut choices, Fault::Power, 5));
        let strikes: Vec<Fault> = (0..20).filter_map(|_| nemesis.on_disk_operation()).collect();
        assert_eq!(strikes, [Fault::Kill]);
        assert_eq!(nemesis.overdue(), None);
    }
}
