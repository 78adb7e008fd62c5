//! What everything in the world shares: time, the queue of events, choices, digest and trace.
//!
//! Invariants: events are handled in the order of (time, sequence number); the sequence number
//! counts scheduled events, so that equal times keep the order of scheduling; time never runs
//! backwards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::choice::Choices;
use crate::digest::Digest;
use crate::oracle::Violation;
use crate::world::Event;

/// No run has so many events; one that does goes round in circles.
const EVENTS_MOST: u64 = 10_000_000;

/// Shared by all inhabitants of one world, in which events `E` happen.
pub struct Kernel<E = Event> {
    /// True time, in nanoseconds since the start of the run.
    pub time: u64,
    /// Where every decision comes from.
    pub choices: Choices,
    /// Over everything that happened so far.
    pub digest: Digest,
    /// The number of the event being handled, counted from 1.
    pub event: u64,
    trace: Option<Vec<String>>,
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    slots: Vec<Option<E>>,
    free: Vec<u32>,
    scheduled: u64,
}

impl<E> Kernel<E> {
    /// The beginning of time.
    #[must_use]
    pub fn new(choices: Choices) -> Self {
        Self {
            time: 0,
            choices,
            digest: Digest::default(),
            event: 0,
            trace: None,
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
        }
    }

    /// Keeps a line for everything that happens from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The lines kept so far.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Schedules an event at a time, at the earliest now.
    pub fn at(&mut self, time: u64, event: E) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("far fewer than 2^32 events are waiting")
        });
        self.slots[slot as usize] = Some(event);
        self.scheduled += 1;
        self.heap.push(Reverse((time.max(self.time), self.scheduled, slot)));
    }

    /// Schedules an event after a delay.
    pub fn after(&mut self, delay: u64, event: E) {
        self.at(self.time + delay, event);
    }

    /// The next event and its time, which becomes the present, if it is not past `limit`.
    pub fn next(&mut self, limit: u64) -> Option<E> {
        let Reverse((time, sequence, slot)) = *self.heap.peek()?;
        if time > limit {
            self.time = limit;
            return None;
        }
        self.heap.pop();
        self.free.push(slot);
        assert!(time >= self.time, "time runs forward");
        self.time = time;
        self.digest.word(time);
        self.digest.word(sequence);
        self.event += 1;
        self.slots[slot as usize].take()
    }

    /// A run ends, one way or the other.
    ///
    /// # Errors
    /// It goes round in circles.
    pub fn check_progress(&self) -> Result<(), Violation> {
        match self.event < EVENTS_MOST {
            true => Ok(()),
            false => Err(Violation::new("liveness", format!("{EVENTS_MOST} events, and no end"))),
        }
    }

    /// Writes a line into the trace; `who` is the column of its author.
    pub fn note(&mut self, who: impl FnOnce() -> String, what: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.trace {
            let (s, us) = (self.time / 1_000_000_000, self.time / 1_000 % 1_000_000);
            lines.push(format!("{:>7} {s:>4}.{us:06} {:<12} {}", self.event, who(), what()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_goes_round_in_circles_ends() {
        let mut kernel = Kernel::new(Choices::new(1));
        kernel.at(0, ());
        while kernel.check_progress().is_ok() {
            kernel.next(0).expect("there is always one more");
            kernel.at(0, ());
        }
        assert_eq!((kernel.time, kernel.event), (0, EVENTS_MOST));
    }
}
