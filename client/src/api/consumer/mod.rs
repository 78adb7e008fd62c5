//! The consumer for async code.
//!
//! As a member of a group, with the offsets committed by and by:
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use dohle_client::api::{Consumer, Runtime};
//! use dohle_client::config::ConsumerConfig;
//!
//! async fn follow<R: Runtime>(runtime: R) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut config = ConsumerConfig::to("127.0.0.1:9092")?;
//!     config.set("group.id", "readers")?;
//!     let codecs = Arc::new(dohle_wire::record::NoCodecs);
//!     let mut consumer = Consumer::new(runtime, config, codecs)?;
//!     consumer.subscribe(["greetings"])?;
//!     for _ in 0..100 {
//!         let polled = consumer.poll(Duration::from_secs(1)).await;
//!         if let Some(error) = polled.group {
//!             eprintln!("{error}");
//!         }
//!         for (partition, records) in polled.records {
//!             println!("{partition}: {} records", records.len());
//!         }
//!     }
//!     consumer.close(Duration::from_secs(30)).await?;
//!     Ok(())
//! }
//! ```

mod handle;
mod listener;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::Codecs;

pub use self::handle::{Commit, ConsumerHandle};
use self::listener::Deaf;
pub use self::listener::{Listening, RebalanceListener};
use super::calls::NoCall;
use super::race::{First, race};
use super::runtime::Runtime;
use super::shell::{Client, Shell, Wakers};
use super::slot::Giver;
use crate::config::{ConfigError, ConsumerConfig};
use crate::machine::consumer::{ConsumeError, ConsumedRecord, Effect, Input, Start};
use crate::machine::group::{
    GroupEffect, GroupError, OffsetAndMetadata, OffsetAndTimestamp, Pattern, Rebalance, Reply,
    Subscription,
};
use crate::machine::{Consumer as Machine, NetEffect, Token, TopicPartition, Trouble};

/// What one poll gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// Records by partition, each in the order of their offsets.
    pub records: Vec<(TopicPartition, Vec<ConsumedRecord>)>,
    /// Partitions that cannot be read on; see [`Effect::Failed`].
    pub failed: Vec<(TopicPartition, ConsumeError)>,
    /// What is wrong with the membership of the group. The next poll tries again, unless it is
    /// [`GroupError::Fenced`].
    pub group: Option<GroupError>,
}

impl Polled {
    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty() && self.failed.is_empty() && self.group.is_none()
    }
}

/// What was given out, and who waits.
#[derive(Default)]
pub(super) struct Book {
    polled: Polled,
    rebalances: VecDeque<Rebalance>,
    waiting: Vec<Waker>,
    next_token: u64,
    calls: BTreeMap<Token, Giver<Result<Reply, GroupError>>>,
}

impl Client for Machine {
    type Book = Book;
    type Call = NoCall;

    fn settle(book: &mut Book, effect: Effect, wake: &mut Wakers<NoCall>) -> Option<NetEffect> {
        match effect {
            Effect::Net(effect) => return Some(effect),
            Effect::Records { partition, records } => {
                book.polled.records.push((partition, records));
            }
            Effect::Failed { partition, error } => book.polled.failed.push((partition, error)),
            Effect::Group(GroupEffect::Rebalance(rebalance)) => {
                book.rebalances.push_back(rebalance);
            }
            Effect::Group(GroupEffect::Failed(error)) => book.polled.group = Some(error),
            Effect::Group(GroupEffect::Done { token, result }) => {
                wake.add(book.calls.remove(&token).and_then(|giver| giver.give(result)));
            }
        }
        None
    }

    fn stepped(&self, book: &mut Book, wake: &mut Wakers<NoCall>) {
        wake.add(book.waiting.drain(..));
    }

    fn close() -> Input {
        Input::Close
    }
}

/// Reads partitions: those that its group gives it, or those that it is told to read.
///
/// Dropping it closes it: the group hears that it is gone, and nothing is committed. Use
/// [`Self::close`] to leave in an orderly way.
pub struct Consumer<R: Runtime> {
    handle: ConsumerHandle<R>,
    /// Never locked, only reached through `&mut`: listeners need not be shared between threads.
    listener: Mutex<Box<dyn RebalanceListener<R>>>,
}

impl<R: Runtime> fmt::Debug for Consumer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("machine", &self.handle.shell.lock().machine).finish()
    }
}

impl<R: Runtime> Drop for Consumer<R> {
    fn drop(&mut self) {
        self.handle.shell.close();
    }
}

/// The application waits for records, until this is dropped.
struct Waiting<'a, R: Runtime>(&'a Arc<Shell<R, Machine>>);

impl<'a, R: Runtime> Waiting<'a, R> {
    fn enter(shell: &'a Arc<Shell<R, Machine>>) -> Self {
        shell.input(Input::Wait(true));
        Self(shell)
    }
}

