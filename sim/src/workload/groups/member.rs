//! One member of a group: when it does what.

use std::collections::BTreeMap;

use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, GroupAction, Key};

use super::Plan;
use super::line::{Heard, Line};
use super::wire::{self, Identity};
use crate::actor::{ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{MS, SEC};
use crate::swarm::Protocols;
use crate::workload::did;

/// A typical pause between two requests of a member.
const PAUSE: u64 = 150 * MS;

/// How far a member has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is in no generation.
    Outside,
    /// It joined; the leader knows who gets what.
    Joined(BTreeMap<String, Vec<Key>>),
    /// It joined, and will never ask for its part: it sends heartbeats until it is out.
    Stalled,
    /// It has its partitions.
    Settled,
}

/// A request under way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Find,
    Join,
    Sync,
    Heartbeat,
    Leave,
    Commit,
    Fetch,
    /// The ids of topics.
    Names,
    /// A heartbeat of the consumer protocol.
    Beat,
    /// The last heartbeat of the consumer protocol.
    LastBeat,
}

/// A member and its connection.
pub(super) struct Member {
    pub(super) process: u64,
    line: Line,
    pub(super) me: Identity,
    pub(super) stage: Stage,
    pub(super) owned: Vec<Key>,
    /// Its coordinator assigns; otherwise a leader does.
    pub(super) assigned_by_coordinator: bool,
    /// The coordinator waits to hear what it has.
    pub(super) report: bool,
    /// It asked for its part of this generation; the answer may have been lost.
    pub(super) asked_part: bool,
    /// It knows where its coordinator is.
    pub(super) found: bool,
    /// It has fetched what is committed since its connection stands.
    pub(super) read: bool,
    pub(super) ask: Option<Ask>,
    /// Its coordinator could not answer: it takes its time.
    pub(super) slow: bool,
    /// It has nothing left to do.
    pub(super) ended: bool,
    next: Option<Instant>,
}

impl Member {
    pub(super) fn new(
        group: &str,
        process: u64,
        index: u64,
        instance: Option<String>,
        protocols: Protocols,
    ) -> Self {
        let assigned_by_coordinator = match protocols {
            Protocols::Classic => false,
            Protocols::Consumer => true,
            Protocols::Mixed => index % 2 == 1,
        };
        Self {
            process,
            // As in real life, members of a group call themselves alike.
            line: Line::new(format!("{group}-client"), index << 32),
            me: Identity::new(group, instance),
            stage: Stage::Outside,
            owned: Vec::new(),
            assigned_by_coordinator,
            report: false,
            asked_part: false,
            found: false,
            read: false,
            ask: None,
            slow: false,
            ended: false,
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
                self.on_answer(reader, plan, choices, fx);
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
        // A coordinator that began anew knows only who is a member, not who has synced.
        if self.stage == Stage::Stalled {
            self.leave_generation();
        }
        let pause = choices.heavy(Stream::Workload, "redial", 50 * MS).min(SEC);
        self.next = Some(Instant(now.mono.0 + pause));
    }

    pub(super) fn hang_up(&mut self, fx: &mut Vec<ActorEffect>) {
        self.line.hang_up(fx);
        (self.ask, self.next) = (None, None);
    }

    fn pause(&self, choices: &mut Choices) -> u64 {
        let under_way = !self.found || !self.read || matches!(self.stage, Stage::Joined(_));
        let typical = if under_way && !self.slow { MS } else { PAUSE };
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
            _ if self.assigned_by_coordinator => self.act_in_epoch(now, plan, choices, fx),
            Stage::Outside => self.send(now, Ask::Join, plan, choices, fx),
            Stage::Joined(_) => self.choose_joined(now, plan, choices, fx),
            Stage::Stalled => self.send(now, Ask::Heartbeat, plan, choices, fx),
            Stage::Settled if plan.finishing => self.send(now, Ask::Leave, plan, choices, fx),
            Stage::Settled => self.choose(now, plan, choices, fx),
        }
    }

    /// What a member does next whose coordinator assigns.
    fn act_in_epoch(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let ask = match &self.stage {
            _ if !plan.knows_names() => Ask::Names,
            Stage::Outside | Stage::Joined(_) | Stage::Stalled => Ask::Beat,
            Stage::Settled if self.report => Ask::Beat,
            Stage::Settled if plan.finishing && plan.deleted => Ask::LastBeat,
            Stage::Settled if plan.finishing => Ask::Beat,
            Stage::Settled => return self.choose(now, plan, choices, fx),
        };
        self.send(now, ask, plan, choices, fx);
    }

    fn choose_protocol(&mut self, plan: &Plan, choices: &mut Choices) {
        self.assigned_by_coordinator = match plan.protocols {
            Protocols::Classic => false,
            Protocols::Consumer => true,
            Protocols::Mixed => choices.chance(Stream::Workload, "consumer-protocol", 500_000),
        };
    }

