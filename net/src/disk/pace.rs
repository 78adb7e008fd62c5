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

use crate::clock::Clock;

/// What takes longer may have waited for the device. (What is shorter costs less here than on its
/// way through the pool.)
const LONG: Duration = Duration::from_millis(10);
/// So long no thread is kept from its core.
const CERTAIN: Duration = Duration::from_millis(250);
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

/// The pace of each directory that is not just quick.
#[derive(Debug, Default)]
pub(super) struct Paces(BTreeMap<u16, Held>);

#[derive(Debug)]
struct Held {
    pace: Pace,
    until: Instant,
    /// Quick operations that the pool is at.
    pooled: u32,
}

/// An operation that took its time.
#[derive(Copy, Clone, Debug)]
pub(super) struct Took {
    pub(super) time: Duration,
    /// Whether its thread slept meanwhile, where that was asked.
    pub(super) slept: Option<bool>,
}

impl Took {
    /// Runs it. Whether the thread slept is asked where that may count.
    pub(super) fn of<R>(clock: &Clock, ask: bool, run: impl FnOnce() -> R) -> (R, Self) {
        let before = if ask { times_slept() } else { None };
        let began = clock.mono();
        let ran = run();
        let time = clock.mono().since(began);
        let slept = before.filter(|_| time > LONG).map(|before| times_slept() > Some(before));
        (ran, Self { time, slept })
    }

    /// Whether it waited for the device.
    fn is_slow(&self) -> bool {
        self.time > CERTAIN || self.time > LONG && self.slept == Some(true)
    }
}

impl Paces {
    pub(super) fn of(&mut self, dir: u16, now: Instant) -> Pace {
        match self.0.get(&dir) {
            None => Pace::Quick,
            Some(held) if now < held.until || held.pooled > 0 => held.pace,
            // What was slow has to show that it no longer is.
            Some(held) if held.pace == Pace::Slow => self.set(dir, Pace::Doubted, now),
            Some(_) => {
                self.0.remove(&dir);
                Pace::Quick
            }
        }
    }

    /// An operation was carried out at once.
    pub(super) fn on_here(&mut self, dir: u16, took: Took, now: Instant) {
        if took.time > LONG {
            self.set(dir, if took.is_slow() { Pace::Slow } else { Pace::Doubted }, now);
        }
    }

    /// An operation of a slow directory goes to the pool.
    pub(super) fn on_pooled(&mut self, dir: u16) {
        if let Some(held) = self.0.get_mut(&dir) {
            held.pooled += 1;
        }
    }

    /// The pool has carried it out.
    pub(super) fn on_pool(&mut self, dir: u16, took: Took, now: Instant) {
        if let Some(held) = self.0.get_mut(&dir) {
            held.pooled = held.pooled.saturating_sub(1);
        }
        if took.is_slow() {
            self.set(dir, Pace::Slow, now);
        }
    }

    fn set(&mut self, dir: u16, pace: Pace, now: Instant) -> Pace {
        let until = now.plus(HELD_FOR);
        let held = self.0.entry(dir).or_insert(Held { pace, until, pooled: 0 });
        (held.pace, held.until) = (pace, until);
        pace
    }
}

/// How often this thread has slept until something came about. Losing the core does not count.
fn times_slept() -> Option<c_long> {
    getrusage(UsageWho::RUSAGE_THREAD).ok().map(|usage| usage.voluntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    fn took(ms: u64, slept: Option<bool>) -> Took {
        Took { time: Duration::from_millis(ms), slept }
    }

    #[test]
    fn a_thread_that_only_lost_its_core_makes_no_directory_slow() {
        let mut paces = Paces::default();
        paces.on_here(0, took(2, None), at(0));
        assert_eq!(paces.of(0, at(0)), Pace::Quick);
        for ms in [0, 500, 1_400] {
            let asked = paces.of(0, at(ms)) == Pace::Doubted;
            assert_eq!(asked, ms > 0);
            paces.on_here(0, took(11, asked.then_some(false)), at(ms));
        }
        assert_eq!(paces.of(0, at(2_399)), Pace::Doubted);
        assert_eq!(paces.of(0, at(2_400)), Pace::Quick);
    }

    #[test]
    fn where_threads_sleep_the_pool_serves_until_that_is_over() {
        let mut paces = Paces::default();
        paces.on_here(0, took(11, None), at(0));
        paces.on_here(0, took(11, Some(true)), at(10));
        assert_eq!((paces.of(0, at(1_009)), paces.of(1, at(1_009))), (Pace::Slow, Pace::Quick));
        assert_eq!(paces.of(0, at(1_010)), Pace::Doubted);
        paces.on_here(0, took(11, Some(true)), at(1_020));
        assert_eq!(paces.of(0, at(2_019)), Pace::Slow);
        assert_eq!(paces.of(0, at(2_020)), Pace::Doubted);
        assert_eq!(paces.of(0, at(3_020)), Pace::Quick);
    }

    #[test]
    fn a_directory_is_slow_while_the_pool_waits_for_it() {
        let mut paces = Paces::default();
        paces.on_here(0, took(251, None), at(0));
        paces.on_pooled(0);
        paces.on_pooled(0);
        assert_eq!(paces.of(0, at(30_000)), Pace::Slow);
        paces.on_pool(0, took(1, None), at(30_000));
        assert_eq!(paces.of(0, at(30_000)), Pace::Slow);
        paces.on_pool(0, took(11, Some(true)), at(30_001));
        assert_eq!(paces.of(0, at(31_000)), Pace::Slow);
        assert_eq!(paces.of(0, at(31_001)), Pace::Doubted);
    }

    #[test]
    fn a_thread_of_the_pool_may_lose_its_core_too() {
        let mut paces = Paces::default();
        paces.on_here(0, took(251, None), at(0));
        paces.on_pooled(0);
        paces.on_pool(0, took(11, Some(false)), at(900));
        assert_eq!(paces.of(0, at(1_000)), Pace::Doubted);
    }

    #[test]
    fn sleeping_counts() {
        let before = times_slept().expect("a count");
        std::thread::sleep(Duration::from_millis(1));
        assert!(times_slept().expect("a count") > before);
    }
}
