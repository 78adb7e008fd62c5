//! Offsets that somebody asked for: the ends of partitions, and the first offset of a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp};
use dohle_wire::message::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use dohle_wire::{ApiKey, ErrorCode};

use super::offsets::{EARLIEST, LATEST};
use super::{Consumer, Start, Tag};
use crate::machine::cluster::{Answer, Peer};
use crate::machine::group::{GroupError, OffsetAndTimestamp, Reply};
use crate::machine::time::Earliest;
use crate::machine::{Now, Token, TopicPartition};

/// Most questions that wait.
const WAITING_MAX: usize = 1000;

#[derive(Clone, Debug)]
struct Lookup {
    until: Duration,
    not_before: Duration,
    failures: u32,
    /// What is still to be asked, as a timestamp or a sentinel.
    open: BTreeMap<TopicPartition, i64>,
    /// What was asked and not answered.
    asked: BTreeMap<TopicPartition, i64>,
    found: BTreeMap<TopicPartition, OffsetAndTimestamp>,
}

/// The questions that wait for answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookups(BTreeMap<Token, Lookup>);

impl Lookups {
    pub(super) fn topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.values().flat_map(|each| each.open.keys().map(|at| &at.topic))
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        for lookup in self.0.values() {
            earliest.at(lookup.until, "default.api.timeout.ms");
            earliest.at(lookup.not_before, "retry back-off");
        }
    }
}

impl Consumer {
    pub(super) fn on_lookup(
        &mut self,
        now: Now,
        token: Token,
        wanted: Vec<(TopicPartition, Start)>,
    ) {
        if self.lookups.0.len() >= WAITING_MAX {
            return self.answer(token, Err(GroupError::Busy));
        }
        let mut lookup = Lookup {
            until: now.mono.saturating_add(self.config.api_timeout),
            not_before: Duration::ZERO,
            failures: 0,
            open: BTreeMap::new(),
            asked: BTreeMap::new(),
            found: BTreeMap::new(),
        };
        for (at, start) in wanted {
            match start {
                Start::Earliest => drop(lookup.open.insert(at, EARLIEST)),
                Start::Latest => drop(lookup.open.insert(at, LATEST)),
                Start::Timestamp(time) => drop(lookup.open.insert(at, time.0)),
                Start::Offset(offset) => {
                    let timestamp = Timestamp(-1);
                    let found = OffsetAndTimestamp { offset, timestamp, leader_epoch: None };
                    lookup.found.insert(at, found);
                }
                Start::Reset | Start::Committed => {
                    return self.answer(token, Err(GroupError::Refused(ErrorCode::InvalidRequest)));
                }
            }
        }
        self.lookups.0.insert(token, lookup);
        self.follow_topics(now);
    }

    pub(super) fn fail_lookups(&mut self, error: &GroupError) {
        for token in std::mem::take(&mut self.lookups.0).into_keys() {
            self.answer(token, Err(error.clone()));
        }
    }

    /// Asks the leaders what is to be asked, and ends what is answered or late.
    pub(super) fn lookup(&mut self, now: Now) {
        let mut over: Vec<(Token, Result<Reply, GroupError>)> = Vec::new();
        let mut asks: BTreeMap<(Token, NodeId), Vec<(TopicPartition, ListOffsetsPartition)>> =
            BTreeMap::new();
        for (token, lookup) in &mut self.lookups.0 {
            if lookup.open.is_empty() && lookup.asked.is_empty() {
                over.push((*token, Ok(Reply::Offsets(std::mem::take(&mut lookup.found)))));
            } else if lookup.until <= now.mono {
                over.push((*token, Err(GroupError::TimedOut)));
            } else if lookup.not_before <= now.mono {
                for (at, timestamp) in &lookup.open {
                    let info = self.cluster.view().partition(&at.topic, at.partition);
                    let known = info.and_then(|info| Some((info.leader?, info.epoch)));
                    let Some((leader, LeaderEpoch(epoch))) = known else {
                        self.cluster.want_metadata();
                        continue;
                    };
                    let ask = ListOffsetsPartition {
                        partition_index: at.partition,
                        current_leader_epoch: epoch,
                        timestamp: *timestamp,
                    };
                    asks.entry((*token, leader)).or_default().push((at.clone(), ask));
                }
            }
        }
        for ((token, leader), asks) in asks {
            self.ask_leader(now, token, leader, asks);
        }
        if !over.is_empty() {
            for (token, result) in over {
                self.lookups.0.remove(&token);
                self.answer(token, result);
            }
            self.follow_topics(now);
        }
    }

