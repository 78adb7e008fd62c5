//! From one generation to the next: who joins, until when, and what operators are told.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

use super::*;
use crate::group::notes::{counted, named, quoted};
use crate::mutant::Mutant;

impl ClassicGroup {
    /// The group is classic from now on: everyone shall join again.
    pub(in crate::group) fn begin_anew(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        self.rebalance(why, ctx);
    }

    /// Something changed: a new round of joins begins, or the one under way is perhaps complete.
    pub(super) fn rebalance_or_complete(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        match self.stage {
            Stage::Joining(_) => self.maybe_complete_join(ctx),
            Stage::Empty | Stage::Assigning(_) | Stage::Stable(_) => self.rebalance(why, ctx),
        }
    }

    /// Members are gone.
    pub(super) fn shrunk(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        match self.stage {
            Stage::Empty => {}
            Stage::Joining(_) => self.maybe_complete_join(ctx),
            Stage::Assigning(_) | Stage::Stable(_) => self.rebalance(why, ctx),
        }
    }

    /// Everyone shall join again.
    pub(super) fn rebalance(&mut self, why: &str, ctx: &mut Ctx<'_>) {
        self.tell(&format!("rebalances: {why}"), ctx);
        if matches!(self.stage, Stage::Assigning(_)) {
            self.call_syncs_off(ctx);
        }
        let timeout_ms = self.members.rebalance_timeout_ms();
        let now = ctx.now.mono;
        let joining = if matches!(self.stage, Stage::Empty) {
            let delay_ms = ctx.settings.initial_rebalance_delay_ms;
            let limit = now.plus_ms(timeout_ms.max(delay_ms));
            let first = FirstJoin { limit, grew: false };
            Joining { until: now.plus_ms(delay_ms), first: Some(first) }
        } else {
            Joining { until: now.plus_ms(timeout_ms), first: None }
        };
        self.enter(Stage::Joining(joining), ctx.now);
        self.maybe_complete_join(ctx);
    }

    /// Whoever waits for the leader's assignment shall join again instead.
    fn call_syncs_off(&mut self, ctx: &mut Ctx<'_>) {
        let waiting = self.members.iter().filter(|(_, member)| member.syncing.is_some());
        let waiting: Vec<_> = waiting.map(|(id, _)| Arc::clone(id)).collect();
        for id in waiting {
            let Some(member) = self.members.get_mut(&id) else { continue };
            if let Some(reply) = member.syncing.take() {
                ctx.answer(reply, Answer::Synced(Err(ErrorCode::RebalanceInProgress)));
            }
            self.hear(&id, ctx.now);
        }
    }

    /// The round of joins is over when everyone has joined, those too that were given an id to
    /// join with. The first round of a group waits for members that nobody knows yet.
    pub(super) fn maybe_complete_join(&mut self, ctx: &mut Ctx<'_>) {
        let Stage::Joining(Joining { first: None, .. }) = &self.stage else { return };
        if self.pending.is_empty() && self.members.all_wait_in_join() {
            self.complete_join(ctx);
        }
    }

    /// The time for joins is up.
    pub(super) fn on_join_timeout(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let delay_ms = ctx.settings.initial_rebalance_delay_ms;
        let Stage::Joining(joining) = &mut self.stage else { return };
        match &mut joining.first {
            // Where one has come others may.
            Some(first) if first.grew && now.mono < first.limit => {
                first.grew = false;
                joining.until = now.mono.plus_ms(delay_ms).min(first.limit);
                let until = joining.until;
                self.wake(until, "members join");
            }
            None if ctx.settings.mutants.has(Mutant::NoJoinTimeout) => {
                joining.until = now.mono.plus_ms(1_000);
            }
            Some(_) | None => self.complete_join(ctx),
        }
    }

    /// Whoever has not joined is out, static members too; the others make the next generation.
    fn complete_join(&mut self, ctx: &mut Ctx<'_>) {
        let absent = self.members.absent();
        if !absent.is_empty() {
            self.tell(&format!("goes on without {}: not joined in time", named(&absent)), ctx);
        }
        for id in &absent {
            self.drop_member(id, ErrorCode::UnknownMemberId, ctx);
        }
        self.generation = self.generation.saturating_add(1);
        if self.members.is_empty() {
            self.become_empty(ctx);
        } else {
            self.begin_generation(ctx);
            let (count, leader) = (counted(self.members.len()), named(self.leader.as_slice()));
            self.tell(&format!("has {count}, led by {leader}"), ctx);
        }
    }

    fn become_empty(&mut self, ctx: &mut Ctx<'_>) {
        self.protocol = None;
        self.subscribed = self.subscriptions();
        self.enter(Stage::Empty, ctx.now);
        self.tell("has no members", ctx);
        self.remember(Vec::new(), ctx);
    }

    fn tell(&self, what: &str, ctx: &mut Ctx<'_>) {
        ctx.note(format!("group {}, generation {}: {what}", quoted(&self.name), self.generation));
    }
}
