//! Fetching.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::id::{NodeId, Offset, TopicId};
use dohle_wire::message::fetch_response::PartitionData;
use dohle_wire::message::{FetchRequest, FetchResponse, FetchableTopicResponse};
use dohle_wire::{ApiKey, ErrorCode, records::Records};

use super::buffer::{Buffer, Reading};
use super::session::Wanted;
use super::{ConsumeError, Consumer, Position, Start, Tag};
use crate::config::{AutoOffsetReset, IsolationLevel};
use crate::machine::cluster::{Answer, Peer};
use crate::machine::{Now, TopicPartition};

/// First version of Fetch that names topics by id.
const BY_ID: i16 = 13;

impl Consumer {
    /// Asks each broker for what is wanted of it, one request at a time.
    ///
    /// A broker whose records are still at hand is not asked: it would wait for the partitions that
    /// have none, and those that run dry meanwhile would have to wait with them.
    pub(super) fn fetch(&mut self, now: Now) {
        let mut by_node: BTreeMap<NodeId, BTreeMap<TopicPartition, Wanted>> = BTreeMap::new();
        let mut served: BTreeSet<NodeId> = BTreeSet::new();
        let awake = self.parts.iter().filter(|(_, part)| !part.is_silent());
        let awake: Vec<TopicPartition> = awake.map(|(at, _)| at.clone()).collect();
        for at in awake {
            let part = &self.parts[&at];
            let (has_records, rests) = (part.buffer.is_some(), part.not_before > now.mono);
            let Position::At(offset) = part.position else { continue };
            let Some((leader, leader_epoch)) = self.known(&at) else { continue };
            let node = self.preferred(now, &at).unwrap_or(leader);
            if has_records {
                served.insert(node);
            } else if !rests {
                let wanted = Wanted { topic_id: self.parts[&at].topic, offset, leader_epoch };
                by_node.entry(node).or_default().insert(at, wanted);
            }
        }
        for (node, wanted) in by_node {
            if !self.fetching.contains_key(&node) && !served.contains(&node) {
                self.fetch_from(now, node, wanted);
            }
        }
    }

    /// The replica that the leader recommended, if it still is one to be asked.
    fn preferred(&self, now: Now, at: &TopicPartition) -> Option<NodeId> {
        let (node, until) = self.parts[at].preferred?;
        (until > now.mono && self.cluster.view().brokers.contains_key(&node)).then_some(node)
    }

