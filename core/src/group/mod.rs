//! The coordinator of the groups whose names hash to one partition of `__consumer_offsets`: a
//! ledger on that partition.
//!
//! State: groups by name, each with its committed offsets and, when it has members, the state of
//! the classic protocol (members, generation, who waits in a join or sync) or of the consumer
//! protocol (members, epochs, who owns what and who shall); the topics that there are. Inputs:
//! requests, the end of a wait, topics that are gone or others, groups that are set up otherwise, and
//! records read back before the coordinator begins. Effects: answers, and records to append with the answers that wait until
//! they are committed.
//!
//! Durable facts change by [`GroupCoordinator::replay`] and by what is appended; sessions, joins
//! and timers are soft and begin anew with the coordinator: everyone in a remembered generation
//! gets a whole session timeout to say something (Kafka's `GroupCoordinatorShard`). What was
//! decided counts at once; a coordinator whose records cannot be appended has to be thrown away.
//!
//! Invariants: no two members own a partition (G1); the generation or epoch of a group never goes
//! back (G2); offsets are committed only by members of the current generation or in their epoch, or
//! by anyone while there are none (G3); they end only by a request, with their topic, or long after
//! the last one who could want them is gone (G9); a static instance stands for at most one member,
//! and a member's id is not given twice (G7); a group is what its records say, a classic one while
//! it is stable or empty (G8); every round of joins and syncs, and every wait for a member, ends
//! (G10). A request is answered once; what a coordinator shows (offsets, groups, assignments)
//! leaves behind the records that it rests on.
//!
//! Must never know: wire versions, logs, offsets of its own partition, connections.

pub mod classic;
pub(crate) mod codec;
pub mod consumer;
mod describe;
mod ids;
mod notes;
mod offsets;
pub mod own_settings;
pub mod place;
pub mod record;
pub mod request;
mod subscription;
#[cfg(test)]
mod tests;
pub mod topics;

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::PartitionIndex;

use self::classic::ClassicGroup;
use self::consumer::ConsumerGroup;
use self::consumer::assignor::Assignor;
use self::consumer::migrate::Migration;
use self::ids::MemberIds;
use self::offsets::Offsets;
use self::own_settings::OwnSettings;
use self::record::{Fact, GroupValue, Record};
use self::request::{Answer, Caller, Committed, GroupId, Join, Leave, ListedGroup, Request, Sync};
use self::topics::Topics;
use crate::config::broker::BrokerConfig;
use crate::config::group::GroupConfig;
use crate::fx::Fx;
use crate::mail::ReplyTo;
use crate::mutant::{Mutant, Mutants};
use crate::time::{Deadline, Instant, Now, earlier};

/// Limits and waits of all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`: the first members of a group wait so long for others.
    pub initial_rebalance_delay_ms: i64,
    /// `group.max.size`: most members of one group.
    pub max_size: usize,
    /// `group.consumer.session.timeout.ms`: silence after which a member is out.
    pub consumer_session_timeout_ms: i64,
    /// `group.consumer.heartbeat.interval.ms`.
    pub consumer_heartbeat_interval_ms: i32,
    /// `group.consumer.assignment.interval.ms`: no more than one assignment in so long.
    pub consumer_assignment_interval_ms: i64,
    /// `group.consumer.regex.refresh.interval.ms`.
    pub pattern_refresh_interval_ms: i64,
    /// `group.consumer.max.size`: most members of one consumer group.
    pub consumer_max_size: usize,
    /// `group.consumer.assignors`, the default first.
    pub assignors: Vec<Assignor>,
    /// `group.consumer.migration.policy`.
    pub migration: Migration,
    /// `offset.metadata.max.bytes`, which Kafka counts in characters.
    pub offset_metadata_max_bytes: usize,
    /// `offsets.retention.minutes`: offsets that nobody needs are kept so long.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`: how often that is looked at.
    pub offsets_retention_check_interval_ms: i64,
    /// `offsets.load.buffer.size`: bytes of the log that are read at a time; a single batch that
    /// is larger comes whole.
    pub load_buffer_size: u32,
    /// Planted bugs.
    pub mutants: Mutants,
}

