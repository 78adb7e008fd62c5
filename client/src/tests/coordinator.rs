//! A coordinator of groups for tests, in both protocols: strict about who may do what, simple about
//! all else. It moves without forgetting anything, as if its log were read in no time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::encode_response_header;
use dohle_wire::id::Uuid;
use dohle_wire::message::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use dohle_wire::message::join_group_response::JoinGroupResponseMember;
use dohle_wire::message::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use dohle_wire::message::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use dohle_wire::message::*;
use dohle_wire::{ApiKey, ErrorCode, Writer};

use super::broker::{Served, Topic};

/// A request that is answered, perhaps later.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    key: ApiKey,
    version: i16,
    correlation: i32,
}

impl Ticket {
    pub(crate) const fn new(key: ApiKey, version: i16, correlation: i32) -> Self {
        Self { key, version, correlation }
    }

    fn answer<M: Message>(&self, response: &M) -> Bytes {
        let mut writer = Writer::new();
        encode_response_header(&mut writer, self.key, self.version, self.correlation);
        response.encode(&mut writer, self.version).expect("a good answer");
        writer.into_bytes().expect("bytes")
    }

    fn now<M: Message>(&self, response: &M) -> Served {
        Served::Answer(self.answer(response), Duration::ZERO)
    }
}

/// Where a request came in.
pub(crate) struct Place<'a> {
    pub(crate) node: i32,
    pub(crate) topics: &'a BTreeMap<String, Topic>,
}

impl Place<'_> {
    /// The topic that a request means, by id if it gives one: its name, or what is wrong with it.
    fn topic(&self, name: String, id: Uuid) -> Result<String, (String, ErrorCode)> {
        if id == Uuid::ZERO {
            let known = self.topics.contains_key(&name);
            return if known { Ok(name) } else { Err((name, ErrorCode::UnknownTopicOrPartition)) };
        }
        let found = self.topics.iter().find(|(_, topic)| topic.id == id);
        found.map(|(name, _)| name.clone()).ok_or((name, ErrorCode::UnknownTopicId))
    }
}

type Parked = Option<(u64, Ticket)>;

#[derive(Clone, Debug, Default)]
struct Member {
    protocols: Vec<(String, Bytes)>,
    instance: Option<String>,
    session: Duration,
    patience: Duration,
    dead_at: Duration,
    join: Parked,
    sync: Parked,
    assignment: Bytes,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Empty,
    Preparing,
    Completing,
    Stable,
}

/// A classic group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classic {
    members: BTreeMap<String, Member>,
    pub(crate) generation: i32,
    phase: Phase,
    leader: String,
    protocol: String,
    until: Duration,
}

type Parts = BTreeSet<(Uuid, i32)>;

/// A member of a group of the consumer protocol.
#[derive(Clone, Debug, Default)]
struct Modern {
    epoch: i32,
    names: Vec<String>,
    regex: Option<String>,
    instance: Option<String>,
    /// What it may have and has not said to have given up.
    held: Parts,
    target: Parts,
    told: Option<Parts>,
    dead_at: Duration,
}

/// Committed: offset, leader epoch, note.
pub(crate) type Committed = (i64, i32, String);

/// See the module.
#[derive(Debug)]
pub(crate) struct Coordinator {
    /// Who coordinates; 0 for nobody.
    pub(crate) node: i32,
    pub(crate) classic: Classic,
    modern: BTreeMap<String, Modern>,
    pub(crate) epoch: i32,
    pub(crate) offsets: BTreeMap<(String, i32), Committed>,
    /// Codes for the next requests of a kind.
    pub(crate) faults: VecDeque<(ApiKey, ErrorCode)>,
    /// Who left, in order: member or instance id, and the epoch said.
    pub(crate) left: Vec<(String, i32)>,
    /// All commits that were accepted.
    pub(crate) commits: Vec<(String, i32, i64)>,
    pub(crate) size_max: usize,
    /// Ids that were given out and not used yet.
    pending: BTreeSet<String>,
    now: Duration,
    next: u64,
    ready: BTreeMap<u64, Bytes>,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self {
            node: 1,
            classic: Classic::default(),
            modern: BTreeMap::new(),
            epoch: 0,
            offsets: BTreeMap::new(),
            faults: VecDeque::new(),
            left: Vec::new(),
            commits: Vec::new(),
            size_max: usize::MAX,
            pending: BTreeSet::new(),
            now: Duration::ZERO,
            next: 0,
            ready: BTreeMap::new(),
        }
    }
}

