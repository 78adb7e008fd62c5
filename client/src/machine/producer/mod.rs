//! A producer: takes records, sends batches, tells the fate of every record.
//!
//! Owns: records that are not delivered, their batches, sequences and the producer id.
//!
//! Invariants: every `Send` is answered by exactly one `Delivered`; records of one partition are in
//! the log in the order sent, if `enable.idempotence` or if only one request is in flight; an
//! idempotent record is in the log at most once; the bytes of unanswered records never exceed
//! `buffer.memory`. Fates are told as they become known: a broker that wrote a batch and reported a
//! failure makes that batch's fate come after those behind it.
//!
//! Must never know: sockets, clocks, other threads.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use dohle_client::config::ProducerConfig;
//! use dohle_client::machine::producer::{Input, Effect, ProducerRecord};
//! use dohle_client::machine::{Fx, Machine as _, NetEffect, Now, Producer, Token};
//! use dohle_wire::id::Timestamp;
//! use dohle_wire::record::NoCodecs;
//!
//! let config = ProducerConfig::to("broker:9092")?;
//! let mut producer = Producer::new(config, Arc::new(NoCodecs), 7)?;
//! let (now, mut fx) = (Now { mono: Duration::ZERO, wall: Timestamp(0) }, Fx::new());
//! let record = ProducerRecord::new("events", "hello");
//! producer.step(now, Input::Send { token: Token(1), record }, &mut fx);
//! assert!(matches!(fx.as_slice(), [Effect::Net(NetEffect::Connect { port: 9092, .. })]));
//! # Ok::<(), dohle_client::config::ConfigError>(())
//! ```

mod batch;
mod deliver;
mod flushes;
mod ids;
mod io;
mod murmur2;
mod partitioner;
mod queue;
mod send;
mod settle;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::TopicId;
use dohle_wire::record::Codecs;

pub use self::io::{Effect, Input, ProduceError, ProducerRecord, Receipt, RecordHeader};
pub use self::murmur2::partition_of_key;
pub use self::partitioner::Partitioner;

use self::flushes::Flushes;
use self::ids::Ids;
use self::partitioner::Sticky;
use self::queue::{Queue, Rules};
use super::cluster::{Cluster, ClusterView, Event};
use super::time::Earliest;
use super::{Deadline, Fx, Machine, Now, Token, TopicPartition, Trouble};
use crate::config::{ConfigError, ProducerConfig};

/// Topics are numbered in the order of their first use.
type TopicIndex = usize;
/// A partition: topic and number.
type Key = (TopicIndex, i32);

/// What a request was for.
#[derive(Clone, Debug)]
enum Tag {
    /// A producer id.
    ProducerId,
    /// These batches, by partition and number.
    Produce(Vec<(Key, u64)>),
}

/// What belongs to a record until its fate is told.
#[derive(Copy, Clone, Debug)]
struct Ticket {
    token: Token,
    /// Under which the record counts in [`Flushes`].
    flush: u64,
    since: Duration,
    /// Bytes of `buffer.memory` the record takes.
    size: usize,
}

/// A record that has no partition yet, because too little is known of its topic.
#[derive(Clone, Debug)]
struct Unplaced {
    ticket: Ticket,
    record: ProducerRecord,
}

/// One topic that was written to.
#[derive(Clone, Debug)]
struct Topic {
    name: Arc<str>,
    id: Option<TopicId>,
    queues: BTreeMap<i32, Queue>,
    unplaced: VecDeque<Unplaced>,
    sticky: Sticky,
    /// Partitions that it has, as far as is known: what most records need of the metadata.
    count: Option<usize>,
    /// When the cluster was last told that it is of interest.
    wanted: Option<Duration>,
}

impl Topic {
    /// One of which nothing is known.
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            id: None,
            queues: BTreeMap::new(),
            unplaced: VecDeque::new(),
            sticky: Sticky::default(),
            count: None,
            wanted: None,
        }
    }
}

