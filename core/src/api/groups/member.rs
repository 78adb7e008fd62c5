//! Members of classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse,
    JoinGroupResponseMember, LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse,
    SyncGroupRequest, SyncGroupResponse,
};

use super::{Form, GroupAnswer, GroupCall, GroupRequest, ODD, is_storable, shared};
use crate::api::{Begun, Ctx, Outcome, reply};
use crate::group::request::{Caller, Join, JoinRefusal, Joined, Leave, Sync};

/// First version that has a rebalance timeout of its own.
const REBALANCE_TIMEOUT_FROM: i16 = 1;

/// First version that can be asked to join again with an id (KIP-394).
const MEMBER_IDS_FROM: i16 = 4;

/// First version whose leaders may leave the assignment as it is (KIP-814).
const SKIP_ASSIGNMENT_FROM: i16 = 9;

/// First version in which a response may name no protocol.
const NULL_PROTOCOL_FROM: i16 = 7;

/// First version that removes several members at once.
const MEMBERS_FROM: i16 = 3;

pub(in crate::api) fn begin_join(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: JoinGroupRequest = ctx.decode(body)?;
    let own_timeout = ctx.version() >= REBALANCE_TIMEOUT_FROM;
    let rebalance_timeout_ms =
        if own_timeout { request.rebalance_timeout_ms } else { request.session_timeout_ms };
    let protocols = request.protocols.into_iter().map(|p| (shared(p.name), p.metadata));
    let join = Join {
        group: shared(request.group_id),
        member: shared(request.member_id),
        instance: request.group_instance_id.map(shared),
        client_id: shared(ctx.call.client_id.clone().unwrap_or_default()),
        client_host: shared(host(&ctx.settings.peer)),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms,
        protocol_type: shared(request.protocol_type),
        protocols: protocols.collect(),
        needs_member_id: ctx.version() >= MEMBER_IDS_FROM,
        can_skip_assignment: ctx.version() >= SKIP_ASSIGNMENT_FROM,
        reason: request.reason.map(shared),
    };
    let mut call = GroupCall::new(ctx, Form::Join);
    let group = join.group.clone();
    match is_storable_member(&join) {
        true => call.ask(ctx, &group, GroupRequest::Join(join)),
        false => call.answers.push(GroupRequest::Join(join).refused(ErrorCode::InvalidRequest)),
    }
    Ok(call.begun(ctx))
}

/// Whether all that is remembered of a member fits its fields.
fn is_storable_member(join: &Join) -> bool {
    let texts = [&join.member, &join.client_id, &join.client_host, &join.protocol_type];
    let names = join.protocols.iter().map(|(name, _)| name);
    texts.into_iter().chain(&join.instance).chain(names).all(|text| is_storable(text))
}

/// The address without its port, as Kafka writes it.
pub(super) fn host(peer: &str) -> String {
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    format!("/{}", host.trim_matches(['[', ']']))
}

pub(super) fn finish_join(ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
    let joined = match answer {
        Some(GroupAnswer::Joined(joined)) => joined,
        _ => Err(JoinRefusal { code: ODD, member: "".into() }),
    };
    let response = match joined {
        Ok(joined) => accepted(joined),
        Err(refusal) => JoinGroupResponse {
            error_code: refusal.code.code(),
            generation_id: -1,
            protocol_name: (ctx.version() < NULL_PROTOCOL_FROM).then(String::new),
            member_id: refusal.member.to_string(),
            ..Default::default()
        },
    };
    reply::answer(ctx, &response)
}

fn accepted(joined: Joined) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|member| JoinGroupResponseMember {
        member_id: member.member.to_string(),
        group_instance_id: member.instance.map(|instance| instance.to_string()),
        metadata: member.metadata,
    });
    JoinGroupResponse {
        generation_id: joined.generation,
        protocol_type: Some(joined.protocol_type.to_string()),
        protocol_name: Some(joined.protocol.to_string()),
        leader: joined.leader.to_string(),
        skip_assignment: joined.skip_assignment,
        member_id: joined.member.to_string(),
        members: members.collect(),
        ..Default::default()
    }
}

