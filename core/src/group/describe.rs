//! Groups as operators see them, and how they end them: ListGroups, DescribeGroups, DeleteGroups.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;

use super::classic::{CONSUMER, ClassicGroup, ClassicState, Member};
use super::record::Record;
use super::request::{Answer, DescribedMember, Description, GroupState, ListedGroup, MemberId};
use super::{Ctx, Group, Kind};
use crate::mail::{Refusal, ReplyTo};

impl Group {
    /// The group in a list.
    pub(super) fn listed(&self) -> ListedGroup {
        let (protocol_type, state) = match &self.kind {
            Kind::Classic(group) => {
                let state = GroupState::Classic(group.state());
                (group.protocol_type().cloned().unwrap_or_default(), state)
            }
            Kind::Consumer(group) => (CONSUMER.into(), GroupState::Consumer(group.state())),
        };
        ListedGroup { group: Arc::clone(self.name()), protocol_type, state }
    }

    /// DescribeGroups.
    pub(super) fn on_describe(&self, reply: ReplyTo, ctx: &mut Ctx<'_>) {
        let described = match &self.kind {
            Kind::Classic(group) if !self.is_nothing() => Ok(describe(group)),
            Kind::Consumer(_) if !self.is_nothing() => Err(self.not_of("classic")),
            Kind::Classic(_) | Kind::Consumer(_) => Err(self.not_found()),
        };
        ctx.answer_committed(reply, Answer::Described(described));
    }

    /// Why a group of which nothing is known is not described.
    pub(super) fn not_found(&self) -> Refusal {
        Refusal::new(ErrorCode::GroupIdNotFound, format!("Group {} not found.", self.name()))
    }

    /// Why a group of another protocol is not described.
    pub(super) fn not_of(&self, protocol: &str) -> Refusal {
        let message = format!("Group {} is not a {protocol} group.", self.name());
        Refusal::new(ErrorCode::GroupIdNotFound, message)
    }

    /// DeleteGroups.
    pub(super) fn on_delete(&mut self, reply: ReplyTo, ctx: &mut Ctx<'_>) {
        let empty = match &self.kind {
            Kind::Classic(group) => group.state() == ClassicState::Empty,
            Kind::Consumer(group) => group.is_empty(),
        };
        let refused = match (self.is_nothing(), empty) {
            (true, _) => Some(ErrorCode::GroupIdNotFound),
            (false, true) => None,
            (false, false) => Some(ErrorCode::NonEmptyGroup),
        };
        if let Some(code) = refused {
            return ctx.answer_committed(reply, Answer::Deleted(code));
        }
        let mut records = self.forget_all();
        records.extend(self.end());
        ctx.append(records, vec![(reply, Answer::Deleted(ErrorCode::None))]);
    }

    /// The group itself is no more: the records that say so, if others say that it is.
    pub(super) fn end(&mut self) -> Vec<Record> {
        let group = Arc::clone(self.name());
        let nothing = Kind::Classic(ClassicGroup::new(Arc::clone(&group)));
        match std::mem::replace(&mut self.kind, nothing) {
            Kind::Classic(was) if !was.is_recorded() => Vec::new(),
            Kind::Classic(_) => vec![Record::Group { group, value: None }],
            Kind::Consumer(was) if !was.is_recorded() => Vec::new(),
            Kind::Consumer(was) => was.end(),
        }
    }
}

/// What members said counts for the protocol that was chosen: in a stable group alone.
fn describe(group: &ClassicGroup) -> Description {
    let state = group.state();
    let stable = state == ClassicState::Stable;
    let protocol = group.protocol().filter(|_| stable).cloned();
    let members = group.members();
    let members = members.map(|(id, member)| described(id, member, protocol.as_deref()));
    Description {
        state,
        protocol_type: group.protocol_type().cloned().unwrap_or_default(),
        members: members.collect(),
        protocol: protocol.unwrap_or_default(),
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
