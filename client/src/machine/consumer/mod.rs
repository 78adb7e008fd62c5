//! A consumer of assigned partitions: finds positions, fetches, checks, gives out records.
//!
//! Owns: the assignment, the position of each partition, what was fetched and not given out.
//!
//! Invariants: records of a partition are given out in the order of their offsets, each at most once
//! per seek; a broker is asked for more only when all that it served before has been given out, so
//! that memory is bounded by `fetch.max.bytes` for each broker, and no partition that ran dry has to
//! wait for the others of its broker.
//!
//! Must never know: sockets, clocks, other threads.

mod buffer;
mod fetch;
mod io;
mod lookup;
mod member;
mod offsets;
mod session;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp, TopicId, Uuid};
use dohle_wire::record::Codecs;

pub use self::io::{ConsumeError, ConsumedRecord, Effect, Input, Start};

use self::buffer::{Buffer, Reading};
use self::lookup::Lookups;
use self::session::Session;
use super::cluster::{Cluster, ClusterView, Event};
use super::group::{Ask, Group, OffsetAndMetadata};
use super::time::Earliest;
use super::{Deadline, Fx, Machine, Now, Token, TopicPartition, Trouble};
use crate::config::{AutoOffsetReset, ConfigError, ConsumerConfig};

/// What a request was for: the partitions, each with the generation of its position.
#[derive(Clone, Debug)]
enum Tag {
    /// Positions.
    Offsets(Vec<(TopicPartition, u64)>),
    /// Records, from this broker.
    Fetch(NodeId, BTreeMap<TopicPartition, u64>),
    /// Offsets that somebody asked for.
    Lookup(Token, Vec<TopicPartition>),
    /// Something of the group.
    Group(Ask),
}

impl From<Ask> for Tag {
    fn from(ask: Ask) -> Self {
        Self::Group(ask)
    }
}

/// Where the reading of a partition is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// To be found out.
    Start(Start),
    /// Offset of the next record.
    At(Offset),
    /// Reading ended with an error.
    Failed,
}

/// One assigned partition.
#[derive(Clone, Debug)]
struct Part {
    position: Position,
    /// The topic that the position is about; zero while it is not known. A topic created anew under
    /// the same name is another one.
    topic: TopicId,
    /// Changes with each seek, so that answers to older requests are recognised.
    generation: u64,
    paused: bool,
    /// It is being given up.
    held: bool,
    /// How far records were given out, or where reading began.
    given: Option<OffsetAndMetadata>,
    buffer: Option<Buffer>,
    /// An error to be given out.
    error: Option<ConsumeError>,
    /// The position was asked for.
    asking: bool,
    failures: u32,
    not_before: Duration,
    /// Why it cannot be read at the moment, if a broker said so.
    trouble: Option<ErrorCode>,
    high_watermark: Option<Offset>,
    /// Where undecided transactions begin, if only committed records are read.
    last_stable: Option<Offset>,
    log_start: Option<Offset>,
    /// A replica that the leader recommends, until this time (KIP-392).
    preferred: Option<(NodeId, Duration)>,
}

impl Part {
    const fn new(start: Start, generation: u64) -> Self {
        Self {
            position: Position::Start(start),
            topic: TopicId(Uuid::ZERO),
            generation,
            paused: false,
            held: false,
            given: None,
            buffer: None,
            error: None,
            asking: false,
            failures: 0,
            not_before: Duration::ZERO,
            trouble: None,
            high_watermark: None,
            last_stable: None,
            log_start: None,
            preferred: None,
        }
    }

    fn fail(&mut self, error: ConsumeError) {
        self.position = Position::Failed;
        self.error = Some(error);
    }

    /// Whether nothing of it is given out.
    const fn is_silent(&self) -> bool {
        self.paused || self.held
    }

    fn has_news(&self) -> bool {
        let has_records = self.buffer.as_ref().is_some_and(Buffer::has_records);
        !self.is_silent() && (has_records || self.error.is_some())
    }
}

