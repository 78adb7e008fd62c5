//! SyncGroup.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;

use super::*;
use crate::group::request::{Sync, Synced};

impl ClassicGroup {
    /// SyncGroup. The answer may wait for the leader's.
    pub(in crate::group) fn on_sync(&mut self, reply: ReplyTo, sync: &Sync, ctx: &mut Ctx<'_>) {
        if let Err(code) = self.sync(reply, sync, ctx) {
            ctx.answer(reply, Answer::Synced(Err(code)));
        }
    }

    fn sync(&mut self, reply: ReplyTo, sync: &Sync, ctx: &mut Ctx<'_>) -> Result<(), ErrorCode> {
        if sync.caller.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        self.check(&sync.caller)?;
        let differs = |said: &Option<Arc<str>>, is: &Option<Arc<str>>| said.is_some() && said != is;
        if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol, &self.protocol)
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let id = &sync.caller.member;
        match &mut self.stage {
            Stage::Empty => return Err(ErrorCode::UnknownMemberId),
            Stage::Joining(_) => return Err(ErrorCode::RebalanceInProgress),
            Stage::Assigning(unsynced) => {
                unsynced.members.remove(id);
                self.await_leader(reply, id, ctx);
                if self.leader.as_ref() == Some(id) {
                    self.assign(&sync.assignments, ctx);
                }
            }
            Stage::Stable(unsynced) => {
                unsynced.members.remove(id);
                self.hear(id, ctx.now);
                let assignment = self.members.get(id).map(|member| member.assignment.clone());
                let synced = self.synced(assignment.unwrap_or_default());
                ctx.answer_committed(reply, Answer::Synced(Ok(synced)));
            }
        }
        Ok(())
    }

    fn await_leader(&mut self, reply: ReplyTo, id: &MemberId, ctx: &mut Ctx<'_>) {
        let Some(member) = self.members.get_mut(id) else { return };
        if let Some(earlier) = member.syncing.replace(reply) {
            // Its client has given that request up, or it would not send another one.
            ctx.answer(earlier, Answer::Synced(Err(ErrorCode::RebalanceInProgress)));
        }
    }

    /// The leader gave everyone a part: it is remembered, and those who wait are told.
    fn assign(&mut self, assignments: &[(MemberId, Bytes)], ctx: &mut Ctx<'_>) {
        let given: BTreeMap<_, _> = assignments.iter().map(|(id, part)| (id, part)).collect();
        let (mut waiting, leader) = (Vec::new(), self.leader.clone());
        for (id, member) in self.members.iter_mut() {
            member.assignment = given.get(id).copied().cloned().unwrap_or_default();
            if let Some(reply) = member.syncing.take() {
                waiting.push((Arc::clone(id), reply, member.assignment.clone()));
            }
        }
        if let Stage::Assigning(unsynced) = &self.stage {
            self.enter(Stage::Stable(unsynced.clone()), ctx.now);
        }
        // The leader comes last, so that it does not overtake the others with what follows.
        waiting.sort_by_key(|(id, ..)| Some(id) == leader.as_ref());
        let mut answers = Vec::new();
        for (id, reply, assignment) in waiting {
            self.hear(&id, ctx.now);
            answers.push((reply, Answer::Synced(Ok(self.synced(assignment)))));
        }
        self.remember(answers, ctx);
    }

    fn synced(&self, assignment: Bytes) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol: self.protocol.clone().unwrap_or_default(),
            assignment,
        }
    }
}
