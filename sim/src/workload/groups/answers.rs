//! What a member makes of the answers that it gets.

use std::collections::BTreeMap;

use dohle_jepsen::GroupAction;
use dohle_wire::ErrorCode;
use dohle_wire::codec::Reader;
use dohle_wire::message::{
    ConsumerGroupHeartbeatRequest, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest,
    SyncGroupRequest,
};

use super::Plan;
use super::line::answer;
use super::member::{Ask, Member, Stage};
use super::wire;
use crate::actor::ActorEffect;
use crate::choice::Choices;
use crate::swarm::Protocols;

impl Member {
    pub(super) fn on_answer(
        &mut self,
        reader: Reader,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        match self.ask.take() {
            None => {}
            Some(Ask::Find) => {
                let found = answer::<FindCoordinatorRequest>(reader, wire::FIND_VERSION);
                self.found = found.coordinators.iter().all(|it| it.error_code == 0);
            }
            Some(Ask::Join) => {
                self.on_joined(answer::<JoinGroupRequest>(reader, wire::JOIN_VERSION), plan, fx);
            }
            Some(Ask::Sync) => self.on_synced(reader, plan, fx),
            Some(Ask::Heartbeat) => {
                let beaten = answer::<HeartbeatRequest>(reader, wire::HEARTBEAT_VERSION);
                if self.is_well(beaten.error_code, fx) {
                    self.did(GroupAction::Alive, fx);
                }
            }
            Some(Ask::Leave) => self.on_left(reader, plan, fx),
            Some(Ask::Commit) => self.on_committed(reader, fx),
            Some(Ask::Fetch) => self.on_fetched(reader, fx),
            Some(Ask::Names) => Self::on_names(reader, plan),
            Some(Ask::Beat) => self.on_beaten(reader, plan, choices, fx),
            Some(Ask::LastBeat) => self.on_last_beat(reader, plan, fx),
        }
    }

    fn on_joined(&mut self, joined: JoinGroupResponse, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        if joined.error_code == ErrorCode::MemberIdRequired.code() {
            self.me.member = joined.member_id;
            return;
        }
        if !self.is_well(joined.error_code, fx) {
            return;
        }
        self.asked_part = false;
        let leads = joined.leader == joined.member_id;
        (self.me.member, self.me.generation) = (joined.member_id, joined.generation_id);
        let members = joined.members.into_iter();
        let members = members.map(|member| (member.member_id, member.group_instance_id));
        let members: Option<BTreeMap<_, _>> = leads.then(|| members.collect());
        let skip = joined.skip_assignment;
        let assigned = members.as_ref().filter(|_| !skip);
        let assigned = assigned.map(|members| wire::assign(members.keys(), &plan.keys));
        self.stage = Stage::Joined(assigned.unwrap_or_default());
        if plan.protocols == Protocols::Mixed {
            return;
        }
        let (generation, id) = (self.me.generation, self.me.member.clone());
        let member = self.me.who().to_owned();
        // A leader that took the place of another is shown its generation as it is by now.
        let members = members.filter(|_| !skip);
        self.did(GroupAction::Joined { generation, member, id, members }, fx);
    }

    fn on_synced(&mut self, reader: Reader, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        let synced = answer::<SyncGroupRequest>(reader, wire::SYNC_VERSION);
        if !self.is_well(synced.error_code, fx) {
            return;
        }
        (self.stage, self.owned) = (Stage::Settled, wire::owned(synced.assignment));
        self.ended = plan.finishing && !plan.deleted;
        if plan.protocols == Protocols::Mixed {
            return self.tell_assigned(fx);
        }
        let (generation, member) = (self.me.generation, self.me.who().to_owned());
        let owned = self.owned.clone();
        self.did(GroupAction::Synced { generation, member, owned }, fx);
    }

    fn on_last_beat(&mut self, reader: Reader, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        let left = answer::<ConsumerGroupHeartbeatRequest>(reader, wire::BEAT_VERSION);
        self.ended = plan.finishing && left.error_code == 0;
        self.did(GroupAction::Out, fx);
        self.leave_generation();
    }

    fn on_left(&mut self, reader: Reader, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        let left = answer::<LeaveGroupRequest>(reader, wire::LEAVE_VERSION);
        let codes = left.members.iter().map(|member| member.error_code);
        let mut codes = codes.chain([left.error_code]);
        self.ended = plan.finishing && codes.all(|code| code == 0);
        self.did(GroupAction::Out, fx);
        self.forget_member();
    }

    fn on_committed(&mut self, reader: Reader, fx: &mut Vec<ActorEffect>) {
        let response = answer::<OffsetCommitRequest>(reader, wire::COMMIT_VERSION);
        let (mut accepted, mut refused) = (Vec::new(), Vec::new());
        for (key, code) in wire::committed(response) {
            if self.is_well(code, fx) {
                accepted.push(key);
            } else if is_refusal(code) {
                refused.push(key);
            }
        }
        for (keys, accepted) in [(accepted, true), (refused, false)] {
            if !keys.is_empty() {
                self.did(GroupAction::Committed { keys, accepted }, fx);
            }
        }
    }

    fn on_fetched(&mut self, reader: Reader, fx: &mut Vec<ActorEffect>) {
        let response = answer::<OffsetFetchRequest>(reader, wire::FETCH_VERSION);
        match wire::fetched(response) {
            Ok(offsets) => {
                self.read = true;
                self.did(GroupAction::Fetched(offsets), fx);
            }
            Err(code) => _ = self.is_well(code, fx),
        }
    }

    /// Whether there was no error; otherwise decides how to go on.
    pub(super) fn is_well(&mut self, code: i16, fx: &mut Vec<ActorEffect>) -> bool {
        self.slow = false;
        match ErrorCode::from(code) {
            ErrorCode::None => return true,
            code if self.is_fenced(code, fx) => {}
            ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId
            | ErrorCode::GroupIdNotFound => {
                self.did(GroupAction::Out, fx);
                self.forget_member();
            }
            // It will be out soon, which is what it is there for.
            ErrorCode::IllegalGeneration | ErrorCode::RebalanceInProgress
                if self.stage == Stage::Stalled => {}
            ErrorCode::IllegalGeneration | ErrorCode::RebalanceInProgress => {
                self.did(GroupAction::Rejoins, fx);
                self.leave_generation();
            }
            _ => (self.found, self.slow) = (false, true),
        }
        fx.push(ActorEffect::Note(format!("member{}: error {code}", self.process)));
        false
    }
}

/// Whether a commit with this answer is certain never to take effect.
fn is_refusal(code: i16) -> bool {
    matches!(
        ErrorCode::from(code),
        ErrorCode::IllegalGeneration
            | ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId
            | ErrorCode::RebalanceInProgress
            | ErrorCode::StaleMemberEpoch
            | ErrorCode::FencedMemberEpoch
            | ErrorCode::GroupIdNotFound
    )
}