impl Coordinator {
    pub(crate) fn is_ready(&self, ticket: u64) -> bool {
        self.ready.contains_key(&ticket)
    }

    pub(crate) fn take(&mut self, ticket: u64) -> Option<Bytes> {
        self.ready.remove(&ticket)
    }

    /// Members of the group.
    pub(crate) fn size(&self) -> usize {
        self.classic.members.len() + self.modern.len()
    }

    pub(crate) fn has_member(&self, id: &str) -> bool {
        self.classic.members.contains_key(id) || self.modern.contains_key(id)
    }

    /// Makes the group forget a member.
    pub(crate) fn expel(&mut self) {
        let all: Vec<String> = self.classic.members.keys().cloned().collect();
        all.iter().for_each(|id| self.remove(id));
        self.modern.clear();
        self.epoch += 1;
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        let alive = self.classic.members.values().filter(|member| member.join.is_none());
        let classic = alive.map(|member| member.dead_at);
        let modern = self.modern.values().map(|member| member.dead_at);
        let phase = (self.classic.phase == Phase::Preparing).then_some(self.classic.until);
        classic.chain(modern).chain(phase).min()
    }

    pub(crate) fn tick(&mut self, now: Duration) {
        self.now = self.now.max(now);
        let now = self.now;
        let alive = self.classic.members.iter().filter(|(_, member)| member.join.is_none());
        let dead = alive.filter(|(_, member)| member.dead_at <= now);
        let dead: Vec<String> = dead.map(|(id, _)| id.clone()).collect();
        dead.iter().for_each(|id| self.remove(id));
        if self.classic.phase == Phase::Preparing && self.classic.until <= now {
            self.classic.members.retain(|_, member| member.join.is_some());
            self.complete();
        }
        let dead = self.modern.iter().filter(|(_, member)| member.dead_at <= now);
        let dead: Vec<String> = dead.map(|(id, _)| id.clone()).collect();
        for id in dead {
            self.modern.remove(&id);
            self.epoch += 1;
        }
    }

    fn fault(&mut self, place: &Place<'_>, key: ApiKey) -> Option<ErrorCode> {
        if place.node != self.node {
            return Some(ErrorCode::NotCoordinator);
        }
        let at = self.faults.iter().position(|(asked, _)| *asked == key)?;
        self.faults.remove(at).map(|(_, code)| code)
    }

    fn remove(&mut self, id: &str) {
        if self.classic.members.remove(id).is_some() {
            self.prepare();
        }
    }

    fn prepare(&mut self) {
        let again = SyncGroupResponse {
            error_code: ErrorCode::RebalanceInProgress.code(),
            ..SyncGroupResponse::default()
        };
        for member in self.classic.members.values_mut() {
            if let Some((number, ticket)) = member.sync.take() {
                self.ready.insert(number, ticket.answer(&again));
            }
        }
        if self.classic.phase != Phase::Preparing {
            let patience = self.classic.members.values().map(|member| member.patience).max();
            self.classic.until = self.now + patience.unwrap_or_default();
            self.classic.phase = Phase::Preparing;
        }
        if self.classic.members.values().all(|member| member.join.is_some()) {
            self.complete();
        }
    }

