//! The admin client for async code.

mod groups;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dohle_wire::id::Offset;

use super::calls::NoCall;
use super::runtime::Runtime;
use super::shell::{Client, Shell, Wakers};
use super::slot::{Giver, slot};
use crate::config::{AdminConfig, ConfigError};
use crate::machine::admin::{
    AdminError, Call, ClusterDescription, ConfigChange, ConfigEntry, ConfigResource, Effect,
    FoundOffset, GroupCall, GroupReply, Input, ItemError, NewTopic, OffsetSpec, QuorumDescription,
    Reply, TopicDescription,
};
use crate::machine::{Admin as Machine, NetEffect, Token, TopicPartition};

/// Who waits for what.
#[derive(Default)]
pub(super) struct Book {
    next_token: u64,
    calls: BTreeMap<Token, Giver<Result<Reply, AdminError>>>,
}

impl Client for Machine {
    type Book = Book;
    type Call = NoCall;

    fn settle(book: &mut Book, effect: Effect, wake: &mut Wakers<NoCall>) -> Option<NetEffect> {
        match effect {
            Effect::Net(effect) => return Some(effect),
            Effect::Done { token, result } => {
                wake.add(book.calls.remove(&token).and_then(|giver| giver.give(result)));
            }
        }
        None
    }

    fn stepped(&self, _book: &mut Book, _wake: &mut Wakers<NoCall>) {}

    fn close() -> Input {
        Input::Close
    }
}

/// The result of each item of a call, by name.
pub type Each<K, T> = BTreeMap<K, Result<T, ItemError>>;

/// Administers a cluster. Dropping it closes it; calls under way then fail.
pub struct Admin<R: Runtime> {
    shell: Arc<Shell<R, Machine>>,
}

impl<R: Runtime> fmt::Debug for Admin<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("machine", &self.shell.lock().machine).finish()
    }
}

impl<R: Runtime> Drop for Admin<R> {
    fn drop(&mut self) {
        self.shell.close();
    }
}

impl<R: Runtime> Admin<R> {
    /// An admin client with these settings.
    pub fn new(runtime: R, config: AdminConfig) -> Result<Self, ConfigError> {
        let machine = Machine::new(config, runtime.seed())?;
        Ok(Self { shell: Shell::start(runtime, machine) })
    }

    async fn call(&self, call: Call) -> Result<Reply, AdminError> {
        let taker = {
            let mut state = self.shell.lock();
            let (giver, taker) = slot();
            state.book.next_token += 1;
            let token = Token(state.book.next_token);
            state.book.calls.insert(token, giver);
            self.shell.input_locked(state, Input::Call { token, call });
            taker
        };
        taker.await
    }

    async fn each(&self, call: Call) -> Result<Each<Arc<str>, ()>, AdminError> {
        match self.call(call).await? {
            Reply::Each(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    async fn group(&self, call: GroupCall) -> Result<GroupReply, AdminError> {
        match self.call(Call::Group(call)).await? {
            Reply::Group(reply) => Ok(reply),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    async fn offsets(&self, call: Call) -> Result<Each<TopicPartition, FoundOffset>, AdminError> {
        match self.call(call).await? {
            Reply::Offsets(offsets) => Ok(offsets),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Creates topics; gives the result for each.
    pub async fn create_topics(
        &self,
        topics: Vec<NewTopic>,
    ) -> Result<Each<Arc<str>, ()>, AdminError> {
        self.each(Call::CreateTopics(topics)).await
    }

    /// Deletes topics; gives the result for each.
    pub async fn delete_topics(
        &self,
        names: Vec<Arc<str>>,
    ) -> Result<Each<Arc<str>, ()>, AdminError> {
        self.each(Call::DeleteTopics(names)).await
    }

    /// Raises the number of partitions of topics; gives the result for each.
    pub async fn create_partitions(
        &self,
        totals: Vec<(Arc<str>, i32)>,
    ) -> Result<Each<Arc<str>, ()>, AdminError> {
        self.each(Call::CreatePartitions(totals)).await
    }

    /// Changes settings; gives the result for each resource, by name.
    pub async fn alter_configs(
        &self,
        changes: Vec<(ConfigResource, Vec<ConfigChange>)>,
    ) -> Result<Each<Arc<str>, ()>, AdminError> {
        self.each(Call::AlterConfigs(changes)).await
    }

    /// Describes these topics.
    pub async fn describe_topics(
        &self,
        names: Vec<Arc<str>>,
    ) -> Result<Each<Arc<str>, TopicDescription>, AdminError> {
        self.topics(Some(names)).await
    }

    /// Describes all topics.
    pub async fn list_topics(&self) -> Result<Each<Arc<str>, TopicDescription>, AdminError> {
        self.topics(None).await
    }

    async fn topics(
        &self,
        names: Option<Vec<Arc<str>>>,
    ) -> Result<Each<Arc<str>, TopicDescription>, AdminError> {
        match self.call(Call::DescribeTopics(names)).await? {
            Reply::Topics(topics) => Ok(topics),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Reads settings.
    pub async fn describe_configs(
        &self,
        resources: Vec<ConfigResource>,
    ) -> Result<Each<ConfigResource, Vec<ConfigEntry>>, AdminError> {
        match self.call(Call::DescribeConfigs(resources)).await? {
            Reply::Configs(configs) => Ok(configs),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Deletes the records before an offset (all for -1); gives the new start of each log.
    pub async fn delete_records(
        &self,
        before: Vec<(TopicPartition, Offset)>,
    ) -> Result<Each<TopicPartition, FoundOffset>, AdminError> {
        self.offsets(Call::DeleteRecords(before)).await
    }

    /// Finds offsets.
    pub async fn list_offsets(
        &self,
        wanted: Vec<(TopicPartition, OffsetSpec)>,
    ) -> Result<Each<TopicPartition, FoundOffset>, AdminError> {
        self.offsets(Call::ListOffsets(wanted)).await
    }

    /// Describes the cluster.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, AdminError> {
        match self.call(Call::DescribeCluster).await? {
            Reply::Cluster(cluster) => Ok(cluster),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Describes the metadata quorum.
    pub async fn describe_quorum(&self) -> Result<QuorumDescription, AdminError> {
        match self.call(Call::DescribeQuorum).await? {
            Reply::Quorum(quorum) => Ok(quorum),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Why the last connection could not be made, or ended; for a person.
    pub fn last_connection_error(&self) -> Option<Arc<str>> {
        self.shell.last_error()
    }
}

impl NewTopic {
    /// A topic of `partitions` partitions, otherwise as the broker chooses.
    pub fn new(name: impl Into<Arc<str>>, partitions: i32) -> Self {
        Self { name: name.into(), partitions, replication_factor: -1, configs: Vec::new() }
    }
}
