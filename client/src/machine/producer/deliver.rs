//! Taking records in, and telling their fate.

use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::{NodeId, Offset, Timestamp};

use super::batch::{self, Batch, Waiting};
use super::murmur2::partition_of;
use super::partitioner::{Candidate, Rank};
use super::queue::Queue;
use super::{
    Effect, Input, Key, ProduceError, Producer, ProducerRecord, Receipt, Ticket, Topic, TopicIndex,
    Unplaced,
};
use crate::config::ProducerConfig;
use crate::machine::cluster::{ClusterView, PartitionInfo};
use crate::machine::{Now, Token};

/// How often the cluster hears that a topic is of interest.
const WANTED_EVERY: Duration = Duration::from_secs(1);

impl Producer {
    pub(super) fn on_send(&mut self, now: Now, token: Token, record: ProducerRecord) {
        let size = record.size();
        if let Some(error) = self.refusal(&record, size) {
            self.urgent |= error == ProduceError::BufferFull;
            self.dirty |= self.urgent;
            return self.delivered.push(Effect::Delivered { token, result: Err(error) });
        }
        self.buffered += size;
        let ticket = Ticket { token, flush: self.flushes.enter(), since: now.mono, size };
        let topic = self.topic_index(&record.topic);
        self.want_topic(now, topic);
        if self.topics[topic].unplaced.is_empty() && self.can_place(topic, record.partition) {
            return self.place(now, topic, ticket, &record);
        }
        self.topics[topic].unplaced.push_back(Unplaced { ticket, record });
        self.unplaced.insert(topic);
        self.dirty = true;
    }

    /// Why a record is not even queued.
    fn refusal(&self, record: &ProducerRecord, size: usize) -> Option<ProduceError> {
        let limit = self.config.max_request_size.min(self.config.buffer_memory);
        if self.closed {
            Some(ProduceError::Closed)
        } else if let Some(code) = self.ids.refused {
            Some(ProduceError::NoProducerId(code))
        } else if let Some(partition @ ..0) = record.partition {
            Some(ProduceError::InvalidPartition(partition))
        } else if size.saturating_add(batch::OVERHEAD) > limit {
            Some(ProduceError::RecordTooLarge { size, limit })
        } else if size > self.free_memory() {
            Some(ProduceError::BufferFull)
        } else {
            None
        }
    }

    fn topic_index(&mut self, name: &Arc<str>) -> TopicIndex {
        if self.topics.get(self.last_topic).is_some_and(|last| Arc::ptr_eq(&last.name, name)) {
            return self.last_topic;
        }
        self.last_topic = match self.names.get(name) {
            Some(index) => *index,
            None => self.add_topic(name),
        };
        self.last_topic
    }

    fn add_topic(&mut self, name: &Arc<str>) -> TopicIndex {
        let index = self.topics.len();
        self.names.insert(Arc::clone(name), index);
        let count = self.cluster.view().topic(name).map(|info| info.partitions.len());
        self.topics.push(Topic { count, ..Topic::new(Arc::clone(name)) });
        index
    }

    /// A topic is in use. The cluster forgets those that are not for minutes, so it need not hear of
    /// every record.
    fn want_topic(&mut self, now: Now, topic: TopicIndex) {
        let topic = &mut self.topics[topic];
        let again = |wanted: Duration| now.mono >= wanted.saturating_add(WANTED_EVERY);
        if topic.wanted.is_none_or(again) {
            topic.wanted = Some(now.mono);
            self.cluster.want_topic(now, &topic.name);
        }
    }

    fn can_place(&self, topic: TopicIndex, partition: Option<i32>) -> bool {
        let count = self.topics[topic].count;
        count.is_some_and(|count| partition.is_none_or(|at| (at as usize) < count))
    }

    /// Puts a record into a batch of its partition.
    fn place(&mut self, now: Now, topic: TopicIndex, ticket: Ticket, record: &ProducerRecord) {
        let Ticket { token, flush, since, size } = ticket;
        let timestamp = record.timestamp.unwrap_or(now.wall);
        let waiting = Waiting { token, flush, timestamp, size };
        let partition = match self.choose(now, topic, record, size) {
            Ok(partition) => partition,
            Err(wrong) => return self.deliver(waiting, Err(ProduceError::InvalidPartition(wrong))),
        };
        let queue = self.topics[topic].queues.entry(partition).or_insert_with(Queue::new);
        let batch_size = self.config.batch_size;
        if queue.open(size, batch_size).is_none() {
            // A full batch behind this one may go now.
            self.dirty |= queue.has_waiting();
            self.retime = true;
            let expires = since.saturating_add(self.config.delivery_timeout);
            queue.push(Batch::new(self.next_batch, now.mono, expires));
            self.next_batch += 1;
            self.active.insert((topic, partition));
        }
        let batch = queue.open(size, batch_size).expect("an empty batch takes any record");
        let pushed = batch.push(record, waiting);
        self.dirty |= batch.is_full(batch_size) || self.config.linger.is_zero();
        if let Err(problem) = pushed {
            // Unreachable with a limit on the size of records, but the sender must hear of it.
            self.deliver(waiting, Err(ProduceError::Unencodable(problem)));
        }
    }

