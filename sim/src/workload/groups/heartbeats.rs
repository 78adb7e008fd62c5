//! Members whose coordinator assigns (KIP-848): what they send, and what they make of answers.
//!
//! A member joins with epoch 0 and heartbeats in the epoch that it is told. Partitions that are
//! missing from its assignment are given up at once and reported with the next heartbeat; some
//! members never report, and are out in the end.

use dohle_core::time::Now;
use dohle_jepsen::{GroupAction, Key};
use dohle_wire::ErrorCode;
use dohle_wire::codec::Reader;
use dohle_wire::id::Uuid;
use dohle_wire::message::consumer_group_heartbeat_request::TopicPartitions;
use dohle_wire::message::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, MetadataRequest,
};

use super::Plan;
use super::line::answer;
use super::member::{Member, Stage};
use super::wire;
use crate::actor::ActorEffect;
use crate::choice::{Choices, Stream};

/// The epoch with which a member leaves for good.
const LEAVE: i32 = -1;

/// The epoch with which a static member leaves that will be back.
const LEAVE_FOR_NOW: i32 = -2;

/// Topics have ids here.
pub(super) const NAMES_VERSION: i16 = 12;

impl Member {
    /// Joins, or says that it is there; says what it has if the coordinator waits to hear it.
    pub(super) fn beat(
        &mut self,
        now: Now,
        plan: &Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let joins = self.stage == Stage::Outside;
        if joins {
            // Whatever it was before, that is over.
            self.did(GroupAction::Out, fx);
        }
        if joins && self.me.member.is_empty() {
            self.me.member = format!("{}-{}", self.process, plan.group);
        }
        let fewer = choices.chance(Stream::Workload, "resubscribe", 50_000);
        let mut topics = plan.topics();
        if fewer && topics.len() > 1 && !plan.expires {
            topics.pop();
        }
        let says = joins || fewer;
        let owned = (joins || self.report).then(|| plan.by_id(&self.owned));
        self.report = false;
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.me.group.clone(),
            member_id: self.me.member.clone(),
            member_epoch: if joins { 0 } else { self.me.generation },
            instance_id: self.me.instance().cloned(),
            rebalance_timeout_ms: if joins { wire::REBALANCE_TIMEOUT_MS } else { -1 },
            subscribed_topic_names: says.then_some(topics),
            topic_partitions: owned,
            ..Default::default()
        };
        self.line().ask(now, wire::BEAT_VERSION, &request, fx);
    }

    /// Says that it goes.
    pub(super) fn leave_by_heartbeat(
        &mut self,
        now: Now,
        plan: &Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let back = self.me.is_static() && !plan.finishing;
        let for_now = back && choices.chance(Stream::Workload, "back-soon", 500_000);
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.me.group.clone(),
            member_id: self.me.member.clone(),
            member_epoch: if for_now { LEAVE_FOR_NOW } else { LEAVE },
            instance_id: self.me.instance().cloned(),
            ..Default::default()
        };
        self.line().ask(now, wire::BEAT_VERSION, &request, fx);
    }

    pub(super) fn on_beaten(
        &mut self,
        reader: Reader,
        plan: &Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let beaten = answer::<ConsumerGroupHeartbeatRequest>(reader, wire::BEAT_VERSION);
        if !self.is_well(beaten.error_code, fx) {
            return;
        }
        let epoch = beaten.member_epoch;
        if self.stage == Stage::Stalled {
            return self.did(GroupAction::Alive, fx);
        }
        let news = epoch != self.me.generation || beaten.assignment.is_some();
        (self.stage, self.me.generation) = (Stage::Settled, epoch);
        match self.assigned(&beaten, plan) {
            Some(assigned) if self.stalls(&assigned, plan, choices) => self.stall(fx),
            Some(assigned) => {
                self.report = assigned != self.owned;
                self.owned = assigned;
            }
            // It holds what it has been told that it has.
            None => self.ended = plan.finishing && !plan.deleted && !self.report,
        }
        match news && self.stage != Stage::Stalled {
            true => self.tell_assigned(fx),
            false => self.did(GroupAction::Alive, fx),
        }
    }

    /// Tells the history what it has.
    pub(super) fn tell_assigned(&self, fx: &mut Vec<ActorEffect>) {
        let (epoch, id) = (self.me.generation, self.me.member.clone());
        let (member, owned) = (self.me.who().to_owned(), self.owned.clone());
        self.did(GroupAction::Assigned { epoch, member, id, owned }, fx);
    }

    /// Its partitions as it is told, if it is told of them.
    fn assigned(&self, beaten: &ConsumerGroupHeartbeatResponse, plan: &Plan) -> Option<Vec<Key>> {
        let topics = beaten.assignment.as_ref()?.topic_partitions.iter();
        let keys = topics.flat_map(|topic| {
            let name = plan.names.get(&topic.topic_id).cloned().unwrap_or_default();
            topic.partitions.iter().map(move |index| Key::new(name.clone(), *index))
        });
        let mut keys: Vec<Key> = keys.collect();
        keys.sort();
        Some(keys)
    }

    /// Now and then a member does not give up what it should.
    fn stalls(&self, assigned: &[Key], plan: &Plan, choices: &mut Choices) -> bool {
        let revoked = self.owned.iter().any(|key| !assigned.contains(key));
        revoked && !plan.finishing && choices.chance(Stream::Workload, "keeps", 60_000)
    }

    /// Whether this is what a member is told whose coordinator assigns; then it is over with it.
    pub(super) fn is_fenced(&mut self, code: ErrorCode, fx: &mut Vec<ActorEffect>) -> bool {
        match code {
            ErrorCode::FencedMemberEpoch => {
                self.did(GroupAction::Out, fx);
                self.leave_generation();
                true
            }
            // Whoever stands for the instance has to be out first.
            ErrorCode::UnreleasedInstanceId => true,
            // It learns its epoch with the next heartbeat.
            ErrorCode::StaleMemberEpoch => true,
            _ => false,
        }
    }

    pub(super) fn ask_names(&mut self, now: Now, fx: &mut Vec<ActorEffect>) {
        let all = MetadataRequest { topics: None, ..Default::default() };
        self.line().ask(now, NAMES_VERSION, &all, fx);
    }

    pub(super) fn on_names(reader: Reader, plan: &mut Plan) {
        let known = answer::<MetadataRequest>(reader, NAMES_VERSION);
        let named =
            known.topics.into_iter().filter_map(|topic| Some((topic.topic_id, topic.name?)));
        plan.names.extend(named);
    }
}

impl Plan {
    /// The topics of the workload.
    pub(super) fn topics(&self) -> Vec<String> {
        let mut topics: Vec<String> = self.keys.iter().map(|key| key.topic.clone()).collect();
        topics.dedup();
        topics
    }

    /// Whether the ids of all topics are known.
    pub(super) fn knows_names(&self) -> bool {
        self.topics().iter().all(|topic| self.names.values().any(|name| name == topic))
    }

    fn by_id(&self, keys: &[Key]) -> Vec<TopicPartitions> {
        let id =
            |topic: &str| self.names.iter().find(|(_, name)| *name == topic).map(|(id, _)| *id);
        let parts = keys.iter().map(|key| TopicPartitions {
            topic_id: id(&key.topic).unwrap_or(Uuid::ZERO),
            partitions: vec![key.partition],
        });
        parts.collect()
    }
}