/// See the module.
#[derive(Clone)]
pub struct Consumer {
    config: Arc<ConsumerConfig>,
    codecs: Arc<dyn Codecs>,
    cluster: Cluster<Tag>,
    parts: BTreeMap<TopicPartition, Part>,
    /// Partitions with a buffer, in the order in which they are given out.
    order: VecDeque<TopicPartition>,
    sessions: BTreeMap<NodeId, Session>,
    /// Brokers with a fetch under way.
    fetching: BTreeMap<NodeId, ()>,
    next_generation: u64,
    group: Option<Group>,
    lookups: Lookups,
    /// Effects for the application, until the end of the step.
    told: Vec<Effect>,
    /// Leaving the group, on the way to being closed.
    closing: bool,
    closed: bool,
    last_step: Duration,
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer")
            .field("parts", &self.parts)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

impl Consumer {
    /// A consumer with these settings and without partitions. `codecs` decompresses; `seed` is all
    /// its randomness.
    pub fn new(
        config: ConsumerConfig,
        codecs: Arc<dyn Codecs>,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let auto_create = config.allow_auto_create_topics;
        let mut cluster = Cluster::new(config.connection.clone(), auto_create, seed);
        let config = Arc::new(config);
        let draw = cluster.rng().bits();
        Ok(Self {
            group: Group::new(Arc::clone(&config), draw),
            lookups: Lookups::default(),
            told: Vec::new(),
            closing: false,
            cluster,
            config,
            codecs,
            parts: BTreeMap::new(),
            order: VecDeque::new(),
            sessions: BTreeMap::new(),
            fetching: BTreeMap::new(),
            next_generation: 0,
            closed: false,
            last_step: Duration::ZERO,
        })
    }

    /// The settings.
    pub fn config(&self) -> &ConsumerConfig {
        &self.config
    }

    /// What is known of the cluster.
    pub const fn view(&self) -> &ClusterView {
        self.cluster.view()
    }

    /// Whether a poll would give out records or an error.
    pub fn has_records(&self) -> bool {
        let told = self.group.as_ref().is_some_and(Group::is_told);
        let news = self.group.as_ref().is_some_and(Group::has_news);
        news || (!told && self.parts.values().any(Part::has_news))
    }

    /// Offset of the next record of a partition to be given out; `None` while it is not known yet,
    /// and if the partition failed or is not assigned.
    pub fn position(&self, at: &TopicPartition) -> Option<Offset> {
        let part = self.parts.get(at)?;
        match (&part.buffer, &part.position) {
            (Some(buffer), _) => Some(buffer.position()),
            (None, Position::At(offset)) => Some(*offset),
            (None, Position::Start(_) | Position::Failed) => None,
        }
    }

    /// Offset after the last committed record of a partition, as of the last fetch.
    pub fn high_watermark(&self, at: &TopicPartition) -> Option<Offset> {
        self.parts.get(at)?.high_watermark
    }

    /// Offset of the first record of a partition, as of the last fetch.
    pub fn log_start(&self, at: &TopicPartition) -> Option<Offset> {
        self.parts.get(at)?.log_start
    }

    /// The assigned partitions.
    pub fn assignment(&self) -> impl Iterator<Item = &TopicPartition> {
        self.parts.keys()
    }

    /// What holds up the partitions that are read.
    pub fn troubles(&self) -> Vec<Trouble> {
        if !self.parts.is_empty() && !self.cluster.has_broker() {
            return vec![Trouble::NoBroker];
        }
        let of = |(at, part): (&TopicPartition, &Part)| {
            Some(Trouble::Partition(at.clone(), part.trouble?))
        };
        self.parts.iter().filter_map(of).collect()
    }

    fn generation(&mut self) -> u64 {
        self.next_generation += 1;
        self.next_generation
    }

    fn on_assign(&mut self, now: Now, assignment: Vec<(TopicPartition, Start)>) {
        let mut old = std::mem::take(&mut self.parts);
        for (at, start) in assignment {
            let kept = old.remove(&at).filter(|_| start == Start::Reset);
            let part = kept.unwrap_or_else(|| Part::new(start, self.generation()));
            self.parts.insert(at, part);
        }
        self.assigned(now);
    }

    /// The assignment has changed.
    fn assigned(&mut self, now: Now) {
        let parts = &self.parts;
        self.order.retain(|at| parts.get(at).is_some_and(|part| part.buffer.is_some()));
        self.follow_topics(now);
        self.recognise_topics(now);
    }

    fn on_seek(&mut self, now: Now, at: &TopicPartition, start: Start) {
        let generation = self.generation();
        if let Some(part) = self.parts.get_mut(at) {
            let (paused, held, topic) = (part.paused, part.held, part.topic);
            *part = Part { paused, held, topic, ..Part::new(start, generation) };
        }
        self.order.retain(|other| other != at);
        self.start_all(now);
    }

    /// Starts anew in topics that are not those that were read: their offsets mean other records.
    fn recognise_topics(&mut self, now: Now) {
        let ids =
            |at: &TopicPartition, view: &ClusterView| view.topic(&at.topic).map(|info| info.id);
        for (at, part) in &mut self.parts {
            let Some(id) = ids(at, self.cluster.view()).filter(|id| *id != TopicId::default())
            else {
                continue;
            };
            let replaced = part.topic != TopicId::default() && part.topic != id;
            part.topic = id;
            if !replaced {
                continue;
            }
            let start = match part.position {
                Position::Start(start) => start,
                Position::At(_) | Position::Failed => Start::Reset,
            };
            self.next_generation += 1;
            let (paused, held) = (part.paused, part.held);
            *part = Part { paused, held, topic: id, ..Part::new(start, self.next_generation) };
            self.order.retain(|other| other != at);
        }
        self.start_all(now);
    }

