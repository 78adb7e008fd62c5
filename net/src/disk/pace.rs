//! Which directories are so slow that they are served by the pool.
//!
//! A thread that connections run on must not wait for a device. What ends in the page cache seldom
//! does; where it does (too much is dirty, the journal is full) it does so again and again. That an
//! operation took long is not enough to know it: on a busy machine the thread may just have lost
//! its core. So a directory is doubted first, and from then on the system is asked whether the
//! thread slept.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::time::Duration;

use dohle_core::time::Instant;
use nix::sys::resource::{UsageWho, getrusage};

/// What takes longer may have waited for a device that is in trouble. One that is just kept busy
/// (a gigabyte a second) lets writers wait for some milliseconds now and then; the way through the
/// pool costs all of them more than that.
pub(super) const LONG: Duration = Duration::from_millis(10);
/// For how long a directory is served by the pool, or doubted.
const HELD_FOR: Duration = Duration::from_secs(1);

/// How a directory is served.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// At once.
    Quick,
    /// At once; if that takes long, it counts whether the thread slept.
    Doubted,
    /// By the pool.
    Slow,
}

/// The pace of each directory that is not just quick, and until when.
#[derive(Debug, Default)]
pub(super) struct Paces(BTreeMap<u16, (Pace, Instant)>);

impl Paces {
    pub(super) fn of(&mut self, dir: u16, now: Instant) -> Pace {
        match self.0.get(&dir) {
            None => Pace::Quick,
            Some((pace, until)) if now < *until => *pace,
            // What was slow has to show that it no longer is.
            Some((Pace::Slow, _)) => self.set(dir, Pace::Doubted, now),
            Some(_) => {
                self.0.remove(&dir);
                Pace::Quick
            }
        }
    }

    /// An operation took longer than [`LONG`]; `slept` says whether its thread slept meanwhile,
    /// where that was asked.
    pub(super) fn on_long(&mut self, dir: u16, slept: Option<bool>, now: Instant) {
        let pace = if slept == Some(true) { Pace::Slow } else { Pace::Doubted };
        self.set(dir, pace, now);
    }

    fn set(&mut self, dir: u16, pace: Pace, now: Instant) -> Pace {
        self.0.insert(dir, (pace, now.plus(HELD_FOR)));
        pace
    }
}

/// How often this thread has slept until something came about. Losing the core does not count.
pub(super) fn times_slept() -> Option<c_long> {
    getrusage(UsageWho::RUSAGE_THREAD).ok().map(|usage| usage.voluntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    #[test]
    fn a_thread_that_only_lost_its_core_makes_no_directory_slow() {
        let mut paces = Paces::default();
        assert_eq!(paces.of(0, at(0)), Pace::Quick);
        for ms in [0, 500, 1_400] {
            let asked = paces.of(0, at(ms)) == Pace::Doubted;
            assert_eq!(asked, ms > 0);
            paces.on_long(0, asked.then_some(false), at(ms));
        }
        assert_eq!(paces.of(0, at(2_399)), Pace::Doubted);
        assert_eq!(paces.of(0, at(2_400)), Pace::Quick);
    }

    #[test]
    fn where_threads_sleep_the_pool_serves_until_that_is_over() {
        let mut paces = Paces::default();
        paces.on_long(0, None, at(0));
        paces.on_long(0, Some(true), at(10));
        assert_eq!((paces.of(0, at(1_009)), paces.of(1, at(1_009))), (Pace::Slow, Pace::Quick));
        assert_eq!(paces.of(0, at(1_010)), Pace::Doubted);
        paces.on_long(0, Some(true), at(1_020));
        assert_eq!(paces.of(0, at(2_019)), Pace::Slow);
        assert_eq!(paces.of(0, at(2_020)), Pace::Doubted);
        assert_eq!(paces.of(0, at(3_020)), Pace::Quick);
    }

    #[test]
    fn sleeping_counts() {
        let before = times_slept().expect("a count");
        std::thread::sleep(Duration::from_millis(1));
        assert!(times_slept().expect("a count") > before);
    }
}