impl GroupSettings {
    /// As a broker's configs have them.
    #[must_use]
    pub fn of(config: &BrokerConfig) -> Self {
        let long = |key| config.integer(key).unwrap_or_default();
        let int = |key| i32::try_from(long(key)).unwrap_or(i32::MAX);
        let size = |key| usize::try_from(long(key)).unwrap_or_default();
        Self {
            min_session_timeout_ms: int("group.min.session.timeout.ms"),
            max_session_timeout_ms: int("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms: long("group.initial.rebalance.delay.ms"),
            max_size: size("group.max.size"),
            consumer_session_timeout_ms: long("group.consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms: int("group.consumer.heartbeat.interval.ms"),
            consumer_assignment_interval_ms: long("group.consumer.assignment.interval.ms"),
            pattern_refresh_interval_ms: long("group.consumer.regex.refresh.interval.ms"),
            consumer_max_size: size("group.consumer.max.size"),
            assignors: assignors(config),
            migration: Migration::named(&config.text("group.consumer.migration.policy")),
            offset_metadata_max_bytes: size("offset.metadata.max.bytes"),
            offsets_retention_ms: long("offsets.retention.minutes").saturating_mul(60_000),
            offsets_retention_check_interval_ms: long("offsets.retention.check.interval.ms"),
            load_buffer_size: int("offsets.load.buffer.size").unsigned_abs(),
            mutants: Mutants::default(),
        }
    }

    /// As a group has them that has configs of its own.
    #[must_use]
    pub fn with(&self, own: &GroupConfig) -> Self {
        let mut with = self.clone();
        if let Some(ms) = own.consumer_session_timeout_ms {
            with.consumer_session_timeout_ms = ms;
        }
        if let Some(ms) = own.consumer_heartbeat_interval_ms {
            with.consumer_heartbeat_interval_ms = ms;
        }
        if let Some(ms) = own.consumer_assignment_interval_ms {
            with.consumer_assignment_interval_ms = ms;
        }
        with
    }
}

/// The assignors that are configured and known.
fn assignors(config: &BrokerConfig) -> Vec<Assignor> {
    let names = config.list("group.consumer.assignors");
    names.iter().filter_map(|name| Assignor::named(name)).collect()
}

/// What a coordinator reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody asks for something.
    Request(ReplyTo, Request),
    /// The deadline passed.
    Tick,
    /// These topics were deleted.
    TopicsGone(Vec<Arc<str>>),
    /// The topics that there are now.
    Topics(Arc<Topics>),
    /// The settings of all groups now, and those that groups have of their own. Each goes by them
    /// from its next request on; how long it waits for an assignment changes at once.
    Settings(Arc<GroupSettings>, Arc<OwnSettings>),
}

/// What a coordinator wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Answer now.
    Answer(ReplyTo, Answer),
    /// Append these records together; the answers leave once they, and everything appended
    /// before, are committed. Without records, only the latter.
    Commit(Vec<Record>, Vec<(ReplyTo, Answer)>),
    /// Something that an operator should read: why a group rebalances, who makes its next
    /// generation.
    Note(String),
}

/// What handlers work with, apart from their group.
struct Ctx<'a> {
    now: Now,
    settings: &'a GroupSettings,
    topics: &'a Arc<Topics>,
    ids: &'a mut MemberIds,
    fx: &'a mut Fx<Effect>,
}

impl Ctx<'_> {
    fn answer(&mut self, reply: ReplyTo, answer: Answer) {
        self.fx.push(Effect::Answer(reply, answer));
    }

    /// Answers once everything is committed that was appended so far.
    fn answer_committed(&mut self, reply: ReplyTo, answer: Answer) {
        self.fx.push(Effect::Commit(Vec::new(), vec![(reply, answer)]));
    }

    fn append(&mut self, records: Vec<Record>, answers: Vec<(ReplyTo, Answer)>) {
        if !records.is_empty() || !answers.is_empty() {
            self.fx.push(Effect::Commit(records, answers));
        }
    }

    fn note(&mut self, text: String) {
        self.fx.push(Effect::Note(text));
    }
}

/// The protocol of a group's members, and what they are in it.
#[derive(Clone, Debug)]
enum Kind {
    Classic(ClassicGroup),
    Consumer(ConsumerGroup),
}

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    kind: Kind,
    offsets: Offsets,
    /// Where it is in the coordinator's alarms.
    alarm: Option<Instant>,
}

impl Group {
    fn new(name: GroupId) -> Self {
        let kind = Kind::Classic(ClassicGroup::new(name));
        Self { kind, offsets: Offsets::new(), alarm: None }
    }

