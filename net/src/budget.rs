//! Memory for requests on their way in: one bound for all connections together.
//!
//! A connection asks before it reads from its socket, or lets a buffer grow. It gets what it asks
//! for while the budget lasts, and while it holds no more than its share of it: a few large
//! requests cannot take everything. One connection at a time may go on beyond either bound, so
//! that somebody always gets to an end.
//!
//! Small requests flow whatever the large ones do: a connection that holds nothing of the budget
//! reads once more. Requests below [`UNCOUNTED`] are not counted at all.
//!
//! So requests take, at most: the budget, one request of the largest size, and what one read
//! brings for each connection, a partly read small request before it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Buffers below this size are not counted.
pub const UNCOUNTED: usize = 4 * 1024;
/// One in so many parts of the budget is a connection's share.
const SHARES: usize = 4;

/// Bytes of requests that a node holds at a time.
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Some connection goes on beyond the bounds.
    exceeded: AtomicBool,
    accounts: AtomicU64,
    /// Connections that wait for memory.
    waiters: Mutex<BTreeMap<u64, Waker>>,
}

/// What one connection has of the budget.
pub struct Account {
    id: u64,
    budget: Arc<Budget>,
    held: Arc<AtomicUsize>,
}

/// Bytes of the budget in use; they go back when it is dropped.
pub struct Lease {
    budget: Arc<Budget>,
    /// Bytes of the connection in all.
    held: Arc<AtomicUsize>,
    bytes: usize,
    /// It is the one that goes on beyond the bounds.
    exceeding: bool,
}

impl Budget {
    /// A budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            exceeded: AtomicBool::new(false),
            accounts: AtomicU64::new(0),
            waiters: Mutex::default(),
        })
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// The account of a new connection.
    #[must_use]
    pub fn account(self: &Arc<Self>) -> Account {
        let id = self.accounts.fetch_add(1, Ordering::Relaxed);
        Account { id, budget: Arc::clone(self), held: Arc::default() }
    }

    /// Whether connections wait for memory.
    pub fn pressed(&self) -> bool {
        !self.lock().is_empty()
    }

    fn take(&self, bytes: usize) -> bool {
        let order = Ordering::SeqCst;
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(order, order, more).is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// An empty lease.
    #[must_use]
    pub fn lease(&self) -> Lease {
        let (budget, held) = (Arc::clone(&self.budget), Arc::clone(&self.held));
        Lease { budget, held, bytes: 0, exceeding: false }
    }

    /// Whether the connection may read some small requests, of which it has read `begun` bytes;
    /// if not, it is woken when it may ask again.
    pub fn admits(&self, begun: usize, waker: &Waker) -> bool {
        let budget = &self.budget;
        self.ask(waker, || {
            budget.used() < budget.limit || self.held.load(Ordering::SeqCst) <= begun
        })
    }

    /// Whether `lease` may grow by `bytes`, which it then has; if not, the connection is woken
    /// when it may ask again.
    pub fn grow(&self, lease: &mut Lease, bytes: usize, waker: &Waker) -> bool {
        self.ask(waker, || lease.try_grow(bytes))
    }

    fn ask(&self, waker: &Waker, mut granted: impl FnMut() -> bool) -> bool {
        if granted() {
            return true;
        }
        self.budget.lock().insert(self.id, waker.clone());
        // What was given back before the waker was there is seen here.
        let granted = granted();
        if granted {
            self.budget.lock().remove(&self.id);
        }
        granted
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.budget.lock().remove(&self.id);
    }
}

impl Lease {
    /// Bytes that it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` that have been read already.
    pub fn add(&mut self, bytes: usize) {
        self.budget.used.fetch_add(bytes, Ordering::SeqCst);
        self.book(bytes);
    }

    fn try_grow(&mut self, bytes: usize) -> bool {
        let share = self.budget.limit / SHARES;
        let fits = self.held.load(Ordering::SeqCst).saturating_add(bytes) <= share;
        if !self.exceeding && fits && self.budget.take(bytes) {
            self.book(bytes);
            return true;
        }
        if !self.exceeding {
            let order = Ordering::SeqCst;
            let first = self.budget.exceeded.compare_exchange(false, true, order, order);
            self.exceeding = first.is_ok();
        }
        if self.exceeding {
            self.add(bytes);
        }
        self.exceeding
    }

    fn book(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.held.fetch_add(bytes, Ordering::SeqCst);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes == 0 && !self.exceeding {
            return;
        }
        self.held.fetch_sub(self.bytes, Ordering::SeqCst);
        self.budget.used.fetch_sub(self.bytes, Ordering::SeqCst);
        if self.exceeding {
            self.budget.exceeded.store(false, Ordering::SeqCst);
        }
        let waiters = std::mem::take(&mut *self.budget.lock());
        waiters.into_values().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_for_everybody_and_one_goes_beyond() {
        let budget = Budget::new(100);
        let waker = Waker::noop();
        let accounts: Vec<_> = (0..6).map(|_| budget.account()).collect();
        let mut leases: Vec<_> = accounts.iter().map(Account::lease).collect();
        let mut grow = |at: usize, bytes| accounts[at].grow(&mut leases[at], bytes, waker);
        assert!(grow(0, 25));
        assert!(grow(0, 1), "beyond its share, as the only one");
        assert!(grow(1, 25) && !grow(1, 1), "no second one");
        assert!(grow(2, 25) && !grow(3, 25), "the budget is used up");
        assert!(grow(0, 500), "it goes on to its end");
        assert!(budget.pressed());
        drop(leases.remove(0));
        assert!(!budget.pressed(), "the waiters were woken");
        let mut grow = |at: usize, bytes| accounts[at].grow(&mut leases[at - 1], bytes, waker);
        assert!(grow(3, 25) && grow(4, 20));
        assert!(grow(1, 1), "now it is the one");
        assert!(!grow(2, 1));
        assert!(budget.pressed());
        drop(accounts);
        assert!(!budget.pressed(), "who is gone does not wait");
        drop(leases);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_is_small_goes_on_when_all_is_used() {
        let budget = Budget::new(100);
        let waker = Waker::noop();
        let (large, small) = (budget.account(), budget.account());
        let mut lease = large.lease();
        assert!(large.grow(&mut lease, 100, waker));
        assert!(!large.admits(0, waker), "it has memory of the budget");
        assert!(small.admits(0, waker));
        let mut begun = small.lease();
        begun.add(10);
        assert!(small.admits(10, waker), "what it has begun");
        let mut frame = small.lease();
        frame.add(10);
        assert!(!small.admits(10, waker), "one read, no more, until the request is done");
        drop(frame);
        assert!(small.admits(10, waker));
        drop(lease);
        assert!(large.admits(0, waker));
    }
}
