//! The classic protocol: joining, and getting an assignment.
//!
//! State: out, joining, leading (as the leader: waiting to know all topics), syncing, stable. A wish
//! to join again is carried out once the application polls and what has to be given up is given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::consumer_protocol::{PROTOCOL_TYPE, decode_assignment, encode_subscription};
use dohle_wire::message::consumer_protocol_subscription::TopicPartition as OwnedPartitions;
use dohle_wire::message::join_group_request::JoinGroupRequestProtocol;
use dohle_wire::message::{
    ConsumerProtocolSubscription, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest,
};
use dohle_wire::{ApiKey, ErrorCode};

use super::io::GroupError;
use super::lead::Lead;
use super::{Ask, Group, Tags, assign, by_topic};
use crate::config::Strategy;
use crate::machine::cluster::{Answer, Cluster, Peer};
use crate::machine::time::Earliest;
use crate::machine::{Now, TopicPartition};

/// Newest version of what members say to one another.
const SUBSCRIPTION: i16 = 3;

/// How much longer than the members may take the answer to a join may be on its way, as in Kafka.
const JOIN_SLACK: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default)]
pub(super) enum Stage {
    #[default]
    Out,
    Joining,
    Leading(Box<Lead>),
    Syncing,
    Stable,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Classic {
    pub(super) stage: Stage,
    /// There is a reason to join.
    wanted: bool,
    /// What has to be given up before joining is on its way out.
    prepared: bool,
    failures: u32,
    not_before: Duration,
    strategy: Option<Strategy>,
    /// The topics with which the member joined.
    joined: BTreeSet<Arc<str>>,
    /// As the leader: what the assignment was made from.
    pub(super) led: Option<assign::Counts>,
    /// The last assignment, and its generation, for sticky members.
    last: (BTreeSet<TopicPartition>, i32),
    pub(super) heartbeat_at: Duration,
    pub(super) heartbeat_asked: bool,
}

impl Classic {
    /// Whether a join is under way.
    pub(super) const fn is_joining(&self) -> bool {
        !matches!(self.stage, Stage::Out | Stage::Stable)
    }

    /// Topics that the leader has to know.
    pub(super) fn interest(&self) -> impl Iterator<Item = &Arc<str>> {
        let leading = match &self.stage {
            Stage::Leading(lead) => Some(lead.topics.iter()),
            _ => None,
        };
        leading.into_iter().flatten().chain(self.led.iter().flat_map(BTreeMap::keys))
    }

    pub(super) fn reset(&mut self) {
        self.stage = Stage::Out;
        self.wanted = true;
        self.prepared = false;
        self.led = None;
        self.heartbeat_asked = false;
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        if self.wanted {
            earliest.at(self.not_before, "join back-off");
        }
        if matches!(self.stage, Stage::Stable) {
            earliest.at(self.heartbeat_at, "heartbeat.interval.ms");
        }
    }
}

impl Group {
    /// Whether members keep what does not move.
    pub(super) fn is_cooperative(&self) -> bool {
        self.settings().strategies.iter().all(|each| *each == Strategy::CooperativeSticky)
    }

    /// There is a reason to join.
    pub(super) const fn rejoin(&mut self) {
        if !self.classic.wanted {
            self.classic.wanted = true;
            self.invited = self.polling;
        }
    }

    pub(super) fn drive_classic<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        if matches!(self.classic.stage, Stage::Stable) {
            let unsure = std::mem::take(&mut self.unsure);
            if unsure && (self.topics != self.classic.joined || self.led_otherwise(cluster)) {
                self.rejoin();
            }
            self.heartbeat(now, cluster);
        }
        if let Stage::Leading(_) = self.classic.stage {
            self.lead(now, cluster);
        }
        let may_join = matches!(self.classic.stage, Stage::Out | Stage::Stable);
        let due = self.classic.wanted && self.invited && self.classic.not_before <= now.mono;
        if may_join && due && self.prepare() {
            self.join(now, cluster);
        }
    }

    /// Gives up what may not be kept over a rebalance; gives whether that is done.
    fn prepare(&mut self) -> bool {
        if !self.handover.is_idle() {
            return false;
        }
        if !self.classic.prepared {
            self.classic.prepared = true;
            let owned = self.handover.owned();
            let kept =
                |at: &&TopicPartition| self.is_cooperative() && self.topics.contains(&at.topic);
            let gone = owned.iter().filter(|at| !kept(at)).cloned().collect();
            self.handover.revoke(gone);
        }
        self.handover.is_idle()
    }

