//! Clocks: what a node or a client believes about time, as a function of true time.
//!
//! True time is the simulator's, in nanoseconds since the start of the run. A node's monotonic
//! clock starts at zero with each process and runs a little too fast or too slow; its wall clock
//! has an error of its own and may jump.

use dohle_core::time::{Instant, Now};
use dohle_wire::id::Timestamp;

use crate::choice::{Choices, Stream};

/// A microsecond of true time.
pub const US: u64 = 1_000;
/// A millisecond of true time.
pub const MS: u64 = 1_000_000;
/// A second of true time.
pub const SEC: u64 = 1_000_000_000;

/// The wall clock at the start of every run: 2026-01-01 00:00:00 UTC, in milliseconds.
pub const EPOCH_MS: i64 = 1_767_225_600_000;

/// One machine's clocks.
#[derive(Clone, Debug)]
pub struct Clock {
    /// True time at which the monotonic clock showed zero.
    started: u64,
    /// How much faster than true time it runs, in parts per million.
    drift_ppm: i64,
    /// Error of the wall clock.
    wall_error_ms: i64,
}

/// Wall clocks stay within this of the truth, so that timestamps stay within what brokers accept.
const WALL_ERROR_MAX_MS: i64 = 20 * 60 * 1000;

impl Clock {
    /// A clock that is right.
    #[must_use]
    pub fn exact() -> Self {
        Self { started: 0, drift_ppm: 0, wall_error_ms: 0 }
    }

    /// A clock with an error drawn from the seed.
    pub fn drawn(choices: &mut Choices) -> Self {
        let drift = choices.range(Stream::Clock, "drift", 0, 1000) as i64 - 500;
        let skew = choices.range(Stream::Clock, "skew", 0, 4000) as i64 - 2000;
        Self { started: 0, drift_ppm: drift, wall_error_ms: skew }
    }

    /// A new process starts: its monotonic clock begins at zero.
    pub fn start(&mut self, time: u64) {
        self.started = time;
    }

    /// The wall clock jumps, either way.
    pub fn jump(&mut self, choices: &mut Choices) {
        let size = choices.heavy(Stream::Clock, "jump", 2_000) as i64;
        let back = choices.chance(Stream::Clock, "jump-back", 500_000);
        let error = self.wall_error_ms + if back { -size } else { size };
        self.wall_error_ms = error.clamp(-WALL_ERROR_MAX_MS, WALL_ERROR_MAX_MS);
    }

    /// What the clocks show at a true time.
    #[must_use]
    pub fn now(&self, time: u64) -> Now {
        let elapsed = (time - self.started) as i64;
        let mono = elapsed + drift(elapsed, self.drift_ppm);
        let wall = EPOCH_MS
            + self.wall_error_ms
            + ((time as i64) + drift(time as i64, self.drift_ppm)) / MS as i64;
        Now { mono: Instant(mono as u64), wall: Timestamp(wall) }
    }

    /// The earliest true time at which the monotonic clock shows `at` or later.
    #[must_use]
    pub fn when(&self, at: Instant) -> u64 {
        let shown = at.0.min(1 << 62) as i64;
        let showing = |elapsed: i64| elapsed + drift(elapsed, self.drift_ppm);
        let mut elapsed = shown - drift(shown, self.drift_ppm);
        while showing(elapsed) < shown {
            elapsed += shown - showing(elapsed);
        }
        while showing(elapsed - 1) >= shown {
            elapsed -= 1;
        }
        self.started.saturating_add(elapsed.max(0) as u64)
    }
}

fn drift(elapsed: i64, ppm: i64) -> i64 {
    (i128::from(elapsed) * i128::from(ppm) / 1_000_000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(drift_ppm: i64, shown: u64) {
        let mut clock = Clock { drift_ppm, ..Clock::exact() };
        clock.start(5 * SEC);
        let time = clock.when(Instant(shown));
        assert!(clock.now(time).mono.0 >= shown);
        assert!(time == 5 * SEC || clock.now(time - 1).mono.0 < shown, "not the earliest");
    }

    #[test]
    fn when_is_the_inverse_of_now() {
        for drift_ppm in [-500, -1, 0, 1, 500] {
            for shown in [0, 1, 999, MS, 61 * SEC + 7, 3600 * SEC] {
                check(drift_ppm, shown);
            }
        }
    }

    #[test]
    fn the_far_future_is_never_in_the_past() {
        assert!(Clock::exact().when(Instant(u64::MAX)) > 100 * 365 * 86_400 * SEC);
    }

    #[test]
    fn jumps_stay_within_bounds() {
        let mut choices = Choices::new(1);
        let mut clock = Clock::drawn(&mut choices);
        for _ in 0..1000 {
            clock.jump(&mut choices);
            assert!((clock.now(0).wall.0 - EPOCH_MS).abs() <= WALL_ERROR_MAX_MS);
        }
    }
}
