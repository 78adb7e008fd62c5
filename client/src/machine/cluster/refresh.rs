//! When to fetch metadata, of which topics; and taking it over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::message::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use dohle_wire::{ApiKey, ErrorCode, Message, Reader};

use super::conn::{Purpose, Stage};
use super::{Cluster, Event};
use crate::config::ConnectionConfig;
use crate::machine::rng::Rng;
use crate::machine::{ConnId, Deadline, Now};

/// The need for metadata. At most one request is under way.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    auto_create: bool,
    /// Topics of interest, with the time of their last use.
    topics: BTreeMap<Arc<str>, Duration>,
    /// All topics are of interest.
    all: bool,
    wanted: bool,
    /// Asked for after the request under way was sent, whose answer may be older than the reason.
    wanted_again: bool,
    in_flight: bool,
    /// Requests in short succession; each makes the next wait longer.
    streak: u32,
    not_before: Duration,
    last_answer: Option<Duration>,
}

impl Refresh {
    pub(super) const fn new(auto_create: bool) -> Self {
        Self {
            auto_create,
            topics: BTreeMap::new(),
            all: false,
            wanted: false,
            wanted_again: false,
            in_flight: false,
            streak: 0,
            not_before: Duration::ZERO,
            last_answer: None,
        }
    }

    /// Something failed in a way that newer metadata may explain.
    pub(super) const fn want(&mut self) {
        self.wanted = true;
        self.wanted_again = self.in_flight;
    }

    pub(super) fn failed(&mut self, now: Duration, config: &ConnectionConfig, rng: &mut Rng) {
        self.in_flight = false;
        self.wanted = true;
        self.pause(now, config, rng);
    }

    fn succeeded(
        &mut self,
        now: Duration,
        settled: bool,
        config: &ConnectionConfig,
        rng: &mut Rng,
    ) {
        self.in_flight = false;
        self.wanted = self.wanted_again || !settled;
        self.wanted_again = false;
        self.pause(now, config, rng);
        self.last_answer = Some(now);
    }

    fn pause(&mut self, now: Duration, config: &ConnectionConfig, rng: &mut Rng) {
        let wait = rng.backoff(config.retry_backoff, config.retry_backoff_max, self.streak);
        self.streak = self.streak.saturating_add(1);
        self.not_before = now.saturating_add(wait);
    }

    fn outdated_at(&self, config: &ConnectionConfig) -> Option<Duration> {
        Some(self.last_answer?.saturating_add(config.metadata_max_age))
    }

    fn is_due(&self, now: Duration, config: &ConnectionConfig) -> bool {
        let outdated = self.outdated_at(config).is_some_and(|at| at <= now);
        !self.in_flight && self.not_before <= now && (self.wanted || outdated)
    }

    pub(super) fn deadline(&self, config: &ConnectionConfig) -> Deadline {
        if self.in_flight {
            None
        } else if self.wanted {
            Some((self.not_before, "metadata back-off"))
        } else {
            let outdated = self.outdated_at(config)?;
            Some((outdated.max(self.not_before), "metadata.max.age.ms"))
        }
    }
}

impl<T: Clone> Cluster<T> {
    /// Newer metadata may help.
    pub(crate) const fn want_metadata(&mut self) {
        self.refresh.want();
    }

    /// A topic is of interest now. A new one is asked for at once.
    pub(crate) fn want_topic(&mut self, now: Now, name: &Arc<str>) {
        if let Some(last_used) = self.refresh.topics.get_mut(name) {
            *last_used = now.mono;
            return;
        }
        self.refresh.topics.insert(Arc::clone(name), now.mono);
        self.refresh.want();
        self.refresh.not_before = now.mono;
    }

    /// Topics that were last of interest before `then` are forgotten.
    pub(crate) fn forget_topics(&mut self, then: Duration, mut keep: impl FnMut(&str) -> bool) {
        let Self { refresh, view, .. } = self;
        refresh.topics.retain(|name, last_used| *last_used >= then || keep(name));
        view.topics.retain(|name, _| refresh.topics.contains_key(name));
    }

    /// Forgets every topic but these.
    pub(crate) fn only_topics(&mut self, now: Now, names: impl Iterator<Item = Arc<str>>) {
        let names: Vec<Arc<str>> = names.collect();
        self.refresh.topics.retain(|name, _| names.contains(name));
        names.iter().for_each(|name| self.want_topic(now, name));
    }

