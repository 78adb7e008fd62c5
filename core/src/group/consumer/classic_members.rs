//! Members of a consumer group that use the classic protocol: JoinGroup says what a heartbeat of
//! the others says, SyncGroup fetches what a member may read, and a heartbeat tells it to come again
//! when there is something to give up or to be had.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::consumer_protocol::{PROTOCOL_TYPE, decode_subscription};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::ConsumerProtocolSubscription;

use super::migrate::{assignment, parts_of};
use super::*;
use crate::group::classic::ClassicGroup;
use crate::group::notes::{named, said};
use crate::group::record::{AboutMember, ClassicPart, MemberState};
use crate::group::request::{
    Answer, Caller, Join, JoinRefusal, Joined, Leave, Leaver, Sync, Synced,
};
use crate::group::{Group, Kind};
use crate::mail::ReplyTo;

/// A member is remembered with no more bytes of protocols than this: the record has to fit a batch.
const PROTOCOLS_MAX_BYTES: usize = 256 * 1024;

impl Group {
    /// JoinGroup to a consumer group. One without members is classic from now on.
    pub(in crate::group) fn on_join_consumer(
        &mut self,
        reply: ReplyTo,
        join: &Join,
        ctx: &mut Ctx<'_>,
    ) {
        let mut records = Vec::new();
        self.make_room(join, &mut records, ctx);
        let group = match &mut self.kind {
            Kind::Classic(classic) => {
                ctx.append(records, Vec::new());
                return classic.on_join(reply, join, ctx);
            }
            Kind::Consumer(group) => group,
        };
        match group.join_classic(join, &mut records, ctx) {
            Ok(joined) => ctx.append(records, vec![(reply, Answer::Joined(Ok(joined)))]),
            Err(refusal) => {
                assert!(records.is_empty(), "{}: refused after a decision", group.name);
                ctx.answer(reply, Answer::Joined(Err(refusal)));
            }
        }
    }

    /// A group without members becomes classic; so does one whose only member of the consumer
    /// protocol is replaced by this one.
    fn make_room(&mut self, join: &Join, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let Kind::Consumer(group) = &mut self.kind else { return };
        if group.is_empty() {
            out.extend(group.end());
            self.kind = Kind::Classic(ClassicGroup::new(Arc::clone(&join.group)));
            return;
        }
        let stands = join.instance.as_ref().and_then(|name| group.members.of_instance(name));
        let replaced = stands.filter(|_| join.member.is_empty()).cloned();
        let Some(id) = replaced else { return };
        let speaks = |id: &str| group.members.get(id).is_some_and(|m| m.about.classic.is_none());
        let others = group.members.len() - group.members.classic();
        if others == 1
            && group.members.len() > 1
            && speaks(&id)
            && ctx.settings.migration.downgrades
        {
            let ids = [id];
            group.remove(&ids, &format!("{} was replaced", named(&ids)), out, ctx);
            self.maybe_downgrade(out, ctx);
        }
    }

    /// LeaveGroup to a consumer group.
    pub(in crate::group) fn on_leave_consumer(
        &mut self,
        reply: ReplyTo,
        leave: &Leave,
        ctx: &mut Ctx<'_>,
    ) {
        let Kind::Consumer(group) = &mut self.kind else { return };
        let mut records = Vec::new();
        let codes = group.leave_classic(leave, &mut records, ctx);
        self.maybe_downgrade(&mut records, ctx);
        ctx.append(records, vec![(reply, Answer::Left(Ok(codes)))]);
    }
}