    fn ask_leader(
        &mut self,
        now: Now,
        token: Token,
        leader: NodeId,
        asks: Vec<(TopicPartition, ListOffsetsPartition)>,
    ) {
        let peer = Peer::Node(leader);
        if !self.cluster.is_ready(now, peer) {
            return self.cluster.connect(now, peer);
        }
        let mut request = ListOffsetsRequest {
            replica_id: -1,
            isolation_level: self.config.isolation.code(),
            ..ListOffsetsRequest::default()
        };
        let lookup = self.lookups.0.get_mut(&token).expect("the caller has looked");
        let mut asked = Vec::new();
        for (at, ask) in asks {
            let timestamp = lookup.open.remove(&at).expect("it was open");
            lookup.asked.insert(at.clone(), timestamp);
            match request.topics.last_mut().filter(|topic| *topic.name == *at.topic) {
                Some(topic) => topic.partitions.push(ask),
                None => request
                    .topics
                    .push(ListOffsetsTopic { name: at.topic.to_string(), partitions: vec![ask] }),
            }
            asked.push(at);
        }
        let tag = Tag::Lookup(token, asked);
        let version = self.cluster.version(peer, ApiKey::ListOffsets, i16::MAX);
        let sent = version.map(|version| self.cluster.send(now, peer, version, &request, tag));
        if !matches!(sent, Some(Ok(()))) {
            self.lookups.0.remove(&token);
            self.answer(token, Err(GroupError::Unsupported));
        }
    }

    /// These have to be asked for again, after a while.
    pub(super) fn lookup_again(&mut self, now: Now, token: Token, asked: &[TopicPartition]) {
        let Some(lookup) = self.lookups.0.get_mut(&token) else { return };
        let wait = self.cluster.retry_wait(lookup.failures);
        lookup.failures = lookup.failures.saturating_add(1);
        lookup.not_before = now.mono.saturating_add(wait);
        for at in asked {
            if let Some(timestamp) = lookup.asked.remove(at) {
                lookup.open.insert(at.clone(), timestamp);
            }
        }
    }

    pub(super) fn on_looked_up(&mut self, now: Now, answer: &Answer<Tag>) {
        let Tag::Lookup(token, asked) = &answer.tag else { unreachable!("the tag of a lookup") };
        let Ok(response) = answer.decode::<ListOffsetsRequest>() else {
            self.cluster.distrust(now, answer.peer);
            return self.lookup_again(now, *token, asked);
        };
        self.cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let mut again: BTreeSet<TopicPartition> = asked.iter().cloned().collect();
        let mut refused = None;
        let Some(lookup) = self.lookups.0.get_mut(token) else { return };
        for topic in response.topics {
            let name: Arc<str> = topic.name.into();
            for part in topic.partitions {
                let at = TopicPartition::new(Arc::clone(&name), part.partition_index);
                match ErrorCode::from(part.error_code) {
                    ErrorCode::None => {}
                    code if code.is_retriable() => {
                        self.cluster.want_metadata();
                        continue;
                    }
                    code => refused = Some(code),
                }
                again.remove(&at);
                let was_asked = lookup.asked.remove(&at).is_some();
                if was_asked && part.offset >= 0 {
                    let found = OffsetAndTimestamp {
                        offset: Offset(part.offset),
                        timestamp: Timestamp(part.timestamp),
                        leader_epoch: Some(LeaderEpoch(part.leader_epoch)).filter(|e| e.0 >= 0),
                    };
                    lookup.found.insert(at, found);
                }
            }
        }
        if let Some(code) = refused {
            self.lookups.0.remove(token);
            return self.answer(*token, Err(GroupError::Refused(code)));
        }
        if !again.is_empty() {
            let again: Vec<TopicPartition> = again.into_iter().collect();
            self.lookup_again(now, *token, &again);
        }
    }
}