    fn name(&self) -> &GroupId {
        match &self.kind {
            Kind::Classic(group) => group.name(),
            Kind::Consumer(group) => group.name(),
        }
    }

    /// Its members and what they agreed on, of one of the classic protocol.
    #[must_use]
    pub fn classic(&self) -> Option<&ClassicGroup> {
        match &self.kind {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) => None,
        }
    }

    /// Its members and what they own, of one of the consumer protocol.
    #[must_use]
    pub fn consumer(&self) -> Option<&ConsumerGroup> {
        match &self.kind {
            Kind::Classic(_) => None,
            Kind::Consumer(group) => Some(group),
        }
    }

    /// Its committed offsets, by topic and partition.
    pub fn offsets(&self) -> impl Iterator<Item = (&Arc<str>, PartitionIndex, &Committed)> {
        self.offsets.iter().map(|((topic, index), value)| (topic, *index, value))
    }

    /// Whether nothing is known of it: there is no such group.
    fn is_nothing(&self) -> bool {
        let known = match &self.kind {
            Kind::Classic(group) => !group.is_deserted() || group.is_recorded(),
            Kind::Consumer(group) => group.is_recorded(),
        };
        self.offsets.is_empty() && !known
    }

    /// Takes in what was read back about the group itself.
    fn replay_consumer(&mut self, fact: Fact) {
        if let Kind::Classic(classic) = &self.kind {
            // What ends with a consumer group that was ended already says nothing any more.
            if fact.is_end() {
                return;
            }
            let group = ConsumerGroup::new(Arc::clone(classic.name()));
            self.kind = Kind::Consumer(group);
        }
        if let Kind::Consumer(group) = &mut self.kind {
            group.apply(fact);
        }
    }

    fn replay_classic(&mut self, name: GroupId, value: Option<GroupValue>) {
        match (&self.kind, value) {
            (_, Some(value)) => self.kind = Kind::Classic(ClassicGroup::remembered(name, value)),
            (Kind::Classic(_), None) => self.kind = Kind::Classic(ClassicGroup::new(name)),
            (Kind::Consumer(_), None) => {}
        }
    }

    fn begin(&mut self, now: Now, settings: &GroupSettings) {
        match &mut self.kind {
            Kind::Classic(group) => group.begin(now, settings.max_size),
            Kind::Consumer(group) => group.begin(now, settings.consumer_session_timeout_ms),
        }
    }

    fn due(&self, settings: &GroupSettings) -> Deadline {
        match &self.kind {
            Kind::Classic(group) => group.due(),
            Kind::Consumer(group) => group.due(settings),
        }
    }

    fn invariants(&self) {
        match &self.kind {
            Kind::Classic(group) => group.invariants(),
            Kind::Consumer(group) => group.invariants(),
        }
    }

    fn on_join(&mut self, reply: ReplyTo, join: &Join, ctx: &mut Ctx<'_>) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_join(reply, join, ctx),
            Kind::Consumer(_) => self.on_join_consumer(reply, join, ctx),
        }
    }

    fn on_sync(&mut self, reply: ReplyTo, sync: &Sync, ctx: &mut Ctx<'_>) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_sync(reply, sync, ctx),
            Kind::Consumer(group) => group.on_sync(reply, sync, ctx),
        }
    }

    fn on_heartbeat(&mut self, reply: ReplyTo, caller: &Caller, ctx: &mut Ctx<'_>) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_heartbeat(reply, caller, ctx),
            Kind::Consumer(group) => group.on_heartbeat(reply, caller, ctx),
        }
    }

    fn on_leave(&mut self, reply: ReplyTo, leave: &Leave, ctx: &mut Ctx<'_>) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_leave(reply, leave, ctx),
            Kind::Consumer(_) => self.on_leave_consumer(reply, leave, ctx),
        }
    }

    fn on_tick(&mut self, ctx: &mut Ctx<'_>) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_tick(ctx),
            Kind::Consumer(group) => {
                let mut records = Vec::new();
                group.expire(&mut records, ctx);
                self.maybe_downgrade(&mut records, ctx);
                if let Kind::Consumer(group) = &mut self.kind {
                    group.assign_unasked(&mut records, ctx);
                }
                ctx.append(records, Vec::new());
            }
        }
    }
}

