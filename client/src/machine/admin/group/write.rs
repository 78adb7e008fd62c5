//! Calls about groups as requests.

use std::sync::Arc;

use dohle_wire::ApiKey;
use dohle_wire::message::{
    ConsumerGroupDescribeRequest, DeleteGroupsRequest, DescribeGroupsRequest,
    FindCoordinatorRequest, LeaveGroupRequest, ListGroupsRequest,
    MemberIdentity as RequestedMember, OffsetCommitRequest, OffsetCommitRequestPartition,
    OffsetCommitRequestTopic, OffsetDeleteRequest, OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic, OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
};

use super::super::write::{Out, pick};
use super::{CommittedOffset, GroupCall, GroupFilter, MemberIdentity, Plan};
use crate::machine::TopicPartition;
use crate::machine::cluster::SendError;

/// Last versions of OffsetFetch and OffsetCommit that name topics by name.
const BY_NAME: i16 = 9;
/// First version of OffsetFetch for several groups.
const FETCH_MANY: i16 = 8;
/// First version of LeaveGroup for several members.
pub(super) const LEAVE_MANY: i16 = 3;
/// First version of FindCoordinator for several groups.
pub(in crate::machine::admin) const FIND_MANY: i16 = 4;
/// Longest reason for removing a member, as in Kafka's clients.
const REASON_MAX: usize = 255;

/// Name of the request that a call makes.
pub(in crate::machine::admin) const fn name(call: &GroupCall) -> &'static str {
    match call {
        GroupCall::List(_) => "ListGroups",
        GroupCall::Describe(_) => "DescribeGroups",
        GroupCall::Delete(_) => "DeleteGroups",
        GroupCall::ListOffsets(_) => "OffsetFetch",
        GroupCall::AlterOffsets { .. } => "OffsetCommit",
        GroupCall::DeleteOffsets { .. } => "OffsetDelete",
        GroupCall::RemoveMembers { .. } => "LeaveGroup",
    }
}

/// How many items one request can hold, given the version of a request that a broker speaks.
pub(in crate::machine::admin) fn per_request(
    call: &GroupCall,
    version: impl Fn(ApiKey) -> Option<i16>,
) -> usize {
    let many =
        |key, from| if version(key).is_none_or(|best| best >= from) { usize::MAX } else { 1 };
    match call {
        GroupCall::ListOffsets(_) => many(ApiKey::OffsetFetch, FETCH_MANY),
        GroupCall::RemoveMembers { .. } => many(ApiKey::LeaveGroup, LEAVE_MANY),
        GroupCall::List(_)
        | GroupCall::Describe(_)
        | GroupCall::Delete(_)
        | GroupCall::AlterOffsets { .. }
        | GroupCall::DeleteOffsets { .. } => usize::MAX,
    }
}

/// Asks for the coordinators of groups; a version before [`FIND_MANY`] takes one.
pub(in crate::machine::admin) fn lookup(
    out: &mut Out<'_>,
    groups: &[Arc<str>],
) -> Result<(), SendError> {
    out.send(i16::MAX, |version| {
        let mut request = FindCoordinatorRequest::default();
        if version >= FIND_MANY {
            request.coordinator_keys = groups.iter().map(|group| group.to_string()).collect();
        } else {
            request.key = groups.first().map_or_else(String::new, |group| group.to_string());
        }
        request
    })
}

/// Sends items of a call to a broker.
pub(in crate::machine::admin) fn write(
    out: &mut Out<'_>,
    call: &GroupCall,
    items: &[usize],
    plan: &Plan,
) -> Result<(), SendError> {
    let strings =
        |groups: &[Arc<str>]| pick(groups, items).map(|group| group.to_string()).collect();
    match call {
        GroupCall::List(filter) => out.send(i16::MAX, |_| list(filter)),
        GroupCall::Describe(groups) if plan.classic.contains(&items[0]) => {
            let groups = strings(groups);
            out.send(i16::MAX, |_| DescribeGroupsRequest { groups, ..Default::default() })
        }
        GroupCall::Describe(groups) => {
            let group_ids = strings(groups);
            out.send(i16::MAX, |_| ConsumerGroupDescribeRequest { group_ids, ..Default::default() })
        }
        GroupCall::Delete(groups) => {
            let groups_names = strings(groups);
            out.send(i16::MAX, |_| DeleteGroupsRequest { groups_names })
        }
        GroupCall::ListOffsets(groups) => {
            out.send(BY_NAME, |version| fetch_offsets(pick(groups, items), version))
        }
        GroupCall::AlterOffsets { group, offsets } => {
            out.send(BY_NAME, |_| commit(group, pick(offsets, items)))
        }
        GroupCall::DeleteOffsets { group, partitions } => {
            out.send(i16::MAX, |_| delete_offsets(group, pick(partitions, items)))
        }
        GroupCall::RemoveMembers { group, members, reason } => {
            let members = pick(members, items);
            out.send(i16::MAX, |version| leave(group, members, reason.as_deref(), version))
        }
    }
}

