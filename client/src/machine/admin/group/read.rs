//! Answers about groups as replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset};
use dohle_wire::message::consumer_group_describe_response::{
    Assignment, DescribedGroup as DescribedConsumerGroup,
};
use dohle_wire::message::describe_groups_response::DescribedGroup;
use dohle_wire::message::{
    ConsumerGroupDescribeRequest, ConsumerProtocolAssignment, DeleteGroupsRequest,
    DescribeGroupsRequest, DescribedGroupMember, LeaveGroupRequest, ListGroupsRequest, Member,
    OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest, OffsetFetchResponse,
};
use dohle_wire::{DecodeError, ErrorCode, Message, Reader};

use super::super::read::{Outcome, UNANSWERED};
use super::super::{ItemError, Tag};
use super::write::LEAVE_MANY;
use super::{
    CommittedOffset, GroupCall, GroupDescription, GroupMember, GroupOffsets, GroupReply,
    GroupState, GroupType, ListedGroup, MemberIdentity, Plan,
};
use crate::machine::TopicPartition;
use crate::machine::cluster::{Answer, Peer};

/// Errors that say nothing of the item itself: another broker, or the same one later, may serve it.
const fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::RebalanceInProgress
            | ErrorCode::UnstableOffsetCommit
    )
}

/// A result of an item as the broker put it.
type Told<T> = Result<T, (ErrorCode, Option<String>)>;

fn told<T>(code: i16, message: Option<String>, value: T) -> Told<T> {
    match ErrorCode::from(code) {
        ErrorCode::None => Ok(value),
        code => Err((code, message)),
    }
}

/// Enters what a broker said of an item, unless the item is to be asked for again.
fn enter<K: Ord, T>(
    (item, key): (usize, K),
    result: Option<Told<T>>,
    into: &mut BTreeMap<K, Result<T, ItemError>>,
    outcome: &mut Outcome,
) {
    let result = result.unwrap_or(Err((UNANSWERED, None)));
    match result {
        Err((code, _)) if is_passing(code) => drop(outcome.retry.insert(item, code)),
        result => {
            let result = result.map_err(|(code, message)| ItemError { code, message });
            into.insert(key, result);
        }
    }
}

/// Notes that nobody served an item. Gives the error back if it concerns the call as a whole.
pub(in crate::machine::admin) fn fail_item(
    call: &GroupCall,
    item: usize,
    plan: &Plan,
    error: ItemError,
    reply: &mut GroupReply,
) -> Result<(), ItemError> {
    match (call, reply) {
        (GroupCall::List(_), GroupReply::Listing(listing)) => match &plan.brokers {
            None => return Err(error),
            Some(brokers) => drop(listing.failed.insert(brokers[item], error)),
        },
        (GroupCall::Describe(groups), GroupReply::Described(each)) => {
            each.insert(Arc::clone(&groups[item]), Err(error));
        }
        (GroupCall::Delete(groups), GroupReply::Deleted(each)) => {
            each.insert(Arc::clone(&groups[item]), Err(error));
        }
        (GroupCall::ListOffsets(groups), GroupReply::Offsets(each)) => {
            each.insert(Arc::clone(&groups[item].0), Err(error));
        }
        (GroupCall::AlterOffsets { offsets, .. }, GroupReply::Partitions(each)) => {
            each.insert(offsets[item].0.clone(), Err(error));
        }
        (GroupCall::DeleteOffsets { partitions, .. }, GroupReply::Partitions(each)) => {
            each.insert(partitions[item].clone(), Err(error));
        }
        (GroupCall::RemoveMembers { members, .. }, GroupReply::Members(each)) => {
            each.insert(members[item].clone(), Err(error));
        }
        _ => unreachable!("a reply has the kind of its call"),
    }
    Ok(())
}

/// The reply of a call before any answer.
pub(in crate::machine::admin) fn empty_reply(call: &GroupCall) -> GroupReply {
    match call {
        GroupCall::List(_) => GroupReply::Listing(super::GroupListing::default()),
        GroupCall::Describe(_) => GroupReply::Described(BTreeMap::new()),
        GroupCall::Delete(_) => GroupReply::Deleted(BTreeMap::new()),
        GroupCall::ListOffsets(_) => GroupReply::Offsets(BTreeMap::new()),
        GroupCall::AlterOffsets { .. } | GroupCall::DeleteOffsets { .. } => {
            GroupReply::Partitions(BTreeMap::new())
        }
        GroupCall::RemoveMembers { .. } => GroupReply::Members(BTreeMap::new()),
    }
}