/// The coordinator of some groups.
#[derive(Clone, Debug)]
pub struct GroupCoordinator {
    settings: Arc<GroupSettings>,
    own: Arc<OwnSettings>,
    topics: Arc<Topics>,
    ids: MemberIds,
    groups: BTreeMap<GroupId, Group>,
    /// When groups have to be looked at, and why.
    alarms: BTreeMap<(Instant, GroupId), &'static str>,
    /// When old offsets are next looked for, once it has begun.
    clean_up_at: Option<Instant>,
}

impl GroupCoordinator {
    /// A coordinator that knows of no group. Ids of members come out of `seed`: each coordinator
    /// needs its own, or the id of a member that has left is given out again.
    #[must_use]
    pub fn new(settings: Arc<GroupSettings>, seed: u64) -> Self {
        Self {
            settings,
            own: Arc::default(),
            topics: Arc::default(),
            ids: MemberIds::new(seed),
            groups: BTreeMap::new(),
            alarms: BTreeMap::new(),
            clean_up_at: None,
        }
    }

    /// Takes in a record that was read back. A later one on the same subject replaces it.
    pub fn replay(&mut self, record: Record) {
        let id = Arc::clone(record.group());
        let group =
            self.groups.entry(Arc::clone(&id)).or_insert_with_key(|id| Group::new(id.clone()));
        match record {
            Record::Offset { topic, partition, value: Some(value), .. } => {
                group.offsets.insert((topic, partition), value);
            }
            Record::Offset { topic, partition, value: None, .. } => {
                group.offsets.remove(&(topic, partition));
            }
            Record::Group { value: None, .. }
                if self.settings.mutants.has(Mutant::GroupTombstoneIgnored) => {}
            Record::Group { value, .. } => group.replay_classic(Arc::clone(&id), value),
            Record::Consumer { fact, .. } => group.replay_consumer(fact),
        }
        if group.is_nothing() {
            self.groups.remove(&id);
        }
    }

    /// The topics that there are when it begins, and what groups have of their own.
    pub fn know(&mut self, topics: &Arc<Topics>, own: &Arc<OwnSettings>) {
        self.topics = Arc::clone(topics);
        self.own = Arc::clone(own);
    }

    /// All records are read back: members that are remembered have until the end of their session
    /// to be heard of.
    pub fn begin(&mut self, now: Now) {
        let names: Vec<GroupId> = self.groups.keys().cloned().collect();
        for name in &names {
            if let Some(group) = self.groups.get_mut(name) {
                group.begin(now, self.own.of(name, &self.settings));
            }
            self.settle(name);
        }
        self.clean_up_later(now);
    }