    /// Settles the positions for which no broker has to be asked.
    fn start_all(&mut self, now: Now) {
        let has_group = self.group.is_some();
        for part in self.parts.values_mut() {
            let start = match part.position {
                Position::Start(Start::Committed) if !has_group => Start::Reset,
                Position::Start(start) => start,
                Position::At(_) | Position::Failed => continue,
            };
            match (start, self.config.auto_offset_reset) {
                (Start::Offset(offset), _) => part.position = Position::At(offset),
                (Start::Reset, AutoOffsetReset::None) => part.fail(ConsumeError::NoPosition),
                (Start::Reset, AutoOffsetReset::Earliest) => {
                    part.position = Position::Start(Start::Earliest);
                }
                (Start::Reset, AutoOffsetReset::Latest) => {
                    part.position = Position::Start(Start::Latest);
                }
                (Start::Reset, AutoOffsetReset::ByDuration(span)) => {
                    let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
                    let then = Timestamp(now.wall.0.saturating_sub(span).max(0));
                    part.position = Position::Start(Start::Timestamp(then));
                }
                (Start::Earliest | Start::Latest | Start::Timestamp(_) | Start::Committed, _) => {}
            }
        }
    }

    fn on_poll(&mut self, max_records: usize, fx: &mut Fx<Effect>) {
        for (at, part) in self.parts.iter_mut().filter(|(_, part)| !part.is_silent()) {
            if let Some(error) = part.error.take() {
                fx.push(Effect::Failed { partition: at.clone(), error });
            }
        }
        let reading = Reading { codecs: &*self.codecs, check_crcs: self.config.check_crcs };
        let mut left = max_records;
        for _ in 0..self.order.len() {
            if left == 0 {
                break;
            }
            let at = self.order.pop_front().expect("as often as there are entries");
            let part = self.parts.get_mut(&at).expect("only assigned partitions are in order");
            if part.is_silent() {
                self.order.push_back(at);
                continue;
            }
            let buffer = part.buffer.as_mut().expect("only partitions with records are in order");
            let records = buffer.take(left, &reading);
            left -= records.len();
            if let Some(last) = records.last() {
                part.given = Some(OffsetAndMetadata {
                    leader_epoch: Some(last.leader_epoch).filter(|epoch| epoch.0 >= 0),
                    ..OffsetAndMetadata::at(last.offset.plus(1))
                });
                fx.push(Effect::Records { partition: at.clone(), records });
            }
            if let Some(error) = buffer.take_error() {
                part.buffer = None;
                part.position = Position::Failed;
                fx.push(Effect::Failed { partition: at, error });
            } else if buffer.has_records() {
                // What is left of it comes first next time.
                self.order.push_front(at);
            } else {
                part.position = Position::At(buffer.position());
                part.buffer = None;
            }
        }
    }

    fn on_events(&mut self, now: Now) {
        while let Some(event) = self.cluster.next_event() {
            match event {
                Event::Metadata => self.on_metadata(now),
                Event::Lost { tag: Tag::Group(ask) } => {
                    let group = self.group.as_mut().expect("only a group asks for a group");
                    group.on_lost(now, &mut self.cluster, &ask);
                }
                Event::Lost { tag } => self.on_lost(now, &tag),
                Event::Sent { .. } => unreachable!("every request of a consumer has an answer"),
                Event::Answer(answer) => match &answer.tag {
                    Tag::Offsets(_) => self.on_offsets(now, &answer),
                    Tag::Fetch(..) => self.on_fetched(now, &answer),
                    Tag::Lookup(..) => self.on_looked_up(now, &answer),
                    Tag::Group(ask) => {
                        let group = self.group.as_mut().expect("only a group asks for a group");
                        group.on_answer(now, &mut self.cluster, ask, &answer);
                    }
                },
            }
        }
    }

    /// Starts anew in replaced topics, fails partitions of those that the broker refuses for good.
    fn on_metadata(&mut self, now: Now) {
        if let Some(group) = &mut self.group {
            group.look(&self.cluster);
        }
        self.recognise_topics(now);
        let view = self.cluster.view();
        for (at, part) in &mut self.parts {
            let code = view.topics.get(&at.topic).map_or(ErrorCode::None, |topic| topic.error);
            if code != ErrorCode::None && !code.is_retriable() && part.position != Position::Failed
            {
                part.fail(ConsumeError::Refused(code));
            }
        }
    }

