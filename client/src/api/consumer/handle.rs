//! What can be asked of a consumer while it polls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dohle_wire::id::{Offset, Timestamp};

use crate::api::race::{First, race};
use crate::api::runtime::Runtime;
use crate::api::shell::Shell;
use crate::api::slot::{Taker, slot};
use crate::machine::consumer::{Input, Start};
use crate::machine::group::{Call, GroupError, OffsetAndMetadata, OffsetAndTimestamp, Reply};
use crate::machine::{Consumer as Machine, Token, TopicPartition};

/// A commit under way. It goes on whether or not anybody waits for it.
#[derive(Debug)]
pub struct Commit(Taker<Result<Reply, GroupError>>);

impl Future for Commit {
    type Output = Result<(), GroupError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|result| result.map(drop))
    }
}

/// Commits, positions and offsets of a consumer. Cheap to clone; of no more use once the consumer is
/// closed.
pub struct ConsumerHandle<R: Runtime> {
    pub(super) shell: Arc<Shell<R, Machine>>,
}

impl<R: Runtime> Clone for ConsumerHandle<R> {
    fn clone(&self) -> Self {
        Self { shell: Arc::clone(&self.shell) }
    }
}

impl<R: Runtime> fmt::Debug for ConsumerHandle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerHandle").finish_non_exhaustive()
    }
}

impl<R: Runtime> ConsumerHandle<R> {
    fn call(&self, call: Call) -> Taker<Result<Reply, GroupError>> {
        let mut state = self.shell.lock();
        let (giver, taker) = slot();
        state.book.next_token += 1;
        let token = Token(state.book.next_token);
        state.book.calls.insert(token, giver);
        self.shell.input_locked(state, Input::Call { token, call });
        taker
    }

    /// Commits how far polls have given out what is assigned, and waits for it.
    pub async fn commit(&self) -> Result<(), GroupError> {
        self.commit_async().await
    }

    /// Commits how far polls have given out what is assigned. Commits are carried out in order.
    pub fn commit_async(&self) -> Commit {
        Commit(self.call(Call::Commit(None)))
    }

    /// Commits these offsets: each is that of the next record to read.
    pub fn commit_offsets(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, OffsetAndMetadata)>,
    ) -> Commit {
        let offsets: BTreeMap<TopicPartition, OffsetAndMetadata> = offsets.into_iter().collect();
        Commit(self.call(Call::Commit(Some(offsets))))
    }

    /// The committed offsets of those partitions that have one.
    pub async fn committed(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, OffsetAndMetadata>, GroupError> {
        match self.call(Call::Committed(partitions.into_iter().collect())).await? {
            Reply::Committed(offsets) => Ok(offsets),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    async fn offsets(
        &self,
        wanted: Vec<(TopicPartition, Start)>,
    ) -> Result<BTreeMap<TopicPartition, OffsetAndTimestamp>, GroupError> {
        match self.call(Call::Offsets(wanted)).await? {
            Reply::Offsets(offsets) => Ok(offsets),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// The first offset with each timestamp or a later one; partitions without such are left out.
    pub async fn offsets_for_times(
        &self,
        times: impl IntoIterator<Item = (TopicPartition, Timestamp)>,
    ) -> Result<BTreeMap<TopicPartition, OffsetAndTimestamp>, GroupError> {
        let wanted = times.into_iter().map(|(at, time)| (at, Start::Timestamp(time)));
        self.offsets(wanted.collect()).await
    }

    /// The offset of the first record of each partition.
    pub async fn beginning_offsets(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, Offset>, GroupError> {
        self.ends(partitions.into_iter().map(|at| (at, Start::Earliest)).collect()).await
    }

    /// The offset after the last record of each partition.
    pub async fn end_offsets(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, Offset>, GroupError> {
        self.ends(partitions.into_iter().map(|at| (at, Start::Latest)).collect()).await
    }

    async fn ends(
        &self,
        wanted: Vec<(TopicPartition, Start)>,
    ) -> Result<BTreeMap<TopicPartition, Offset>, GroupError> {
        let found = self.offsets(wanted).await?;
        Ok(found.into_iter().map(|(at, found)| (at, found.offset)).collect())
    }

    /// Offset of the next record of a partition. Waits, up to `default.api.timeout.ms`, while it is
    /// being found out; `None` if it is not known by then, or the partition is not assigned.
    pub async fn position(&self, partition: &TopicPartition) -> Option<Offset> {
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

    /// The partitions that are read.
    pub fn assignment(&self) -> BTreeSet<TopicPartition> {
        self.shell.lock().machine.assignment().cloned().collect()
    }

    /// Records of a partition that were not given out, as of the last fetch.
    pub fn lag(&self, partition: &TopicPartition) -> Option<u64> {
        self.shell.lock().machine.lag(partition)
    }

    /// Member id and generation (or member epoch), while the consumer is a member of its group.
    pub fn membership(&self) -> Option<(String, i32)> {
        let state = self.shell.lock();
        state.machine.membership().map(|(id, generation)| (id.to_owned(), generation))
    }

    /// Reads a partition from elsewhere.
    pub fn seek(&self, partition: TopicPartition, start: Start) {
        self.shell.input(Input::Seek(partition, start));
    }

    /// Gives out no records of a partition until [`Self::resume`].
    pub fn pause(&self, partition: TopicPartition) {
        self.shell.input(Input::Pause(partition, true));
    }

    /// Gives out records of a partition again.
    pub fn resume(&self, partition: TopicPartition) {
        self.shell.input(Input::Pause(partition, false));
    }

    /// Waits until `look` sees what it wants; it looks after every step of the machine.
    pub(super) async fn until<T>(&self, look: impl Fn(&Machine) -> Option<T>) -> T {
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
}
