//! An admin client: topics, settings, offsets.
//!
//! Owns: calls that are not over, cut into items (a topic, a resource, a partition), each of which
//! is asked of a broker that can answer, again and again, until it is done, refused for good, or
//! `default.api.timeout.ms` has passed.
//!
//! Invariants: every `Call` is answered by exactly one `Done`; every item is either to be done,
//! under way, or done.
//!
//! Must never know: sockets, clocks, other threads.

mod answer;
mod io;
mod request;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use self::io::{
    AdminError, Call, ClusterDescription, ConfigChange, ConfigEntry, ConfigResource, ConfigSource,
    Effect, FoundOffset, Input, ItemError, NewTopic, OffsetSpec, Reply, TopicDescription,
};

use super::cluster::{Cluster, ClusterView, Event, Peer};
use super::time::Earliest;
use super::{Deadline, Fx, Machine, Now, Token, TopicPartition};
use crate::config::{AdminConfig, ConfigError};
use dohle_wire::ErrorCode;
use dohle_wire::id::Offset;

/// A topic that still is unknown after so many answers does not exist. A single one may come from a
/// broker that has not heard of it yet.
const UNKNOWN_LIMIT: u32 = 5;

/// One thing to ask of one broker.
#[derive(Clone, Debug)]
enum Item {
    CreateTopic(NewTopic),
    DeleteTopic(Arc<str>),
    DescribeTopics(Option<Vec<Arc<str>>>),
    CreatePartitions(Arc<str>, i32),
    DescribeConfig(ConfigResource),
    AlterConfig(ConfigResource, Vec<ConfigChange>),
    DeleteRecords(TopicPartition, Offset),
    ListOffset(TopicPartition, OffsetSpec),
    DescribeCluster,
}

/// Who can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Any,
    Peer(Peer),
    /// Metadata does not say yet.
    Unknown,
}

impl Item {
    fn all_of(call: Call) -> (Vec<Self>, Reply) {
        let each = || Reply::Each(BTreeMap::new());
        match call {
            Call::CreateTopics(list) => (list.into_iter().map(Self::CreateTopic).collect(), each()),
            Call::DeleteTopics(list) => (list.into_iter().map(Self::DeleteTopic).collect(), each()),
            Call::DescribeTopics(names) => {
                (vec![Self::DescribeTopics(names)], Reply::Topics(BTreeMap::new()))
            }
            Call::CreatePartitions(list) => {
                let items =
                    list.into_iter().map(|(name, count)| Self::CreatePartitions(name, count));
                (items.collect(), each())
            }
            Call::DescribeConfigs(list) => {
                let items = list.into_iter().map(Self::DescribeConfig);
                (items.collect(), Reply::Configs(BTreeMap::new()))
            }
            Call::AlterConfigs(list) => {
                let items = list.into_iter().map(|(of, changes)| Self::AlterConfig(of, changes));
                (items.collect(), each())
            }
            Call::DeleteRecords(list) => {
                let items = list.into_iter().map(|(of, offset)| Self::DeleteRecords(of, offset));
                (items.collect(), Reply::Offsets(BTreeMap::new()))
            }
            Call::ListOffsets(list) => {
                let items = list.into_iter().map(|(of, spec)| Self::ListOffset(of, spec));
                (items.collect(), Reply::Offsets(BTreeMap::new()))
            }
            Call::DescribeCluster => {
                let unknown =
                    ClusterDescription { id: None, controller: None, brokers: Vec::new() };
                (vec![Self::DescribeCluster], Reply::Cluster(unknown))
            }
        }
    }

    /// The partition whose leader must be asked.
    const fn partition(&self) -> Option<&TopicPartition> {
        match self {
            Self::DeleteRecords(of, _) | Self::ListOffset(of, _) => Some(of),
            Self::CreateTopic(_)
            | Self::DeleteTopic(_)
            | Self::DescribeTopics(_)
            | Self::CreatePartitions(..)
            | Self::DescribeConfig(_)
            | Self::AlterConfig(..)
            | Self::DescribeCluster => None,
        }
    }

    fn target(&self, view: &ClusterView) -> Target {
        if let Some(of) = self.partition() {
            let leader = view.partition(&of.topic, of.partition).and_then(|found| found.leader);
            return leader.map_or(Target::Unknown, |node| Target::Peer(Peer::Node(node)));
        }
        match self {
            Self::DescribeConfig(ConfigResource::Broker(Some(node)))
            | Self::AlterConfig(ConfigResource::Broker(Some(node)), _) => {
                let known = view.brokers.contains_key(node);
                if known { Target::Peer(Peer::Node(*node)) } else { Target::Unknown }
            }
            _ => Target::Any,
        }
    }
}

