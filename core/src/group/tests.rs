//! The coordinator driven by hand, every record that it appends kept as a log would.

mod admin;
mod consumer;
mod join;
mod notes;
mod offsets;
mod random;
mod rebalance;
mod restart;
mod static_members;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, Timestamp};

use super::classic::ClassicState;
use super::consumer::ConsumerGroup;
use super::consumer::assignor::Assignor;
use super::consumer::migrate::Migration;
use super::own_settings::OwnSettings;
use super::record::{Fact, GroupValue, Record};
use super::request::{
    Answer, Caller, Commit, CommitPart, Committed, DeleteOffsets, Description, Fetch, Join,
    JoinRefusal, Joined, Leave, MemberId, Request, Sync, Synced,
};
use super::topics::Topics;
use super::{Effect, Group, GroupCoordinator, GroupSettings, Input};
use crate::fx::Fx;
use crate::mail::{Refusal, ReplyTo, SessionId};
use crate::mutant::Mutants;
use crate::time::{Instant, Now};

/// The group of most tests.
const GROUP: &str = "g";

/// Timeouts of most members, in milliseconds.
const SESSION_MS: u64 = 10_000;
const REBALANCE_MS: u64 = 60_000;

/// Milliseconds that the first members of a group wait.
const DELAY_MS: u64 = 3_000;

/// Members that join at the same time have their generation after this.
const GATHER_MS: u64 = 2 * DELAY_MS;

fn settings() -> GroupSettings {
    GroupSettings {
        min_session_timeout_ms: 6_000,
        max_session_timeout_ms: 1_800_000,
        initial_rebalance_delay_ms: 3_000,
        max_size: usize::MAX,
        consumer_session_timeout_ms: 45_000,
        consumer_heartbeat_interval_ms: 5_000,
        consumer_assignment_interval_ms: 0,
        pattern_refresh_interval_ms: 600_000,
        consumer_max_size: usize::MAX,
        assignors: vec![Assignor::Uniform, Assignor::Range],
        migration: Migration::named("bidirectional"),
        offset_metadata_max_bytes: 16,
        offsets_retention_ms: 7 * 24 * 3_600_000,
        offsets_retention_check_interval_ms: 600_000,
        load_buffer_size: 1 << 20,
        mutants: Mutants::default(),
    }
}

/// What a record is about: a later one on the same subject replaces it.
type Subject = (Arc<str>, Matter);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Matter {
    Offset(Arc<str>, PartitionIndex),
    Group,
    Epoch,
    Member(MemberId),
    TargetEpoch,
    Target(MemberId),
    Current(MemberId),
    Pattern(Arc<str>),
}

fn subject(record: &Record) -> Subject {
    let matter = match record {
        Record::Offset { topic, partition, .. } => Matter::Offset(Arc::clone(topic), *partition),
        Record::Group { .. } => Matter::Group,
        Record::Consumer { fact, .. } => match fact {
            Fact::Epoch(_) => Matter::Epoch,
            Fact::Member(id, _) => Matter::Member(Arc::clone(id)),
            Fact::TargetEpoch(_) => Matter::TargetEpoch,
            Fact::Target(id, _) => Matter::Target(Arc::clone(id)),
            Fact::Current(id, _) => Matter::Current(Arc::clone(id)),
            Fact::Pattern(pattern, _) => Matter::Pattern(Arc::clone(pattern)),
        },
    };
    (Arc::clone(record.group()), matter)
}

fn is_tombstone(record: &Record) -> bool {
    match record {
        Record::Offset { value, .. } => value.is_none(),
        Record::Group { value, .. } => value.is_none(),
        Record::Consumer { fact, .. } => fact.is_end(),
    }
}

/// Records that are appended together, and the answers that wait for them.
type Appended = (Vec<Record>, Vec<(ReplyTo, Answer)>);

struct World {
    coordinator: GroupCoordinator,
    settings: Arc<GroupSettings>,
    ms: u64,
    asked: u64,
    replied: u64,
    answers: BTreeMap<u64, Answer>,
    notes: Vec<String>,
    /// Appended, not committed: with the answers that wait.
    appended: VecDeque<Appended>,
    /// Whether what is appended stays so until [`World::commit_all`].
    hold: bool,
    /// What is committed, compacted.
    log: BTreeMap<Subject, Record>,
    /// Records of the last input.
    last: Vec<Record>,
    /// Everything that was ever committed.
    raw: Vec<Record>,
    topics: Arc<Topics>,
    own: Arc<OwnSettings>,
    /// Whether not every step is looked at: in large groups that takes long.
    quick: bool,
}

