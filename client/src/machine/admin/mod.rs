//! An admin client: topics, partitions, settings, offsets, records to delete.
//!
//! Owns: the calls under way. A call is a list of items; each item goes to the broker that can serve
//! it (any, a certain one, or the leader of a partition) and is repeated until it has an outcome or
//! `default.api.timeout.ms` passed.
//!
//! Invariants: every `Call` is answered by exactly one `Done`.
//!
//! Must never know: sockets, clocks, other threads.

mod io;
mod read;
mod route;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::NodeId;

pub use self::io::{
    AdminError, Call, ClusterDescription, ConfigChange, ConfigEntry, ConfigResource, ConfigSource,
    Effect, FoundOffset, Input, ItemError, NewTopic, OffsetSpec, Reply, TopicDescription,
};

use self::route::Route;
use super::cluster::{Answer, Cluster, ClusterView, Event, Peer, SendError};
use super::time::Earliest;
use super::{Deadline, Fx, Machine, Now, Token};
use crate::config::{AdminConfig, ConfigError};

/// What a request was for: items of a call, by their place in its list.
#[derive(Clone, Debug)]
struct Tag {
    call: u64,
    items: Vec<usize>,
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
        let pending = Pending {
            token,
            items: vec![Progress::Open; route::items(&call)],
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
                Event::Metadata => {}
                Event::Lost { tag } => self.again(now, &tag),
                Event::Answer(answer) => self.on_answer(now, &answer),
            }
        }
    }

    /// Items whose request got no usable answer are asked for again after a pause.
    fn again(&mut self, now: Now, tag: &Tag) {
        let (first, max) =
            (self.config.connection.retry_backoff, self.config.connection.retry_backoff_max);
        let Some(pending) = self.calls.get_mut(&tag.call) else { return };
        let wait = self.cluster.rng().backoff(first, max, pending.failures);
        pending.failures = pending.failures.saturating_add(1);
        pending.not_before = now.mono.saturating_add(wait);
        tag.items.iter().for_each(|item| pending.items[*item] = Progress::Open);
    }

    fn on_answer(&mut self, now: Now, answer: &Answer<Tag>) {
        let tag = &answer.tag;
        let Some(pending) = self.calls.get_mut(&tag.call) else { return };
        let Ok(outcome) = read::read(answer, &pending.call, &mut pending.reply) else {
            self.cluster.distrust(now, answer.peer);
            return self.again(now, tag);
        };
        if let Some(error) = outcome.refused {
            return self.finish(tag.call, Err(error.into()));
        }
        let (retry, done): (Vec<usize>, Vec<usize>) =
            tag.items.iter().partition(|item| outcome.retry.contains_key(*item));
        pending.refused.extend(outcome.retry);
        done.into_iter().for_each(|item| pending.items[item] = Progress::Done);
        self.cluster.throttle(now, answer.peer, outcome.throttle_ms);
        if !retry.is_empty() {
            self.cluster.want_metadata();
            self.again(now, &Tag { call: tag.call, items: retry });
        }
        self.finish_if_done(tag.call);
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

    /// Sends the open items of every call to whom they belong.
    fn advance(&mut self, now: Now) {
        let calls: Vec<u64> = self.calls.keys().copied().collect();
        for call in calls {
            let pending = &self.calls[&call];
            if pending.expires <= now.mono {
                self.time_out(call);
            } else if pending.not_before <= now.mono {
                self.advance_call(now, call);
                self.finish_if_done(call);
            }
        }
    }

    /// The time of a call is over. Items that are done stay so; a call of which nothing is known
    /// fails as a whole.
    fn time_out(&mut self, call: u64) {
        let pending = self.calls.get_mut(&call).expect("a call under way");
        let nothing = pending.refused.is_empty() && !pending.items.contains(&Progress::Done);
        if nothing {
            let error = AdminError::TimedOut(pending.waits_for);
            return self.finish(call, Err(error));
        }
        for item in (0..pending.items.len()).filter(|item| pending.items[*item] != Progress::Done) {
            let code = pending.refused.get(&item).copied().unwrap_or(ErrorCode::RequestTimedOut);
            let message = Some("until default.api.timeout.ms was over".to_owned());
            let error = ItemError { code, message };
            if let Err(error) = read::fail_item(&pending.call, item, error, &mut pending.reply) {
                return self.finish(call, Err(error.into()));
            }
        }
        let reply = pending.reply.clone();
        self.finish(call, Ok(reply));
    }

    fn advance_call(&mut self, now: Now, call: u64) {
        let mut by_target: BTreeMap<Option<NodeId>, Vec<usize>> = BTreeMap::new();
        let pending = self.calls.get_mut(&call).expect("a call under way");
        for item in 0..pending.items.len() {
            if pending.items[item] != Progress::Open {
                continue;
            }
            match route::route(&pending.call, item, self.cluster.view()) {
                Route::Any => by_target.entry(None).or_default().push(item),
                Route::Node(node) => by_target.entry(Some(node)).or_default().push(item),
                Route::Unknown(why) => {
                    pending.waits_for = why;
                    self.cluster.want_metadata();
                }
                Route::Fails(error) => {
                    pending.items[item] = Progress::Done;
                    read::fail_item(&pending.call, item, error, &mut pending.reply)
                        .expect("only items of a list can have no broker");
                }
            }
        }
        for (target, items) in by_target {
            let peer = match target {
                None => self.cluster.any_ready(now),
                Some(node) => self.ready_node(now, node),
            };
            if let Some(peer) = peer {
                self.ask(now, peer, call, items);
            }
        }
    }

    fn ready_node(&mut self, now: Now, node: NodeId) -> Option<Peer> {
        let peer = Peer::Node(node);
        let ready = self.cluster.is_ready(now, peer);
        if !ready {
            self.cluster.connect(now, peer);
        }
        ready.then_some(peer)
    }

    fn ask(&mut self, now: Now, peer: Peer, call: u64, items: Vec<usize>) {
        let Some(pending) = self.calls.get_mut(&call) else { return };
        let tag = Tag { call, items: items.clone() };
        let timeout = self.config.connection.request_timeout;
        let sent = write::write(&mut self.cluster, now, peer, &pending.call, tag, timeout);
        pending.waits_for = "an answer";
        match sent {
            Ok(()) => items.into_iter().for_each(|item| pending.items[item] = Progress::Asked),
            Err(SendError::NotReady) => {}
            Err(SendError::Unsupported) => {
                let error = AdminError::Unsupported(write::name(&pending.call));
                self.finish(call, Err(error));
            }
            Err(SendError::Encode(error)) => {
                self.finish(call, Err(AdminError::Unencodable(error.to_string())));
            }
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
        earliest.deadline()
    }

    fn invariants(&self) {
        for pending in self.calls.values() {
            let open = pending.items.iter().any(|item| *item != Progress::Done);
            assert!(open, "a call without open items is finished");
        }
        self.cluster.invariants();
    }
}
