//! Consumer groups (KIP-848): ConsumerGroupHeartbeat, ConsumerGroupDescribe.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::id::{PartitionIndex, TopicId};
use dohle_wire::message::consumer_group_describe_response::{
    Assignment as Described, DescribedGroup, Member, TopicPartitions as DescribedPartitions,
};
use dohle_wire::message::consumer_group_heartbeat_request::TopicPartitions as Owned;
use dohle_wire::message::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use dohle_wire::message::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
};

use super::member::host;
use super::{Form, GroupAnswer, GroupCall, GroupRequest, ODD, shared};
use crate::api::{Begun, Ctx, Outcome, reply};
use crate::group::request::{ConsumerBeat, ConsumerDescription, ConsumerHeartbeat, ConsumerMember};
use crate::group::topics::Part;
use crate::mail::Refusal;

/// First version in which members choose their ids and may subscribe by pattern.
const OWN_IDS_FROM: i16 = 1;

/// Members of the classic protocol, in ConsumerGroupDescribe.
const CLASSIC: i8 = 0;

/// Members of the consumer protocol, in ConsumerGroupDescribe.
const CONSUMER: i8 = 1;

pub(in crate::api) fn begin_beat(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: ConsumerGroupHeartbeatRequest = ctx.decode(body)?;
    let topics = request.subscribed_topic_names;
    let beat = ConsumerHeartbeat {
        group: shared(request.group_id),
        member: shared(request.member_id),
        epoch: request.member_epoch,
        instance: request.instance_id.map(shared),
        rack: request.rack_id.map(shared),
        client_id: shared(ctx.call.client_id.clone().unwrap_or_default()),
        client_host: shared(host(&ctx.settings.peer)),
        rebalance_timeout_ms: Some(request.rebalance_timeout_ms).filter(|ms| *ms != -1),
        topics: topics.map(|names| names.into_iter().map(shared).collect()),
        pattern: request.subscribed_topic_regex.map(shared),
        assignor: request.server_assignor.map(shared),
        owned: request.topic_partitions.map(parts),
        chooses_id: ctx.version() >= OWN_IDS_FROM,
    };
    let group = beat.group.clone();
    let mut call = GroupCall::new(ctx, Form::ConsumerBeat);
    call.ask_consumer(ctx, &group, GroupRequest::ConsumerHeartbeat(Box::new(beat)));
    Ok(call.begun(ctx))
}

fn parts(topics: Vec<Owned>) -> BTreeSet<Part> {
    let parts = topics.into_iter().flat_map(|topic| {
        let id = TopicId(topic.topic_id);
        topic.partitions.into_iter().map(move |index| (id, PartitionIndex(index)))
    });
    parts.collect()
}

fn by_topic<'a>(parts: impl IntoIterator<Item = &'a Part>) -> BTreeMap<TopicId, Vec<i32>> {
    let mut topics: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
    for (topic, index) in parts {
        topics.entry(*topic).or_default().push(index.0);
    }
    topics
}

pub(super) fn finish_beat(ctx: &Ctx<'_>, answer: Option<GroupAnswer>) -> Outcome {
    let told = match answer {
        Some(GroupAnswer::ConsumerBeaten(told)) => told,
        _ => Err(ODD.into()),
    };
    let response = match told {
        Ok(told) => accepted(told),
        Err(Refusal { code, message }) => ConsumerGroupHeartbeatResponse {
            error_code: code.code(),
            error_message: message,
            ..Default::default()
        },
    };
    reply::answer(ctx, &response)
}

fn accepted(told: ConsumerBeat) -> ConsumerGroupHeartbeatResponse {
    let assignment = told.assigned.map(|parts| {
        let topics = by_topic(&parts).into_iter();
        let topics = topics.map(|(id, partitions)| TopicPartitions { topic_id: id.0, partitions });
        Assignment { topic_partitions: topics.collect() }
    });
    ConsumerGroupHeartbeatResponse {
        member_id: Some(told.member.to_string()),
        member_epoch: told.epoch,
        heartbeat_interval_ms: told.interval_ms,
        assignment,
        ..Default::default()
    }
}

pub(in crate::api) fn begin_describe(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: ConsumerGroupDescribeRequest = ctx.decode(body)?;
    let mut call = GroupCall::new(ctx, Form::DescribeConsumer(request.group_ids.clone()));
    for group in request.group_ids {
        let name = shared(group);
        call.ask_consumer(ctx, &name.clone(), GroupRequest::DescribeConsumer(name));
    }
    Ok(call.begun(ctx))
}

pub(super) fn finish_describe(
    ctx: &Ctx<'_>,
    groups: Vec<String>,
    answers: impl Iterator<Item = GroupAnswer>,
) -> Outcome {
    let groups = groups.into_iter().zip(answers).map(|(group_id, answer)| {
        let described = match answer {
            GroupAnswer::ConsumerDescribed(described) => described,
            _ => Err(ODD.into()),
        };
        match described {
            Ok(group) => describe(ctx, group_id, group),
            Err(refusal) => refused(group_id, refusal),
        }
    });
    let response = ConsumerGroupDescribeResponse { groups: groups.collect(), ..Default::default() };
    reply::answer(ctx, &response)
}

fn refused(group_id: String, refusal: Refusal) -> DescribedGroup {
    let error_code = refusal.code.code();
    DescribedGroup { error_code, error_message: refusal.message, group_id, ..Default::default() }
}

fn describe(ctx: &Ctx<'_>, group_id: String, group: ConsumerDescription) -> DescribedGroup {
    DescribedGroup {
        group_id,
        group_state: group.state.name().to_owned(),
        group_epoch: group.epoch,
        assignment_epoch: group.target_epoch,
        assignor_name: group.assignor.to_string(),
        members: group.members.into_iter().map(|one| member(ctx, one)).collect(),
        ..Default::default()
    }
}

fn member(ctx: &Ctx<'_>, member: ConsumerMember) -> Member {
    let text = |text: Option<Arc<str>>| text.map(|text| text.to_string());
    let about = member.about;
    Member {
        member_id: member.member.to_string(),
        instance_id: text(about.instance),
        rack_id: text(about.rack),
        member_epoch: member.current.epoch,
        client_id: about.client_id.to_string(),
        client_host: about.client_host.to_string(),
        subscribed_topic_names: about.topics.iter().map(|topic| topic.to_string()).collect(),
        // Kafka has an empty text where there is none.
        subscribed_topic_regex: Some(text(about.pattern).unwrap_or_default()),
        assignment: named(ctx, member.current.assigned.keys()),
        target_assignment: named(ctx, &member.target),
        member_type: if about.classic.is_some() { CLASSIC } else { CONSUMER },
    }
}

/// Partitions of topics that there still are, with their names.
fn named<'a>(ctx: &Ctx<'_>, parts: impl IntoIterator<Item = &'a Part>) -> Described {
    let topics = by_topic(parts).into_iter().filter_map(|(id, partitions)| {
        let topic = ctx.image.topic_by_id(&id)?;
        Some(DescribedPartitions { topic_id: id.0, topic_name: topic.name.to_string(), partitions })
    });
    Described { topic_partitions: topics.collect() }
}
