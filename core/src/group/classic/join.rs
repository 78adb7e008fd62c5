//! JoinGroup.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;

use super::*;
use crate::group::notes::{named, said};
use crate::group::request::{Join, Joined};
use crate::mutant::Mutant;

/// A member that has not been told of its first generation sends no heartbeats, and nobody
/// notices when its connection is gone: it waits no longer than this in a join (a constant in
/// Kafka too).
const NEW_MEMBER_MS: i64 = 5 * 60 * 1000;

/// Ids that are given out and not used yet. With more, those that end first are forgotten.
const PENDING_MAX: usize = 10_000;

impl ClassicGroup {
    /// JoinGroup. The answer may wait until all members have joined.
    pub(in crate::group) fn on_join(&mut self, reply: ReplyTo, join: &Join, ctx: &mut Ctx<'_>) {
        if let Err(refusal) = self.join(reply, join, ctx) {
            ctx.answer(reply, Answer::Joined(Err(refusal)));
        }
    }

    fn join(&mut self, reply: ReplyTo, join: &Join, ctx: &mut Ctx<'_>) -> Result<(), JoinRefusal> {
        let refuse = |code| Err(JoinRefusal { code, member: Arc::clone(&join.member) });
        let settings = ctx.settings;
        let timeouts = settings.min_session_timeout_ms..=settings.max_session_timeout_ms;
        if join.group.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        if !timeouts.contains(&join.session_timeout_ms) {
            return refuse(ErrorCode::InvalidSessionTimeout);
        }
        if !self.has_room_for(join, settings.max_size) {
            return self.turn_away(&join.member, ctx);
        }
        if !self.can_work_with(join) {
            return refuse(ErrorCode::InconsistentGroupProtocol);
        }
        match join.member.is_empty() {
            true => self.join_first(reply, join, ctx),
            false => self.join_again(reply, join, ctx).or_else(refuse),
        }
    }

    /// Whoever is in stays, and so does an instance under a new id. While members join, only those
    /// who have count, so that who comes last is out when there are too many.
    fn has_room_for(&self, join: &Join, max_size: usize) -> bool {
        let stands = join.instance.as_ref().and_then(|name| self.members.of_instance(name));
        let known = self.members.get(stands.unwrap_or(&join.member));
        match self.stage {
            Stage::Empty => true,
            Stage::Joining(_) => {
                let waits = known.is_some_and(|member| member.joining.is_some());
                let joining = || self.members.iter().filter(|(_, m)| m.joining.is_some()).count();
                waits || self.members.len() < max_size || joining() < max_size
            }
            Stage::Assigning(_) | Stage::Stable(_) => {
                known.is_some() || self.members.len() < max_size
            }
        }
    }

    fn turn_away(&mut self, member: &MemberId, ctx: &mut Ctx<'_>) -> Result<(), JoinRefusal> {
        self.pending.remove(member);
        self.drop_member(member, ErrorCode::GroupMaxSizeReached, ctx);
        self.maybe_complete_join(ctx);
        let code = ErrorCode::GroupMaxSizeReached;
        Err(JoinRefusal { code, member: MemberId::default() })
    }

    /// Whether the group's members and this one have a protocol in common.
    fn can_work_with(&self, join: &Join) -> bool {
        if matches!(self.stage, Stage::Empty) {
            return !join.protocol_type.is_empty() && !join.protocols.is_empty();
        }
        let same_type = self.protocol_type.as_ref() == Some(&join.protocol_type);
        same_type && join.protocols.iter().any(|(name, _)| self.members.agree_on(name))
    }

