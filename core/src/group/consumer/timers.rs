//! What happens when nothing happens: members that are silent, or do not give up what they have to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::group::notes::named;
use crate::group::record::MemberState;
use crate::time::{Now, earlier};

/// Until when a member has to do something.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Clock {
    /// Be heard of.
    pub(super) session: Option<Instant>,
    /// Give up partitions.
    pub(super) revoke: Option<Instant>,
    /// Join, being told to (members that use the classic protocol).
    pub(super) join: Option<Instant>,
    /// Sync, having joined (members that use the classic protocol).
    pub(super) sync: Option<Instant>,
}

/// The clocks of all members.
pub(super) type Clocks = BTreeMap<MemberId, Clock>;

impl Clock {
    /// Each time limit, with what it means to exceed it.
    fn limits(&self) -> [(Option<Instant>, &'static str); 4] {
        [
            (self.session, "timed out"),
            (self.revoke, "did not give up its partitions in time"),
            (self.join, "did not join in time"),
            (self.sync, "did not sync in time"),
        ]
    }

    fn first(&self) -> Option<Instant> {
        self.limits().into_iter().filter_map(|(at, _)| at).min()
    }
}

impl ConsumerGroup {
    /// The coordinator begins, or takes the group over: everyone has a whole session to be heard
    /// of, and all the time that it may take to give up partitions.
    pub(in crate::group) fn begin(&mut self, now: Now, session_timeout_ms: i64) {
        // Whatever is read back: no assignment is made for an epoch to come.
        self.epoch.epoch = self.epoch.epoch.max(self.target_epoch);
        let ids: Vec<_> = self.members.iter().map(|(id, _)| Arc::clone(id)).collect();
        for id in ids {
            self.hear(&id, now, session_timeout_ms);
            self.limit_revocation(&id, now);
        }
    }

    /// A member gave a sign of life.
    pub(super) fn hear(&mut self, id: &MemberId, now: Now, session_timeout_ms: i64) {
        let Some(member) = self.members.get(id) else { return };
        let own = member.about.classic.as_ref();
        let timeout_ms = own.map_or(session_timeout_ms, |c| i64::from(c.session_timeout_ms));
        let at = now.mono.plus_ms(timeout_ms);
        self.soft.clocks.entry(Arc::clone(id)).or_default().session = Some(at);
        self.wake(at, "session of a member");
    }

    /// A member that has to give up partitions has so long.
    pub(super) fn limit_revocation(&mut self, id: &MemberId, now: Now) {
        let Some(member) = self.members.get(id) else { return };
        let away = member.current.epoch == LEAVE_STATIC_EPOCH;
        let waits = member.current.state == MemberState::Unrevoked && !away;
        // Those that use the classic protocol have to join, and are given time for that.
        let at = (waits && member.about.classic.is_none())
            .then(|| now.mono.plus_ms(i64::from(member.about.rebalance_timeout_ms)));
        self.soft.clocks.entry(Arc::clone(id)).or_default().revoke = at;
        at.into_iter().for_each(|at| self.wake(at, "a member gives up partitions"));
    }

    /// The group has to be looked at then.
    pub(super) fn wake(&mut self, at: Instant, why: &'static str) {
        self.soft.due = earlier(self.soft.due, Some((at, why)));
    }

    /// The group was to be looked at: who is late is out.
    pub(in crate::group) fn expire(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let now = ctx.now.mono;
        let late = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut gone: BTreeMap<&str, Vec<MemberId>> = BTreeMap::new();
        for (id, clock) in &self.soft.clocks {
            if let Some((_, why)) = clock.limits().into_iter().find(|(at, _)| late(*at)) {
                gone.entry(why).or_default().push(Arc::clone(id));
            }
        }
        for (why, ids) in gone {
            self.remove(&ids, &format!("{} {why}", named(&ids)), out, ctx);
        }
        let first = self.soft.clocks.values().filter_map(Clock::first).min();
        self.soft.due = first.map(|at| (at, "a member's time limit"));
    }

    /// The group was to be looked at: the assignment that it waits for is made though no member
    /// asks, with the topics that there are by now.
    pub(in crate::group) fn assign_unasked(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        if self.awaits_assignment() && self.assigns_at(ctx.settings) <= ctx.now.mono {
            self.refresh(None, out, ctx);
            self.assign_in_time(out, ctx);
        }
    }
}
