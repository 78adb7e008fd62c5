//! Members that leave by a heartbeat, or are put out.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

use super::request::{ConsumerBeat, ConsumerHeartbeat};
use super::*;
use crate::group::notes::named;
use crate::group::record::{Current, Owned};
use crate::mail::Refusal;

impl ConsumerGroup {
    /// A heartbeat with which a member leaves, for good or, as a static one, to come back.
    pub(super) fn on_leave_beat(
        &mut self,
        beat: &ConsumerHeartbeat,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) -> Result<ConsumerBeat, Refusal> {
        let id = &beat.member;
        let member = self.members.find(id, beat.instance.as_deref())?;
        if beat.epoch == LEAVE_STATIC_EPOCH {
            let current = Current {
                epoch: LEAVE_STATIC_EPOCH,
                revoking: Owned::new(),
                ..member.current.clone()
            };
            if member.about.instance.is_none() {
                return Err(ErrorCode::UnknownMemberId.into());
            }
            if member.current != current {
                self.write(Fact::Current(Arc::clone(id), Some(current)), out);
                self.limit_revocation(id, ctx.now);
                self.tell(&format!("{} left and will be back", named(&[Arc::clone(id)])), ctx);
            }
        } else {
            let ids = [Arc::clone(id)];
            self.remove(&ids, &format!("{} left", named(&ids)), out, ctx);
        }
        Ok(ConsumerBeat {
            member: Arc::clone(id),
            epoch: beat.epoch,
            interval_ms: 0,
            assigned: None,
        })
    }

    /// Members are out.
    pub(super) fn remove(
        &mut self,
        ids: &[MemberId],
        why: &str,
        out: &mut Vec<Record>,
        ctx: &mut Ctx<'_>,
    ) {
        for id in ids {
            self.write(Fact::Current(Arc::clone(id), None), out);
            self.write(Fact::Target(Arc::clone(id), None), out);
            self.write(Fact::Member(Arc::clone(id), None), out);
        }
        self.drop_patterns(out);
        self.bump(why, out, ctx);
        if self.members.is_empty() {
            self.assign_to_nobody(out);
        }
    }
}
