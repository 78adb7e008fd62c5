//! One member of a group.

use std::collections::{BTreeMap, BTreeSet};

use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, GroupAction, Key};
use dohle_wire::ErrorCode;
use dohle_wire::codec::Reader;
use dohle_wire::message::{
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};

use super::line::{Heard, Line, answer};
use super::wire::{self, Identity};
use super::{Errand, Plan};
use crate::actor::{ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{MS, SEC};
use crate::workload::did;

/// A typical pause between two requests of a member.
const PAUSE: u64 = 150 * MS;

/// How far a member has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// It is in no generation.
    Outside,
    /// It joined; the leader knows who gets what.
    Joined(BTreeMap<String, Vec<Key>>),
    /// It has its partitions.
    Settled,
}

/// A request under way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ask {
    Find,
    Join,
    Sync,
    Heartbeat,
    Leave,
    Commit,
    Fetch,
}

/// A member and its connection.
pub(super) struct Member {
    process: u64,
    line: Line,
    me: Identity,
    stage: Stage,
    owned: Vec<Key>,
    /// It knows where its coordinator is.
    found: bool,
    /// It has fetched what is committed since its connection stands.
    read: bool,
    ask: Option<Ask>,
    next: Option<Instant>,
}

impl Member {
    pub(super) fn new(group: &str, process: u64, index: u64) -> Self {
        let me = Identity { group: group.to_owned(), member: String::new(), generation: -1 };
        Self {
            process,
            line: Line::new(format!("member{process}"), index << 32),
            me,
            stage: Stage::Outside,
            owned: Vec::new(),
            found: false,
            read: false,
            ask: None,
            next: None,
        }
    }

    pub(super) fn on(
        &mut self,
        now: Now,
        input: &ActorInput,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        match self.line.hear(now, input, fx) {
            Heard::Nothing => {}
            Heard::Up => (self.found, self.read, self.next) = (false, false, Some(now.mono)),
            Heard::Down => self.on_down(now, choices),
            Heard::Answer(reader) => {
                self.on_answer(reader, plan, fx);
                self.next = Some(Instant(now.mono.0 + self.pause(choices)));
            }
        }
        if matches!(input, ActorInput::Start) {
            self.next = Some(now.mono);
        }
        if self.line.is_down() && self.next.is_none() {
            self.on_down(now, choices);
        }
        if !self.is_done(plan) && self.next.is_some_and(|at| at <= now.mono) {
            self.next = None;
            self.act(now, plan, choices, fx);
        }
    }

    fn on_down(&mut self, now: Now, choices: &mut Choices) {
        self.ask = None;
        let pause = choices.heavy(Stream::Workload, "redial", 50 * MS).min(SEC);
        self.next = Some(Instant(now.mono.0 + pause));
    }

    pub(super) fn hang_up(&mut self, fx: &mut Vec<ActorEffect>) {
        self.line.hang_up(fx);
        (self.ask, self.next) = (None, None);
    }

    fn pause(&self, choices: &mut Choices) -> u64 {
        let under_way = !self.found || !self.read || matches!(self.stage, Stage::Joined(_));
        let typical = if under_way { MS } else { PAUSE };
        choices.heavy(Stream::Workload, "member-pause", typical).min(4 * PAUSE)
    }

    fn act(&mut self, now: Now, plan: &mut Plan, choices: &mut Choices, fx: &mut Vec<ActorEffect>) {
        if self.line.is_down() {
            return self.line.dial(now, fx);
        }
        if !self.line.is_idle() {
            return;
        }
        match &self.stage {
            _ if !self.found => self.send(now, Ask::Find, plan, choices, fx),
            _ if !self.read => self.send(now, Ask::Fetch, plan, choices, fx),
            Stage::Outside => self.send(now, Ask::Join, plan, choices, fx),
            Stage::Joined(_) => self.send(now, Ask::Sync, plan, choices, fx),
            Stage::Settled => self.choose(now, plan, choices, fx),
        }
    }

    fn choose(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let ask = match choices.below(Stream::Workload, "member", 100) {
            0..=2 => Ask::Leave,
            3..=4 => {
                let silence = u64::from(plan.session_timeout_ms.unsigned_abs()) * MS * 3 / 2;
                self.next = Some(Instant(now.mono.0 + silence));
                return;
            }
            5..=24 => Ask::Heartbeat,
            25..=49 => Ask::Fetch,
            _ if self.owned.is_empty() => Ask::Heartbeat,
            _ => Ask::Commit,
        };
        self.send(now, ask, plan, choices, fx);
    }