    /// The partition of a record, or the number that a partitioner made up.
    fn choose(
        &mut self,
        now: Now,
        topic: TopicIndex,
        record: &ProducerRecord,
        size: usize,
    ) -> Result<i32, i32> {
        if let Some(partition) = record.partition {
            return Ok(partition);
        }
        let Self { topics, cluster, config, partitioner, .. } = self;
        let topic = &mut topics[topic];
        let count = topic.count.expect("a record is placed in a known topic");
        let key = record.key.as_deref();
        let chosen = partitioner.as_ref().and_then(|partitioner| {
            let count = i32::try_from(count).unwrap_or(i32::MAX);
            partitioner.partition(&topic.name, key, count)
        });
        match (chosen, key) {
            (Some(chosen), _) => match usize::try_from(chosen) {
                Ok(index) if index < count => Ok(chosen),
                _ => Err(chosen),
            },
            (None, Some(key)) if !config.ignore_keys => Ok(partition_of(key, count)),
            _ => {
                // A draw is rare: the candidates of most records are never asked for.
                let due = topic.sticky.is_due(config.batch_size);
                let drawn = due.then(|| candidates(now, config, cluster.view(), topic));
                let drawn = || drawn.expect("a draw is due");
                Ok(topic.sticky.place(size, config.batch_size, cluster.rng(), drawn))
            }
        }
    }

    /// There is newer metadata: records may find their partition, or never will.
    pub(super) fn on_metadata(&mut self, now: Now) {
        self.count_partitions();
        for topic in self.unplaced.clone() {
            while let Some(first) = self.topics[topic].unplaced.front() {
                if !self.can_place(topic, first.record.partition) {
                    break;
                }
                let first = self.topics[topic].unplaced.pop_front().expect("just seen");
                self.place(now, topic, first.ticket, &first.record);
            }
            self.drop_hopeless(topic);
        }
        for index in 0..self.topics.len() {
            self.follow_topic_id(index);
        }
        let idle_since = now.mono.saturating_sub(self.config.metadata_max_idle);
        let Self { cluster, topics, names, .. } = self;
        cluster.forget_topics(idle_since, |name| {
            let topic = names.get(name).map(|index| &topics[*index]);
            topic.is_some_and(|topic| {
                !topic.unplaced.is_empty() || topic.queues.values().any(|queue| !queue.is_empty())
            })
        });
        self.count_partitions();
        self.dirty = true;
    }

    fn count_partitions(&mut self) {
        let view = self.cluster.view();
        for topic in &mut self.topics {
            topic.count = view.topic(&topic.name).map(|info| info.partitions.len());
            // One that was forgotten is asked for by its next record, however soon that comes.
            topic.wanted = topic.wanted.filter(|_| topic.count.is_some());
        }
    }

    /// Fails records of a topic that the broker refuses for good.
    fn drop_hopeless(&mut self, index: TopicIndex) {
        let topic = &mut self.topics[index];
        let code = self.cluster.view().topics.get(&topic.name).map_or(ErrorCode::None, |t| t.error);
        if code != ErrorCode::None && !code.is_retriable() {
            for unplaced in std::mem::take(&mut topic.unplaced) {
                let error = ProduceError::Refused { code, message: None, in_doubt: false };
                self.deliver_unplaced(unplaced, error);
            }
        }
        if self.topics[index].unplaced.is_empty() {
            self.unplaced.remove(&index);
        }
    }

    fn follow_topic_id(&mut self, index: TopicIndex) {
        let topic = &mut self.topics[index];
        let Some(info) = self.cluster.view().topic(&topic.name) else { return };
        if topic.id.is_some_and(|id| id != info.id) {
            topic.queues.values_mut().for_each(Queue::unprove);
            topic.sticky.leave();
        }
        topic.id = Some(info.id);
    }