/// A call that is not over.
#[derive(Clone, Debug)]
struct Pending {
    expires: Duration,
    todo: Vec<Item>,
    under_way: usize,
    reply: Reply,
    failures: u32,
    not_before: Duration,
    /// Answers of metadata that did not know what was asked for.
    unknown: u32,
    /// What is waited for, to explain a timeout.
    waits_for: &'static str,
}

/// What a request was for.
#[derive(Clone, Debug)]
struct Tag {
    token: Token,
    items: Vec<Item>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Admin {
    config: AdminConfig,
    cluster: Cluster<Tag>,
    calls: BTreeMap<Token, Pending>,
    done: Vec<Effect>,
    closed: bool,
    last_step: Duration,
}

impl Admin {
    /// An admin client with these settings; `seed` is all its randomness.
    pub fn new(config: AdminConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            cluster: Cluster::new(config.connection.clone(), false, seed),
            config,
            calls: BTreeMap::new(),
            done: Vec::new(),
            closed: false,
            last_step: Duration::ZERO,
        })
    }

    /// What is known of the cluster: brokers, and topics whose partitions were asked about.
    pub const fn view(&self) -> &ClusterView {
        self.cluster.view()
    }

    fn on_call(&mut self, now: Now, token: Token, call: Call) {
        if self.closed {
            return self.done.push(Effect::Done { token, result: Err(AdminError::Closed) });
        }
        let (todo, reply) = Item::all_of(call);
        todo.iter()
            .filter_map(Item::partition)
            .for_each(|of| self.cluster.want_topic(now, &of.topic));
        if todo.iter().any(|item| item.target(self.cluster.view()) == Target::Unknown) {
            self.cluster.want_metadata();
        }
        let pending = Pending {
            expires: now.mono.saturating_add(self.config.api_timeout),
            todo,
            under_way: 0,
            reply,
            failures: 0,
            not_before: Duration::ZERO,
            unknown: 0,
            waits_for: "a connection to a broker",
        };
        self.calls.insert(token, pending);
    }

    fn on_close(&mut self, now: Now) {
        self.closed = true;
        for token in std::mem::take(&mut self.calls).into_keys() {
            self.done.push(Effect::Done { token, result: Err(AdminError::Closed) });
        }
        self.cluster.close(now);
        while self.cluster.next_event().is_some() {}
    }

    fn on_events(&mut self, now: Now) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Metadata => self.on_metadata(),
                Event::Lost { tag } => {
                    self.cluster.want_metadata();
                    self.put_back(now, tag);
                }
                Event::Answer(answer) => self.on_answer(now, &answer),
            }
        }
    }

    /// There is newer metadata: what it does not know may not exist.
    fn on_metadata(&mut self) {
        let view = self.cluster.view();
        let mut wanted = false;
        for pending in self.calls.values_mut() {
            if pending.todo.iter().all(|item| item.target(view) != Target::Unknown) {
                continue;
            }
            pending.unknown += 1;
            wanted = true;
            pending.waits_for = "a leader of a partition";
            if pending.unknown < UNKNOWN_LIMIT {
                continue;
            }
            let Pending { todo, reply, .. } = pending;
            todo.retain(|item| {
                let exists =
                    item.partition().map(|of| view.partition(&of.topic, of.partition).is_some());
                match exists {
                    // It will have a leader again.
                    Some(true) => true,
                    Some(false) => {
                        fail(reply, item, ErrorCode::UnknownTopicOrPartition, None);
                        false
                    }
                    None if item.target(view) == Target::Unknown => {
                        fail(reply, item, ErrorCode::BrokerIdNotRegistered, None);
                        false
                    }
                    None => true,
                }
            });
        }
        if wanted {
            self.cluster.want_metadata();
        }
    }

    /// The items of a request will be asked for again.
    fn put_back(&mut self, now: Now, tag: Tag) {
        let wait = {
            let Some(pending) = self.calls.get_mut(&tag.token) else { return };
            pending.under_way -= 1;
            let failures = pending.failures;
            pending.failures = failures.saturating_add(1);
            let config = &self.config.connection;
            self.cluster.rng().backoff(config.retry_backoff, config.retry_backoff_max, failures)
        };
        let pending = self.calls.get_mut(&tag.token).expect("just seen");
        pending.todo.extend(tag.items);
        pending.not_before = now.mono.saturating_add(wait);
    }

    /// Asks whatever can be asked now.
    fn pump(&mut self, now: Now) {
        let tokens: Vec<Token> = self.calls.keys().copied().collect();
        for token in tokens {
            let pending = self.calls.get_mut(&token).expect("calls end elsewhere");
            if pending.not_before > now.mono {
                continue;
            }
            let mut groups: BTreeMap<Target, Vec<Item>> = BTreeMap::new();
            for item in std::mem::take(&mut pending.todo) {
                groups.entry(item.target(self.cluster.view())).or_default().push(item);
            }
            for (target, items) in groups {
                self.ask(now, token, target, items);
            }
        }
    }

    fn ask(&mut self, now: Now, token: Token, target: Target, items: Vec<Item>) {
        let ready = match target {
            Target::Any => self.cluster.any_ready(now),
            Target::Peer(peer) if self.cluster.is_ready(now, peer) => Some(peer),
            Target::Peer(peer) => {
                self.cluster.connect(now, peer);
                None
            }
            Target::Unknown => None,
        };
        let pending = self.calls.get_mut(&token).expect("calls end elsewhere");
        let Some(peer) = ready else { return pending.todo.extend(items) };
        match self.send(now, peer, token, items) {
            Ok(()) => {
                let pending = self.calls.get_mut(&token).expect("calls end elsewhere");
                pending.under_way += 1;
                pending.waits_for = "the answer of a broker";
            }
            Err(error) => self.end(token, Err(error)),
        }
    }

    fn end(&mut self, token: Token, result: Result<Reply, AdminError>) {
        if self.calls.remove(&token).is_some() {
            self.done.push(Effect::Done { token, result });
        }
    }

    /// Ends the calls that are over.
    fn finish(&mut self, now: Now) {
        let over = self.calls.iter().filter(|(_, pending)| {
            pending.expires <= now.mono || (pending.todo.is_empty() && pending.under_way == 0)
        });
        let over: Vec<Token> = over.map(|(token, _)| *token).collect();
        for token in over {
            let pending = self.calls.remove(&token).expect("just seen");
            let complete = pending.todo.is_empty() && pending.under_way == 0;
            let late = AdminError::TimedOut(pending.waits_for);
            let result = if complete { Ok(pending.reply) } else { Err(late) };
            self.done.push(Effect::Done { token, result });
        }
    }
}