    /// Takes one input.
    pub fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        match input {
            Input::Request(reply, request) => self.on_request(now, reply, request, fx),
            Input::Tick => self.on_tick(now, fx),
            Input::TopicsGone(topics) => self.on_topics_gone(now, &topics, fx),
            Input::Topics(topics) => self.topics = topics,
            Input::Settings(settings, own) => self.on_settings(settings, own),
        }
        self.invariants();
    }

    /// When the next tick is wanted.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let alarm = self.alarms.first_key_value().map(|((at, _), why)| (*at, *why));
        earlier(alarm, self.clean_up_at.map(|at| (at, "offsets that nobody needs")))
    }

    /// The coordinator ends: its place is elsewhere, or the node stops. Whoever waits in a join or
    /// sync is told with `code`; all groups are forgotten.
    pub fn abandon(&mut self, code: ErrorCode, fx: &mut Fx<Effect>) {
        for group in self.groups.values_mut() {
            if let Kind::Classic(group) = &mut group.kind {
                group.abandon(code, fx);
            }
        }
        self.groups.clear();
        self.alarms.clear();
        self.clean_up_at = None;
    }

    /// All groups.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupId, &Group)> {
        self.groups.iter()
    }

    /// All groups, as ListGroups has them.
    pub fn list(&self) -> Vec<ListedGroup> {
        self.groups.values().map(Group::listed).collect()
    }

    /// Asserts what must always hold. A group asserts its own when it was touched.
    pub fn invariants(&self) {
        let (alarms, groups) = (self.alarms.len(), self.groups.len());
        assert!(alarms <= groups, "{alarms} alarms of {groups} groups");
    }

    fn on_request(&mut self, now: Now, reply: ReplyTo, request: Request, fx: &mut Fx<Effect>) {
        // An operator sees groups as they are by the clock, however late the next tick is. A member
        // that comes before the tick is in time.
        if request.is_of_operator() {
            self.ring(now, fx);
        }
        match &request {
            Request::Join(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_join(reply, it, ctx);
            }),
            Request::Sync(it) => self.with(now, &it.caller.group, fx, |group, ctx| {
                group.on_sync(reply, it, ctx);
            }),
            Request::Heartbeat(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_heartbeat(reply, it, ctx);
            }),
            Request::Leave(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_leave(reply, it, ctx);
            }),
            Request::ConsumerHeartbeat(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_consumer_heartbeat(reply, it, ctx);
            }),
            Request::DescribeConsumer(name) => self.with(now, name, fx, |group, ctx| {
                group.on_describe_consumer(reply, ctx);
            }),
            Request::Commit(it) => self.with(now, &it.caller.group, fx, |group, ctx| {
                group.on_commit(reply, it, ctx);
            }),
            Request::Fetch(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_fetch(reply, it, ctx);
            }),
            Request::DeleteOffsets(it) => self.with(now, &it.group, fx, |group, ctx| {
                group.on_delete_offsets(reply, it, ctx);
            }),
            Request::List => {
                let answer = Answer::Listed(Ok(self.list()));
                fx.push(Effect::Commit(Vec::new(), vec![(reply, answer)]));
            }
            Request::Describe(name) => self.with(now, name, fx, |group, ctx| {
                group.on_describe(reply, ctx);
            }),
            Request::Delete(name) => self.with(now, name, fx, |group, ctx| {
                group.on_delete(reply, ctx);
            }),
        }
    }

    /// Lets a group do something. One of which nothing is known afterwards is forgotten.
    fn with(
        &mut self,
        now: Now,
        name: &GroupId,
        fx: &mut Fx<Effect>,
        act: impl FnOnce(&mut Group, &mut Ctx<'_>),
    ) {
        let settings = self.own.of(name, &self.settings);
        let (topics, ids) = (&self.topics, &mut self.ids);
        let group = self.groups.entry(Arc::clone(name));
        let group = group.or_insert_with_key(|name| Group::new(Arc::clone(name)));
        act(group, &mut Ctx { now, settings, topics, ids, fx });
        self.settle(name);
    }

    /// A group was touched: sets its alarm.
    fn settle(&mut self, name: &GroupId) {
        let Some(group) = self.groups.get_mut(name) else { return };
        group.invariants();
        let nothing = group.is_nothing();
        let due = group.due(self.own.of(name, &self.settings)).filter(|_| !nothing);
        if group.alarm != due.map(|(at, _)| at) {
            if let Some(at) = group.alarm.take() {
                self.alarms.remove(&(at, Arc::clone(name)));
            }
            if let Some((at, why)) = due {
                group.alarm = Some(at);
                self.alarms.insert((at, Arc::clone(name)), why);
            }
        }
        if nothing {
            self.groups.remove(name);
        }
    }

    fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) {
        self.ring(now, fx);
        if self.clean_up_at.is_some_and(|at| at <= now.mono) {
            let names: Vec<GroupId> = self.groups.keys().cloned().collect();
            names.iter().for_each(|name| self.with(now, name, fx, Group::clean_up));
            self.clean_up_later(now);
        }
    }

    /// Looks at the groups whose time has come.
    fn ring(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let due = self.alarms.keys().take_while(|(at, _)| *at <= now.mono);
        let due: Vec<GroupId> = due.map(|(_, name)| Arc::clone(name)).collect();
        for name in &due {
            self.with(now, name, fx, |group, ctx| group.on_tick(ctx));
        }
    }

    fn clean_up_later(&mut self, now: Now) {
        let interval_ms = self.settings.offsets_retention_check_interval_ms.max(1);
        self.clean_up_at = Some(now.mono.plus_ms(interval_ms));
    }

    fn on_settings(&mut self, settings: Arc<GroupSettings>, own: Arc<OwnSettings>) {
        (self.settings, self.own) = (settings, own);
        let names: Vec<GroupId> = self.alarms.keys().map(|(_, name)| Arc::clone(name)).collect();
        names.iter().for_each(|name| self.settle(name));
    }

    fn on_topics_gone(&mut self, now: Now, topics: &[Arc<str>], fx: &mut Fx<Effect>) {
        let groups = self.groups.iter().filter(|(_, group)| group.has_offsets_of(topics));
        let names: Vec<GroupId> = groups.map(|(name, _)| Arc::clone(name)).collect();
        for name in &names {
            self.with(now, name, fx, |group, ctx| group.forget_topics(topics, ctx));
        }
    }
}
