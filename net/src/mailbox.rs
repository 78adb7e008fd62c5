//! Mailboxes of sessions: answers on their way to a connection's task.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use dohle_core::mail::{SessionId, ToSession};

/// Letters that may wait in one mailbox. A session bounds its own requests under way far below
/// this; one that gets more is closed.
const LETTERS_MAX: usize = 1 << 16;
/// The register is split so that connections rarely meet at one lock.
const STRIPES: usize = 16;

/// The mail of one session, in the order in which it was sent.
#[derive(Default)]
pub struct Mailbox {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    letters: VecDeque<ToSession>,
    waker: Option<Waker>,
    overflowed: bool,
}

impl Mailbox {
    /// Leaves a letter; the caller wakes whoever is returned.
    #[must_use]
    pub fn push(&self, letter: ToSession) -> Option<Waker> {
        let mut inner = self.lock();
        if inner.letters.len() < LETTERS_MAX {
            inner.letters.push_back(letter);
        } else {
            inner.overflowed = true;
        }
        inner.waker.take()
    }

    /// Moves all letters to `to`, which is empty. False: letters were lost.
    pub fn take_into(&self, to: &mut VecDeque<ToSession>) -> bool {
        debug_assert!(to.is_empty(), "letters would be reordered");
        let mut inner = self.lock();
        std::mem::swap(&mut inner.letters, to);
        !inner.overflowed
    }

    /// The task goes to sleep and wants to be woken by the next letter; false when one is there.
    pub fn sleep(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        if !inner.letters.is_empty() || inner.overflowed {
            return false;
        }
        match &mut inner.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        true
    }

    /// The task is awake and needs no waking.
    pub fn awake(&self) {
        self.lock().waker = None;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All sessions of a node.
#[derive(Default)]
pub struct Sessions {
    next: AtomicU64,
    stripes: [Mutex<BTreeMap<SessionId, Arc<Mailbox>>>; STRIPES],
}

impl Sessions {
    /// A new session's id and mailbox, known until [`Sessions::leave`].
    pub fn enter(&self) -> (SessionId, Arc<Mailbox>) {
        let id = SessionId(self.next.fetch_add(1, Ordering::Relaxed));
        let mailbox = Arc::<Mailbox>::default();
        self.stripe(id).insert(id, Arc::clone(&mailbox));
        (id, mailbox)
    }

    /// The session is over.
    pub fn leave(&self, id: SessionId) {
        self.stripe(id).remove(&id);
    }

    /// Leaves a letter for a session; one that is gone gets none. The caller wakes the task.
    #[must_use]
    pub fn post(&self, id: SessionId, letter: ToSession) -> Option<Waker> {
        let mailbox = self.stripe(id).get(&id).cloned()?;
        mailbox.push(letter)
    }

    fn stripe(&self, id: SessionId) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Mailbox>>> {
        let stripe = usize::try_from(id.0 % STRIPES as u64).unwrap_or(0);
        self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
