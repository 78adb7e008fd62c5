//! Memory for requests on their way in: one bound for all connections together.
//!
//! A connection asks before it reads from its socket. While the budget is used up only one
//! connection, one with a request half read, goes on, so that somebody always gets to an end.
//! Small requests are not counted: connections are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Buffers below this size are not counted.
pub const UNCOUNTED: usize = 4 * 1024;

/// Bytes of requests that a node holds at a time.
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Some connection goes on although the budget is used up.
    exceeded: AtomicBool,
    waiters: Mutex<Vec<Waker>>,
}

/// Bytes of the budget in use; they go back when it is dropped.
pub struct Lease {
    budget: Arc<Budget>,
    bytes: usize,
    /// It is the one that goes on.
    exceeding: bool,
}

impl Budget {
    /// A budget of `limit` bytes, exceeded by one request at most.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let (used, exceeded) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { limit, used, exceeded, waiters: Mutex::default() })
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// An empty lease.
    pub fn lease(self: &Arc<Self>) -> Lease {
        Lease { budget: Arc::clone(self), bytes: 0, exceeding: false }
    }

    /// Whether a connection may read; if not, it is woken when it may ask again. `half_read` is
    /// the lease of a request that it has begun to read.
    pub fn admits(&self, half_read: Option<&mut Lease>, waker: &Waker) -> bool {
        if self.admits_now(half_read) {
            return true;
        }
        self.lock().push(waker.clone());
        // What was given back before the waker was there is seen here.
        self.used() < self.limit
    }

    /// Whether connections wait for memory.
    pub fn pressed(&self) -> bool {
        !self.lock().is_empty()
    }

    fn admits_now(&self, half_read: Option<&mut Lease>) -> bool {
        if self.used() < self.limit {
            return true;
        }
        let Some(lease) = half_read else { return false };
        if !lease.exceeding {
            let order = Ordering::SeqCst;
            lease.exceeding = self.exceeded.compare_exchange(false, true, order, order).is_ok();
        }
        lease.exceeding
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Takes `bytes` more.
    pub fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.used.fetch_add(bytes, Ordering::SeqCst);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes == 0 && !self.exceeding {
            return;
        }
        self.budget.used.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.exceeding {
            self.budget.exceeded.store(false, Ordering::SeqCst);
        }
        let waiters = std::mem::take(&mut *self.budget.lock());
        waiters.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_on_when_all_is_used() {
        let budget = Budget::new(100);
        let waker = Waker::noop();
        let (mut a, mut b) = (budget.lease(), budget.lease());
        assert!(budget.admits(Some(&mut a), waker));
        a.grow(60);
        assert!(budget.admits(Some(&mut b), waker));
        b.grow(60);
        assert!(!budget.admits(None, waker), "no new request");
        assert!(budget.admits(Some(&mut a), waker), "a goes on");
        assert!(!budget.admits(Some(&mut b), waker), "b does not");
        assert!(budget.pressed());
        a.grow(500);
        drop(a);
        assert!(!budget.pressed(), "the waiters were woken");
        assert!(budget.admits(Some(&mut b), waker));
        drop(b);
        assert_eq!(budget.used(), 0);
    }
}