    /// Whether all topics of the cluster are of interest.
    pub(crate) const fn want_all(&mut self, now: Now, all: bool) {
        if all && !self.refresh.all {
            self.refresh.want();
            self.refresh.not_before = now.mono;
        }
        self.refresh.all = all;
    }

    pub(super) fn fetch_metadata(&mut self, now: Now) {
        if !self.refresh.is_due(now.mono, &self.config) {
            return;
        }
        let Some(peer) = self.any_ready(now) else { return };
        let Some(version) = self.version(peer, ApiKey::Metadata, i16::MAX) else {
            return self.distrust(now, peer);
        };
        if self.refresh.not_before + self.config.retry_backoff_max * 2 < now.mono {
            self.refresh.streak = 0;
        }
        let topics = self.refresh.topics.keys().map(|name| MetadataRequestTopic {
            name: Some(name.to_string()),
            ..MetadataRequestTopic::default()
        });
        // Version 0 has no null: there an empty list asks for all.
        let all = if version == 0 { Some(Vec::new()) } else { None };
        let request = MetadataRequest {
            topics: if self.refresh.all { all } else { Some(topics.collect()) },
            // Versions before 4 cannot say that nothing is to be created.
            allow_auto_topic_creation: self.refresh.auto_create || version < 4,
            ..MetadataRequest::default()
        };
        self.refresh.in_flight = true;
        self.refresh.wanted_again = false;
        let sent = self.send_for(now, peer, version, &request, Purpose::Metadata);
        if sent.is_err() {
            self.refresh.failed(now.mono, &self.config, &mut self.rng);
        }
    }

    pub(super) fn on_metadata(&mut self, now: Now, id: ConnId, version: i16, mut body: Reader) {
        let Ok(answer) = MetadataResponse::decode(&mut body, version) else {
            self.refresh.failed(now.mono, &self.config, &mut self.rng);
            return self.disconnect(now, id);
        };
        if let Some(conn) = self.conns.get(&id) {
            let peer = conn.peer;
            self.throttle(now, peer, answer.throttle_time_ms);
        }
        let error = ErrorCode::from(answer.error_code);
        if error == ErrorCode::RebootstrapRequired {
            self.refresh.failed(now.mono, &self.config, &mut self.rng);
            return self.rebootstrap(now);
        }
        // A broker that has just started may not know any broker yet, itself included.
        if error != ErrorCode::None || answer.brokers.is_empty() {
            return self.refresh.failed(now.mono, &self.config, &mut self.rng);
        }
        let names = answer.topics.iter().filter_map(|topic| topic.name.clone());
        let names: BTreeSet<String> = names.collect();
        self.view.apply(answer);
        if self.refresh.all {
            self.view.topics.retain(|name, _| names.contains(&**name));
        } else {
            self.view.topics.retain(|name, _| self.refresh.topics.contains_key(name));
        }
        let settled = self.refresh.all
            || self.refresh.topics.keys().all(|name| {
                self.view.topics.get(name).is_some_and(|topic| !topic.error.is_retriable())
            });
        self.refresh.succeeded(now.mono, settled, &self.config, &mut self.rng);
        self.follow_view();
        self.leave_seeds(now);
        self.events.push_back(Event::Metadata);
    }

    /// Makes the brokers of the view known as peers.
    pub(super) fn follow_view(&mut self) {
        for (seed, node) in self.peers.follow(self.view.brokers.values()) {
            let conn = self.conns.values_mut().find(|conn| conn.peer == seed);
            conn.expect("an adopted connection exists").peer = node;
        }
    }

    /// Closes connections to bootstrap servers that have done their work.
    fn leave_seeds(&mut self, now: Now) {
        for id in self.peers.connected_seeds() {
            let done = |conn: &super::Conn<T>| conn.stage == Stage::Ready && conn.in_flight() == 0;
            if self.conns.get(&id).is_some_and(done) {
                self.disconnect(now, id);
            }
        }
    }

    /// Starts over from the bootstrap servers (KIP-1102).
    pub(super) fn rebootstrap(&mut self, now: Now) {
        let all: Vec<ConnId> = self.conns.keys().copied().collect();
        all.into_iter().for_each(|id| self.disconnect(now, id));
        self.view.brokers.clear();
        self.peers.forget_brokers();
        self.refresh.want();
    }
}
