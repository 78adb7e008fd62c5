//! The requests of a connection in order: those under way, and frames that wait behind them.
//!
//! Limits: [`REQUESTS_MAX`] requests and [`BYTES_MAX`] bytes; beyond either no more frames are
//! read until half of it is done.

use std::collections::VecDeque;

use bytes::Bytes;
use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::Reader;
use dohle_wire::header::RequestHeader;

use super::CloseReason;
use crate::api::{Call, Outcome, Pending, Work};
use crate::time::Instant;

/// So many requests of one connection may be under way or wait.
const REQUESTS_MAX: usize = 64;

/// So many bytes of requests; one larger request is taken all the same.
const BYTES_MAX: usize = 16 << 20;

/// A request under way.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) call: Call,
    len: usize,
    pub(super) work: Option<Pending>,
    outcome: Option<Outcome>,
}

/// Requests and frames of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    frames: VecDeque<Bytes>,
    bytes: usize,
    paused: bool,
    closing: Option<CloseReason>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.frames.is_empty()
    }

    pub(super) fn push_frame(&mut self, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// The next frame that may be begun: nothing is under way, or Produce follows Produce.
    pub(super) fn next_frame(&mut self) -> Option<Bytes> {
        let frame = self.frames.front()?;
        let only_produce = self.entries.iter().all(|entry| entry.call.key == ApiKey::Produce);
        let may_begin = self.entries.is_empty() || (only_produce && is_produce(frame));
        if may_begin && self.closing.is_none() { self.frames.pop_front() } else { None }
    }

    pub(super) fn push_waiting(&mut self, call: Call, len: usize, work: Pending) {
        self.entries.push_back(Entry { call, len, work: Some(work), outcome: None });
    }

    pub(super) fn push_finished(&mut self, call: Call, len: usize, outcome: Outcome) {
        self.entries.push_back(Entry { call, len, work: None, outcome: Some(outcome) });
    }

    /// Nothing is begun any more; the connection closes behind the last answer.
    pub(super) fn close_after(&mut self, reason: CloseReason) {
        self.closing = Some(reason);
        self.bytes -= self.frames.drain(..).map(|frame| frame.len()).sum::<usize>();
    }

    fn entry(&mut self, request: u64) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.call.number == request)
    }

    /// Takes a request that waits out for work on it.
    pub(super) fn take(&mut self, request: u64) -> Option<Entry> {
        let entry = self.entry(request)?;
        let work = Some(entry.work.take()?);
        Some(Entry { call: entry.call.clone(), len: entry.len, work, outcome: None })
    }

    pub(super) fn put_back(&mut self, request: u64, call: Call, work: Pending) {
        debug_assert_eq!(call.number, request);
        if let Some(entry) = self.entry(request) {
            entry.work = Some(work);
        }
    }

    pub(super) fn finish(&mut self, request: u64, outcome: Outcome) {
        if let Some(entry) = self.entry(request) {
            assert!(entry.outcome.is_none(), "request {request} is answered once");
            entry.outcome = Some(outcome);
        }
    }

    /// The first request's outcome, once it has one.
    pub(super) fn pop_finished(&mut self) -> Option<Outcome> {
        if self.entries.is_empty() {
            return self.closing.take().map(Outcome::Close);
        }
        self.entries.front()?.outcome.as_ref()?;
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.len;
        entry.outcome
    }

    /// Requests that wait.
    pub(super) fn waiting(&self) -> Vec<u64> {
        let waiting = self.entries.iter().filter(|entry| entry.work.is_some());
        waiting.map(|entry| entry.call.number).collect()
    }

    /// Requests whose time is up.
    pub(super) fn due(&self, now: Instant) -> Vec<u64> {
        let due = |entry: &&Entry| entry.work.as_ref().is_some_and(|work| work.deadline() <= now);
        self.entries.iter().filter(due).map(|entry| entry.call.number).collect()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.entries.iter().filter_map(|entry| Some(entry.work.as_ref()?.deadline())).min()
    }

    /// Whether reading has to stop (true) or may go on (false); nothing when that is as it was.
    pub(super) fn pressure(&mut self) -> Option<bool> {
        let requests = self.entries.len() + self.frames.len();
        let over = requests >= REQUESTS_MAX || self.bytes >= BYTES_MAX;
        let relaxed = requests <= REQUESTS_MAX / 2 && self.bytes <= BYTES_MAX / 2;
        let changed = if self.paused { relaxed } else { over };
        if !changed {
            return None;
        }
        self.paused = !self.paused;
        Some(self.paused)
    }

    pub(super) fn invariants(&self) {
        let numbers = self.entries.iter().map(|entry| entry.call.number);
        assert!(numbers.is_sorted(), "requests are in the order they came");
        let each = |entry: &Entry| entry.work.is_some() != entry.outcome.is_some();
        assert!(self.entries.iter().all(each), "a request waits or has its outcome");
    }
}

fn is_produce(frame: &Bytes) -> bool {
    let peeked = RequestHeader::peek(&Reader::new(frame.clone()));
    peeked.is_ok_and(|(key, _)| key == ApiKey::Produce.code())
}
