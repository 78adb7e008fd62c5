//! How long things took: counted in buckets, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds; one more bucket holds what took longer.
const BOUNDS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Times {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// What a histogram held at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Of all durations, in seconds.
    pub(crate) sum: f64,
    /// How many there were.
    pub(crate) count: u64,
    /// Upper bounds in seconds and how many lie in each bucket alone; the last bound is infinite.
    pub(crate) buckets: Vec<(f64, u64)>,
}

impl Times {
    /// Something took so long.
    pub fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// What there is. Durations that are noted meanwhile may be in it or not.
    pub(crate) fn seen(&self) -> Seen {
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6);
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.chain([f64::INFINITY]).zip(counts).collect();
        Seen {
            sum: self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9,
            count: buckets.iter().map(|(_, count)| count).sum(),
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_that_holds_it() {
        let times = Times::default();
        for micros in [0, 50, 51, 2_500, 10_000_000, 60_000_000] {
            times.note(Duration::from_micros(micros));
        }
        let seen = times.seen();
        let held: Vec<_> = seen.buckets.iter().filter(|(_, count)| *count > 0).copied().collect();
        assert_eq!(held, [(5e-5, 2), (1e-4, 1), (2.5e-3, 1), (10.0, 1), (f64::INFINITY, 1)]);
        assert_eq!(seen.count, 6);
        assert!((seen.sum - 70.002_601).abs() < 1e-6, "{}", seen.sum);
    }
}
