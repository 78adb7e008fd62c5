//! Time as a value. A machine never asks for the time: every step is told it.

use std::time::Duration;

use dohle_wire::id::Timestamp;

/// Both clocks at the moment of a step: the monotonic one decides waits, the wall clock stamps
/// records.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// Time since the driver started. Never runs backwards.
    pub mono: Duration,
    /// Milliseconds since the epoch; may jump either way.
    pub wall: Timestamp,
}

/// When a machine next wants a tick (on the monotonic clock), and why.
pub type Deadline = Option<(Duration, &'static str)>;

/// The earliest of the waits that lie ahead of the last step.
///
/// A wait that the last step has seen pass is not a deadline: whatever it was for was done, or waits
/// for something other than time. So a driver that ticks at each deadline never spins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earliest {
    after: Duration,
    found: Deadline,
}

impl Earliest {
    pub(crate) const fn after(last_step: Duration) -> Self {
        Self { after: last_step, found: None }
    }

    pub(crate) fn at(&mut self, when: Duration, why: &'static str) {
        if when > self.after && self.found.is_none_or(|(earliest, _)| when < earliest) {
            self.found = Some((when, why));
        }
    }

    pub(crate) fn or(&mut self, other: Deadline) {
        if let Some((when, why)) = other {
            self.at(when, why);
        }
    }

    pub(crate) const fn deadline(self) -> Deadline {
        self.found
    }
}
