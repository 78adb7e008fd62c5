//! A node's clocks: the monotonic one starts with the node, the wall clock stamps records.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dohle_core::time::{Instant, Now};
use dohle_wire::id::Timestamp;

use crate::rt;

/// Tells the time to the core.
#[derive(Copy, Clone, Debug)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: std::time::Instant::now() }
    }

    /// Both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), wall: wall() }
    }

    /// The monotonic clock alone.
    #[must_use]
    pub fn mono(&self) -> Instant {
        Instant(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// When the runtime's timers shall fire for `at`; none when that is never.
    pub(crate) fn timer(&self, at: Instant) -> Option<rt::Instant> {
        let std = self.origin.checked_add(Duration::from_nanos(at.0))?;
        (at.0 != u64::MAX).then(|| rt::Instant::from_std(std))
    }

    /// How long it is until `at`.
    pub(crate) fn until(&self, at: Instant) -> Duration {
        at.since(self.mono())
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
