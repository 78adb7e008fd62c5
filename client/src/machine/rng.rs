//! Seeded randomness: for jitter, for the choice of a broker and of a partition.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::time::Duration;

/// A generator that depends on its seed only.
#[derive(Clone, Debug)]
pub(crate) struct Rng(ChaCha8Rng);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Random bits.
    pub(crate) fn bits(&mut self) -> u128 {
        u128::from(self.0.next_u64()) << 64 | u128::from(self.0.next_u64())
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below 0");
        // The bias of a 64-bit remainder is far below anything that matters for spreading load.
        self.0.next_u64() % bound
    }

    /// A wait that doubles from `first` to `max` with each of `failures`, 20 % more or less.
    ///
    /// Without failures it is `first`. The rule is that of Kafka's ExponentialBackoff.
    pub(crate) fn backoff(&mut self, first: Duration, max: Duration, failures: u32) -> Duration {
        let doubled = first.saturating_mul(1u32.checked_shl(failures.min(30)).unwrap_or(1));
        let base = doubled.min(max.max(first));
        let permille = 800 + self.below(401) as u32;
        base.saturating_mul(permille) / 1000
    }
}
