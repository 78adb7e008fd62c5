//! The hand-over and the alarm under a model checker: every interleaving of a few steps.
//!
//! The very sources of the crate are compiled here against the checker's locks and atomics.

#![allow(dead_code, reason = "not every entry point is needed here")]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::{PoisonError, TryLockError};
}

#[path = "../src/alarm.rs"]
mod alarm;
#[path = "../src/handover.rs"]
mod handover;

use std::collections::VecDeque;

use alarm::{Alarm, NEVER};
use handover::{Driven, HandOver, Hold};
use loom::sync::Arc;
use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

/// What a unit does: counts, and looks only once into the inbox in each hold.
#[derive(Default)]
struct Count {
    todo: VecDeque<u32>,
    seen: Vec<u32>,
}

/// A unit, and a place that pushers write to and holders read in the middle of their work: the
/// checker switches threads only where two of them touch the same thing, and must do so there.
struct Bench {
    work: HandOver<u32, Count>,
    middle: AtomicU64,
}

impl Bench {
    fn new() -> Arc<Self> {
        Arc::new(Self { work: HandOver::new(Count::default()), middle: AtomicU64::new(0) })
    }

    fn push(&self, item: u32) {
        self.work.push(item);
        self.middle.fetch_add(1, Ordering::SeqCst);
    }
}

/// Drives until nothing is left, or somebody else does it.
fn drive(bench: &Bench) {
    loop {
        let driven = bench.work.drive(
            2,
            |count, inbox| {
                inbox.take_into(&mut count.todo);
                bench.middle.load(Ordering::SeqCst);
                count.seen.extend(count.todo.pop_front());
                let held = if count.todo.is_empty() { Hold::Rested } else { Hold::Interrupted };
                (held, ())
            },
            |()| {},
        );
        if driven != Driven::More {
            return;
        }
    }
}

fn seen(bench: &Bench) -> Vec<u32> {
    let mut seen = Vec::new();
    let driven = bench.work.drive(
        1,
        |count, _| {
            seen.clone_from(&count.seen);
            (Hold::Rested, ())
        },
        |()| {},
    );
    assert_eq!(driven, Driven::All, "something was left in the inbox");
    seen
}

/// Whatever was pushed is worked off when all who pushed have driven, in each one's order.
#[test]
fn nothing_is_left_behind() {
    loom::model(|| {
        let bench = Bench::new();
        let other = {
            let bench = Arc::clone(&bench);
            thread::spawn(move || {
                for item in [1, 2] {
                    bench.push(item);
                    drive(&bench);
                }
            })
        };
        bench.push(11);
        drive(&bench);
        other.join().expect("no panic");
        let seen = seen(&bench);
        assert_eq!(seen.len(), 3, "{seen:?}");
        let of_other: Vec<u32> = seen.into_iter().filter(|item| *item < 10).collect();
        assert_eq!(of_other, [1, 2], "in its order");
    });
}

/// Two pushers and a third that only drives.
#[test]
fn three_threads() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let bench = Bench::new();
        let threads: Vec<_> = [1, 2]
            .into_iter()
            .map(|item| {
                let bench = Arc::clone(&bench);
                thread::spawn(move || {
                    bench.push(item);
                    drive(&bench);
                })
            })
            .collect();
        drive(&bench);
        for thread in threads {
            thread.join().expect("no panic");
        }
        let mut seen = seen(&bench);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

/// A helper that sleeps longer than a holder wants is poked: it wakes in time.
#[test]
fn an_earlier_wish_wakes_the_helper() {
    loom::model(|| {
        let alarm = Arc::new(Alarm::new());
        let poke = Arc::new(Notify::new());
        let woken = Arc::new(AtomicBool::new(false));
        assert!(!alarm.want(100), "the helper is awake");
        let helper = {
            let (alarm, poke, woken) = (Arc::clone(&alarm), Arc::clone(&poke), Arc::clone(&woken));
            thread::spawn(move || {
                loop {
                    let until = alarm.sleep();
                    assert!(until <= 100, "what was wanted first is forgotten");
                    if until > 10 {
                        // It would sleep past the earlier wish: a poke must come.
                        poke.wait();
                    }
                    let now = until.min(10);
                    if alarm.awake(now) {
                        woken.store(true, Ordering::SeqCst);
                        return;
                    }
                }
            })
        };
        if alarm.want(10) {
            poke.notify();
        }
        helper.join().expect("no panic");
        assert!(woken.load(Ordering::SeqCst));
    });
}

/// A wish that comes while the helper takes the old one is not lost.
#[test]
fn a_wish_survives_the_waking() {
    loom::model(|| {
        let alarm = Arc::new(Alarm::new());
        let ticks = Arc::new(AtomicU64::new(0));
        assert!(!alarm.want(5));
        let holder = {
            let alarm = Arc::clone(&alarm);
            thread::spawn(move || alarm.want(7))
        };
        if alarm.awake(6) {
            ticks.fetch_add(1, Ordering::SeqCst);
        }
        let _ = holder.join().expect("no panic");
        assert_eq!(alarm.sleep(), 7, "the newer wish");
        assert!(alarm.awake(7));
        assert_eq!(alarm.sleep(), NEVER);
        assert!(ticks.load(Ordering::SeqCst) <= 1);
    });
}
