//! The alarm clock of a unit: holders say when it is wanted, one helper sleeps until then.
//!
//! A holder and the helper agree without a lock: the holder stores what it wants and then looks
//! at how long the helper sleeps; the helper stores how long it will sleep and then looks at what
//! is wanted. With a fence between the store and the look at least one of them sees the other.

use super::sync::{AtomicU64, Ordering, fence};

/// Never.
pub(crate) const NEVER: u64 = u64::MAX;

/// Instants in nanoseconds.
pub(crate) struct Alarm {
    wanted: AtomicU64,
    sleeping: AtomicU64,
}

impl Alarm {
    /// Nothing is wanted and the helper is awake.
    pub(crate) fn new() -> Self {
        Self { wanted: AtomicU64::new(NEVER), sleeping: AtomicU64::new(0) }
    }

    /// A holder wants to be woken at `at`, whatever it wanted before. True: the helper sleeps
    /// longer than that and must be poked.
    #[must_use]
    pub(crate) fn want(&self, at: u64) -> bool {
        // A swap rather than a store: it is ordered after an `awake` that took an older wish.
        self.wanted.swap(at, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        at < self.sleeping.load(Ordering::Acquire)
    }

    /// The helper goes to sleep: until when.
    pub(crate) fn sleep(&self) -> u64 {
        loop {
            let at = self.wanted.load(Ordering::Acquire);
            self.sleeping.store(at, Ordering::Release);
            fence(Ordering::SeqCst);
            if self.wanted.load(Ordering::Acquire) >= at {
                return at;
            }
        }
    }

    /// The helper is awake and will look at what is wanted before it sleeps again. True: the
    /// alarm was due at `now` and is off until the next [`Alarm::want`].
    pub(crate) fn awake(&self, now: u64) -> bool {
        self.sleeping.store(0, Ordering::Release);
        let wanted = self.wanted.load(Ordering::Acquire);
        // Another value than the one just seen is a newer wish, which stays.
        wanted <= now
            && self
                .wanted
                .compare_exchange(wanted, NEVER, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }
}
