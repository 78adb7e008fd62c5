//! The producer for async code.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use dohle_wire::record::Codecs;
use slab::Slab;

use super::calls::Call;
use super::race::{First, race};
use super::runtime::Runtime;
use super::shell::{Client, Shell, Wakers};
use super::slot::{Giver, Taker, slot};
use crate::config::{ConfigError, ProducerConfig};
use crate::machine::producer::{Effect, Input, Partitioner, ProduceError, ProducerRecord, Receipt};
use crate::machine::{NetEffect, Producer as Machine, Token, Trouble};

/// Where an acknowledged record is.
pub type RecordMetadata = Receipt;

type Outcome = Result<RecordMetadata, ProduceError>;

/// Who hears of the fate of a record.
enum Hearer {
    /// Whoever awaits the delivery.
    Awaits(Giver<Outcome>),
    Callback(Callback),
    Nobody,
}

impl Hearer {
    fn tell(self, outcome: Outcome, wake: &mut Wakers<Told>) {
        match self {
            Self::Awaits(giver) => wake.add(giver.give(outcome)),
            Self::Callback(callback) => wake.call(Told::Fate(callback, outcome)),
            Self::Nobody => {}
        }
    }
}

type Callback = Box<dyn FnOnce(Outcome) + Send>;

/// What the application is told once the lock is free.
pub(super) enum Told {
    /// What became of a record.
    Fate(Callback, Outcome),
    /// A flush is over. Whoever waits for it finds that the callbacks of what was flushed have been
    /// called.
    Flushed(Giver<()>),
}

impl Call for Told {
    fn make(self) {
        match self {
            Self::Fate(callback, outcome) => callback(outcome),
            Self::Flushed(giver) => giver.give(()).into_iter().for_each(Waker::wake),
        }
    }
}

/// Who waits for what.
#[derive(Default)]
pub(super) struct Book {
    /// By the tokens of the records.
    records: Slab<Hearer>,
    /// By the tokens of the flushes.
    flushes: Slab<Giver<()>>,
    for_memory: Vec<Waker>,
}

/// Takes out whom a token stands for. Every token is answered once.
fn take<T>(waiting: &mut Slab<T>, token: Token) -> Option<T> {
    waiting.try_remove(usize::try_from(token.0).ok()?)
}

impl Client for Machine {
    type Book = Book;
    type Call = Told;

    fn settle(book: &mut Book, effect: Effect, wake: &mut Wakers<Told>) -> Option<NetEffect> {
        match effect {
            Effect::Net(effect) => return Some(effect),
            Effect::Delivered { token, result } => {
                if let Some(hearer) = take(&mut book.records, token) {
                    hearer.tell(result, wake);
                }
                wake.add(book.for_memory.drain(..));
            }
            Effect::Flushed { token } => {
                if let Some(giver) = take(&mut book.flushes, token) {
                    wake.call(Told::Flushed(giver));
                }
            }
        }
        None
    }

    fn stepped(&self, _book: &mut Book, _wake: &mut Wakers<Told>) {}

    fn close() -> Input {
        Input::Close
    }
}

/// Closes the machine with the last handle.
struct Handle<R: Runtime>(Arc<Shell<R, Machine>>);

impl<R: Runtime> Drop for Handle<R> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Writes records. Clones share everything; the last one that is dropped closes the producer, and
/// what is not delivered by then may be lost: see [`Self::close`].
pub struct Producer<R: Runtime> {
    handle: Arc<Handle<R>>,
}

impl<R: Runtime> Clone for Producer<R> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle) }
    }
}

impl<R: Runtime> fmt::Debug for Producer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("machine", &self.handle.0.lock().machine).finish()
    }
}

impl<R: Runtime> Producer<R> {
    /// A producer with these settings. `codecs` compresses.
    pub fn new(
        runtime: R,
        config: ProducerConfig,
        codecs: Arc<dyn Codecs>,
    ) -> Result<Self, ConfigError> {
        let machine = Machine::new(config, codecs, runtime.seed())?;
        Ok(Self { handle: Arc::new(Handle(Shell::start(runtime, machine))) })
    }

    /// A producer with a rule of its own for the partitions of records that name none.
    pub fn with_partitioner(
        runtime: R,
        config: ProducerConfig,
        codecs: Arc<dyn Codecs>,
        partitioner: Arc<dyn Partitioner>,
    ) -> Result<Self, ConfigError> {
        let machine = Machine::new(config, codecs, runtime.seed())?.with_partitioner(partitioner);
        Ok(Self { handle: Arc::new(Handle(Shell::start(runtime, machine))) })
    }

    fn shell(&self) -> &Arc<Shell<R, Machine>> {
        &self.handle.0
    }

