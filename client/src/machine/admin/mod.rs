//! An admin client: topics, partitions, settings, offsets, records to delete, groups.
//!
//! Owns: the calls under way, and which broker coordinates which group. A call is a list of items;
//! each item goes to the broker that can serve it (any, a certain one, the leader of a partition or
//! the coordinator of a group) and is repeated until it has an outcome or `default.api.timeout.ms`
//! passed.
//!
//! Invariants: every `Call` is answered by exactly one `Done`.
//!
//! Must never know: sockets, clocks, other threads.

mod advance;
mod group;
mod io;
mod quorum;
mod read;
mod route;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;

pub use self::group::{
    CommittedOffset, GroupCall, GroupDescription, GroupFilter, GroupListing, GroupMember,
    GroupOffsets, GroupReply, GroupState, GroupType, ListedGroup, MemberIdentity,
};
pub use self::io::{
    AdminError, Call, ClusterDescription, ConfigChange, ConfigEntry, ConfigResource, ConfigSource,
    Effect, FoundOffset, Input, ItemError, NewTopic, OffsetSpec, QuorumDescription, QuorumReplica,
    Reply, TopicDescription,
};

use self::group::{Coordinators, Plan};
use super::cluster::{Answer, Cluster, ClusterView, Event};
use super::time::Earliest;
use super::{Deadline, Fx, Machine, Now, Token};
use crate::config::{AdminConfig, ConfigError};

/// What a request was for.
#[derive(Clone, Debug)]
enum Tag {
    /// Items of a call, by their place in its list.
    Items { call: u64, items: Vec<usize> },
    /// The coordinators of these groups.
    Lookup(Vec<Arc<str>>),
}

/// How far an item is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Progress {
    Open,
    Asked,
    Done,
}