    fn complete(&mut self) {
        let group = &mut self.classic;
        if group.members.is_empty() {
            group.phase = Phase::Empty;
            return;
        }
        if !group.members.contains_key(&group.leader) {
            group.leader = group.members.keys().next().expect("not empty").clone();
        }
        group.generation += 1;
        group.phase = Phase::Completing;
        let leader = &group.members[&group.leader];
        let common = |name: &str| {
            group.members.values().all(|m| m.protocols.iter().any(|(other, _)| other == name))
        };
        let choice = leader.protocols.iter().find(|(name, _)| common(name));
        group.protocol = choice.expect("checked when they joined").0.clone();
        let of = |(id, member): (&String, &Member)| JoinGroupResponseMember {
            member_id: id.clone(),
            group_instance_id: member.instance.clone(),
            metadata: member
                .protocols
                .iter()
                .find(|(name, _)| *name == group.protocol)
                .expect("common")
                .1
                .clone(),
        };
        let all: Vec<JoinGroupResponseMember> = group.members.iter().map(of).collect();
        for (id, member) in &mut group.members {
            let Some((number, ticket)) = member.join.take() else { continue };
            member.dead_at = self.now + member.session;
            member.assignment = Bytes::new();
            let response = JoinGroupResponse {
                generation_id: group.generation,
                protocol_type: Some("consumer".to_owned()),
                protocol_name: Some(group.protocol.clone()),
                leader: group.leader.clone(),
                member_id: id.clone(),
                members: if *id == group.leader { all.clone() } else { Vec::new() },
                ..JoinGroupResponse::default()
            };
            self.ready.insert(number, ticket.answer(&response));
        }
    }