/// Takes the results of an answer over into the reply.
pub(in crate::machine::admin) fn read(
    answer: &Answer<Tag>,
    items: &[usize],
    call: &GroupCall,
    plan: &Plan,
    reply: &mut GroupReply,
) -> Result<Outcome, DecodeError> {
    match (call, reply) {
        (GroupCall::List(_), GroupReply::Listing(listing)) => {
            let brokers = plan.brokers.as_deref().unwrap_or_default();
            let broker = brokers[items[0]];
            let (groups, outcome) = listed(answer, items[0], broker)?;
            match groups {
                Ok(groups) => listing.groups.extend(groups),
                Err(error) => drop(listing.failed.insert(broker, error)),
            }
            Ok(outcome)
        }
        (GroupCall::Describe(groups), GroupReply::Described(each)) => {
            let wanted = items.iter().map(|item| (*item, Arc::clone(&groups[*item])));
            if plan.classic.contains(&items[0]) {
                described_classic(answer, wanted, each)
            } else {
                described_consumer(answer, wanted, each)
            }
        }
        (GroupCall::Delete(groups), GroupReply::Deleted(each)) => {
            let response = answer.decode::<DeleteGroupsRequest>()?;
            let mut outcome = Outcome::throttled(response.throttle_time_ms);
            for item in items {
                let group = Arc::clone(&groups[*item]);
                let found = response.results.iter().find(|found| *found.group_id == *group);
                let result = found.map(|f| told(f.error_code, f.error_message.clone(), ()));
                enter((*item, group), result, each, &mut outcome);
            }
            Ok(outcome)
        }
        (GroupCall::ListOffsets(groups), GroupReply::Offsets(each)) => {
            let response = answer.decode::<OffsetFetchRequest>()?;
            let mut outcome = Outcome::throttled(response.throttle_time_ms);
            for item in items {
                let group = Arc::clone(&groups[*item].0);
                let result = offsets_of(&response, &group);
                enter((*item, group), result, each, &mut outcome);
            }
            Ok(outcome)
        }
        (GroupCall::AlterOffsets { offsets, .. }, GroupReply::Partitions(each)) => {
            let response = answer.decode::<OffsetCommitRequest>()?;
            let found = response.topics.iter().flat_map(|topic| {
                let of = |part: i32| TopicPartition::new(topic.name.as_str(), part);
                topic.partitions.iter().map(move |p| (of(p.partition_index), p.error_code))
            });
            let wanted = items.iter().map(|item| (*item, offsets[*item].0.clone()));
            Ok(partitions_of(wanted, found.collect(), each, response.throttle_time_ms))
        }
        (GroupCall::DeleteOffsets { partitions, .. }, GroupReply::Partitions(each)) => {
            let response = answer.decode::<OffsetDeleteRequest>()?;
            let wanted = items.iter().map(|item| (*item, partitions[*item].clone()));
            let found = response.topics.iter().flat_map(|topic| {
                let of = |part: i32| TopicPartition::new(topic.name.as_str(), part);
                topic.partitions.iter().map(move |p| (of(p.partition_index), p.error_code))
            });
            let mut found: BTreeMap<TopicPartition, i16> = found.collect();
            if response.error_code != 0 {
                let of_group = |(_, at)| (at, response.error_code);
                found = wanted.clone().map(of_group).collect();
            }
            Ok(partitions_of(wanted, found, each, response.throttle_time_ms))
        }
        (GroupCall::RemoveMembers { members, .. }, GroupReply::Members(each)) => {
            left(answer, items, members, each)
        }
        _ => unreachable!("a reply has the kind of its call"),
    }
}

fn partitions_of(
    wanted: impl Iterator<Item = (usize, TopicPartition)>,
    found: BTreeMap<TopicPartition, i16>,
    each: &mut BTreeMap<TopicPartition, Result<(), ItemError>>,
    throttle_ms: i32,
) -> Outcome {
    let mut outcome = Outcome::throttled(throttle_ms);
    for (item, at) in wanted {
        let result = found.get(&at).map(|code| told(*code, None, ()));
        enter((item, at), result, each, &mut outcome);
    }
    outcome
}

type Listed = Result<BTreeMap<Arc<str>, ListedGroup>, ItemError>;