    fn fetch_from(&mut self, now: Now, node: NodeId, wanted: BTreeMap<TopicPartition, Wanted>) {
        let peer = Peer::Node(node);
        if !self.cluster.is_ready(now, peer) {
            return self.cluster.connect(now, peer);
        }
        let have_ids = wanted.values().all(|wanted| wanted.topic_id != TopicId::default());
        let cap = if have_ids { i16::MAX } else { BY_ID - 1 };
        let asked = wanted.keys().map(|at| (at.clone(), self.parts[at].generation)).collect();
        let tag = Tag::Fetch(node, asked);
        let Some(version) = self.cluster.version(peer, ApiKey::Fetch, cap) else {
            return self.refuse(&tag, ErrorCode::UnsupportedVersion);
        };
        let config = &self.config;
        let limit = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
        let mut request = FetchRequest {
            max_wait_ms: i32::try_from(config.fetch_max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: limit(config.fetch_min_bytes),
            max_bytes: limit(config.fetch_max_bytes),
            isolation_level: config.isolation.code(),
            rack_id: config.client_rack.clone(),
            ..FetchRequest::default()
        };
        let max_bytes = limit(config.max_partition_fetch_bytes);
        let session = self.sessions.entry(node).or_default();
        session.next(wanted, version >= BY_ID, max_bytes, &mut request);
        match self.cluster.send(now, peer, version, &request, tag.clone()) {
            Ok(()) => drop(self.fetching.insert(node, ())),
            Err(_) => self.refuse(&tag, ErrorCode::UnsupportedVersion),
        }
    }

    pub(super) fn on_fetched(&mut self, now: Now, answer: &Answer<Tag>) {
        let Tag::Fetch(node, asked) = &answer.tag else { unreachable!("the tag of a fetch") };
        let Ok(response) = answer.decode::<FetchRequest>() else {
            self.cluster.distrust(now, answer.peer);
            return self.on_lost(now, &answer.tag);
        };
        self.fetching.remove(node);
        self.cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let code = ErrorCode::from(response.error_code);
        let session = self.sessions.entry(*node).or_default();
        if !session.answered(code, response.session_id) {
            // A session error is mended by the next request; anything else needs a pause.
            if !is_session_error(code) {
                asked.iter().for_each(|(at, generation)| self.rest(now, at, *generation));
            }
            return;
        }
        self.on_partitions(now, *node, asked, response);
    }

    fn on_partitions(
        &mut self,
        now: Now,
        node: NodeId,
        asked: &BTreeMap<TopicPartition, u64>,
        response: FetchResponse,
    ) {
        let FetchResponse { responses, node_endpoints, .. } = response;
        for FetchableTopicResponse { topic, topic_id, partitions } in responses {
            let name = if topic.is_empty() {
                let known = self.sessions[&node].name_of(TopicId(topic_id));
                known.map(|at| Arc::clone(&at.topic))
            } else {
                Some(topic.into())
            };
            let Some(name) = name else { continue };
            for data in partitions {
                let at = TopicPartition::new(Arc::clone(&name), data.partition_index);
                let Some(generation) = asked.get(&at) else { continue };
                let leader = (data.current_leader.leader_id, data.current_leader.leader_epoch);
                let endpoint = node_endpoints.iter().find(|node| node.node_id == leader.0);
                let endpoint = endpoint.map(|node| (node.host.as_str(), node.port));
                self.cluster.hint_leader((&name, at.partition), leader, endpoint);
                self.on_partition(now, &at, *generation, data);
            }
        }
    }

    fn on_partition(
        &mut self,
        now: Now,
        at: &TopicPartition,
        generation: u64,
        data: PartitionData,
    ) {
        let code = ErrorCode::from(data.error_code);
        let reset = self.config.auto_offset_reset;
        let age = self.config.connection.metadata_max_age;
        let Some(part) = self.current(at, generation) else { return };
        let Position::At(position) = part.position else { return };
        match code {
            ErrorCode::None if data.preferred_read_replica >= 0 => {
                let until = now.mono.saturating_add(age);
                part.preferred = Some((NodeId(data.preferred_read_replica), until));
            }
            ErrorCode::None => self.on_data(at, generation, position, data),
            // A follower may be behind: only the leader knows what is out of range.
            ErrorCode::OffsetOutOfRange if part.preferred.take().is_some() => {}
            ErrorCode::OffsetOutOfRange => match reset {
                AutoOffsetReset::Earliest
                | AutoOffsetReset::Latest
                | AutoOffsetReset::ByDuration(_) => {
                    part.position = Position::Start(Start::Reset);
                    self.start_all(now);
                }
                AutoOffsetReset::None => part.fail(ConsumeError::OffsetOutOfRange(position)),
            },
            code if code.is_retriable() || code == ErrorCode::UnknownServerError => {
                self.not_now(now, at, generation, code);
            }
            code => part.fail(ConsumeError::Refused(code)),
        }
    }

    fn on_data(
        &mut self,
        at: &TopicPartition,
        generation: u64,
        position: Offset,
        data: PartitionData,
    ) {
        let reading = Reading { codecs: &*self.codecs, check_crcs: self.config.check_crcs };
        let committed_only = self.config.isolation == IsolationLevel::ReadCommitted;
        let aborted = committed_only.then(|| data.aborted_transactions.unwrap_or_default());
        let part = self.parts.get_mut(at).filter(|part| part.generation == generation);
        let part = part.expect("the caller has looked");
        part.failures = 0;
        part.trouble = None;
        let known = |offset: i64| (offset >= 0).then_some(Offset(offset));
        part.high_watermark = known(data.high_watermark).or(part.high_watermark);
        if committed_only {
            part.last_stable = known(data.last_stable_offset).or(part.last_stable);
        }
        part.log_start = known(data.log_start_offset).or(part.log_start);
        let Some(Records::Bytes(bytes)) = data.records.filter(|records| !records.is_empty()) else {
            return;
        };
        let mut buffer = Buffer::new(position, bytes, aborted, &reading);
        if buffer.has_records() {
            part.buffer = Some(buffer);
            self.order.push_back(at.clone());
        } else if let Some(error) = buffer.take_error() {
            part.fail(error);
        } else {
            // Nothing in it was for the reader.
            part.position = Position::At(buffer.position());
        }
    }
}

const fn is_session_error(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::FetchSessionIdNotFound
            | ErrorCode::InvalidFetchSessionEpoch
            | ErrorCode::FetchSessionTopicIdError
    )
}