pub(in crate::api) fn begin_sync(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: SyncGroupRequest = ctx.decode(body)?;
    let assignments = request.assignments.into_iter().map(|a| (shared(a.member_id), a.assignment));
    let sync = Sync {
        caller: Caller {
            group: shared(request.group_id),
            member: shared(request.member_id),
            instance: request.group_instance_id.map(shared),
            generation: request.generation_id,
        },
        protocol_type: request.protocol_type.map(shared),
        protocol: request.protocol_name.map(shared),
        assignments: assignments.collect(),
    };
    let mut call = GroupCall::new(ctx, Form::Sync);
    let group = sync.caller.group.clone();
    call.ask(ctx, &group, GroupRequest::Sync(sync));
    Ok(call.begun(ctx))
}

pub(super) fn finish_sync(ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
    let synced = match answer {
        Some(GroupAnswer::Synced(synced)) => synced,
        _ => Err(ODD),
    };
    let response = match synced {
        Ok(synced) => SyncGroupResponse {
            protocol_type: Some(synced.protocol_type.to_string()),
            protocol_name: Some(synced.protocol.to_string()),
            assignment: synced.assignment,
            ..Default::default()
        },
        Err(error) => SyncGroupResponse { error_code: error.code(), ..Default::default() },
    };
    reply::answer(ctx, &response)
}

pub(in crate::api) fn begin_heartbeat(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: HeartbeatRequest = ctx.decode(body)?;
    let caller = Caller {
        group: shared(request.group_id),
        member: shared(request.member_id),
        instance: request.group_instance_id.map(shared),
        generation: request.generation_id,
    };
    let mut call = GroupCall::new(ctx, Form::Heartbeat);
    let group = caller.group.clone();
    call.ask(ctx, &group, GroupRequest::Heartbeat(caller));
    Ok(call.begun(ctx))
}

pub(super) fn finish_heartbeat(ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
    let error = match answer {
        Some(GroupAnswer::Beaten(code)) => code,
        _ => ODD,
    };
    // A group without a coordinator has no members.
    reply::answer(ctx, &HeartbeatResponse { error_code: error.code(), ..Default::default() })
}

/// The members that leave, as the client named them.
#[derive(Clone, Debug)]
pub(super) struct Left(Vec<(String, Option<String>)>);

pub(in crate::api) fn begin_leave(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: LeaveGroupRequest = ctx.decode(body)?;
    let several = ctx.version() >= MEMBERS_FROM;
    let only = MemberIdentity { member_id: request.member_id, ..Default::default() };
    let members = if several { request.members } else { vec![only] };
    let named = members.iter().map(|m| (m.member_id.clone(), m.group_instance_id.clone()));
    let form = Form::Leave(Left(named.collect()));
    let members = members
        .into_iter()
        .map(|m| (shared(m.member_id), m.group_instance_id.map(shared), m.reason.map(shared)));
    let leave = Leave { group: shared(request.group_id), members: members.collect() };
    let mut call = GroupCall::new(ctx, form);
    let group = leave.group.clone();
    call.ask(ctx, &group, GroupRequest::Leave(leave));
    Ok(call.begun(ctx))
}

impl Left {
    pub(super) fn finish(self, ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
        let codes = match answer {
            Some(GroupAnswer::Left(codes)) => codes,
            _ => Err(ODD),
        };
        let response = match codes {
            Err(error) => LeaveGroupResponse { error_code: error.code(), ..Default::default() },
            Ok(codes) if ctx.version() < MEMBERS_FROM => LeaveGroupResponse {
                error_code: codes.first().map_or(0, |code| code.code()),
                ..Default::default()
            },
            Ok(codes) => LeaveGroupResponse { members: self.members(codes), ..Default::default() },
        };
        reply::answer(ctx, &response)
    }

    fn members(self, codes: Vec<ErrorCode>) -> Vec<MemberResponse> {
        let members = self.0.into_iter().zip(codes);
        let members = members.map(|((member_id, group_instance_id), code)| MemberResponse {
            member_id,
            group_instance_id,
            error_code: code.code(),
        });
        members.collect()
    }
}
