//! What happens when nothing happens: rounds that take too long, members that are silent.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

use super::*;
use crate::group::notes::named;
use crate::mutant::Mutant;

impl ClassicGroup {
    /// The coordinator begins: members that are remembered have a whole session to be heard of.
    pub(in crate::group) fn begin(&mut self, now: Now, max_size: usize) {
        let ids: Vec<_> = self.members.iter().map(|(id, _)| Arc::clone(id)).collect();
        ids.iter().for_each(|id| self.hear(id, now));
        if self.members.len() > max_size {
            self.wake(now.mono, "a group that is too large");
        }
    }

    /// The group was to be looked at.
    pub(in crate::group) fn on_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.check_stage(ctx);
        self.forget_pending(ctx);
        self.expire_sessions(ctx);
        self.due = self.next_due();
    }

    fn check_stage(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now.mono;
        match &self.stage {
            Stage::Joining(joining) if joining.until <= now => self.on_join_timeout(ctx),
            Stage::Assigning(unsynced) | Stage::Stable(unsynced)
                if unsynced.until <= now && !unsynced.members.is_empty() =>
            {
                let late: Vec<_> = unsynced.members.iter().cloned().collect();
                self.expel(&late, "did not sync in time", ctx);
            }
            // The limit was changed while the coordinator was down.
            Stage::Stable(_) if self.members.len() > ctx.settings.max_size => {
                self.rebalance("more members than group.max.size allows", ctx);
            }
            _ => {}
        }
    }

    /// Ids with which nobody came again.
    fn forget_pending(&mut self, ctx: &mut Ctx<'_>) {
        if ctx.settings.mutants.has(Mutant::NoJoinTimeout) {
            return;
        }
        let before = self.pending.len();
        self.pending.retain(|_, until| *until > ctx.now.mono);
        if self.pending.len() < before {
            self.maybe_complete_join(ctx);
        }
    }

    fn expire_sessions(&mut self, ctx: &mut Ctx<'_>) {
        let late = self
            .members
            .iter()
            .filter(|(_, member)| member.expires <= ctx.now.mono && can_expire(member));
        let late: Vec<_> = late.map(|(id, _)| Arc::clone(id)).collect();
        if !late.is_empty() {
            self.expel(&late, "timed out", ctx);
        }
    }

    fn expel(&mut self, late: &[MemberId], why: &str, ctx: &mut Ctx<'_>) {
        for id in late {
            self.drop_member(id, ErrorCode::UnknownMemberId, ctx);
        }
        self.shrunk(&format!("{} {why}", named(late)), ctx);
    }

    /// When the group next has to be looked at.
    pub(super) fn next_due(&self) -> Deadline {
        let stage = match &self.stage {
            Stage::Joining(joining) => Some((joining.until, "members join")),
            Stage::Assigning(unsynced) | Stage::Stable(unsynced)
                if !unsynced.members.is_empty() =>
            {
                Some((unsynced.until, "members sync"))
            }
            Stage::Empty | Stage::Assigning(_) | Stage::Stable(_) => None,
        };
        let sessions = self.members.iter().filter(|(_, member)| can_expire(member));
        let session = sessions.map(|(_, member)| member.expires).min();
        let session = session.map(|at| (at, "session of a member"));
        let pending = self.pending.values().min().map(|at| (*at, "a member that was given an id"));
        earlier(stage, earlier(session, pending))
    }
}

/// Whether silence means something: a client cannot be heard while it waits for an answer. It
/// has until then only if it does not know yet that it is a member.
fn can_expire(member: &Member) -> bool {
    member.new || !member.waits()
}