/// A call under way.
#[derive(Clone, Debug)]
struct Pending {
    token: Token,
    call: Call,
    items: Vec<Progress>,
    plan: Plan,
    /// Why a broker could not serve an item when it was last asked.
    refused: BTreeMap<usize, ErrorCode>,
    reply: Reply,
    expires: Duration,
    not_before: Duration,
    failures: u32,
    waits_for: &'static str,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Admin {
    config: Arc<AdminConfig>,
    cluster: Cluster<Tag>,
    coordinators: Coordinators,
    calls: BTreeMap<u64, Pending>,
    next_call: u64,
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
            config: Arc::new(config),
            coordinators: Coordinators::default(),
            calls: BTreeMap::new(),
            next_call: 0,
            done: Vec::new(),
            closed: false,
            last_step: Duration::ZERO,
        })
    }

    /// What is known of the cluster.
    pub const fn view(&self) -> &ClusterView {
        self.cluster.view()
    }

    fn on_call(&mut self, now: Now, token: Token, call: Call) {
        if self.closed {
            return self.done.push(Effect::Done { token, result: Err(AdminError::Closed) });
        }
        for name in route::topics_to_know(&call) {
            self.cluster.want_topic(now, &name);
        }
        if matches!(call, Call::Group(GroupCall::List(_))) {
            self.cluster.want_metadata();
        }
        let pending = Pending {
            token,
            items: vec![Progress::Open; route::items(&call)],
            plan: Plan::default(),
            refused: BTreeMap::new(),
            reply: read::empty_reply(&call),
            call,
            expires: now.mono.saturating_add(self.config.api_timeout),
            not_before: Duration::ZERO,
            failures: 0,
            waits_for: "a connection",
        };
        self.calls.insert(self.next_call, pending);
        self.next_call += 1;
    }

    fn on_events(&mut self, now: Now) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Metadata => self.on_metadata(),
                Event::Lost { tag: Tag::Items { call, items } } => self.on_lost(now, call, &items),
                Event::Lost { tag: Tag::Lookup(groups) } => {
                    let config = &self.config.connection;
                    self.coordinators.lost(now, &groups, config, self.cluster.rng());
                }
                Event::Sent { .. } => unreachable!("every request of an admin has an answer"),
                Event::Answer(answer) => match &answer.tag {
                    Tag::Items { call, items } => self.on_answer(now, &answer, *call, items),
                    Tag::Lookup(groups) => self.on_coordinators(now, &answer, groups),
                },
            }
        }
    }

    /// Listings learn which brokers there are.
    fn on_metadata(&mut self) {
        let brokers: Vec<_> = self.cluster.view().brokers.keys().copied().collect();
        for pending in self.calls.values_mut() {
            let listing = matches!(pending.call, Call::Group(GroupCall::List(_)));
            if listing && pending.plan.brokers.is_none() {
                pending.items = vec![Progress::Open; brokers.len()];
                pending.plan.brokers = Some(brokers.clone());
            }
        }
    }

    fn on_coordinators(&mut self, now: Now, answer: &Answer<Tag>, groups: &[Arc<str>]) {
        let Self { coordinators, cluster, config, .. } = self;
        let config = &config.connection;
        if coordinators.answered(now, groups, answer, config, cluster).is_err() {
            coordinators.lost(now, groups, config, cluster.rng());
            cluster.distrust(now, answer.peer);
        }
    }

    /// The broker may be gone, and others may coordinate its groups.
    fn on_lost(&mut self, now: Now, call: u64, items: &[usize]) {
        for item in items {
            self.forget_coordinator(call, *item);
        }
        self.again(now, call, items);
    }

    fn forget_coordinator(&mut self, call: u64, item: usize) {
        let Some(Call::Group(call)) = self.calls.get(&call).map(|pending| &pending.call) else {
            return;
        };
        if let Some(group) = group::group_of(call, item) {
            self.coordinators.forget(group);
        }
    }

    /// Items whose request got no usable answer are asked for again after a pause.
    fn again(&mut self, now: Now, call: u64, items: &[usize]) {
        let (first, max) =
            (self.config.connection.retry_backoff, self.config.connection.retry_backoff_max);
        let Some(pending) = self.calls.get_mut(&call) else { return };
        let wait = self.cluster.rng().backoff(first, max, pending.failures);
        pending.failures = pending.failures.saturating_add(1);
        pending.not_before = now.mono.saturating_add(wait);
        items.iter().for_each(|item| pending.items[*item] = Progress::Open);
    }

    fn on_answer(&mut self, now: Now, answer: &Answer<Tag>, call: u64, items: &[usize]) {
        let Some(pending) = self.calls.get_mut(&call) else { return };
        let Pending { call: asked, plan, reply, .. } = pending;
        let Ok(outcome) = read::read(answer, items, asked, plan, reply) else {
            self.cluster.distrust(now, answer.peer);
            return self.again(now, call, items);
        };
        self.cluster.throttle(now, answer.peer, outcome.throttle_ms);
        if let Some(error) = outcome.refused {
            return self.finish(call, Err(error.into()));
        }
        for item in items {
            pending.items[*item] = Progress::Done;
        }
        for item in outcome.classic {
            pending.plan.classic.insert(item);
            pending.items[item] = Progress::Open;
        }
        pending.refused.extend(&outcome.retry);
        for (item, code) in &outcome.retry {
            if code.refreshes_coordinator() {
                self.forget_coordinator(call, *item);
            }
        }
        if !outcome.retry.is_empty() {
            self.cluster.want_metadata();
            let retry: Vec<usize> = outcome.retry.into_keys().collect();
            self.again(now, call, &retry);
        }
        self.finish_if_done(call);
    }

    fn finish_if_done(&mut self, call: u64) {
        let done = |pending: &Pending| pending.items.iter().all(|item| *item == Progress::Done);
        if self.calls.get(&call).is_some_and(done) {
            let reply = self.calls[&call].reply.clone();
            self.finish(call, Ok(reply));
        }
    }

    fn finish(&mut self, call: u64, result: Result<Reply, AdminError>) {
        if let Some(pending) = self.calls.remove(&call) {
            self.done.push(Effect::Done { token: pending.token, result });
        }
    }

    fn on_close(&mut self, now: Now) {
        self.closed = true;
        self.cluster.close(now);
        while self.cluster.next_event().is_some() {}
        let calls: Vec<u64> = self.calls.keys().copied().collect();
        calls.into_iter().for_each(|call| self.finish(call, Err(AdminError::Closed)));
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
            self.advance(now);
            self.cluster.on_time(now);
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
            earliest.at(pending.not_before, "retry back-off");
        }
        if let Some(at) = self.coordinators.deadline() {
            earliest.at(at, "coordinator back-off");
        }
        earliest.deadline()
    }

    fn invariants(&self) {
        for pending in self.calls.values() {
            let open = pending.items.iter().any(|item| *item != Progress::Done);
            assert!(open, "a call without open items is finished");
        }
        self.coordinators.invariants();
        self.cluster.invariants();
    }
}