    fn send(
        &mut self,
        now: Now,
        ask: Ask,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        self.ask = Some(ask);
        self.did(GroupAction::Asked, fx);
        let (line, me) = (&mut self.line, &self.me);
        match ask {
            Ask::Find => line.ask(now, wire::FIND_VERSION, &me.find(), fx),
            Ask::Join => {
                let mut topics: Vec<String> = plan.keys.iter().map(|k| k.topic.clone()).collect();
                topics.dedup();
                let join = me.join(plan.session_timeout_ms, topics);
                line.ask(now, wire::JOIN_VERSION, &join, fx);
            }
            Ask::Sync => {
                let assigned = match &self.stage {
                    Stage::Joined(assigned) => me.sync(assigned),
                    Stage::Outside | Stage::Settled => me.sync(&BTreeMap::new()),
                };
                line.ask(now, wire::SYNC_VERSION, &assigned, fx);
            }
            Ask::Heartbeat => line.ask(now, wire::HEARTBEAT_VERSION, &me.heartbeat(), fx),
            Ask::Leave => line.ask(now, wire::LEAVE_VERSION, &me.leave(), fx),
            Ask::Commit => self.commit(now, plan, choices, fx),
            Ask::Fetch => line.ask(now, wire::FETCH_VERSION, &me.fetch(&plan.keys), fx),
        }
    }

    fn commit(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let some = choices.range(Stream::Workload, "committed", 1, self.owned.len() as u64);
        let mut offsets = Vec::new();
        for key in self.owned.iter().take(some as usize) {
            let next = plan.next.entry(key.clone()).or_insert(1);
            offsets.push((key.clone(), *next));
            *next += 1;
        }
        self.line.ask(now, wire::COMMIT_VERSION, &self.me.commit(&offsets), fx);
        self.did(GroupAction::Commit { generation: self.me.generation, offsets }, fx);
    }

    fn did(&self, action: GroupAction, fx: &mut Vec<ActorEffect>) {
        did(self.process, Action::Group { group: self.me.group.clone(), action }, fx);
    }

    fn on_answer(&mut self, reader: Reader, plan: &Plan, fx: &mut Vec<ActorEffect>) {
        match self.ask.take() {
            None => {}
            Some(Ask::Find) => {
                let found = answer::<FindCoordinatorRequest>(reader, wire::FIND_VERSION);
                self.found = found.coordinators.iter().all(|it| it.error_code == 0);
            }
            Some(Ask::Join) => {
                self.on_joined(answer::<JoinGroupRequest>(reader, wire::JOIN_VERSION), plan, fx);
            }
            Some(Ask::Sync) => {
                let synced = answer::<SyncGroupRequest>(reader, wire::SYNC_VERSION);
                if self.is_well(synced.error_code, fx) {
                    (self.stage, self.owned) = (Stage::Settled, wire::owned(synced.assignment));
                    let (generation, member) = (self.me.generation, self.me.member.clone());
                    let owned = self.owned.clone();
                    self.did(GroupAction::Synced { generation, member, owned }, fx);
                }
            }
            Some(Ask::Heartbeat) => {
                let beaten = answer::<HeartbeatRequest>(reader, wire::HEARTBEAT_VERSION);
                self.is_well(beaten.error_code, fx);
            }
            Some(Ask::Leave) => {
                answer::<LeaveGroupRequest>(reader, wire::LEAVE_VERSION);
                self.me.member.clear();
                self.leave_generation();
            }
            Some(Ask::Commit) => self.on_committed(reader, fx),
            Some(Ask::Fetch) => self.on_fetched(reader, fx),
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
        let leads = joined.leader == joined.member_id;
        (self.me.member, self.me.generation) = (joined.member_id, joined.generation_id);
        let members = joined.members.into_iter().map(|member| member.member_id);
        let members: Option<BTreeSet<String>> = leads.then(|| members.collect());
        let assigned = members.as_ref().map(|members| wire::assign(members, &plan.keys));
        self.stage = Stage::Joined(assigned.unwrap_or_default());
        let (generation, member) = (self.me.generation, self.me.member.clone());
        self.did(GroupAction::Joined { generation, member, members }, fx);
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
    fn is_well(&mut self, code: i16, fx: &mut Vec<ActorEffect>) -> bool {
        match ErrorCode::from(code) {
            ErrorCode::None => return true,
            ErrorCode::UnknownMemberId => {
                self.me.member.clear();
                self.leave_generation();
            }
            ErrorCode::IllegalGeneration | ErrorCode::RebalanceInProgress => {
                self.leave_generation();
            }
            _ => self.found = false,
        }
        fx.push(ActorEffect::Note(format!("member{}: error {code}", self.process)));
        false
    }

    fn leave_generation(&mut self) {
        self.stage = Stage::Outside;
        self.owned.clear();
    }

    pub(super) fn deadline(&self, plan: &Plan) -> Deadline {
        let next = self.next.filter(|_| !self.is_done(plan));
        earlier(self.line.deadline(), next.map(|at| (at, "the next request")))
    }

    pub(super) fn is_done(&self, plan: &Plan) -> bool {
        match plan.errand {
            Errand::Commit => plan.finishing && self.ask.is_none(),
            Errand::Read => self.read,
        }
    }

    pub(super) fn status(&self) -> String {
        let Self { process, stage, me, ask, .. } = self;
        format!("member{process} {stage:?} in {} waits for {ask:?}", me.generation)
    }
}

/// Whether a commit with this answer is certain never to take effect.
fn is_refusal(code: i16) -> bool {
    matches!(
        ErrorCode::from(code),
        ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId | ErrorCode::RebalanceInProgress
    )
}
