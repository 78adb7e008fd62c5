//! The requests of a connection that are not over, in the order in which they came.
//!
//! Kafka works on one request of a connection at a time. That is kept, except that Produce
//! requests which follow one another are worked on at once: their batches reach each shard in
//! order, so nothing but the waiting is shared. Answers leave in order in any case.
//!
//! Invariants: numbers of requests are consecutive; every request before the last one that was
//! begun was begun too, and all of those but the last are Produce requests.

use std::collections::VecDeque;

use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::Reader;

use crate::api::{Call, Outcome, Pending, Work};
use crate::time::{Deadline, Instant, earlier};

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    came: Came,
    pub(super) state: State,
}

/// How a request came.
#[derive(Copy, Clone, Debug)]
pub(super) struct Came {
    /// When its last byte did.
    pub(super) at: Instant,
    /// Bytes of its frame.
    pub(super) bytes: usize,
    /// Which request in which version, if it is one that is served.
    pub(super) call: Option<(ApiKey, i16)>,
}

/// How far a request has come.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// It waits for its turn.
    Queued(Call, Reader),
    /// It was begun and waits for answers.
    Working(Call, Box<Pending>),
    /// It is over, but requests before it are not. A Produce request lets the next one begin.
    Over(Outcome, bool),
}

impl State {
    /// Whether another Produce request may be worked on beside it.
    fn lets_produce_follow(&self) -> bool {
        match self {
            Self::Queued(..) => false,
            Self::Working(call, _) => call.key == ApiKey::Produce,
            Self::Over(_, produce) => *produce,
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    slots: VecDeque<Slot>,
    /// The number of the first request in `slots`.
    first: u64,
    /// Bytes of all frames in `slots`.
    bytes: usize,
    /// How many of the first requests in `slots` are not queued.
    begun: usize,
}

impl Queue {
    /// The number that the next request gets.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Requests that are not over.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of their frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, came: Came, state: State) {
        self.bytes += came.bytes;
        self.slots.push_back(Slot { came, state });
        self.skip_begun();
    }

    /// Moves the mark to the first request that is queued.
    fn skip_begun(&mut self) {
        let queued = |slot: &Slot| matches!(slot.state, State::Queued(..));
        while self.slots.get(self.begun).is_some_and(|slot| !queued(slot)) {
            self.begun += 1;
        }
    }

    /// The request with this number, if it is not over.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Slot> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(index)
    }

    /// The numbers of requests that were begun and wait.
    pub(super) fn working(&self) -> Vec<u64> {
        let numbered = self.slots.iter().zip(self.first..);
        let working = numbered.filter(|(slot, _)| matches!(slot.state, State::Working(..)));
        working.map(|(_, number)| number).collect()
    }

    /// Takes the first request out if it is over.
    pub(super) fn pop_over(&mut self) -> Option<(Outcome, Came)> {
        self.slots.front().filter(|slot| matches!(slot.state, State::Over(..)))?;
        let slot = self.slots.pop_front()?;
        self.first += 1;
        self.begun -= 1;
        self.bytes -= slot.came.bytes;
        match slot.state {
            State::Over(outcome, _) => Some((outcome, slot.came)),
            State::Queued(..) | State::Working(..) => None,
        }
    }

    /// Begins the request whose turn it is, if any: `begin` makes its next state.
    pub(super) fn begin_next(&mut self, begin: impl FnOnce(Call, Reader) -> State) -> bool {
        let alone = self.begun == 0;
        if !alone && !self.slots[self.begun - 1].state.lets_produce_follow() {
            return false;
        }
        let Some(slot) = self.slots.get_mut(self.begun) else { return false };
        let produce = matches!(&slot.state, State::Queued(call, _) if call.key == ApiKey::Produce);
        if !alone && !produce {
            return false;
        }
        let over = State::Over(Outcome::Silent, produce);
        if let State::Queued(call, body) = std::mem::replace(&mut slot.state, over) {
            slot.state = begin(call, body);
        }
        self.skip_begun();
        true
    }

    /// The first deadline of the requests that wait.
    pub(super) fn deadline(&self) -> Deadline {
        let deadlines = self.slots.iter().filter_map(|slot| match &slot.state {
            State::Working(call, pending) => Some((pending.deadline(), call.key.name())),
            State::Queued(..) | State::Over(..) => None,
        });
        deadlines.fold(None, |first, next| earlier(first, Some(next)))
    }

    /// Checks that requests begin in their turn, as far as the last two that did show it.
    pub(super) fn invariants(&self) {
        let queued = |slot: &Slot| matches!(slot.state, State::Queued(..));
        assert!(self.begun <= self.slots.len(), "more requests were begun than there are");
        assert!(self.slots.get(self.begun).is_none_or(queued), "a request was passed over");
        let Some(last) = self.begun.checked_sub(1) else { return };
        assert!(!queued(&self.slots[last]), "a request was begun before its turn");
        let Some(before) = last.checked_sub(1) else { return };
        let beside = matches!(self.slots[last].state, State::Working(..));
        let allowed = self.slots[before].state.lets_produce_follow();
        assert!(!beside || allowed, "two requests are worked on that are not both Produce");
    }
}