fn list(filter: &GroupFilter) -> ListGroupsRequest {
    ListGroupsRequest {
        states_filter: filter.states.iter().map(|state| state.name().to_owned()).collect(),
        types_filter: filter.types.iter().map(|kind| kind.name().to_owned()).collect(),
    }
}

/// Groups what belongs to the same topic.
fn by_topic<'a, T>(
    items: impl Iterator<Item = (&'a TopicPartition, T)>,
) -> std::collections::BTreeMap<&'a str, Vec<T>> {
    let mut topics: std::collections::BTreeMap<&str, Vec<T>> = std::collections::BTreeMap::new();
    for (at, item) in items {
        topics.entry(&*at.topic).or_default().push(item);
    }
    topics
}

fn fetch_offsets<'a>(
    groups: impl Iterator<Item = &'a (Arc<str>, Option<Vec<TopicPartition>>)>,
    version: i16,
) -> OffsetFetchRequest {
    let mut request = OffsetFetchRequest::default();
    for (group, partitions) in groups {
        let topics = partitions.as_ref().map(|partitions| {
            by_topic(partitions.iter().map(|at| (at, at.partition)))
                .into_iter()
                .map(|(name, numbers)| (name.to_owned(), numbers))
        });
        if version < FETCH_MANY {
            let topic =
                |(name, partition_indexes)| OffsetFetchRequestTopic { name, partition_indexes };
            request.group_id = group.to_string();
            request.topics = topics.map(|topics| topics.map(topic).collect());
            return request;
        }
        let topic = |(name, partition_indexes)| OffsetFetchRequestTopics {
            name,
            partition_indexes,
            ..OffsetFetchRequestTopics::default()
        };
        request.groups.push(OffsetFetchRequestGroup {
            group_id: group.to_string(),
            topics: topics.map(|topics| topics.map(topic).collect()),
            ..OffsetFetchRequestGroup::default()
        });
    }
    request
}

fn commit<'a>(
    group: &str,
    offsets: impl Iterator<Item = &'a (TopicPartition, CommittedOffset)>,
) -> OffsetCommitRequest {
    let parts = offsets.map(|(at, commit)| {
        let part = OffsetCommitRequestPartition {
            partition_index: at.partition,
            committed_offset: commit.offset.0,
            committed_leader_epoch: commit.leader_epoch.0,
            committed_metadata: Some(commit.metadata.clone()),
        };
        (at, part)
    });
    let topic = |(name, partitions): (&str, Vec<_>)| OffsetCommitRequestTopic {
        name: name.to_owned(),
        partitions,
        ..OffsetCommitRequestTopic::default()
    };
    OffsetCommitRequest {
        group_id: group.to_owned(),
        topics: by_topic(parts).into_iter().map(topic).collect(),
        ..OffsetCommitRequest::default()
    }
}

fn delete_offsets<'a>(
    group: &str,
    partitions: impl Iterator<Item = &'a TopicPartition>,
) -> OffsetDeleteRequest {
    let parts =
        partitions.map(|at| (at, OffsetDeleteRequestPartition { partition_index: at.partition }));
    let topic = |(name, partitions): (&str, Vec<_>)| OffsetDeleteRequestTopic {
        name: name.to_owned(),
        partitions,
    };
    OffsetDeleteRequest {
        group_id: group.to_owned(),
        topics: by_topic(parts).into_iter().map(topic).collect(),
    }
}

fn leave<'a>(
    group: &str,
    mut members: impl Iterator<Item = &'a MemberIdentity>,
    reason: Option<&str>,
    version: i16,
) -> LeaveGroupRequest {
    let mut request =
        LeaveGroupRequest { group_id: group.to_owned(), ..LeaveGroupRequest::default() };
    if version < LEAVE_MANY {
        // A static member cannot be named here: the broker will not know the empty id.
        if let Some(MemberIdentity::Member(id)) = members.next() {
            request.member_id.clone_from(id);
        }
        return request;
    }
    let reason: Option<String> = reason.map(|text| text.chars().take(REASON_MAX).collect());
    for member in members {
        let (member_id, group_instance_id) = match member {
            MemberIdentity::Member(id) => (id.clone(), None),
            MemberIdentity::Instance(id) => (String::new(), Some(id.clone())),
        };
        let reason = reason.clone();
        request.members.push(RequestedMember { member_id, group_instance_id, reason });
    }
    request
}