/// See the module.
#[derive(Clone)]
pub struct Producer {
    config: Arc<ProducerConfig>,
    codecs: Arc<dyn Codecs>,
    /// Asked before the built-in rule.
    partitioner: Option<Arc<dyn Partitioner>>,
    cluster: Cluster<Tag>,
    topics: Vec<Topic>,
    names: BTreeMap<Arc<str>, TopicIndex>,
    /// What was last looked up in `names`: one record after the other tends to be for one topic.
    last_topic: TopicIndex,
    /// Partitions with batches.
    active: BTreeSet<Key>,
    /// Topics with records that have no partition yet.
    unplaced: BTreeSet<TopicIndex>,
    ids: Ids,
    next_batch: u64,
    /// Bytes of `buffer.memory` in use.
    buffered: usize,
    /// Memory ran out: nothing lingers until half of it is free.
    urgent: bool,
    flushes: Flushes,
    /// Outcomes to be given out at the end of the step.
    delivered: Vec<Effect>,
    /// Whether something happened that may let a batch go.
    dirty: bool,
    /// Whether `next` is to be found anew.
    retime: bool,
    /// When the next tick is wanted; kept, because most records change nothing about it.
    next: Deadline,
    closed: bool,
    last_step: Duration,
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("topics", &self.topics)
            .field("ids", &self.ids)
            .field("buffered", &self.buffered)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl Producer {
    /// A producer with these settings. `codecs` compresses; `seed` is all its randomness.
    pub fn new(
        config: ProducerConfig,
        codecs: Arc<dyn Codecs>,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            cluster: Cluster::new(config.connection.clone(), true, seed),
            config: Arc::new(config),
            codecs,
            partitioner: None,
            topics: Vec::new(),
            names: BTreeMap::new(),
            last_topic: 0,
            active: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            ids: Ids::new(),
            next_batch: 0,
            buffered: 0,
            urgent: false,
            flushes: Flushes::default(),
            delivered: Vec::new(),
            dirty: false,
            retime: false,
            next: None,
            closed: false,
            last_step: Duration::ZERO,
        })
    }

    /// The same producer with another rule for partitions.
    #[must_use]
    pub fn with_partitioner(mut self, partitioner: Arc<dyn Partitioner>) -> Self {
        self.partitioner = Some(partitioner);
        self
    }

    /// The settings.
    pub fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// What is known of the cluster.
    pub const fn view(&self) -> &ClusterView {
        self.cluster.view()
    }

    /// Bytes of `buffer.memory` that are free. A record with a larger
    /// [`ProducerRecord::size`] is refused with [`ProduceError::BufferFull`].
    pub fn free_memory(&self) -> usize {
        self.config.buffer_memory - self.buffered
    }

    /// Records that are neither delivered nor failed.
    pub fn undelivered(&self) -> usize {
        self.flushes.undelivered()
    }

    /// What holds up the records that are not delivered.
    pub fn troubles(&self) -> Vec<Trouble> {
        if self.flushes.all_delivered() {
            return Vec::new();
        }
        if !self.cluster.has_broker() {
            return vec![Trouble::NoBroker];
        }
        let topics = self.unplaced.iter().filter_map(|index| {
            let name = &self.topics[*index].name;
            let code = self.cluster.view().topics.get(name)?.error;
            (code != ErrorCode::None).then(|| Trouble::Topic(Arc::clone(name), code))
        });
        let partitions = self.active.iter().filter_map(|key| {
            let topic = &self.topics[key.0];
            let code = topic.queues[&key.1].refused().or_else(|| self.leaderless(*key))?;
            let at = TopicPartition::new(Arc::clone(&topic.name), key.1);
            Some(Trouble::Partition(at, code))
        });
        topics.chain(partitions).collect()
    }

    fn rules(&self, now: Now) -> Rules {
        Rules {
            now: now.mono,
            idempotent: self.config.enable_idempotence,
            max_in_flight: self.config.max_in_flight as usize,
            batch_size: self.config.batch_size,
            linger: self.config.linger,
            flush: self.flushes.urgent_below(),
            urgent: self.urgent,
        }
    }

    fn on_events(&mut self, now: Now) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Metadata => self.on_metadata(now),
                Event::Sent { tag: Tag::Produce(batches) } => self.assume_written(&batches),
                Event::Sent { tag: Tag::ProducerId } => unreachable!("a producer id is answered"),
                Event::Lost { tag: Tag::ProducerId } => self.no_producer_id(now),
                Event::Lost { tag: Tag::Produce(batches) } => self.on_lost(now, &batches),
                Event::Answer(answer) => match &answer.tag {
                    Tag::ProducerId => self.on_producer_id(now, &answer),
                    Tag::Produce(_) => self.on_produced(now, &answer),
                },
            }
        }
    }

    fn on_flush(&mut self, token: Token) {
        self.flushes.ask(token);
        self.dirty = true;
    }

    fn on_close(&mut self, now: Now) {
        self.closed = true;
        self.fail_everything(&ProduceError::Closed);
        self.cluster.close(now);
        while self.cluster.next_event().is_some() {}
    }

    /// Does whatever has become possible. What is done may make more possible: a batch that fails,
    /// say, lets those behind it go on under another epoch. Each round has fewer batches or events
    /// than the one before.
    fn react(&mut self, now: Now) {
        while !self.closed && (self.dirty || self.cluster.has_events()) {
            self.dirty = false;
            self.on_events(now);
            self.expire(now);
            self.pump(now);
            self.cluster.on_time(now);
        }
    }

    fn find_deadline(&self) -> Deadline {
        if self.closed {
            return None;
        }
        let mut earliest = Earliest::after(self.last_step);
        earliest.or(self.cluster.deadline());
        if self.config.enable_idempotence
            && self.ids.given().is_none()
            && self.ids.refused.is_none()
        {
            earliest.at(self.ids.not_before, "producer id back-off");
        }
        for (topic, partition) in &self.active {
            let queue = &self.topics[*topic].queues[partition];
            queue.times(self.config.linger).for_each(|(at, why)| earliest.at(at, why));
        }
        for topic in &self.unplaced {
            if let Some(oldest) = self.topics[*topic].unplaced.front() {
                earliest
                    .at(oldest.ticket.since.saturating_add(self.config.max_block), "max.block.ms");
            }
        }
        earliest.deadline()
    }
}