    /// Fails what has waited too long.
    pub(super) fn expire(&mut self, now: Now) {
        for index in self.unplaced.clone() {
            while let Some(first) = self.topics[index].unplaced.front() {
                if first.ticket.since.saturating_add(self.config.max_block) > now.mono {
                    break;
                }
                let error = self.unplaceable(index, first.record.partition);
                let first = self.topics[index].unplaced.pop_front().expect("just seen");
                self.deliver_unplaced(first, error);
            }
            if self.topics[index].unplaced.is_empty() {
                self.unplaced.remove(&index);
            }
        }
        for key in self.active.clone() {
            let queue = self.queue(key);
            let sent = queue.give_up_sent(now.mono);
            let waiting = queue.take_expired(now.mono);
            for (record, refused) in sent {
                let error = self.timed_out(key, refused, true);
                self.deliver(record, Err(error));
            }
            for batch in waiting {
                let error = self.timed_out(key, batch.refused, batch.in_doubt);
                self.give_up(key, batch, &error);
            }
            self.rest_if_empty(key);
        }
    }

    /// Why a record has no partition after all the time it had.
    fn unplaceable(&self, index: TopicIndex, partition: Option<i32>) -> ProduceError {
        let topic = Arc::clone(&self.topics[index].name);
        match (self.cluster.view().topics.get(&topic), partition) {
            (Some(info), Some(partition)) if !info.partitions.is_empty() => {
                ProduceError::NoPartition { topic, partition, count: info.partitions.len() }
            }
            (Some(info), _) => ProduceError::NoMetadata { topic, last: info.error },
            (None, _) => {
                ProduceError::NoMetadata { topic, last: ErrorCode::UnknownTopicOrPartition }
            }
        }
    }

    pub(super) fn timed_out(
        &self,
        key: Key,
        refused: Option<ErrorCode>,
        in_doubt: bool,
    ) -> ProduceError {
        ProduceError::TimedOut { last: refused.or_else(|| self.leaderless(key)), in_doubt }
    }

    /// What the cluster says of a partition without leader.
    pub(super) fn leaderless(&self, (topic, partition): Key) -> Option<ErrorCode> {
        let info = self.cluster.view().partition(&self.topics[topic].name, partition)?;
        info.leader.is_none().then_some(ErrorCode::LeaderNotAvailable)
    }

    pub(super) fn queue(&mut self, (topic, partition): Key) -> &mut Queue {
        self.topics[topic].queues.get_mut(&partition).expect("a partition in use has a queue")
    }

    pub(super) fn rest_if_empty(&mut self, key: Key) {
        if self.queue(key).is_empty() {
            self.active.remove(&key);
        }
    }

    /// A batch is in the log.
    pub(super) fn acknowledge(&mut self, (_, partition): Key, batch: Batch, base: i64, time: i64) {
        for (record, at) in batch.records.into_iter().zip(0i64..) {
            let offset = Offset(if base < 0 { -1 } else { base.saturating_add(at) });
            let timestamp = if time < 0 { record.timestamp } else { Timestamp(time) };
            self.deliver(record, Ok(Receipt { partition, offset, timestamp }));
        }
    }

    /// A batch is given up.
    pub(super) fn give_up(&mut self, key: Key, mut batch: Batch, error: &ProduceError) {
        for record in std::mem::take(&mut batch.records) {
            self.deliver(record, Err(error.clone()));
        }
        self.queue(key).gave_up(&batch);
        self.dirty = true;
    }

    /// No producer id can be had: nothing that waits can ever be sent.
    pub(super) fn refuse_ids(&mut self, code: ErrorCode) {
        self.ids.refused = Some(code);
        self.fail_everything(&ProduceError::NoProducerId(code));
    }

    pub(super) fn fail_everything(&mut self, error: &ProduceError) {
        for key in std::mem::take(&mut self.active) {
            for batch in self.queue(key).take_all() {
                for record in batch.records {
                    self.deliver(record, Err(error.clone()));
                }
            }
        }
        for index in std::mem::take(&mut self.unplaced) {
            for unplaced in std::mem::take(&mut self.topics[index].unplaced) {
                self.deliver_unplaced(unplaced, error.clone());
            }
        }
    }

    fn deliver_unplaced(&mut self, unplaced: Unplaced, error: ProduceError) {
        let Ticket { token, flush, size, .. } = unplaced.ticket;
        let waiting = Waiting { token, flush, timestamp: Timestamp(-1), size };
        self.deliver(waiting, Err(error));
    }

    pub(super) fn deliver(&mut self, record: Waiting, result: Result<Receipt, ProduceError>) {
        self.buffered -= record.size;
        self.urgent &= self.buffered > self.config.buffer_memory / 2;
        self.flushes.leave(record.flush);
        self.delivered.push(Effect::Delivered { token: record.token, result });
    }

    pub(super) fn finish_flushes(&mut self) {
        while let Some(token) = self.flushes.take_done() {
            self.delivered.push(Effect::Flushed { token });
        }
    }
}

