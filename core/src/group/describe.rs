//! Groups as operators see them, and how they end them: ListGroups, DescribeGroups, DeleteGroups.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;

use super::classic::{ClassicGroup, ClassicState, Member};
use super::record::Record;
use super::request::{Answer, DescribedMember, Description, ListedGroup, MemberId};
use super::{Ctx, Group};
use crate::mail::ReplyTo;

impl Group {
    /// The group in a list.
    pub(super) fn listed(&self) -> ListedGroup {
        ListedGroup {
            group: Arc::clone(self.name()),
            protocol_type: self.classic.protocol_type().cloned().unwrap_or_default(),
            state: self.classic.state(),
        }
    }

    /// DescribeGroups.
    pub(super) fn on_describe(&self, reply: ReplyTo, ctx: &mut Ctx<'_>) {
        let unknown = self.is_nothing();
        let described = if unknown { Err(ErrorCode::GroupIdNotFound) } else { Ok(self.describe()) };
        ctx.answer_committed(reply, Answer::Described(described));
    }

    /// What members said counts for the protocol that was chosen: in a stable group alone.
    fn describe(&self) -> Description {
        let state = self.classic.state();
        let stable = state == ClassicState::Stable;
        let protocol = self.classic.protocol().filter(|_| stable).cloned();
        let members = self.classic.members();
        let members = members.map(|(id, member)| described(id, member, protocol.as_deref()));
        Description {
            state,
            protocol_type: self.classic.protocol_type().cloned().unwrap_or_default(),
            members: members.collect(),
            protocol: protocol.unwrap_or_default(),
        }
    }

    /// DeleteGroups.
    pub(super) fn on_delete(&mut self, reply: ReplyTo, ctx: &mut Ctx<'_>) {
        let refused = match (self.is_nothing(), self.classic.state()) {
            (true, _) => Some(ErrorCode::GroupIdNotFound),
            (false, ClassicState::Empty) => None,
            (false, _) => Some(ErrorCode::NonEmptyGroup),
        };
        if let Some(code) = refused {
            return ctx.answer_committed(reply, Answer::Deleted(code));
        }
        let mut records = self.forget_all();
        records.extend(self.end());
        ctx.append(records, vec![(reply, Answer::Deleted(ErrorCode::None))]);
    }

    /// The group itself is no more: the record that says so, if another one says that it is.
    pub(super) fn end(&mut self) -> Option<Record> {
        let group = Arc::clone(self.name());
        let was = std::mem::replace(&mut self.classic, ClassicGroup::new(Arc::clone(&group)));
        was.is_recorded().then_some(Record::Group { group, value: None })
    }
}

fn described(id: &MemberId, member: &Member, protocol: Option<&str>) -> DescribedMember {
    DescribedMember {
        member: Arc::clone(id),
        instance: member.instance().cloned(),
        client_id: Arc::clone(member.client_id()),
        client_host: Arc::clone(member.client_host()),
        metadata: protocol.map_or_else(Bytes::new, |protocol| member.metadata(protocol)),
        assignment: member.assignment().clone(),
    }
}
