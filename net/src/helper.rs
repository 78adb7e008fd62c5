//! The helpers of units: a task for a shard, a thread for control.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::rt;
use crate::unit::{Host, Machine, Poke, Unit};

/// Wakes a helper that is a task.
#[derive(Default)]
pub struct TaskPoke {
    notify: rt::Notify,
    stopped: AtomicBool,
}

/// Wakes a helper that is a thread.
#[derive(Default)]
pub struct ThreadPoke {
    poked: Mutex<Poked>,
    changed: Condvar,
}

#[derive(Default)]
struct Poked {
    poked: bool,
    stopped: bool,
}

impl Poke for TaskPoke {
    fn poke(&self) {
        self.notify.notify_one();
    }
}

impl TaskPoke {
    /// Ends the helper.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.notify.notify_one();
    }

    /// The helper's life.
    pub async fn attend<M: Machine, H: Host<M>>(
        self: Arc<Self>,
        unit: Arc<Unit<M, H>>,
        clock: Clock,
    ) {
        while !self.stopped.load(Ordering::SeqCst) {
            match clock.timer(unit.sleep()) {
                Some(at) => rt::select! {
                    () = self.notify.notified() => {}
                    () = rt::sleep_until(at) => {}
                },
                None => self.notify.notified().await,
            }
            unit.awake();
            rt::yield_now().await;
        }
    }
}

impl Poke for ThreadPoke {
    fn poke(&self) {
        self.set(|poked| poked.poked = true);
    }
}

impl ThreadPoke {
    /// Ends the helper.
    pub fn stop(&self) {
        self.set(|poked| poked.stopped = true);
    }

    /// The helper's life.
    pub fn attend<M: Machine, H: Host<M>>(&self, unit: &Unit<M, H>, clock: Clock) {
        loop {
            let at = unit.sleep();
            let limit = (at.0 != u64::MAX).then(|| clock.until(at));
            if self.wait(limit) {
                return;
            }
            unit.awake();
        }
    }

    fn set(&self, change: impl FnOnce(&mut Poked)) {
        change(&mut self.poked.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// Waits for a poke, at most `limit`. True: the helper shall end.
    fn wait(&self, limit: Option<Duration>) -> bool {
        let guard = self.poked.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |poked: &mut Poked| !poked.poked && !poked.stopped;
        let mut guard = match limit {
            None => self.changed.wait_while(guard, idle).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(guard, limit, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        guard.poked = false;
        guard.stopped
    }
}
