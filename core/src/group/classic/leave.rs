//! LeaveGroup.

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

use super::*;
use crate::group::notes::{named, said};
use crate::group::request::Leave;

impl ClassicGroup {
    /// LeaveGroup: by members themselves, or by an operator who names instances.
    pub(in crate::group) fn on_leave(&mut self, reply: ReplyTo, leave: &Leave, ctx: &mut Ctx<'_>) {
        if leave.group.is_empty() {
            return ctx.answer(reply, Answer::Left(Err(ErrorCode::InvalidGroupId)));
        }
        let (mut codes, mut gone, mut reason) = (Vec::new(), Vec::new(), None);
        for (id, instance, why) in &leave.members {
            let left = self.leave(id, instance.as_deref(), ctx);
            codes.push(left.as_ref().err().copied().unwrap_or(ErrorCode::None));
            if let Ok(Some(id)) = left {
                gone.push(id);
                reason = reason.or(why.as_ref());
            }
        }
        if gone.is_empty() {
            self.maybe_complete_join(ctx);
        } else {
            self.shrunk(&format!("{} left{}", named(&gone), said(reason)), ctx);
        }
        ctx.answer_committed(reply, Answer::Left(Ok(codes)));
    }

    /// Takes one out: gives its id if it was a member.
    fn leave(
        &mut self,
        id: &MemberId,
        instance: Option<&str>,
        ctx: &mut Ctx<'_>,
    ) -> Result<Option<MemberId>, ErrorCode> {
        if !id.is_empty() && self.pending.remove(id).is_some() {
            return Ok(None);
        }
        let stands = instance.and_then(|name| self.members.of_instance(name));
        let id = match (id.is_empty(), stands) {
            (true, None) => return Err(ErrorCode::UnknownMemberId),
            (true, Some(stands)) => Arc::clone(stands),
            (false, _) => Arc::clone(id),
        };
        self.members.check(&id, instance)?;
        self.drop_member(&id, ErrorCode::UnknownMemberId, ctx);
        Ok(Some(id))
    }
}