    /// Somebody without an id.
    fn join_first(
        &mut self,
        reply: ReplyTo,
        join: &Join,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), JoinRefusal> {
        let known = |id: &str| self.members.get(id).is_some() || self.pending.contains_key(id);
        let prefix = join.instance.as_ref().unwrap_or(&join.client_id);
        let mutants = ctx.settings.mutants;
        let id = match mutants.has(Mutant::MemberIdFromTime) {
            true => format!("{prefix}-{}", self.since.unwrap_or_default().0).into(),
            false => ctx.ids.fresh(prefix, known),
        };
        let instance = join.instance.as_ref();
        if mutants.has(Mutant::InstanceReplacedWhenStable)
            && !matches!(self.stage, Stage::Stable(_))
            && let Some(name) = instance
        {
            self.members.forget_instance(name);
        }
        if let Some(old) = instance.and_then(|name| self.members.of_instance(name)).cloned() {
            self.replace(reply, &old, id, join, ctx);
        } else if join.needs_member_id && instance.is_none() {
            self.expect(&id, join, ctx.now);
            return Err(JoinRefusal { code: ErrorCode::MemberIdRequired, member: id });
        } else {
            self.admit(reply, id, join, ctx);
        }
        Ok(())
    }

    /// Somebody shall come again with the id that it is given (KIP-394): retries of a join whose
    /// answer was lost would leave members behind that nobody is.
    fn expect(&mut self, id: &MemberId, join: &Join, now: Now) {
        let until = now.mono.plus_ms(i64::from(join.session_timeout_ms));
        if self.pending.len() >= PENDING_MAX {
            let first = self.pending.iter().min_by_key(|(_, until)| **until);
            if let Some(first) = first.map(|(id, _)| Arc::clone(id)) {
                self.pending.remove(&first);
            }
        }
        self.pending.insert(Arc::clone(id), until);
        self.wake(until, "a member that was given an id");
    }