/// Writes the failure of an item into the reply.
fn fail(reply: &mut Reply, item: &Item, code: ErrorCode, message: Option<String>) {
    let error = ItemError { code, message };
    match (reply, item) {
        (Reply::Each(each), Item::CreateTopic(NewTopic { name, .. }))
        | (Reply::Each(each), Item::DeleteTopic(name) | Item::CreatePartitions(name, _)) => {
            each.insert(Arc::clone(name), Err(error));
        }
        (Reply::Each(each), Item::AlterConfig(resource, _)) => {
            each.insert(resource.name(), Err(error));
        }
        (Reply::Configs(configs), Item::DescribeConfig(resource)) => {
            configs.insert(resource.clone(), Err(error));
        }
        (Reply::Offsets(offsets), Item::DeleteRecords(of, _) | Item::ListOffset(of, _)) => {
            offsets.insert(of.clone(), Err(error));
        }
        (Reply::Topics(topics), Item::DescribeTopics(Some(names))) => {
            topics.extend(names.iter().map(|name| (Arc::clone(name), Err(error.clone()))));
        }
        // There is no item to which the failure belongs.
        _ => {}
    }
}

impl Machine for Admin {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        self.last_step = now.mono;
        match input {
            Input::Net(input) => self.cluster.on_net(now, input),
            Input::Call { token, call } => self.on_call(now, token, call),
            Input::Close => self.on_close(now),
            Input::Tick => {}
        }
        if !self.closed {
            self.cluster.on_time(now);
            self.on_events(now);
            self.pump(now);
            // What was asked for in this step may need metadata.
            self.cluster.on_time(now);
            self.on_events(now);
            self.finish(now);
        }
        self.done.drain(..).for_each(|effect| fx.push(effect));
        self.cluster.take_effects().for_each(|effect| fx.push(effect));
        self.invariants();
    }

    fn tick() -> Input {
        Input::Tick
    }

    fn deadline(&self) -> Deadline {
        if self.closed {
            return None;
        }
        let mut earliest = Earliest::after(self.last_step);
        earliest.or(self.cluster.deadline());
        for pending in self.calls.values() {
            earliest.at(pending.expires, "default.api.timeout.ms");
            if !pending.todo.is_empty() {
                earliest.at(pending.not_before, "retry back-off");
            }
        }
        earliest.deadline()
    }

    fn invariants(&self) {
        assert!(!self.closed || self.calls.is_empty(), "a closed client has no calls");
        for pending in self.calls.values() {
            assert!(
                !pending.todo.is_empty() || pending.under_way > 0,
                "a call that is not over has something to do"
            );
        }
        self.cluster.invariants();
    }
}

impl ConfigResource {
    /// The number of the kind in requests, and the name.
    fn parts(&self) -> (i8, String) {
        match self {
            Self::Topic(name) => (2, name.to_string()),
            Self::Broker(None) => (4, String::new()),
            Self::Broker(Some(node)) => (4, node.to_string()),
        }
    }

    /// The name under which [`Reply::Each`] has it; empty for the default of all brokers.
    pub fn name(&self) -> Arc<str> {
        self.parts().1.into()
    }
}