fn listed(
    answer: &Answer<Tag>,
    item: usize,
    broker: NodeId,
) -> Result<(Listed, Outcome), DecodeError> {
    let response = answer.decode::<ListGroupsRequest>()?;
    let mut outcome = Outcome::throttled(response.throttle_time_ms);
    let code = ErrorCode::from(response.error_code);
    if is_passing(code) {
        outcome.retry.insert(item, code);
        return Ok((Ok(BTreeMap::new()), outcome));
    }
    if code != ErrorCode::None {
        return Ok((Err(ItemError { code, message: None }), outcome));
    }
    let groups = response.groups.into_iter().map(|group| {
        let listed = ListedGroup {
            coordinator: broker,
            protocol_type: group.protocol_type,
            state: GroupState::told(&group.group_state),
            group_type: GroupType::told(&group.group_type),
        };
        (Arc::from(group.group_id), listed)
    });
    Ok((Ok(groups.collect()), outcome))
}

/// The broker that answered, as far as metadata has named it.
const fn answered_by(peer: Peer) -> NodeId {
    match peer {
        Peer::Node(node) | Peer::Coordinator(node) => node,
        Peer::Seed(_) => NodeId(-1),
    }
}

type Descriptions = BTreeMap<Arc<str>, Result<GroupDescription, ItemError>>;

/// A group that is none of the newer kind may be one of the older, and the older request has to say
/// so (Kafka's DescribeConsumerGroupsHandler).
fn described_consumer(
    answer: &Answer<Tag>,
    wanted: impl Iterator<Item = (usize, Arc<str>)>,
    each: &mut Descriptions,
) -> Result<Outcome, DecodeError> {
    let response = answer.decode::<ConsumerGroupDescribeRequest>()?;
    let mut outcome = Outcome::throttled(response.throttle_time_ms);
    let coordinator = answered_by(answer.peer);
    for (item, group) in wanted {
        let found = response.groups.iter().find(|found| *found.group_id == *group);
        let code = found.map_or(UNANSWERED, |found| ErrorCode::from(found.error_code));
        if matches!(code, ErrorCode::GroupIdNotFound | ErrorCode::UnsupportedVersion) {
            outcome.classic.push(item);
            continue;
        }
        let result = found
            .map(|f| told(f.error_code, f.error_message.clone(), consumer_group(f, coordinator)));
        enter((item, group), result, each, &mut outcome);
    }
    Ok(outcome)
}

fn consumer_group(group: &DescribedConsumerGroup, coordinator: NodeId) -> GroupDescription {
    let member = |member: &Member| GroupMember {
        id: member.member_id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        host: member.client_host.clone(),
        epoch: Some(member.member_epoch),
        assignment: partitions(&member.assignment),
        target: Some(partitions(&member.target_assignment)),
    };
    GroupDescription {
        coordinator,
        group_type: GroupType::Consumer,
        state: GroupState::told(&group.group_state),
        protocol_type: CONSUMER.to_owned(),
        assignor: group.assignor_name.clone(),
        epochs: Some((group.group_epoch, group.assignment_epoch)),
        members: group.members.iter().map(member).collect(),
    }
}

fn partitions(assignment: &Assignment) -> Vec<TopicPartition> {
    let topics = assignment.topic_partitions.iter();
    sorted(topics.flat_map(|topic| {
        let name: Arc<str> = topic.topic_name.as_str().into();
        topic.partitions.iter().map(move |number| TopicPartition::new(Arc::clone(&name), *number))
    }))
}

fn sorted(partitions: impl Iterator<Item = TopicPartition>) -> Vec<TopicPartition> {
    let mut partitions: Vec<TopicPartition> = partitions.collect();
    partitions.sort();
    partitions
}

/// Protocol type of groups of consumers.
const CONSUMER: &str = "consumer";

fn described_classic(
    answer: &Answer<Tag>,
    wanted: impl Iterator<Item = (usize, Arc<str>)>,
    each: &mut Descriptions,
) -> Result<Outcome, DecodeError> {
    let response = answer.decode::<DescribeGroupsRequest>()?;
    let mut outcome = Outcome::throttled(response.throttle_time_ms);
    let coordinator = answered_by(answer.peer);
    for (item, group) in wanted {
        let found = response.groups.iter().find(|found| *found.group_id == *group);
        let result = found.map(|found| {
            // Versions before 6 describe a group that does not exist as a dead one.
            let dead = found.error_code == 0 && found.group_state == GroupState::Dead.name();
            let code = if dead { ErrorCode::GroupIdNotFound.code() } else { found.error_code };
            told(code, found.error_message.clone(), classic_group(found, coordinator))
        });
        enter((item, group), result, each, &mut outcome);
    }
    Ok(outcome)
}