    /// Takes a new member in.
    fn admit(&mut self, reply: ReplyTo, id: MemberId, join: &Join, ctx: &mut Ctx<'_>) {
        self.pending.remove(&id);
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::clone(&join.protocol_type));
        }
        if let Stage::Joining(Joining { first: Some(first), .. }) = &mut self.stage {
            first.grew = true;
        }
        let expires = ctx.now.mono.plus_ms(NEW_MEMBER_MS);
        self.members.insert(Arc::clone(&id), Member::joining(reply, join, expires));
        self.wake(expires, "a new member");
        self.leader.get_or_insert_with(|| Arc::clone(&id));
        let why = format!("{} joined{}", named(&[id]), said(join.reason.as_ref()));
        self.rebalance_or_complete(&why, ctx);
    }

    /// Somebody with an id.
    fn join_again(
        &mut self,
        reply: ReplyTo,
        join: &Join,
        ctx: &mut Ctx<'_>,
    ) -> Result<(), ErrorCode> {
        let id = &join.member;
        if self.pending.contains_key(id) && join.instance.is_none() {
            self.admit(reply, Arc::clone(id), join, ctx);
            return Ok(());
        }
        self.members.check(id, join.instance.as_deref())?;
        let same = self.members.get(id).is_some_and(|member| member.matches(&join.protocols));
        let leads = self.leader.as_ref() == Some(id);
        match self.stage {
            Stage::Assigning(_) if same => {
                let joined = self.joined(id, false);
                ctx.answer(reply, Answer::Joined(Ok(joined)));
            }
            Stage::Stable(_) if same && !leads => {
                self.hear(id, ctx.now);
                let joined = self.joined(id, false);
                ctx.answer_committed(reply, Answer::Joined(Ok(joined)));
            }
            _ if same => self.rejoin(reply, join, "joined again", ctx),
            _ => self.rejoin(reply, join, "changed its subscription", ctx),
        }
        Ok(())
    }

    fn rejoin(&mut self, reply: ReplyTo, join: &Join, did: &str, ctx: &mut Ctx<'_>) {
        if let Some(earlier) = self.members.rejoin(reply, join) {
            // Its client has given that request up, or it would not send another one.
            let code = ErrorCode::RebalanceInProgress;
            let refusal = JoinRefusal { code, member: Arc::clone(&join.member) };
            ctx.answer(earlier, Answer::Joined(Err(refusal)));
        }
        let who = named(&[Arc::clone(&join.member)]);
        let why = format!("{who} {did}{}", said(join.reason.as_ref()));
        self.rebalance_or_complete(&why, ctx);
    }

    /// A static member was started anew and takes the place of the one that stood for its
    /// instance (KIP-345). Nobody else notices if it says the same as before.
    fn replace(
        &mut self,
        reply: ReplyTo,
        old: &MemberId,
        id: MemberId,
        join: &Join,
        ctx: &mut Ctx<'_>,
    ) {
        let Some(mut was) = self.members.remove(old) else { return };
        release(&mut was, old, ErrorCode::FencedInstanceId, ctx.fx);
        let led = self.leader.clone();
        if led.as_ref() == Some(old) {
            self.leader = Some(Arc::clone(&id));
        }
        if let Stage::Assigning(unsynced) | Stage::Stable(unsynced) = &mut self.stage
            && unsynced.members.remove(old)
        {
            unsynced.members.insert(Arc::clone(&id));
        }
        let member = Member::joining(reply, join, ctx.now.mono).in_place_of(&was);
        let same = self.says_the_same(&was, &member);
        self.members.insert(Arc::clone(&id), member);
        self.hear(&id, ctx.now);
        if matches!(self.stage, Stage::Stable(_))
            && same
            && self.members.choose_protocol() == self.protocol
        {
            return self.welcome_back(reply, &id, led, join.can_skip_assignment, ctx);
        }
        let why = format!(
            "{} took the place of {}{}",
            named(&[id]),
            named(&[Arc::clone(old)]),
            said(join.reason.as_ref())
        );
        self.rebalance_or_complete(&why, ctx);
    }

    /// Whether two members subscribe to the same topics, as far as anyone knows. Bytes are not
    /// compared: what a consumer remembers of its last generation is in them too.
    fn says_the_same(&self, was: &Member, is: &Member) -> bool {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let topics = |member: &Member| subscription::topics(&member.metadata(protocol));
        !self.is_consumer() || topics(was) == topics(is)
    }

    /// The member that took a static one's place goes on with its assignment. A leader that does
    /// not understand that it may skip the assignment (KIP-814) is not told that it leads.
    fn welcome_back(
        &mut self,
        reply: ReplyTo,
        id: &MemberId,
        led: Option<MemberId>,
        can_skip: bool,
        ctx: &mut Ctx<'_>,
    ) {
        if let Some(member) = self.members.get_mut(id) {
            member.joining = None;
        }
        let mut joined = self.joined(id, can_skip);
        if !can_skip {
            joined.leader = led.unwrap_or_default();
            joined.members = Vec::new();
        }
        self.remember(vec![(reply, Answer::Joined(Ok(joined)))], ctx);
    }

    /// What a member is told of the current generation.
    pub(super) fn joined(&self, id: &MemberId, can_skip: bool) -> Joined {
        let protocol = self.protocol.clone().unwrap_or_default();
        let leads = self.leader.as_ref() == Some(id);
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            leader: self.leader.clone().unwrap_or_default(),
            member: Arc::clone(id),
            skip_assignment: can_skip && leads,
            members: if leads { self.members.listed(&protocol) } else { Vec::new() },
            protocol,
        }
    }

    /// All members have joined, or time is up: those who have make the next generation.
    pub(super) fn begin_generation(&mut self, ctx: &mut Ctx<'_>) {
        self.protocol = self.members.choose_protocol();
        self.subscribed = self.subscriptions();
        let ids: BTreeSet<MemberId> = self.members.iter().map(|(id, _)| Arc::clone(id)).collect();
        let patient = ctx.settings.mutants.has(Mutant::NoSyncTimeout);
        let timeout_ms = if patient { i64::MAX } else { self.members.rebalance_timeout_ms() };
        let until = ctx.now.mono.plus_ms(timeout_ms);
        self.enter(Stage::Assigning(Unsynced { until, members: ids.clone() }), ctx.now);
        // The leader comes last, so that it does not overtake the others with what follows.
        let leader = self.leader.clone();
        let followers = ids.iter().filter(|id| Some(*id) != leader.as_ref());
        for id in followers.chain(&leader) {
            let joined = self.joined(id, false);
            let Some(member) = self.members.get_mut(id) else { continue };
            member.new = false;
            member.assignment = Bytes::new();
            if let Some(reply) = member.joining.take() {
                ctx.answer(reply, Answer::Joined(Ok(joined)));
            }
            self.hear(id, ctx.now);
        }
    }
}