    fn on_lost(&mut self, now: Now, tag: &Tag) {
        match tag {
            Tag::Group(_) => {}
            Tag::Lookup(token, asked) => self.lookup_again(now, *token, asked),
            Tag::Offsets(asked) => {
                for (at, generation) in asked {
                    self.rest(now, at, *generation);
                }
            }
            Tag::Fetch(node, asked) => {
                self.fetching.remove(node);
                if let Some(session) = self.sessions.get_mut(node) {
                    session.restart();
                }
                for (at, generation) in asked {
                    self.rest(now, at, *generation);
                }
            }
        }
    }

    /// Lets a partition wait before the next attempt.
    fn rest(&mut self, now: Now, at: &TopicPartition, generation: u64) {
        let (first, max) =
            (self.config.connection.retry_backoff, self.config.connection.retry_backoff_max);
        let Some(part) = self.parts.get_mut(at).filter(|part| part.generation == generation) else {
            return;
        };
        let wait = self.cluster.rng().backoff(first, max, part.failures);
        part.failures = part.failures.saturating_add(1);
        part.not_before = now.mono.saturating_add(wait);
        part.asking = false;
        part.preferred = None;
    }

    /// A broker cannot serve a partition now.
    fn not_now(&mut self, now: Now, at: &TopicPartition, generation: u64, code: ErrorCode) {
        if code.refreshes_metadata() {
            self.cluster.want_metadata();
        }
        self.rest(now, at, generation);
        if let Some(part) = self.current(at, generation) {
            part.trouble = Some(code);
        }
    }

    /// The current part of a partition, if nothing was sought since the request.
    fn current(&mut self, at: &TopicPartition, generation: u64) -> Option<&mut Part> {
        self.parts.get_mut(at).filter(|part| part.generation == generation)
    }

    /// Leader and epoch of a partition; newer metadata is asked for if it has none.
    fn known(&mut self, at: &TopicPartition) -> Option<(NodeId, LeaderEpoch)> {
        let info = self.cluster.view().partition(&at.topic, at.partition);
        let known = info.and_then(|info| Some((info.leader?, info.epoch)));
        if known.is_none() {
            self.cluster.want_metadata();
            let topic = self.cluster.view().topics.get(&at.topic);
            let code = topic.map(|topic| match topic.error {
                ErrorCode::None => ErrorCode::LeaderNotAvailable,
                code => code,
            });
            let part = self.parts.get_mut(at).expect("an assigned partition");
            part.trouble = code;
        }
        known
    }
}

impl Machine for Consumer {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        self.last_step = now.mono;
        match input {
            Input::Net(input) => self.cluster.on_net(now, input),
            Input::Assign(assignment) => {
                if let Some(group) = &mut self.group {
                    group.abandon(now, &mut self.cluster);
                }
                self.on_assign(now, assignment);
            }
            Input::Subscribe(subscription) => self.on_subscribe(now, subscription),
            Input::Unsubscribe => self.on_unsubscribe(now),
            Input::Wait(waits) => self.on_wait(now, waits),
            Input::Acknowledge => self.on_acknowledge(now),
            Input::Call { token, call } => self.on_call(now, token, call),
            Input::Seek(at, start) => self.on_seek(now, &at, start),
            Input::Pause(at, paused) => {
                if let Some(part) = self.parts.get_mut(&at) {
                    part.paused = paused;
                }
            }
            Input::Poll { max_records } => {
                self.on_wait(now, true);
                if !self.tell_group(now) {
                    self.on_poll(max_records, fx);
                }
                self.on_wait(now, false);
            }
            Input::Close => self.on_close(now),
            Input::Tick => {}
        }
        if !self.closed {
            self.cluster.on_time(now);
            self.on_events(now);
            self.drive_group(now);
            self.lookup(now);
            if !self.closing {
                self.find_positions(now);
                self.fetch(now);
            }
            self.end_if_left(now);
            self.cluster.on_time(now);
        }
        self.told.drain(..).for_each(|effect| fx.push(effect));
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
        for part in self.parts.values() {
            earliest.at(part.not_before, "retry back-off");
        }
        if let Some(group) = &self.group {
            group.waits(&mut earliest);
        }
        self.lookups.waits(&mut earliest);
        earliest.deadline()
    }

    fn invariants(&self) {
        let buffers = self.parts.values().filter(|part| part.buffer.is_some()).count();
        assert_eq!(self.order.len(), buffers, "what was fetched has its turn, once");
        self.cluster.invariants();
    }
}
