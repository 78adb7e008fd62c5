//! Groups as operators see them: ListGroups, DescribeGroups, DeleteGroups.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::describe_groups_response::DescribedGroup;
use dohle_wire::message::{
    DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, DescribedGroupMember, ListGroupsRequest, ListGroupsResponse,
    ListedGroup,
};

use super::{Form, GroupAnswer, GroupCall, GroupRequest, ODD, shared};
use crate::api::{Begun, Ctx, Outcome, authorized, reply};
use crate::group::classic::ClassicState;
use crate::group::request::{DescribedMember, Description, ListedGroup as Listed};
use crate::mail::Refusal;

/// First version of DescribeGroups that says that a group is not there.
const NOT_FOUND_FROM: i16 = 6;

/// Which groups are listed; no name means all.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    states: Vec<String>,
    types: Vec<String>,
}

pub(in crate::api) fn begin_list(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: ListGroupsRequest = ctx.decode(body)?;
    let filter = Filter { states: request.states_filter, types: request.types_filter };
    let mut call = GroupCall::new(ctx, Form::List(filter));
    call.ask_all(ctx);
    Ok(call.begun(ctx))
}

impl Filter {
    fn has(&self, group: &Listed) -> bool {
        let among = |names: &[String], own: &str| {
            names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(own))
        };
        among(&self.states, group.state.name()) && among(&self.types, group.state.kind())
    }

    pub(super) fn finish(
        self,
        ctx: &Ctx<'_>,
        answers: impl Iterator<Item = GroupAnswer>,
    ) -> Outcome {
        let mut response = ListGroupsResponse::default();
        for answer in answers {
            match answer {
                GroupAnswer::Listed(Ok(groups)) => {
                    let groups = groups.into_iter().filter(|group| self.has(group));
                    response.groups.extend(groups.map(listed));
                }
                GroupAnswer::Listed(Err(error)) => response.error_code = error.code(),
                _ => response.error_code = ODD.code(),
            }
        }
        response.groups.sort_by(|a, b| a.group_id.cmp(&b.group_id));
        reply::answer(ctx, &response)
    }
}

fn listed(group: Listed) -> ListedGroup {
    ListedGroup {
        group_id: group.group.to_string(),
        protocol_type: group.protocol_type.to_string(),
        group_state: group.state.name().to_owned(),
        group_type: group.state.kind().to_owned(),
    }
}

pub(in crate::api) fn begin_describe(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: DescribeGroupsRequest = ctx.decode(body)?;
    let rights = authorized::if_asked(request.include_authorized_operations, authorized::GROUP);
    let mut call = GroupCall::new(ctx, Form::Describe(request.groups.clone(), rights));
    for group in request.groups {
        call.ask(ctx, &group, GroupRequest::Describe(group.as_str().into()));
    }
    Ok(call.begun(ctx))
}

pub(super) fn finish_describe(
    ctx: &Ctx<'_>,
    (groups, rights): (Vec<String>, i32),
    answers: impl Iterator<Item = GroupAnswer>,
) -> Outcome {
    let groups = groups.into_iter().zip(answers).map(|(group_id, answer)| {
        let described = match answer {
            GroupAnswer::Described(described) => described,
            _ => Err(ODD.into()),
        };
        let group = match described {
            Ok(description) => describe(group_id, description),
            Err(refusal) if refusal.code == ErrorCode::GroupIdNotFound => {
                unknown(ctx, group_id, refusal)
            }
            Err(refusal) => {
                DescribedGroup { group_id, error_code: refusal.code.code(), ..Default::default() }
            }
        };
        DescribedGroup { authorized_operations: rights, ..group }
    });
    let response = DescribeGroupsResponse { groups: groups.collect(), ..Default::default() };
    reply::answer(ctx, &response)
}

/// A group that is not there is dead; newer clients are told so by a code.
fn unknown(ctx: &Ctx<'_>, group_id: String, refusal: Refusal) -> DescribedGroup {
    let told = ctx.version() >= NOT_FOUND_FROM;
    let error = if told { refusal.code } else { ErrorCode::None };
    DescribedGroup {
        error_code: error.code(),
        error_message: refusal.message.filter(|_| told),
        group_id,
        group_state: ClassicState::Dead.name().to_owned(),
        ..Default::default()
    }
}

fn describe(group_id: String, group: Description) -> DescribedGroup {
    DescribedGroup {
        group_id,
        group_state: group.state.name().to_owned(),
        protocol_type: group.protocol_type.to_string(),
        protocol_data: group.protocol.to_string(),
        members: group.members.into_iter().map(member).collect(),
        ..Default::default()
    }
}

fn member(member: DescribedMember) -> DescribedGroupMember {
    DescribedGroupMember {
        member_id: member.member.to_string(),
        group_instance_id: member.instance.map(|instance| instance.to_string()),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        member_metadata: member.metadata,
        member_assignment: member.assignment,
    }
}

pub(in crate::api) fn begin_delete(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: DeleteGroupsRequest = ctx.decode(body)?;
    let mut call = GroupCall::new(ctx, Form::Delete(request.groups_names.clone()));
    for group in request.groups_names {
        let name = shared(group);
        call.ask(ctx, &name.clone(), GroupRequest::Delete(name));
    }
    Ok(call.begun(ctx))
}

pub(super) fn finish_delete(
    ctx: &Ctx<'_>,
    groups: Vec<String>,
    answers: impl Iterator<Item = GroupAnswer>,
) -> Outcome {
    let results = groups.into_iter().zip(answers).map(|(group_id, answer)| {
        let error = match answer {
            GroupAnswer::Deleted(code) => code,
            _ => ODD,
        };
        DeletableGroupResult { group_id, error_code: error.code(), ..Default::default() }
    });
    let response = DeleteGroupsResponse { results: results.collect(), ..Default::default() };
    reply::answer(ctx, &response)
}