    /// Writes a record and waits for its fate. To have many records under way at once, call
    /// [`Self::queue`] or run many of these.
    ///
    /// Records that are sent one after the other arrive in that order in their partition.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Producer, Runtime};
    /// # use dohle_client::machine::producer::{ProduceError, ProducerRecord};
    /// # async fn example<R: Runtime>(producer: Producer<R>) -> Result<(), ProduceError> {
    /// let record = ProducerRecord::new("orders", "two apples").with_key("ann");
    /// let at = producer.send(record).await?;
    /// println!("in partition {} at offset {}", at.partition, at.offset);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(&self, record: ProducerRecord) -> Result<RecordMetadata, ProduceError> {
        self.queue(record).await?.await
    }

    /// Queues a record. Waits only while `buffer.memory` is used up, up to `max.block.ms`; what
    /// becomes of the record is what the [`Delivery`] gives.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Producer, Runtime};
    /// # use dohle_client::machine::producer::{ProduceError, ProducerRecord};
    /// # async fn example<R: Runtime>(producer: Producer<R>) -> Result<(), ProduceError> {
    /// let mut deliveries = Vec::new();
    /// for number in 0..1000 {
    ///     let record = ProducerRecord::new("numbers", number.to_string());
    ///     deliveries.push(producer.queue(record).await?);
    /// }
    /// for delivery in deliveries {
    ///     delivery.await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn queue(&self, record: ProducerRecord) -> Result<Delivery, ProduceError> {
        let (giver, taker) = slot();
        self.queue_for(record, Hearer::Awaits(giver)).await?;
        Ok(Delivery(taker))
    }

    /// Queues a record, as [`Self::queue`] does, and calls back once its fate is known.
    ///
    /// Callbacks of one partition come in the order of its records. They run in the task that serves
    /// a connection: they must not block. If the record is not even queued the error is returned and
    /// nothing is called.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Producer, Runtime};
    /// # use dohle_client::machine::producer::{ProduceError, ProducerRecord};
    /// # async fn example<R: Runtime>(producer: Producer<R>) -> Result<(), ProduceError> {
    /// let record = ProducerRecord::new("orders", "two apples");
    /// let told = |fate: Result<_, ProduceError>| match fate {
    ///     Ok(_) => println!("written"),
    ///     Err(error) => eprintln!("not known to be written: {error}"),
    /// };
    /// producer.send_with(record, told).await?;
    /// producer.flush().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_with(
        &self,
        record: ProducerRecord,
        callback: impl FnOnce(Result<RecordMetadata, ProduceError>) + Send + 'static,
    ) -> Result<(), ProduceError> {
        self.queue_for(record, Hearer::Callback(Box::new(callback))).await
    }

    /// Queues a record and forgets it: nobody hears what becomes of it, and nothing waits. If
    /// `buffer.memory` is used up now the record is refused.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Producer, Runtime};
    /// # use dohle_client::machine::producer::{ProduceError, ProducerRecord};
    /// # async fn example<R: Runtime>(producer: Producer<R>) -> Result<(), ProduceError> {
    /// for number in 0..1000 {
    ///     producer.send_and_forget(ProducerRecord::new("metrics", number.to_string()))?;
    /// }
    /// // What is not written when the producer is dropped may be lost.
    /// producer.flush().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn send_and_forget(&self, record: ProducerRecord) -> Result<(), ProduceError> {
        match self.queues_at_once(&mut Some((record, Hearer::Nobody))) {
            true => Ok(()),
            false => Err(ProduceError::BufferFull),
        }
    }

    async fn queue_for(&self, record: ProducerRecord, hearer: Hearer) -> Result<(), ProduceError> {
        let mut entry = Some((record, hearer));
        // Most records find room at once, and need no timer.
        if self.queues_at_once(&mut entry) {
            return Ok(());
        }
        let max_block = self.shell().lock().machine.config().max_block;
        let queued = poll_fn(|cx| self.try_queue(cx, &mut entry, true));
        match race(queued, self.shell().runtime.sleep(max_block)).await {
            First::Left(()) => Ok(()),
            First::Right(()) => Err(ProduceError::BufferFull),
        }
    }

    fn queues_at_once(&self, entry: &mut Option<(ProducerRecord, Hearer)>) -> bool {
        self.try_queue(&mut Context::from_waker(Waker::noop()), entry, false).is_ready()
    }

    fn try_queue(
        &self,
        cx: &mut Context<'_>,
        entry: &mut Option<(ProducerRecord, Hearer)>,
        wait: bool,
    ) -> Poll<()> {
        let shell = self.shell();
        let mut state = shell.lock();
        let size = entry.as_ref().map_or(0, |(record, _)| record.size());
        let (free, all) = (state.machine.free_memory(), state.machine.config().buffer_memory);
        if size > free && size <= all {
            if wait {
                state.book.for_memory.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        let (record, hearer) = entry.take().expect("a future is not polled after its end");
        let token = Token(state.book.records.insert(hearer) as u64);
        shell.input_locked(state, Input::Send { token, record });
        Poll::Ready(())
    }

    /// Sends what lingers, and waits until every record that was queued before is delivered or has
    /// failed. Without acknowledgements (`acks=0`) a record counts as delivered once the operating
    /// system has it.
    pub async fn flush(&self) {
        let shell = self.shell();
        let taker = {
            let mut state = shell.lock();
            let (giver, taker) = slot();
            let token = Token(state.book.flushes.insert(giver) as u64);
            shell.input_locked(state, Input::Flush { token });
            taker
        };
        taker.await;
    }

    /// Flushes, closes the producer and all its clones, and waits until its connections have ended:
    /// a process that ends afterwards takes nothing along that was sent. A broker that does not
    /// close its side is waited for five seconds.
    pub async fn close(&self) {
        self.flush().await;
        self.shell().close();
        self.shell().rested().await;
    }

    /// What holds up the records that are not delivered; for a person.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.shell().lock().machine.troubles()
    }

    /// Why the last connection could not be made, or ended; for a person.
    pub fn last_connection_error(&self) -> Option<Arc<str>> {
        self.shell().last_error()
    }
}

/// The fate of a queued record, to be awaited. Dropping it does not take the record back.
#[derive(Debug)]
pub struct Delivery(Taker<Outcome>);

impl Future for Delivery {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.0).poll(cx)
    }
}