    pub(crate) fn join(&mut self, place: &Place<'_>, t: Ticket, r: JoinGroupRequest) -> Served {
        let refuse = |code: ErrorCode, member_id: String| {
            let response = JoinGroupResponse {
                error_code: code.code(),
                member_id,
                protocol_name: (t.version < 7).then(String::new),
                ..JoinGroupResponse::default()
            };
            t.now(&response)
        };
        if let Some(code) = self.fault(place, ApiKey::JoinGroup) {
            return refuse(code, r.member_id);
        }
        let mut id = r.member_id.clone();
        let instance = r.group_instance_id.clone();
        let named =
            self.classic.members.iter().find(|(_, m)| instance.is_some() && m.instance == instance);
        let named = named.map(|(id, _)| id.clone());
        if !id.is_empty() && named.as_ref().is_some_and(|named| *named != id) {
            return refuse(ErrorCode::FencedInstanceId, id);
        }
        let known = self.classic.members.contains_key(&id) || self.pending.remove(&id);
        if !id.is_empty() && !known {
            return refuse(ErrorCode::UnknownMemberId, id);
        }
        let fresh = id.is_empty();
        if fresh {
            self.next += 1;
            id = format!("member-{}", self.next);
            if t.version >= 4 && instance.is_none() {
                self.pending.insert(id.clone());
                return refuse(ErrorCode::MemberIdRequired, id);
            }
        }
        if let Some(named) = named.filter(|_| fresh) {
            self.classic.members.remove(&named);
            if self.classic.leader == named {
                self.classic.leader.clone_from(&id);
            }
        }
        if !self.classic.members.contains_key(&id) && self.classic.members.len() >= self.size_max {
            return refuse(ErrorCode::GroupMaxSizeReached, id);
        }
        let protocols: Vec<(String, Bytes)> =
            r.protocols.into_iter().map(|p| (p.name, p.metadata)).collect();
        let fits = self.classic.members.iter().filter(|(other, _)| **other != id).all(|(_, m)| {
            m.protocols.iter().any(|(name, _)| protocols.iter().any(|(mine, _)| mine == name))
        });
        if !fits {
            return refuse(ErrorCode::InconsistentGroupProtocol, id);
        }
        self.next += 1;
        let number = self.next;
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).expect("not negative"));
        let member = Member {
            protocols,
            instance,
            session: ms(r.session_timeout_ms),
            patience: ms(r.rebalance_timeout_ms),
            dead_at: self.now + ms(r.session_timeout_ms),
            join: Some((number, t)),
            sync: None,
            assignment: Bytes::new(),
        };
        self.classic.members.insert(id, member);
        self.prepare();
        Served::Parked(number)
    }

    /// Whether a member may do something in a generation.
    fn member_error(&self, id: &str, generation: i32, instance: Option<&String>) -> ErrorCode {
        let named = self.classic.members.iter().find(|(_, m)| m.instance.as_ref() == instance);
        match self.classic.members.get(id) {
            _ if instance.is_some() && named.is_some_and(|(other, _)| other != id) => {
                ErrorCode::FencedInstanceId
            }
            None => ErrorCode::UnknownMemberId,
            Some(_) if generation != self.classic.generation => ErrorCode::IllegalGeneration,
            Some(_) => ErrorCode::None,
        }
    }

    pub(crate) fn sync(&mut self, place: &Place<'_>, t: Ticket, r: SyncGroupRequest) -> Served {
        let code = self.fault(place, ApiKey::SyncGroup).unwrap_or_else(|| {
            self.member_error(&r.member_id, r.generation_id, r.group_instance_id.as_ref())
        });
        let code = match (code, self.classic.phase) {
            (ErrorCode::None, Phase::Preparing) => ErrorCode::RebalanceInProgress,
            (code, _) => code,
        };
        if code != ErrorCode::None {
            return t.now(&SyncGroupResponse { error_code: code.code(), ..Default::default() });
        }
        let group = &mut self.classic;
        if group.phase == Phase::Completing && r.member_id == group.leader {
            for each in r.assignments {
                if let Some(member) = group.members.get_mut(&each.member_id) {
                    member.assignment = each.assignment;
                }
            }
            group.phase = Phase::Stable;
        }
        self.next += 1;
        let number = self.next;
        group.members.get_mut(&r.member_id).expect("a member").sync = Some((number, t));
        if group.phase == Phase::Stable {
            for member in group.members.values_mut() {
                let Some((number, ticket)) = member.sync.take() else { continue };
                member.dead_at = self.now + member.session;
                let assignment = member.assignment.clone();
                let response = SyncGroupResponse { assignment, ..SyncGroupResponse::default() };
                self.ready.insert(number, ticket.answer(&response));
            }
        }
        Served::Parked(number)
    }

    pub(crate) fn heartbeat(
        &mut self,
        place: &Place<'_>,
        t: Ticket,
        r: &HeartbeatRequest,
    ) -> Served {
        let code = self.fault(place, ApiKey::Heartbeat).unwrap_or_else(|| {
            self.member_error(&r.member_id, r.generation_id, r.group_instance_id.as_ref())
        });
        if let Some(member) = self.classic.members.get_mut(&r.member_id) {
            member.dead_at = self.now + member.session;
        }
        let code = match (code, self.classic.phase) {
            (ErrorCode::None, Phase::Preparing) => ErrorCode::RebalanceInProgress,
            (code, _) => code,
        };
        t.now(&HeartbeatResponse { error_code: code.code(), ..HeartbeatResponse::default() })
    }

    pub(crate) fn leave(&mut self, place: &Place<'_>, t: Ticket, r: &LeaveGroupRequest) -> Served {
        let code = self.fault(place, ApiKey::LeaveGroup).unwrap_or(ErrorCode::None);
        if code == ErrorCode::None {
            let ids = r.members.iter().map(|member| member.member_id.clone());
            for id in ids.chain(Some(r.member_id.clone()).filter(|id| !id.is_empty())) {
                self.left.push((id.clone(), -1));
                self.remove(&id);
            }
        }
        t.now(&LeaveGroupResponse { error_code: code.code(), ..LeaveGroupResponse::default() })
    }

    fn commit_error(&self, r: &OffsetCommitRequest) -> ErrorCode {
        let (id, epoch) = (&r.member_id, r.generation_id_or_member_epoch);
        if epoch < 0 && id.is_empty() {
            let empty = self.size() == 0;
            return if empty { ErrorCode::None } else { ErrorCode::UnknownMemberId };
        }
        if let Some(member) = self.modern.get(id) {
            return if member.epoch == epoch {
                ErrorCode::None
            } else {
                ErrorCode::StaleMemberEpoch
            };
        }
        match self.member_error(id, epoch, r.group_instance_id.as_ref()) {
            ErrorCode::None if self.classic.phase == Phase::Completing => {
                ErrorCode::RebalanceInProgress
            }
            code => code,
        }
    }

    pub(crate) fn commit(
        &mut self,
        place: &Place<'_>,
        t: Ticket,
        r: OffsetCommitRequest,
    ) -> Served {
        let code = self.fault(place, ApiKey::OffsetCommit).unwrap_or_else(|| self.commit_error(&r));
        let mut response = OffsetCommitResponse::default();
        for topic in r.topics {
            let mut parts = Vec::new();
            let (name, code) = match place.topic(topic.name, topic.topic_id) {
                Ok(name) => (name, code),
                Err(unknown) => unknown,
            };
            for part in topic.partitions {
                let index = part.partition_index;
                if code == ErrorCode::None {
                    self.commits.push((name.clone(), index, part.committed_offset));
                    let note = part.committed_metadata.unwrap_or_default();
                    let committed = (part.committed_offset, part.committed_leader_epoch, note);
                    self.offsets.insert((name.clone(), index), committed);
                }
                parts.push(OffsetCommitResponsePartition {
                    partition_index: index,
                    error_code: code.code(),
                });
            }
            let topic_id = topic.topic_id;
            response.topics.push(OffsetCommitResponseTopic { name, topic_id, partitions: parts });
        }
        t.now(&response)
    }

    pub(crate) fn fetch(&mut self, place: &Place<'_>, t: Ticket, r: OffsetFetchRequest) -> Served {
        assert!(r.require_stable, "a consumer never reads what a transaction may change");
        let code = self.fault(place, ApiKey::OffsetFetch).unwrap_or(ErrorCode::None);
        // An error of a partition, not of the request.
        let unstable = code == ErrorCode::UnstableOffsetCommit;
        let group = r.groups.into_iter().next().expect("one group");
        let of = |name: &str, index: i32, code: ErrorCode| {
            let none = (-1, -1, String::new());
            let found = self.offsets.get(&(name.to_owned(), index)).cloned().unwrap_or(none);
            OffsetFetchResponsePartitions {
                partition_index: index,
                committed_offset: found.0,
                committed_leader_epoch: found.1,
                metadata: Some(found.2),
                error_code: code.code(),
            }
        };
        let topics = group.topics.into_iter().flatten().map(|topic| {
            let (name, wrong) = match place.topic(topic.name, topic.topic_id) {
                Err((name, ErrorCode::UnknownTopicId)) => (name, ErrorCode::UnknownTopicId),
                Ok(name) | Err((name, _)) if unstable => (name, code),
                Ok(name) | Err((name, _)) => (name, ErrorCode::None),
            };
            let indexes = topic.partition_indexes.iter();
            OffsetFetchResponseTopics {
                partitions: indexes.map(|index| of(&name, *index, wrong)).collect(),
                name,
                topic_id: topic.topic_id,
            }
        });
        let response = OffsetFetchResponse {
            groups: vec![OffsetFetchResponseGroup {
                group_id: group.group_id,
                topics: topics.collect(),
                error_code: if unstable { 0 } else { code.code() },
            }],
            ..OffsetFetchResponse::default()
        };
        t.now(&response)
    }

    fn retarget(&mut self, place: &Place<'_>) {
        let ids: Vec<String> = self.modern.keys().cloned().collect();
        let mut targets: BTreeMap<String, Parts> = BTreeMap::new();
        for (name, topic) in place.topics {
            let wants = |member: &Modern| {
                let regex = member.regex.as_ref();
                let pattern =
                    regex.map(|text| crate::machine::group::Pattern::new(text).expect("good"));
                member.names.contains(name) || pattern.is_some_and(|pattern| pattern.matches(name))
            };
            let readers: Vec<&String> = ids.iter().filter(|id| wants(&self.modern[*id])).collect();
            for (index, _) in topic.logs.iter().enumerate().filter(|_| !readers.is_empty()) {
                let reader = readers[index % readers.len()].clone();
                targets.entry(reader).or_default().insert((topic.id, index as i32));
            }
        }
        for (id, member) in &mut self.modern {
            member.target = targets.remove(id).unwrap_or_default();
        }
    }

    pub(crate) fn beat(
        &mut self,
        place: &Place<'_>,
        t: Ticket,
        r: ConsumerGroupHeartbeatRequest,
    ) -> Served {
        let refuse = |code: ErrorCode| {
            let response =
                ConsumerGroupHeartbeatResponse { error_code: code.code(), ..Default::default() };
            t.now(&response)
        };
        if let Some(code) = self.fault(place, ApiKey::ConsumerGroupHeartbeat) {
            return refuse(code);
        }
        let id = r.member_id.clone();
        assert!(!id.is_empty(), "a member chooses its id");
        if r.member_epoch < 0 {
            self.left.push((id.clone(), r.member_epoch));
            if self.modern.remove(&id).is_some() {
                self.epoch += 1;
            }
            let member_epoch = r.member_epoch;
            return t.now(&ConsumerGroupHeartbeatResponse { member_epoch, ..Default::default() });
        }
        if r.member_epoch == 0 {
            assert_eq!(r.topic_partitions, Some(Vec::new()), "who joins owns nothing");
            assert!(r.rebalance_timeout_ms > 0, "who joins says all");
            let instance = r.instance_id.clone();
            self.modern.retain(|_, member| instance.is_none() || member.instance != instance);
            self.modern.insert(id.clone(), Modern { instance, ..Modern::default() });
            self.epoch += 1;
        }
        let Some(member) = self.modern.get_mut(&id) else {
            return refuse(ErrorCode::UnknownMemberId);
        };
        if r.member_epoch != member.epoch {
            return refuse(ErrorCode::FencedMemberEpoch);
        }
        member.dead_at = self.now + Duration::from_secs(45);
        // Who says everything may have missed an answer.
        if r.subscribed_topic_names.is_some() && r.topic_partitions.is_some() {
            member.told = None;
        }
        if r.subscribed_topic_names.is_some() || r.subscribed_topic_regex.is_some() {
            self.epoch += 1;
        }
        if let Some(names) = r.subscribed_topic_names {
            member.names = names;
        }
        if let Some(regex) = r.subscribed_topic_regex {
            member.regex = Some(regex).filter(|text| !text.is_empty());
        }
        if let Some(owned) = r.topic_partitions {
            let owned: Parts = owned
                .iter()
                .flat_map(|of| of.partitions.iter().map(|index| (of.topic_id, *index)))
                .collect();
            assert!(owned.is_subset(&member.held), "nobody owns what was not granted");
            let target = member.target.clone();
            member.held.retain(|at| target.contains(at) || owned.contains(at));
        }
        self.retarget(place);
        let taken: Parts = self
            .modern
            .iter()
            .filter(|(other, _)| **other != id)
            .flat_map(|(_, member)| member.held.iter().copied())
            .collect();
        let epoch = self.epoch;
        let member = self.modern.get_mut(&id).expect("just seen");
        let keeps: Parts = member.held.intersection(&member.target).copied().collect();
        if keeps.len() == member.held.len() {
            member.held = member.target.difference(&taken).copied().collect();
            member.epoch = epoch;
        }
        let said: Parts = member.held.intersection(&member.target).copied().collect();
        let news = r.member_epoch == 0 || member.told.as_ref() != Some(&said);
        member.told = Some(said.clone());
        let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        said.iter().for_each(|(topic, index)| topics.entry(*topic).or_default().push(*index));
        let topics = topics.into_iter();
        let topic_partitions =
            topics.map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions });
        let assignment = Assignment { topic_partitions: topic_partitions.collect() };
        t.now(&ConsumerGroupHeartbeatResponse {
            member_id: Some(id),
            member_epoch: member.epoch,
            heartbeat_interval_ms: 5000,
            assignment: news.then_some(assignment),
            ..ConsumerGroupHeartbeatResponse::default()
        })
    }
}
