//! The hand-over: work for a state that whoever brings work may do.
//!
//! A worker leaves its items in the inbox and tries the lock. If the lock is free it works off
//! everything that is in the inbox; if not, the one who holds it will. No item is left behind:
//! a holder looks into the inbox again *after* it unlocked. An item pushed before a failed
//! attempt to lock is seen by that look, since the attempt failed before the unlocking.
//!
//! Items of one pusher are worked off in the order in which it pushed them.

use std::collections::VecDeque;

use super::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A state, and the items that wait for it.
pub(crate) struct HandOver<T, S> {
    inbox: Inbox<T>,
    state: Mutex<S>,
}

/// Items in the order in which they came.
pub(crate) struct Inbox<T> {
    items: Mutex<VecDeque<T>>,
}

/// How a hold of the state ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The state has no work of its own left (the inbox may have).
    Rested,
    /// The hold's budget was used up and there is more to do.
    Interrupted,
}

/// What became of an attempt to do the work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    /// Nothing was left to do at some moment after the call began.
    All,
    /// Someone else holds the state and does it.
    Elsewhere,
    /// There is more: **the caller must see to it that somebody drives again**.
    More,
}

impl<T, S> HandOver<T, S> {
    pub(crate) fn new(state: S) -> Self {
        Self { inbox: Inbox { items: Mutex::new(VecDeque::new()) }, state: Mutex::new(state) }
    }

    /// Leaves an item. Somebody must drive afterwards.
    pub(crate) fn push(&self, item: T) {
        self.inbox.lock().push_back(item);
    }

    /// Works until nothing is left, but holds the lock at most `rounds` times. `hold` works off
    /// items under the lock, `after` runs each time when the lock has been given back.
    pub(crate) fn drive<R>(
        &self,
        rounds: usize,
        mut hold: impl FnMut(&mut S, &Inbox<T>) -> (Hold, R),
        mut after: impl FnMut(R),
    ) -> Driven {
        for _ in 0..rounds {
            let Some(mut state) = self.try_lock() else { return Driven::Elsewhere };
            let (held, outcome) = hold(&mut state, &self.inbox);
            drop(state);
            after(outcome);
            if held == Hold::Rested && self.inbox.lock().is_empty() {
                return Driven::All;
            }
        }
        Driven::More
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, S>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
        }
    }
}

impl<T> Inbox<T> {
    /// Puts everything that came behind what is in `to`.
    pub(crate) fn take_into(&self, to: &mut VecDeque<T>) {
        let mut items = self.lock();
        if items.is_empty() {
            return;
        }
        if to.is_empty() {
            std::mem::swap(&mut *items, to);
        } else {
            to.append(&mut items);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