impl Machine for Producer {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        self.dirty |= self.next.is_some_and(|(at, _)| at <= now.mono);
        self.last_step = now.mono;
        match input {
            Input::Net(input) => {
                self.cluster.on_net(now, input);
                self.dirty = true;
            }
            Input::Send { token, record } => self.on_send(now, token, record),
            Input::Flush { token } => self.on_flush(token),
            Input::Close => self.on_close(now),
            Input::Tick => self.dirty = true,
        }
        // Most records join a batch, and nothing else has to be done.
        let retime = self.dirty || std::mem::take(&mut self.retime) || self.closed;
        if retime || !self.delivered.is_empty() {
            self.react(now);
            self.next = self.find_deadline();
            self.finish_flushes();
            fx.append(&mut self.delivered);
            self.cluster.take_effects().for_each(|effect| fx.push(effect));
            self.invariants();
        }
    }

    fn tick() -> Input {
        Input::Tick
    }

    fn deadline(&self) -> Deadline {
        self.next
    }

    fn invariants(&self) {
        assert!(self.buffered <= self.config.buffer_memory, "buffer.memory is a bound");
        assert!(
            self.closed || !self.flushes.are_under_way() || !self.flushes.all_delivered(),
            "a flush waits for records"
        );
        #[cfg(debug_assertions)]
        {
            self.check_queues();
            assert!(
                self.next.is_none_or(|(at, _)| at > self.last_step),
                "a deadline lies ahead of the last step"
            );
        }
        self.cluster.invariants();
    }
}

#[cfg(debug_assertions)]
impl Producer {
    fn check_queues(&self) {
        for (index, topic) in self.topics.iter().enumerate() {
            for (partition, queue) in &topic.queues {
                let active = self.active.contains(&(index, *partition));
                assert!(active || queue.is_empty(), "partitions with batches are looked after");
            }
        }
        for (topic, partition) in &self.active {
            let queue = &self.topics[*topic].queues[partition];
            queue.invariants(self.config.enable_idempotence, self.config.max_in_flight as usize);
        }
    }
}
