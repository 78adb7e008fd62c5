//! Choosing batches and sending them.

use std::collections::BTreeMap;

use dohle_wire::ApiKey;
use dohle_wire::ErrorCode;
use dohle_wire::id::{NodeId, TopicId};
use dohle_wire::message::{PartitionProduceData, ProduceRequest, TopicProduceData};

use super::queue::Renewal;
use super::{Key, ProduceError, Producer, Tag};
use crate::config::Acks;
use crate::machine::cluster::{Peer, SendError};
use crate::machine::{ConnId, Now};

/// First version of Produce that names topics by id.
const BY_ID: i16 = 13;

impl Producer {
    /// Sends whatever may be sent now.
    pub(super) fn pump(&mut self, now: Now) {
        if self.active.is_empty() {
            return;
        }
        self.renew_identities();
        self.ask_for_id(now);
        for (node, keys) in self.by_leader(now) {
            let peer = Peer::Node(node);
            self.pump_node(now, peer, &keys);
        }
    }

    fn renew_identities(&mut self) {
        if !self.config.enable_idempotence {
            return;
        }
        for key in self.active.clone() {
            let given = self.ids.given();
            let queue = self.queue(key);
            queue.try_renew(given);
            if queue.renewal() == Renewal::Id
                && let Some(old) = queue.identity()
            {
                self.ids.discard(old.id);
            }
        }
    }

    /// The partitions with waiting batches, by the broker that leads them.
    fn by_leader(&mut self, now: Now) -> BTreeMap<NodeId, Vec<Key>> {
        let rules = self.rules(now);
        let mut by_leader: BTreeMap<NodeId, Vec<Key>> = BTreeMap::new();
        let mut leaderless = false;
        for (index, partition) in &self.active {
            let topic = &self.topics[*index];
            let queue = &topic.queues[partition];
            if !queue.has_waiting() {
                continue;
            }
            let info = self.cluster.view().partition(&topic.name, *partition);
            match info.and_then(|info| info.leader) {
                Some(leader) => by_leader.entry(leader).or_default().push((*index, *partition)),
                None => leaderless |= queue.is_ripe(&rules),
            }
        }
        if leaderless {
            self.cluster.want_metadata();
        }
        by_leader
    }

    fn pump_node(&mut self, now: Now, peer: Peer, keys: &[Key]) {
        let rules = self.rules(now);
        if !keys.iter().any(|(topic, at)| self.topics[*topic].queues[at].is_ripe(&rules)) {
            return;
        }
        let Some(conn) = self.cluster.conn_id(peer).filter(|_| self.cluster.is_ready(now, peer))
        else {
            return self.cluster.connect(now, peer);
        };
        while self.cluster.in_flight(peer) < self.config.max_in_flight as usize {
            let mut sendable = keys
                .iter()
                .copied()
                .filter(|(topic, at)| self.topics[*topic].queues[at].may_send(&rules, conn));
            // Once a request goes to a broker, it takes along what would only linger.
            let ripe = |(topic, at): &Key| self.topics[*topic].queues[at].is_ripe(&rules);
            let keys: Vec<Key> = sendable.by_ref().collect();
            if !keys.iter().any(ripe) {
                return;
            }
            if !self.send_request(now, (peer, conn), keys) {
                return;
            }
        }
    }

    /// Sends one request with a batch of each of these partitions, as far as they fit. Gives
    /// whether it may go on.
    fn send_request(&mut self, now: Now, (peer, conn): (Peer, ConnId), mut keys: Vec<Key>) -> bool {
        // Nobody is always last.
        let from = self.cluster.rng().below(keys.len() as u64) as usize;
        keys.rotate_left(from);
        let cap = if self.have_ids(&keys) { i16::MAX } else { BY_ID - 1 };
        let version = self.cluster.version(peer, ApiKey::Produce, cap);
        let (request, taken) = self.fill(keys, conn);
        if taken.is_empty() {
            return false;
        }
        let tag = Tag::Produce(taken.clone());
        let sent = match version {
            Some(version) if self.config.acks == Acks::None => {
                self.cluster.send_unanswered(now, (peer, version), &request, tag)
            }
            Some(version) => self.cluster.send(now, peer, version, &request, tag),
            None => Err(SendError::Unsupported),
        };
        match sent {
            Ok(()) => true,
            Err(error) => self.not_sent(&taken, &error),
        }
    }

    fn have_ids(&self, keys: &[Key]) -> bool {
        keys.iter()
            .all(|(topic, _)| self.topics[*topic].id.is_some_and(|id| id != TopicId::default()))
    }

    fn fill(&mut self, keys: Vec<Key>, conn: ConnId) -> (ProduceRequest, Vec<(Key, u64)>) {
        let compression = (self.config.compression, self.config.compression_level);
        let mut topics: BTreeMap<usize, TopicProduceData> = BTreeMap::new();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        for key in keys {
            let (idempotent, codecs) = (self.config.enable_idempotence, self.codecs.clone());
            let queue = self.queue(key);
            let Some(mut batch) = queue.take(idempotent) else { continue };
            let sealed = match batch.seal(&*codecs, compression) {
                Ok(sealed) => sealed,
                Err(problem) => {
                    self.give_up(key, batch, &ProduceError::Unencodable(problem));
                    continue;
                }
            };
            bytes += sealed.len();
            if !taken.is_empty() && bytes > self.config.max_request_size {
                self.queue(key).put_back(batch);
                break;
            }
            taken.push((key, batch.number));
            self.queue(key).sent(batch, conn);
            let topic = &self.topics[key.0];
            let entry = topics.entry(key.0).or_insert_with(|| TopicProduceData {
                name: topic.name.to_string(),
                topic_id: topic.id.unwrap_or_default().0,
                partition_data: Vec::new(),
            });
            let records = Some(sealed.into());
            entry.partition_data.push(PartitionProduceData { index: key.1, records });
        }
        let request = ProduceRequest {
            transactional_id: None,
            acks: self.config.acks.code(),
            timeout_ms: i32::try_from(self.config.connection.request_timeout.as_millis())
                .unwrap_or(i32::MAX),
            topic_data: topics.into_values().collect(),
        };
        (request, taken)
    }

    /// Without acknowledgements, that a batch was sent is all that is ever known of it.
    pub(super) fn assume_written(&mut self, sent: &[(Key, u64)]) {
        for (key, number) in sent {
            if let Some(batch) = self.queue(*key).outcome(*number) {
                self.acknowledge(*key, batch, -1, -1);
            }
            self.rest_if_empty(*key);
        }
    }

    /// The broker cannot be sent such a request at all.
    fn not_sent(&mut self, taken: &[(Key, u64)], error: &SendError) -> bool {
        let error = match error {
            SendError::Encode(error) => ProduceError::Unencodable(error.to_string().into()),
            SendError::NotReady | SendError::Unsupported => ProduceError::Refused {
                code: ErrorCode::UnsupportedVersion,
                message: None,
                in_doubt: false,
            },
        };
        for (key, number) in taken {
            if let Some(batch) = self.queue(*key).outcome(*number) {
                self.give_up(*key, batch, &error);
            }
            self.rest_if_empty(*key);
        }
        false
    }
}