impl<R: Runtime> Drop for Waiting<'_, R> {
    fn drop(&mut self) {
        self.0.input(Input::Wait(false));
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
        let handle = ConsumerHandle { shell: Shell::start(runtime, machine) };
        Ok(Self { handle, listener: Mutex::new(Box::new(Deaf)) })
    }

    /// Commits, positions and offsets, for those who do not own the consumer.
    pub fn handle(&self) -> ConsumerHandle<R> {
        self.handle.clone()
    }

    fn shell(&self) -> &Arc<Shell<R, Machine>> {
        &self.handle.shell
    }

    fn has_group(&self) -> bool {
        self.shell().lock().machine.config().group.id.is_some()
    }

    fn subscribe_to(&mut self, subscription: Subscription) -> Result<(), GroupError> {
        if !self.has_group() {
            return Err(GroupError::NoGroup);
        }
        self.shell().input(Input::Subscribe(subscription));
        Ok(())
    }

    /// Reads, as a member of the group, its share of these topics. The polls that follow join the
    /// group. Replaces what was subscribed to or assigned before.
    pub fn subscribe<S: Into<Arc<str>>>(
        &mut self,
        topics: impl IntoIterator<Item = S>,
    ) -> Result<(), GroupError> {
        self.subscribe_to(Subscription::to(topics))
    }

    /// Reads, as a member of the group, its share of the topics whose whole name matches, those that
    /// are made later too.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Consumer, Runtime};
    /// use dohle_client::machine::group::Pattern;
    ///
    /// # fn all<R: Runtime>(consumer: &mut Consumer<R>) -> Result<(), Box<dyn std::error::Error>> {
    /// consumer.subscribe_pattern(Pattern::new("metrics-.*")?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe_pattern(&mut self, pattern: Pattern) -> Result<(), GroupError> {
        self.subscribe_to(Subscription::Pattern(pattern))
    }

    /// Lets somebody hear of rebalances from now on.
    pub fn listen(&mut self, listener: impl RebalanceListener<R> + 'static) {
        self.listener = Mutex::new(Box::new(listener));
    }

    /// Reads exactly these partitions from now on, whatever others read. A partition that is read
    /// already keeps its position, unless its start is not [`Start::Reset`].
    pub fn assign(&mut self, assignment: impl IntoIterator<Item = (TopicPartition, Start)>) {
        self.shell().input(Input::Assign(assignment.into_iter().collect()));
    }

    /// Reads a partition from elsewhere.
    pub fn seek(&mut self, partition: TopicPartition, start: Start) {
        self.handle.seek(partition, start);
    }

    /// Gives out no records of a partition until [`Self::resume`].
    pub fn pause(&mut self, partition: TopicPartition) {
        self.handle.pause(partition);
    }

    /// Gives out records of a partition again.
    pub fn resume(&mut self, partition: TopicPartition) {
        self.handle.resume(partition);
    }

    /// Waits for records, up to `max.poll.records` of them; gives none after `wait`. What earlier
    /// polls gave out counts as read.
    pub async fn poll(&mut self, wait: Duration) -> Polled {
        let max_records = self.shell().lock().machine.config().max_poll_records;
        let until = self.shell().runtime.now().mono.saturating_add(wait);
        loop {
            let left = until.saturating_sub(self.shell().runtime.now().mono);
            if !self.wait(left, |machine| machine.has_records()).await {
                return Polled::default();
            }
            let polled = self.turn(max_records).await;
            if !polled.is_empty() {
                return polled;
            }
        }
    }

    /// Waits inside of a poll until the machine is in a state; gives whether it is.
    async fn wait(&self, wait: Duration, look: impl Fn(&Machine) -> bool) -> bool {
        let _waiting = Waiting::enter(self.shell());
        let ready = self.handle.until(|machine| look(machine).then_some(()));
        matches!(race(ready, self.shell().runtime.sleep(wait)).await, First::Left(()))
    }

    /// Takes out what is there, and lets the listener hear what it has to.
    async fn turn(&mut self, max_records: usize) -> Polled {
        self.shell().input(Input::Poll { max_records });
        while let Some(rebalance) = self.next_rebalance() {
            let listener = self.listener.get_mut().expect("it is never locked");
            let handle = &self.handle;
            match rebalance {
                Rebalance::Assigned(parts) => {
                    let parts: Vec<TopicPartition> = parts.into_iter().collect();
                    listener.assigned(handle, &parts).await;
                }
                Rebalance::Revoked(parts) => {
                    let parts: Vec<TopicPartition> = parts.into_iter().collect();
                    listener.revoked(handle, &parts).await;
                }
                Rebalance::Lost(parts) => {
                    let parts: Vec<TopicPartition> = parts.into_iter().collect();
                    listener.lost(handle, &parts).await;
                }
            }
            self.shell().input(Input::Acknowledge);
        }
        std::mem::take(&mut self.shell().lock().book.polled)
    }

    fn next_rebalance(&self) -> Option<Rebalance> {
        self.shell().lock().book.rebalances.pop_front()
    }

    /// Commits how far polls have given out what is assigned, and waits for it.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use dohle_client::api::{Consumer, Runtime};
    /// # async fn work<R: Runtime>(consumer: &mut Consumer<R>) -> Result<(), Box<dyn std::error::Error>> {
    /// let polled = consumer.poll(Duration::from_secs(1)).await;
    /// drop(polled); // the work on what was polled
    /// consumer.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn commit(&mut self) -> Result<(), GroupError> {
        self.handle.commit().await
    }

    /// Commits how far polls have given out what is assigned. The result can be waited for, or not;
    /// commits are carried out in the order of the calls.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Consumer, Runtime};
    /// # async fn work<R: Runtime>(runtime: R, consumer: &mut Consumer<R>) {
    /// let commit = consumer.commit_async();
    /// runtime.spawn(async move {
    ///     if let Err(error) = commit.await {
    ///         eprintln!("not committed: {error}");
    ///     }
    /// });
    /// # }
    /// ```
    pub fn commit_async(&mut self) -> Commit {
        self.handle.commit_async()
    }

    /// Commits these offsets: each is that of the next record to read.
    ///
    /// ```no_run
    /// # use dohle_client::api::{Consumer, Runtime};
    /// # use dohle_client::machine::TopicPartition;
    /// # use dohle_client::machine::group::OffsetAndMetadata;
    /// # use dohle_wire::id::Offset;
    /// # async fn work<R: Runtime>(consumer: &mut Consumer<R>) -> Result<(), Box<dyn std::error::Error>> {
    /// let at = OffsetAndMetadata { metadata: "checked".into(), ..OffsetAndMetadata::at(Offset(42)) };
    /// consumer.commit_offsets([(TopicPartition::new("greetings", 0), at)]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit_offsets(
        &mut self,
        offsets: impl IntoIterator<Item = (TopicPartition, OffsetAndMetadata)>,
    ) -> Commit {
        self.handle.commit_offsets(offsets)
    }

    /// The committed offsets of those partitions that have one.
    pub async fn committed(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, OffsetAndMetadata>, GroupError> {
        self.handle.committed(partitions).await
    }

    /// The first offset with each timestamp or a later one; partitions without such are left out.
    pub async fn offsets_for_times(
        &mut self,
        times: impl IntoIterator<Item = (TopicPartition, Timestamp)>,
    ) -> Result<BTreeMap<TopicPartition, OffsetAndTimestamp>, GroupError> {
        self.handle.offsets_for_times(times).await
    }

    /// Gives up what was subscribed to and leaves the group. What was given out is committed if
    /// `enable.auto.commit` says so, and the listener hears what is revoked.
    pub async fn unsubscribe(&mut self) {
        self.shell().input(Input::Unsubscribe);
        loop {
            let wait = self.shell().lock().machine.config().group.max_poll_interval;
            self.wait(wait, |machine| machine.is_out() || machine.has_news()).await;
            let (out, news) = {
                let state = self.shell().lock();
                (state.machine.is_out(), state.machine.has_news())
            };
            if out && !news {
                return;
            }
            self.turn(0).await;
        }
    }

    /// Commits what was given out if `enable.auto.commit` says so, leaves the group, and closes all
    /// connections; after `wait` it does so without waiting any longer.
    pub async fn close(mut self, wait: Duration) -> Result<(), GroupError> {
        let sleep = self.shell().runtime.clone();
        let orderly = async {
            let (out, commits) = {
                let state = self.shell().lock();
                (state.machine.is_out(), state.machine.config().group.commits_itself())
            };
            if out && commits {
                self.commit().await?;
            }
            self.unsubscribe().await;
            Ok(())
        };
        match race(orderly, sleep.sleep(wait)).await {
            First::Left(result) => result,
            First::Right(()) => Err(GroupError::TimedOut),
        }
    }

    /// Offset of the next record of a partition. Waits, up to `default.api.timeout.ms`, while it is
    /// being found out; `None` if it is not known by then, or the partition is not assigned.
    pub async fn position(&mut self, partition: &TopicPartition) -> Option<Offset> {
        self.handle.position(partition).await
    }

    /// Offset of the next record of a partition, if it is known now.
    pub fn known_position(&self, partition: &TopicPartition) -> Option<Offset> {
        self.shell().lock().machine.position(partition)
    }

    /// Offset after the last committed record of a partition, as of the last fetch.
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.shell().lock().machine.high_watermark(partition)
    }

    /// What holds up the partitions that are read; for a person.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.shell().lock().machine.troubles()
    }

    /// Why the last connection could not be made, or ended; for a person.
    pub fn last_connection_error(&self) -> Option<Arc<str>> {
        self.shell().last_error()
    }
}