impl World {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut GroupSettings)) -> Self {
        let mut settings = settings();
        change(&mut settings);
        let settings = Arc::new(settings);
        let mut coordinator = GroupCoordinator::new(Arc::clone(&settings), 1);
        coordinator.begin(Now { mono: Instant(0), wall: Timestamp(1_000_000) });
        Self {
            coordinator,
            settings,
            ms: 0,
            asked: 0,
            replied: 0,
            answers: BTreeMap::new(),
            notes: Vec::new(),
            appended: VecDeque::new(),
            hold: false,
            log: BTreeMap::new(),
            last: Vec::new(),
            raw: Vec::new(),
            topics: Arc::default(),
            own: Arc::default(),
            quick: false,
        }
    }

    fn now(&self) -> Now {
        let wall = 1_000_000 + i64::try_from(self.ms).unwrap();
        Now { mono: Instant(self.ms * 1_000_000), wall: Timestamp(wall) }
    }

    fn step(&mut self, input: Input) {
        let mut fx = Fx::new();
        let tick = matches!(input, Input::Tick);
        self.coordinator.step(self.now(), input, &mut fx);
        self.carry_out(&mut fx);
        if !self.quick {
            self.audit();
        }
        if tick {
            self.check_expired();
        }
    }

    /// G9: time takes nothing from a group that may want it.
    fn check_expired(&self) {
        for record in &self.last {
            let Record::Offset { group, topic, value: None, .. } = record else { continue };
            let Some(group) = self.coordinator.groups.get(group) else { continue };
            let Some(group) = group.classic() else { continue };
            let wanted = match group.state() {
                ClassicState::Empty | ClassicState::Dead => false,
                ClassicState::Stable => group.is_subscribed(topic),
                ClassicState::PreparingRebalance | ClassicState::CompletingRebalance => true,
            };
            assert!(!wanted, "G9: {topic} of {} ended by itself", group.name());
        }
    }

    fn carry_out(&mut self, fx: &mut Fx<Effect>) {
        self.last.clear();
        for effect in fx.drain() {
            match effect {
                Effect::Answer(reply, answer) => self.take(reply, answer),
                Effect::Commit(records, answers) => {
                    self.last.extend(records.iter().cloned());
                    self.appended.push_back((records, answers));
                }
                Effect::Note(text) => self.notes.push(text),
            }
        }
        if !self.hold {
            self.commit_all();
        }
    }

    fn take(&mut self, reply: ReplyTo, answer: Answer) {
        self.replied += 1;
        let twice = self.answers.insert(reply.request, answer);
        assert!(twice.is_none(), "request {} is answered twice", reply.request);
    }

    fn commit_all(&mut self) {
        while self.commit_one() {}
    }

    fn commit_one(&mut self) -> bool {
        let Some((records, answers)) = self.appended.pop_front() else { return false };
        self.raw.extend(records.iter().cloned());
        for record in records {
            match is_tombstone(&record) {
                true => drop(self.log.remove(&subject(&record))),
                false => drop(self.log.insert(subject(&record), record)),
            }
        }
        answers.into_iter().for_each(|(reply, answer)| self.take(reply, answer));
        true
    }

    /// What always holds, looked at member by member; and G8: a coordinator that reads everything
    /// back knows the same of all groups that are not between two generations.
    fn audit(&self) {
        let mut again = GroupCoordinator::new(Arc::clone(&self.settings), 2);
        let appended = self.appended.iter().flat_map(|(records, _)| records);
        self.log.values().chain(appended).for_each(|record| again.replay(record.clone()));
        for (name, group) in self.coordinator.groups() {
            let copy = again.groups.get(name);
            let offsets = copy.map(|copy| copy.offsets.clone()).unwrap_or_default();
            assert_eq!(offsets, group.offsets, "G8: offsets of {name}");
            if let Some(group) = group.consumer() {
                group.audit();
                let copy = copy.and_then(Group::consumer).map(ConsumerGroup::facts);
                assert_eq!(copy, Some(group.facts()), "G8: {name}");
            }
            let Some(group) = group.classic() else { continue };
            group.audit();
            let copy = copy.and_then(Group::classic);
            let recorded = copy.is_some_and(|copy| copy.is_recorded());
            assert_eq!(recorded, group.is_recorded(), "G8: record of {name}");
            let idle = matches!(group.state(), ClassicState::Stable | ClassicState::Empty);
            if let Some(copy) = copy.filter(|_| recorded && idle) {
                assert_eq!(copy.value(), group.value(), "G8: {name}");
                assert_eq!(copy.state(), group.state(), "G8: {name}");
            }
        }
        for (name, _) in again.groups() {
            assert!(self.coordinator.groups.contains_key(name), "G8: {name} is recorded");
        }
    }

    /// Lets time pass, with a tick at each deadline.
    fn wait(&mut self, ms: u64) {
        let end = self.ms + ms;
        while let Some((at, _)) = self.coordinator.deadline()
            && at.0.div_ceil(1_000_000) <= end
        {
            self.ms = self.ms.max(at.0.div_ceil(1_000_000));
            self.step(Input::Tick);
        }
        self.ms = end;
    }

    /// Everything that is not committed is lost, and the coordinator begins anew elsewhere.
    fn restart(&mut self) {
        let mut fx = Fx::new();
        self.coordinator.abandon(ErrorCode::NotCoordinator, &mut fx);
        for effect in fx.drain() {
            match effect {
                Effect::Answer(reply, answer) => self.take(reply, answer),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(self.coordinator.deadline(), None);
        let lost = std::mem::take(&mut self.appended);
        let answers = lost.into_iter().flat_map(|(_, answers)| answers);
        answers.for_each(|(reply, _)| self.take(reply, Answer::Beaten(ErrorCode::NotCoordinator)));
        let mut coordinator = GroupCoordinator::new(Arc::clone(&self.settings), self.asked);
        self.log.values().for_each(|record| coordinator.replay(record.clone()));
        coordinator.know(&self.topics, &self.own);
        coordinator.begin(self.now());
        self.coordinator = coordinator;
        self.audit();
    }

    fn ask(&mut self, request: Request) -> u64 {
        self.asked += 1;
        let reply = ReplyTo { session: SessionId(1), request: self.asked, part: 0 };
        self.step(Input::Request(reply, request));
        self.asked
    }

    fn waits(&self, request: u64) -> bool {
        !self.answers.contains_key(&request)
    }

    #[track_caller]
    fn answer(&mut self, request: u64) -> Answer {
        self.answers.remove(&request).expect("answered")
    }

    #[track_caller]
    fn join_answer(&mut self, request: u64) -> Result<Joined, JoinRefusal> {
        match self.answer(request) {
            Answer::Joined(joined) => joined,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn joined(&mut self, request: u64) -> Joined {
        self.join_answer(request).expect("joined")
    }

    /// The code of a join that is refused at once.
    #[track_caller]
    fn refused(&mut self, join: Join) -> ErrorCode {
        let request = self.ask(Request::Join(join));
        self.join_answer(request).expect_err("refused").code
    }

    #[track_caller]
    fn synced(&mut self, request: u64) -> Result<Synced, ErrorCode> {
        match self.answer(request) {
            Answer::Synced(synced) => synced,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn assigned(&mut self, request: u64) -> Bytes {
        self.synced(request).expect("synced").assignment
    }

    fn join(&mut self, join: Join) -> u64 {
        self.ask(Request::Join(join))
    }

    /// Somebody new is given an id and joins with it.
    #[track_caller]
    fn join_new(&mut self) -> (MemberId, u64) {
        let request = self.join(join(""));
        let refusal = self.join_answer(request).expect_err("an id first");
        assert_eq!(refusal.code, ErrorCode::MemberIdRequired);
        let request = self.join(join(&refusal.member));
        (refusal.member, request)
    }

    fn sync(&mut self, member: &str, generation: i32, assignments: &[(&MemberId, &str)]) -> u64 {
        let assignments = assignments
            .iter()
            .map(|(id, part)| (Arc::clone(id), Bytes::copy_from_slice(part.as_bytes())));
        self.ask(Request::Sync(Sync {
            caller: caller(member, generation),
            protocol_type: None,
            protocol: None,
            assignments: assignments.collect(),
        }))
    }

    /// Each member's part is its own id.
    #[track_caller]
    fn sync_all(&mut self, generation: i32, leader: &MemberId, members: &[MemberId]) {
        let followers = members.iter().filter(|id| *id != leader);
        let waiting: Vec<_> = followers.map(|id| (id, self.sync(id, generation, &[]))).collect();
        let parts: Vec<(&MemberId, &str)> = members.iter().map(|id| (id, &**id)).collect();
        let led = self.sync(leader, generation, &parts);
        for (id, request) in waiting.into_iter().chain([(leader, led)]) {
            assert_eq!(self.assigned(request), id.as_bytes());
        }
    }

    /// A stable group of so many members in generation 1, the leader first.
    #[track_caller]
    fn stable(&mut self, members: usize) -> Vec<MemberId> {
        let joins: Vec<_> = (0..members).map(|_| self.join_new()).collect();
        self.wait(GATHER_MS);
        let ids: Vec<_> = joins.iter().map(|(id, _)| Arc::clone(id)).collect();
        for (id, request) in joins {
            let joined = self.joined(request);
            assert_eq!((joined.generation, joined.member), (1, id));
            assert_eq!(joined.leader, ids[0], "the first to join leads");
        }
        self.sync_all(1, &ids[0], &ids);
        assert_eq!(self.state(), ClassicState::Stable);
        ids
    }

    #[track_caller]
    fn beat(&mut self, member: &str, generation: i32) -> ErrorCode {
        let request = self.ask(Request::Heartbeat(caller(member, generation)));
        match self.answer(request) {
            Answer::Beaten(code) => code,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn leave(&mut self, members: &[(&str, Option<&str>)]) -> Vec<ErrorCode> {
        let members =
            members.iter().map(|(id, instance)| ((*id).into(), instance.map(Arc::from), None));
        let leave = Leave { group: GROUP.into(), members: members.collect() };
        let request = self.ask(Request::Leave(leave));
        match self.answer(request) {
            Answer::Left(codes) => codes.expect("codes for each"),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn commit(&mut self, caller: Caller, offset: i64) -> Result<Vec<ErrorCode>, ErrorCode> {
        let commit = Commit { caller, knows_epochs: true, offsets: vec![part("t", 0, offset, "")] };
        let request = self.ask(Request::Commit(commit));
        match self.answer(request) {
            Answer::Committed(codes) => codes,
            other => panic!("{other:?}"),
        }
    }

    /// The committed offset of partition 0 of a topic.
    #[track_caller]
    fn committed(&mut self, topic: &str) -> Option<i64> {
        let partitions = Some(vec![(topic.into(), PartitionIndex(0))]);
        let fetch = Fetch { group: GROUP.into(), member: None, partitions };
        let request = self.ask(Request::Fetch(fetch));
        match self.answer(request) {
            Answer::Fetched(found) => found.unwrap().remove(0).2.map(|value| value.offset.0),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn describe(&mut self) -> Result<Description, Refusal> {
        let request = self.ask(Request::Describe(GROUP.into()));
        match self.answer(request) {
            Answer::Described(described) => described,
            other => panic!("{other:?}"),
        }
    }

    /// The group's state, Dead if there is no such group.
    #[track_caller]
    fn state(&mut self) -> ClassicState {
        self.describe().map_or(ClassicState::Dead, |described| described.state)
    }

    /// What is remembered of the group itself.
    fn recorded(&self) -> Option<&GroupValue> {
        match self.log.get(&(GROUP.into(), Matter::Group))? {
            Record::Group { value, .. } => value.as_ref(),
            Record::Offset { .. } | Record::Consumer { .. } => None,
        }
    }
}

fn join(member: &str) -> Join {
    Join {
        group: GROUP.into(),
        member: member.into(),
        instance: None,
        client_id: "app".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: i32::try_from(SESSION_MS).unwrap(),
        rebalance_timeout_ms: i32::try_from(REBALANCE_MS).unwrap(),
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), subscription(&["t"]))],
        needs_member_id: true,
        can_skip_assignment: true,
        reason: None,
    }
}

fn join_as(instance: &str, member: &str) -> Join {
    Join { instance: Some(instance.into()), ..join(member) }
}

/// ConsumerProtocolSubscription, version 0.
fn subscription(topics: &[&str]) -> Bytes {
    let mut bytes = vec![0, 0];
    bytes.extend(i32::try_from(topics.len()).unwrap().to_be_bytes());
    for topic in topics {
        bytes.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend((-1_i32).to_be_bytes());
    bytes.into()
}

fn caller(member: &str, generation: i32) -> Caller {
    Caller { group: GROUP.into(), member: member.into(), instance: None, generation }
}

fn nobody() -> Caller {
    caller("", -1)
}

fn part(topic: &str, partition: i32, offset: i64, metadata: &str) -> CommitPart {
    let value = Committed {
        offset: Offset(offset),
        leader_epoch: LeaderEpoch(-1),
        metadata: metadata.into(),
        at: Timestamp(-1),
        expires: None,
        topic_id: None,
    };
    CommitPart { topic: topic.into(), topic_id: None, partition: PartitionIndex(partition), value }
}

/// How a group is not described.
fn missing<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal::new(ErrorCode::GroupIdNotFound, format!("Group {GROUP} {why}.")))
}