fn classic_group(group: &DescribedGroup, coordinator: NodeId) -> GroupDescription {
    let consumers = group.protocol_type == CONSUMER;
    let member = |member: &DescribedGroupMember| GroupMember {
        id: member.member_id.clone(),
        instance_id: member.group_instance_id.clone(),
        client_id: member.client_id.clone(),
        host: member.client_host.clone(),
        epoch: None,
        assignment: if consumers { assigned(member) } else { Vec::new() },
        target: None,
    };
    GroupDescription {
        coordinator,
        group_type: GroupType::Classic,
        state: GroupState::told(&group.group_state),
        protocol_type: group.protocol_type.clone(),
        assignor: group.protocol_data.clone(),
        epochs: None,
        members: group.members.iter().map(member).collect(),
    }
}

/// What a classic member reads, in the consumers' own encoding. What its leader wrote is no concern
/// of the broker's: nonsense is no assignment.
fn assigned(member: &DescribedGroupMember) -> Vec<TopicPartition> {
    let mut body = Reader::new(member.member_assignment.clone());
    let decoded = body.i16().and_then(|version| {
        let newest = ConsumerProtocolAssignment::VERSIONS.1;
        ConsumerProtocolAssignment::decode(&mut body, version.clamp(0, newest))
    });
    let Ok(assignment) = decoded else { return Vec::new() };
    let topics = assignment.assigned_partitions.into_iter();
    sorted(topics.flat_map(|topic| {
        let name: Arc<str> = topic.topic.into();
        topic.partitions.into_iter().map(move |at| TopicPartition::new(Arc::clone(&name), at))
    }))
}

/// What a broker said of the offsets of one group.
fn offsets_of(response: &OffsetFetchResponse, group: &str) -> Option<Told<GroupOffsets>> {
    let mut offsets = GroupOffsets::new();
    if let Some(found) = response.groups.iter().find(|found| found.group_id == group) {
        for topic in &found.topics {
            for part in &topic.partitions {
                let at = TopicPartition::new(topic.name.as_str(), part.partition_index);
                let epoch = part.committed_leader_epoch;
                let committed = (part.committed_offset, epoch, part.metadata.clone());
                offsets.insert(at, committed_offset(part.error_code, committed));
            }
        }
        return Some(of_group(found.error_code, offsets));
    }
    if !response.groups.is_empty() {
        return None;
    }
    for topic in &response.topics {
        for part in &topic.partitions {
            let at = TopicPartition::new(topic.name.as_str(), part.partition_index);
            let epoch = part.committed_leader_epoch;
            let committed = (part.committed_offset, epoch, part.metadata.clone());
            offsets.insert(at, committed_offset(part.error_code, committed));
        }
    }
    Some(of_group(response.error_code, offsets))
}

/// A partition whose offset cannot be told yet makes the group one to be asked for again.
fn of_group(code: i16, offsets: GroupOffsets) -> Told<GroupOffsets> {
    let codes = offsets.values().filter_map(|offset| offset.as_ref().err().map(|e| e.code));
    match codes.into_iter().find(|code| is_passing(*code)) {
        Some(passing) if code == 0 => Err((passing, None)),
        _ => told(code, None, offsets),
    }
}

fn committed_offset(
    code: i16,
    (offset, epoch, metadata): (i64, i32, Option<String>),
) -> Result<Option<CommittedOffset>, ItemError> {
    let code = ErrorCode::from(code);
    if code != ErrorCode::None {
        return Err(ItemError { code, message: None });
    }
    Ok((offset >= 0).then(|| CommittedOffset {
        offset: Offset(offset),
        leader_epoch: LeaderEpoch(epoch),
        metadata: metadata.unwrap_or_default(),
    }))
}

fn left(
    answer: &Answer<Tag>,
    items: &[usize],
    members: &[MemberIdentity],
    each: &mut BTreeMap<MemberIdentity, Result<(), ItemError>>,
) -> Result<Outcome, DecodeError> {
    let response = answer.decode::<LeaveGroupRequest>()?;
    let mut outcome = Outcome::throttled(response.throttle_time_ms);
    for item in items {
        let member = members[*item].clone();
        let found = response.members.iter().find(|found| match &member {
            MemberIdentity::Member(id) => found.member_id == *id,
            MemberIdentity::Instance(id) => found.group_instance_id.as_ref() == Some(id),
        });
        // Versions before 3 speak of one member, and of it alone.
        let whole = response.error_code != 0 || answer.version() < LEAVE_MANY;
        let code = if whole { Some(response.error_code) } else { found.map(|f| f.error_code) };
        enter((*item, member), code.map(|code| told(code, None, ())), each, &mut outcome);
    }
    Ok(outcome)
}