    fn choose_joined(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        match choices.below(Stream::Workload, "joined", 100) {
            0..=2 if !plan.finishing => self.crash(now, plan, choices, fx),
            // A static one may have come back to a generation that waits for nobody.
            3..=10 if !plan.finishing && !self.me.is_static() && !self.asked_part => {
                self.stall(fx);
                self.send(now, Ask::Heartbeat, plan, choices, fx);
            }
            _ => self.send(now, Ask::Sync, plan, choices, fx),
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
            0..=2 if self.assigned_by_coordinator => Ask::LastBeat,
            0..=2 => Ask::Leave,
            3..=4 => {
                let silence = u64::from(plan.session_timeout_ms.unsigned_abs()) * MS * 3 / 2;
                self.next = Some(Instant(now.mono.0 + silence));
                return;
            }
            5..=6 => return self.crash(now, plan, choices, fx),
            7..=26 => self.heartbeat(),
            27..=50 => Ask::Fetch,
            _ if self.owned.iter().all(|key| plan.rests(now, key)) => self.heartbeat(),
            _ => Ask::Commit,
        };
        self.send(now, ask, plan, choices, fx);
    }

    fn heartbeat(&self) -> Ask {
        if self.assigned_by_coordinator { Ask::Beat } else { Ask::Heartbeat }
    }

    /// Ends without a word, and comes back as another process that knows nothing.
    fn crash(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        self.did(GroupAction::Out, fx);
        self.hang_up(fx);
        self.process = plan.next_process;
        plan.next_process += 1;
        self.choose_protocol(plan, choices);
        self.forget_member();
        self.next = Some(Instant(now.mono.0 + MS));
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
                let join = me.join(plan.session_timeout_ms, plan.topics());
                line.ask(now, wire::JOIN_VERSION, &join, fx);
            }
            Ask::Sync => {
                self.asked_part = true;
                let assigned = match &self.stage {
                    Stage::Joined(assigned) => me.sync(assigned),
                    Stage::Outside | Stage::Stalled | Stage::Settled => me.sync(&BTreeMap::new()),
                };
                line.ask(now, wire::SYNC_VERSION, &assigned, fx);
            }
            Ask::Heartbeat => line.ask(now, wire::HEARTBEAT_VERSION, &me.heartbeat(), fx),
            Ask::Leave => line.ask(now, wire::LEAVE_VERSION, &me.leave(), fx),
            Ask::Commit => self.commit(now, plan, choices, fx),
            Ask::Fetch => line.ask(now, wire::FETCH_VERSION, &me.fetch(&plan.keys), fx),
            Ask::Names => self.ask_names(now, fx),
            Ask::Beat => self.beat(now, plan, choices, fx),
            Ask::LastBeat => self.leave_by_heartbeat(now, plan, choices, fx),
        }
    }

    fn commit(
        &mut self,
        now: Now,
        plan: &mut Plan,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let owned: Vec<&Key> = self.owned.iter().filter(|key| !plan.rests(now, key)).collect();
        let some = choices.range(Stream::Workload, "committed", 1, owned.len().max(1) as u64);
        let mut offsets = Vec::new();
        for key in owned.into_iter().take(some as usize) {
            let next = plan.next.entry(key.clone()).or_insert(1);
            offsets.push((key.clone(), *next));
            *next += 1;
        }
        self.line.ask(now, wire::COMMIT_VERSION, &self.me.commit(&offsets), fx);
        self.did(GroupAction::Commit { generation: self.me.generation, offsets }, fx);
    }

    pub(super) fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    pub(super) fn did(&self, action: GroupAction, fx: &mut Vec<ActorEffect>) {
        did(self.process, Action::Group { group: self.me.group.clone(), action }, fx);
    }

    /// Its group will wait for it in vain.
    pub(super) fn stall(&mut self, fx: &mut Vec<ActorEffect>) {
        self.stage = Stage::Stalled;
        let limit_ms = u64::from(wire::REBALANCE_TIMEOUT_MS.unsigned_abs());
        self.did(GroupAction::Stalls { limit_ms }, fx);
    }

    /// It is no member any more.
    pub(super) fn forget_member(&mut self) {
        self.me.member.clear();
        self.leave_generation();
    }

    pub(super) fn leave_generation(&mut self) {
        (self.stage, self.report) = (Stage::Outside, false);
        self.owned.clear();
    }

    pub(super) fn deadline(&self, plan: &Plan) -> Deadline {
        let next = self.next.filter(|_| !self.is_done(plan));
        earlier(self.line.deadline(), next.map(|at| (at, "the next request")))
    }

    /// Every rebalance ends (G10): it has settled once more since it was asked to finish.
    pub(super) fn is_done(&self, plan: &Plan) -> bool {
        plan.finishing && self.ask.is_none() && self.ended
    }

    pub(super) fn status(&self) -> String {
        let Self { process, stage, me, ask, .. } = self;
        format!("member{process} {stage:?} in {} waits for {ask:?}", me.generation)
    }
}