impl ConsumerGroup {
    fn join_classic(
        &mut self,
        join: &Join,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> Result<Joined, JoinRefusal> {
        let refuse = |code| JoinRefusal { code, member: Arc::clone(&join.member) };
        let subscription = self.check_classic(join, ctx).map_err(refuse)?;
        let taken = |id: &str| self.members.get(id).is_some();
        let id = match join.member.is_empty() {
            true => ctx.ids.fresh(join.instance.as_ref().unwrap_or(&join.client_id), taken),
            false => Arc::clone(&join.member),
        };
        if join.member.is_empty() && join.needs_member_id && join.instance.is_none() {
            return Err(JoinRefusal { code: ErrorCode::MemberIdRequired, member: id });
        }
        self.replace_static(&id, join.instance.as_ref(), out);
        let owned = subscription.owned_partitions.iter();
        let owned = owned.flat_map(|of| parts_of(ctx.topics, &of.topic, &of.partitions)).collect();
        let about = about(join, subscription);
        self.follow(&id, about, Some(&owned), out, ctx);
        self.hear(&id, ctx.now, ctx.settings.consumer_session_timeout_ms);
        let at = ctx.now.mono.plus_ms(i64::from(join.rebalance_timeout_ms));
        let clock = self.soft.clocks.entry(Arc::clone(&id)).or_default();
        (clock.join, clock.sync) = (None, Some(at));
        self.wake(at, "a member syncs");
        let generation = self.members.get(&id).map_or(0, |member| member.current.epoch);
        Ok(Joined {
            generation,
            protocol_type: PROTOCOL_TYPE.into(),
            protocol: join.protocols.first().map(|(name, _)| Arc::clone(name)).unwrap_or_default(),
            leader: MemberId::default(),
            member: id,
            skip_assignment: false,
            members: Vec::new(),
        })
    }

    fn check_classic(
        &self,
        join: &Join,
        ctx: &Ctx<'_>,
    ) -> Result<ConsumerProtocolSubscription, ErrorCode> {
        let settings = ctx.settings;
        let timeouts = settings.min_session_timeout_ms..=settings.max_session_timeout_ms;
        if !timeouts.contains(&join.session_timeout_ms) {
            return Err(ErrorCode::InvalidSessionTimeout);
        }
        let stands = join.instance.as_ref().and_then(|name| self.members.of_instance(name));
        let known = stands.is_some() || self.members.get(&join.member).is_some();
        if !known && self.members.len() >= settings.consumer_max_size {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        if join.instance.is_some() && !join.member.is_empty() {
            let found = self.members.find(&join.member, join.instance.as_deref());
            found.map_err(|refusal| refusal.code)?;
        }
        let said: usize = join.protocols.iter().map(|(name, said)| name.len() + said.len()).sum();
        if said > PROTOCOLS_MAX_BYTES {
            return Err(ErrorCode::InvalidRequest);
        }
        let common = join.protocols.iter().any(|(name, _)| self.members.agree_on(name));
        let metadata = join.protocols.first().map(|(_, said)| said.clone()).unwrap_or_default();
        let subscription = decode_subscription(metadata).ok();
        let works = &*join.protocol_type == PROTOCOL_TYPE && common;
        let subscription = subscription.filter(|_| works).map(|(subscription, _)| subscription);
        subscription.ok_or(ErrorCode::InconsistentGroupProtocol)
    }

    /// The member that speaks, in the generation that it is in.
    fn find_classic(&self, caller: &Caller) -> Result<&Member, ErrorCode> {
        let found = self.members.find(&caller.member, caller.instance.as_deref());
        let member = found.map_err(|refusal| refusal.code)?;
        if member.about.classic.is_none() {
            return Err(ErrorCode::UnknownMemberId);
        }
        let current = member.current.epoch == caller.generation;
        current.then_some(member).ok_or(ErrorCode::IllegalGeneration)
    }

    /// SyncGroup.
    pub(in crate::group) fn on_sync(&mut self, reply: ReplyTo, sync: &Sync, ctx: &mut Ctx<'_>) {
        let synced = self.sync(sync, ctx);
        match synced {
            Ok(synced) => ctx.answer_committed(reply, Answer::Synced(Ok(synced))),
            Err(code) => ctx.answer(reply, Answer::Synced(Err(code))),
        }
    }

    fn sync(&mut self, sync: &Sync, ctx: &Ctx<'_>) -> Result<Synced, ErrorCode> {
        let member = self.find_classic(&sync.caller)?;
        let protocols = member.about.classic.iter().flat_map(|classic| &classic.protocols);
        let protocol = protocols.map(|(name, _)| name).next().cloned().unwrap_or_default();
        let differs = |said: &Option<Arc<str>>, is: &str| said.as_deref().is_some_and(|s| s != is);
        if differs(&sync.protocol_type, PROTOCOL_TYPE) || differs(&sync.protocol, &protocol) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let revokes = member.current.state == MemberState::Unrevoked;
        if self.epoch.epoch > member.current.epoch && !revokes {
            self.call(&sync.caller.member, ctx);
            return Err(ErrorCode::RebalanceInProgress);
        }
        let assignment: Bytes = assignment(member, &protocol, ctx.topics);
        if let Some(clock) = self.soft.clocks.get_mut(&sync.caller.member) {
            clock.sync = None;
        }
        self.hear(&sync.caller.member, ctx.now, ctx.settings.consumer_session_timeout_ms);
        Ok(Synced { protocol_type: PROTOCOL_TYPE.into(), protocol, assignment })
    }

    /// Heartbeat.
    pub(in crate::group) fn on_heartbeat(
        &mut self,
        reply: ReplyTo,
        caller: &Caller,
        ctx: &mut Ctx<'_>,
    ) {
        let code = self.beat_classic(caller, ctx).err().unwrap_or(ErrorCode::None);
        ctx.answer(reply, Answer::Beaten(code));
    }

    fn beat_classic(&mut self, caller: &Caller, ctx: &Ctx<'_>) -> Result<(), ErrorCode> {
        let member = self.find_classic(caller)?;
        let current = &member.current;
        let comes = match current.state {
            _ if current.epoch < self.epoch.epoch => true,
            MemberState::Unrevoked => true,
            MemberState::Unreleased => !self.waits_for_others(&caller.member, member),
            MemberState::Stable | MemberState::Unknown(_) => false,
        };
        self.hear(&caller.member, ctx.now, ctx.settings.consumer_session_timeout_ms);
        if !comes {
            return Ok(());
        }
        self.call(&caller.member, ctx);
        Err(ErrorCode::RebalanceInProgress)
    }

    /// Whether all that a member shall own and does not is somebody else's.
    fn waits_for_others(&self, id: &MemberId, member: &Member) -> bool {
        let target = self.targets.get(id).into_iter().flatten();
        let mut missing = target.filter(|part| !member.current.assigned.contains_key(part));
        missing.all(|part| self.owners.contains_key(part))
    }

    /// A member is told to join, and has so long for it.
    fn call(&mut self, id: &MemberId, ctx: &Ctx<'_>) {
        let Some(member) = self.members.get(id) else { return };
        let at = ctx.now.mono.plus_ms(i64::from(member.about.rebalance_timeout_ms));
        let clock = self.soft.clocks.entry(Arc::clone(id)).or_default();
        let at = *clock.join.get_or_insert(at);
        self.wake(at, "a member joins");
    }

    fn leave_classic(
        &mut self,
        leave: &Leave,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> Vec<ErrorCode> {
        let (mut codes, mut gone, mut reason) = (Vec::new(), Vec::new(), None);
        for leaver in &leave.members {
            let left = self.leaver(leaver).and_then(|id| match gone.contains(&id) {
                true => Err(ErrorCode::UnknownMemberId),
                false => Ok(id),
            });
            codes.push(left.as_ref().err().copied().unwrap_or(ErrorCode::None));
            if let Ok(id) = left {
                gone.push(id);
                reason = reason.or(leaver.2.as_ref());
            }
        }
        if !gone.is_empty() {
            self.remove(&gone, &format!("{} left{}", named(&gone), said(reason)), out, ctx);
        }
        codes
    }

    /// Who leaves: by its instance alone anyone, else a member that uses the classic protocol.
    fn leaver(&self, (id, instance, _): &Leaver) -> Result<MemberId, ErrorCode> {
        if id.is_empty() {
            let stands = instance.as_ref().and_then(|name| self.members.of_instance(name));
            return stands.cloned().ok_or(ErrorCode::UnknownMemberId);
        }
        let found = self.members.find(id, instance.as_deref());
        let member = found.map_err(|refusal| refusal.code)?;
        let classic = member.about.classic.is_some();
        classic.then(|| Arc::clone(id)).ok_or(ErrorCode::UnknownMemberId)
    }
}

fn about(join: &Join, subscription: ConsumerProtocolSubscription) -> AboutMember {
    AboutMember {
        instance: join.instance.clone(),
        rack: subscription.rack_id.map(Arc::from),
        client_id: Arc::clone(&join.client_id),
        client_host: Arc::clone(&join.client_host),
        topics: subscription.topics.into_iter().map(Arc::from).collect(),
        pattern: None,
        rebalance_timeout_ms: join.rebalance_timeout_ms,
        assignor: None,
        classic: Some(ClassicPart {
            session_timeout_ms: join.session_timeout_ms,
            protocols: join.protocols.clone(),
        }),
    }
}