fn candidates(
    now: Now,
    config: &ProducerConfig,
    view: &ClusterView,
    topic: &Topic,
) -> Vec<Candidate> {
    let Topic { queues, .. } = topic;
    let info = view.topic(&topic.name).expect("the number of its partitions is known");
    let adaptive = config.adaptive_partitioning;
    let timeout = config.availability_timeout;
    let is_late = |partition: &&PartitionInfo| {
        let due = queues.get(&partition.index).and_then(|queue| queue.due(config.linger));
        due.is_some_and(|due| due.saturating_add(timeout) < now.mono)
    };
    let watched = adaptive && !timeout.is_zero();
    let watched = info.partitions.iter().filter(|_| watched);
    let late: Vec<NodeId> = watched.filter(is_late).filter_map(|late| late.leader).collect();
    let is_far = |leader: NodeId| {
        let rack = view.brokers.get(&leader).and_then(|broker| broker.rack.as_deref());
        config.rack_aware && !config.client_rack.is_empty() && rack != Some(&config.client_rack)
    };
    let of = |partition: &PartitionInfo| Candidate {
        partition: partition.index,
        rank: match partition.leader {
            None => Rank::Leaderless,
            Some(leader) if late.contains(&leader) => Rank::Late,
            Some(leader) if is_far(leader) => Rank::Far,
            Some(_) => Rank::Good,
        },
        queued: if adaptive { queues.get(&partition.index).map_or(0, Queue::queued) } else { 0 },
    };
    info.partitions.iter().map(of).collect()
}

impl Input {
    /// A record to be sent.
    pub const fn send(token: u64, record: ProducerRecord) -> Self {
        Self::Send { token: Token(token), record }
    }
}

#[cfg(test)]
mod tests {
    use dohle_wire::id::{LeaderEpoch, TopicId, Uuid};

    use super::*;
    use crate::machine::cluster::{BrokerInfo, TopicInfo};

    /// Partition `n` is led by broker `n`, in rack `r<n>`; partition 9 by nobody.
    fn view() -> ClusterView {
        let mut view = ClusterView::default();
        let part = |index: i32, leader: Option<i32>| PartitionInfo {
            index,
            leader: leader.map(NodeId),
            epoch: LeaderEpoch(1),
            replicas: Vec::new(),
            isr: Vec::new(),
            offline: Vec::new(),
        };
        let partitions = vec![part(0, Some(0)), part(1, Some(1)), part(2, None)];
        let id = TopicId(Uuid::from_u128(500));
        let topic = TopicInfo { id, error: ErrorCode::None, internal: false, partitions };
        view.topics.insert("t".into(), topic);
        for id in [0, 1].map(NodeId) {
            let rack = Some(format!("r{id}"));
            view.brokers.insert(id, BrokerInfo { id, host: "node".into(), port: 1, rack });
        }
        view
    }

    fn check(config: &ProducerConfig, at_ms: u64, expected: [Rank; 3]) {
        let view = view();
        let mut queue = Queue::new();
        queue.push(Batch::new(1, Duration::from_millis(100), Duration::from_secs(100)));
        let mut topic = Topic::new("t".into());
        topic.queues.insert(1, queue);
        let now = Now { mono: Duration::from_millis(at_ms), wall: Timestamp(0) };
        let found = candidates(now, config, &view, &topic);
        assert_eq!(found.iter().map(|of| of.rank).collect::<Vec<_>>(), expected, "at {at_ms} ms");
    }

    #[test]
    fn a_leader_that_takes_nothing_is_late_after_the_timeout() {
        let mut config = ProducerConfig::to("node:1").expect("an address");
        check(&config, 60_000, [Rank::Good, Rank::Good, Rank::Leaderless]);
        config.set("partitioner.availability.timeout.ms", "1000").expect("valid");
        // Created at 100 ms, lingering for 5 ms.
        check(&config, 1105, [Rank::Good, Rank::Good, Rank::Leaderless]);
        check(&config, 1106, [Rank::Good, Rank::Late, Rank::Leaderless]);
        config.set("partitioner.adaptive.partitioning.enable", "false").expect("valid");
        check(&config, 60_000, [Rank::Good, Rank::Good, Rank::Leaderless]);
    }

    #[test]
    fn leaders_in_other_racks_are_far() {
        let mut config = ProducerConfig::to("node:1").expect("an address");
        config.set("partitioner.rack.aware", "true").expect("valid");
        check(&config, 0, [Rank::Good, Rank::Good, Rank::Leaderless]);
        config.set("client.rack", "r1").expect("valid");
        check(&config, 0, [Rank::Far, Rank::Good, Rank::Leaderless]);
        config.set("partitioner.rack.aware", "false").expect("valid");
        check(&config, 0, [Rank::Good, Rank::Good, Rank::Leaderless]);
    }
}
