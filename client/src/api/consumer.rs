//! The consumer for async code.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use dohle_wire::id::Offset;
use dohle_wire::record::Codecs;

use super::race::{First, race};
use super::runtime::Runtime;
use super::shell::{Client, Shell, Wakers};
use crate::config::{ConfigError, ConsumerConfig};
use crate::machine::consumer::{ConsumeError, ConsumedRecord, Effect, Input, Start};
use crate::machine::{Consumer as Machine, NetEffect, TopicPartition, Trouble};

/// What one poll gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Records by partition, each in the order of their offsets.
    pub records: Vec<(TopicPartition, Vec<ConsumedRecord>)>,
    /// Partitions that cannot be read on; see [`Effect::Failed`].
    pub failed: Vec<(TopicPartition, ConsumeError)>,
}

impl Polled {
    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty() && self.failed.is_empty()
    }
}

/// What was given out, and who waits.
#[derive(Default)]
pub(super) struct Book {
    polled: Polled,
    waiting: Vec<Waker>,
}

impl Client for Machine {
    type Book = Book;

    fn settle(book: &mut Book, effect: Effect, _wake: &mut Wakers) -> Option<NetEffect> {
        match effect {
            Effect::Net(effect) => return Some(effect),
            Effect::Records { partition, records } => {
                book.polled.records.push((partition, records));
            }
            Effect::Failed { partition, error } => book.polled.failed.push((partition, error)),
        }
        None
    }

    fn stepped(&self, book: &mut Book, wake: &mut Wakers) {
        wake.add(book.waiting.drain(..));
    }

    fn close() -> Input {
        Input::Close
    }
}

/// Reads assigned partitions. Dropping it closes it.
pub struct Consumer<R: Runtime> {
    shell: Arc<Shell<R, Machine>>,
}

impl<R: Runtime> fmt::Debug for Consumer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("machine", &self.shell.lock().machine).finish()
    }
}

impl<R: Runtime> Drop for Consumer<R> {
    fn drop(&mut self) {
        self.shell.close();
    }
}

impl<R: Runtime> Consumer<R> {
    /// A consumer with these settings and without partitions. `codecs` decompresses.
    pub fn new(
        runtime: R,
        config: ConsumerConfig,
        codecs: Arc<dyn Codecs>,
    ) -> Result<Self, ConfigError> {
        let machine = Machine::new(config, codecs, runtime.seed())?;
        Ok(Self { shell: Shell::start(runtime, machine) })
    }

    /// Reads exactly these partitions from now on. A partition that is read already keeps its
    /// position, unless its start is not [`Start::Reset`].
    pub fn assign(&mut self, assignment: impl IntoIterator<Item = (TopicPartition, Start)>) {
        self.shell.input(Input::Assign(assignment.into_iter().collect()));
    }

    /// Reads a partition from elsewhere.
    pub fn seek(&mut self, partition: TopicPartition, start: Start) {
        self.shell.input(Input::Seek(partition, start));
    }

    /// Gives out no records of a partition until [`Self::resume`].
    pub fn pause(&mut self, partition: TopicPartition) {
        self.shell.input(Input::Pause(partition, true));
    }

    /// Gives out records of a partition again.
    pub fn resume(&mut self, partition: TopicPartition) {
        self.shell.input(Input::Pause(partition, false));
    }

    /// Waits for records, up to `max.poll.records` of them; gives none after `wait`.
    pub async fn poll(&mut self, wait: Duration) -> Polled {
        let ready = self.until(|machine| machine.has_records().then_some(()));
        if let First::Right(()) = race(ready, self.shell.runtime.sleep(wait)).await {
            return Polled::default();
        }
        let max_records = self.shell.lock().machine.config().max_poll_records;
        self.shell.input(Input::Poll { max_records });
        std::mem::take(&mut self.shell.lock().book.polled)
    }

    /// Offset of the next record of a partition. Waits, up to `default.api.timeout.ms`, while it is
    /// being found out; `None` if it is not known by then, or the partition is not assigned.
    pub async fn position(&mut self, partition: &TopicPartition) -> Option<Offset> {
        let wait = self.shell.lock().machine.config().api_timeout;
        let known = self.until(|machine| {
            let assigned = machine.assignment().any(|at| at == partition);
            let position = machine.position(partition);
            (position.is_some() || !assigned).then_some(position)
        });
        match race(known, self.shell.runtime.sleep(wait)).await {
            First::Left(position) => position,
            First::Right(()) => None,
        }
    }

    /// Offset of the next record of a partition, if it is known now.
    pub fn known_position(&self, partition: &TopicPartition) -> Option<Offset> {
        self.shell.lock().machine.position(partition)
    }

    /// Offset after the last committed record of a partition, as of the last fetch.
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.shell.lock().machine.high_watermark(partition)
    }

    /// What holds up the partitions that are read; for a person.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.shell.lock().machine.troubles()
    }

    /// Waits until `look` sees what it wants; it looks after every step of the machine.
    async fn until<T>(&self, look: impl Fn(&Machine) -> Option<T>) -> T {
        poll_fn(|cx| {
            let mut state = self.shell.lock();
            if let Some(seen) = look(&state.machine) {
                return Poll::Ready(seen);
            }
            state.book.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Why the last connection could not be made, or ended; for a person.
    pub fn last_connection_error(&self) -> Option<Arc<str>> {
        self.shell.last_error()
    }
}