    fn join<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let Some(peer) = self.coordinator.ready(now, cluster, &self.id) else { return };
        let Some(version) = cluster.version(peer, ApiKey::JoinGroup, i16::MAX) else {
            return self.die(GroupError::Unsupported);
        };
        let Ok(protocols) = self.protocols() else {
            return self.die(GroupError::Refused(ErrorCode::InvalidRequest));
        };
        let ms = |span: Duration| i32::try_from(span.as_millis()).unwrap_or(i32::MAX);
        let request = JoinGroupRequest {
            group_id: self.id.clone(),
            session_timeout_ms: ms(self.settings().session_timeout),
            rebalance_timeout_ms: ms(self.settings().max_poll_interval),
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id(version >= 5),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols,
            reason: None,
        };
        let patience = match version {
            0 => self.settings().session_timeout,
            _ => self.settings().max_poll_interval,
        };
        let patience = patience.saturating_add(JOIN_SLACK);
        self.attempt += 1;
        let tag = Ask::Join(self.attempt).into();
        match cluster.send_patiently(now, (peer, version), &request, tag, patience) {
            Ok(()) => {
                self.classic.wanted = false;
                self.classic.led = None;
                self.classic.joined.clone_from(&self.topics);
                self.classic.stage = Stage::Joining;
            }
            Err(_) => self.die(GroupError::Refused(ErrorCode::InvalidRequest)),
        }
    }

    /// What the member says, once for each strategy.
    fn protocols(&self) -> Result<Vec<JoinGroupRequestProtocol>, dohle_wire::EncodeError> {
        let owned = by_topic(self.handover.owned());
        let owned = owned
            .into_iter()
            .map(|(topic, partitions)| OwnedPartitions { topic: topic.to_string(), partitions });
        let (last, generation) = &self.classic.last;
        let rack = &self.config.client_rack;
        let subscription = ConsumerProtocolSubscription {
            topics: self.topics.iter().map(ToString::to_string).collect(),
            user_data: None,
            owned_partitions: owned.collect(),
            generation_id: self.generation,
            rack_id: (!rack.is_empty()).then(|| rack.clone()),
        };
        let of = |strategy: &Strategy| {
            let user_data = assign::of_member(*strategy, last, *generation);
            let subscription = ConsumerProtocolSubscription { user_data, ..subscription.clone() };
            let metadata = encode_subscription(&subscription, SUBSCRIPTION)?;
            Ok(JoinGroupRequestProtocol { name: strategy.name().to_owned(), metadata })
        };
        self.settings().strategies.iter().map(of).collect()
    }

    pub(super) fn on_joined<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
        answer: &Answer<T>,
    ) {
        if attempt != self.attempt || !matches!(self.classic.stage, Stage::Joining) {
            return;
        }
        let Ok(response) = answer.decode::<JoinGroupRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.on_join_lost(now, cluster, attempt);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => self.on_generation(now, cluster, response),
            ErrorCode::MemberIdRequired => {
                self.member_id = response.member_id;
                self.classic.stage = Stage::Out;
                self.classic.wanted = true;
            }
            code => self.on_refusal(now, cluster, code),
        }
    }

    /// A join or sync was refused: joins again, unless that is of no use.
    fn on_refusal<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, code: ErrorCode) {
        match code {
            code if self.mends(code) || code == ErrorCode::RebalanceInProgress => {}
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
                self.reset(code == ErrorCode::IllegalGeneration);
                self.invited = true;
            }
            ErrorCode::FencedInstanceId => return self.die(GroupError::Fenced),
            code => {
                self.fail(GroupError::Refused(code));
                self.invited = false;
            }
        }
        self.join_again(now, cluster);
    }

    fn on_generation<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        response: JoinGroupResponse,
    ) {
        self.classic.failures = 0;
        self.generation = response.generation_id;
        self.member_id.clone_from(&response.member_id);
        let strategy = response.protocol_name.as_deref().and_then(Strategy::from_name);
        let Some(strategy) = strategy.filter(|each| self.settings().strategies.contains(each))
        else {
            return self.die(GroupError::Refused(ErrorCode::InconsistentGroupProtocol));
        };
        self.classic.strategy = Some(strategy);
        if response.leader == response.member_id && !response.skip_assignment {
            match Lead::new(strategy, response.members) {
                Some(lead) => {
                    self.classic.stage = Stage::Leading(Box::new(lead));
                    self.curious = true;
                }
                None => self.die(GroupError::Refused(ErrorCode::InconsistentGroupProtocol)),
            }
        } else {
            // A leader that is back finds its members as it left them, and leads again.
            if response.leader == response.member_id {
                self.classic.led = Lead::new(strategy, response.members).map(|l| l.counts(cluster));
                self.curious = true;
            }
            self.sync(now, cluster, Vec::new());
        }
    }

    pub(super) fn sync<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        assignments: Vec<dohle_wire::message::sync_group_request::SyncGroupRequestAssignment>,
    ) {
        let Some(peer) = self.coordinator.ready(now, cluster, &self.id) else {
            return self.join_again(now, cluster);
        };
        let Some(version) = cluster.version(peer, ApiKey::SyncGroup, i16::MAX) else {
            return self.die(GroupError::Unsupported);
        };
        let request = SyncGroupRequest {
            group_id: self.id.clone(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id(version >= 3),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: self.classic.strategy.map(|strategy| strategy.name().to_owned()),
            assignments,
        };
        let patience = self.settings().max_poll_interval.saturating_add(JOIN_SLACK);
        let tag = Ask::Sync(self.attempt).into();
        match cluster.send_patiently(now, (peer, version), &request, tag, patience) {
            Ok(()) => self.classic.stage = Stage::Syncing,
            Err(_) => self.die(GroupError::Refused(ErrorCode::InvalidRequest)),
        }
    }

    pub(super) fn on_synced<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
        answer: &Answer<T>,
    ) {
        if attempt != self.attempt || !matches!(self.classic.stage, Stage::Syncing) {
            return;
        }
        let Ok(response) = answer.decode::<SyncGroupRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.on_join_lost(now, cluster, attempt);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => self.on_assigned(now, response.assignment),
            code => self.on_refusal(now, cluster, code),
        }
    }

    fn on_assigned(&mut self, now: Now, assignment: bytes::Bytes) {
        // A leader that knows of no partitions for a member may send nothing at all.
        let decoded = match assignment.is_empty() {
            true => Ok(Vec::new()),
            false => decode_assignment(assignment).map(|(decoded, _)| decoded.assigned_partitions),
        };
        let Ok(topics) = decoded else {
            return self.die(GroupError::Refused(ErrorCode::InconsistentGroupProtocol));
        };
        let parts: BTreeSet<TopicPartition> = topics
            .into_iter()
            .flat_map(|of| {
                let topic: Arc<str> = of.topic.into();
                let at = move |index| TopicPartition::new(Arc::clone(&topic), index);
                of.partitions.into_iter().map(at)
            })
            .collect();
        self.classic.stage = Stage::Stable;
        self.classic.prepared = false;
        self.unsure = true;
        self.classic.heartbeat_asked = false;
        self.classic.heartbeat_at = now.mono.saturating_add(self.settings().heartbeat_interval);
        self.classic.last = (parts.clone(), self.generation);
        let owned = self.handover.owned();
        let gone: BTreeSet<TopicPartition> = owned.difference(&parts).cloned().collect();
        let fresh = parts.difference(owned).cloned().collect();
        // What was given up is free for others in the next generation.
        if !gone.is_empty() {
            self.rejoin();
        }
        self.handover.revoke(gone);
        self.handover.assign(fresh);
    }

    /// An attempt failed; the next one follows.
    pub(super) fn join_again<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let wait = cluster.retry_wait(self.classic.failures);
        self.classic.failures = self.classic.failures.saturating_add(1);
        self.classic.not_before = now.mono.saturating_add(wait);
        self.classic.stage = Stage::Out;
        self.classic.wanted = true;
    }

    pub(super) fn on_join_lost<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
    ) {
        if attempt == self.attempt && self.classic.is_joining() {
            self.join_again(now, cluster);
        }
    }

    /// The coordinator, if it can be asked at once.
    pub(super) fn coordinator<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
    ) -> Option<Peer> {
        self.coordinator.ready(now, cluster, &self.id)
    }
}
