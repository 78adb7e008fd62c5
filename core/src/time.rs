//! Time as a value. The core never asks for the time: every step is told it.

use std::time::Duration;

use dohle_wire::id::Timestamp;

/// A point on a node's monotonic clock, in nanoseconds since the driver started it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// The instant `by` later; saturates at the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The instant `ms` milliseconds later; a negative count is none.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        self.plus(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    /// Time passed since `earlier`, zero when that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Both clocks of a node at the moment of a step: the monotonic one decides waits, the wall
/// clock stamps records.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// Never runs backwards on one node.
    pub mono: Instant,
    /// Milliseconds since the epoch; may jump either way.
    pub wall: Timestamp,
}

/// When a machine next wants a tick, and why.
pub type Deadline = Option<(Instant, &'static str)>;

/// The earlier of two deadlines.
#[must_use]
pub fn earlier(a: Deadline, b: Deadline) -> Deadline {
    match (a, b) {
        (Some(x), Some(y)) => Some(if y.0 < x.0 { y } else { x }),
        (x, y) => x.or(y),
    }
}
