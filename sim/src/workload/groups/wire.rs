//! The requests of a member, and what their answers say.

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_jepsen::Key;
use dohle_wire::consumer_protocol::{
    PROTOCOL_TYPE, decode_assignment, encode_assignment, encode_subscription,
};
use dohle_wire::message::consumer_protocol_assignment::TopicPartition;
use dohle_wire::message::join_group_request::JoinGroupRequestProtocol;
use dohle_wire::message::leave_group_request::MemberIdentity;
use dohle_wire::message::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use dohle_wire::message::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use dohle_wire::message::sync_group_request::SyncGroupRequestAssignment;
use dohle_wire::message::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, DeleteGroupsRequest,
    DescribeGroupsRequest, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest,
    LeaveGroupRequest, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse, SyncGroupRequest,
};

pub(super) const FIND_VERSION: i16 = 4;
pub(super) const JOIN_VERSION: i16 = 9;
pub(super) const SYNC_VERSION: i16 = 5;
pub(super) const HEARTBEAT_VERSION: i16 = 4;
pub(super) const LEAVE_VERSION: i16 = 5;
pub(super) const COMMIT_VERSION: i16 = 9;
pub(super) const FETCH_VERSION: i16 = 9;
pub(super) const BEAT_VERSION: i16 = 1;
pub(super) const DELETE_VERSION: i16 = 2;
pub(super) const DESCRIBE_VERSION: i16 = 5;

/// How long a rebalance waits for a member.
pub(super) const REBALANCE_TIMEOUT_MS: i32 = 2_000;

/// The only assignor, which the workload plays itself.
const PROTOCOL: &str = "range";

/// How a member calls itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Identity {
    pub(super) group: String,
    /// What a static member calls itself.
    instance: Option<String>,
    pub(super) member: String,
    pub(super) generation: i32,
}

impl Identity {
    pub(super) fn new(group: &str, instance: Option<String>) -> Self {
        Self { group: group.to_owned(), instance, member: String::new(), generation: -1 }
    }

    pub(super) fn instance(&self) -> Option<&String> {
        self.instance.as_ref()
    }

    pub(super) fn is_static(&self) -> bool {
        self.instance.is_some()
    }

    /// Who it is to those who do not give ids.
    pub(super) fn who(&self) -> &str {
        self.instance.as_ref().unwrap_or(&self.member)
    }

    pub(super) fn delete(&self) -> DeleteGroupsRequest {
        DeleteGroupsRequest { groups_names: vec![self.group.clone()] }
    }

    pub(super) fn describe(&self) -> DescribeGroupsRequest {
        DescribeGroupsRequest { groups: vec![self.group.clone()], ..Default::default() }
    }

    pub(super) fn find(&self) -> FindCoordinatorRequest {
        FindCoordinatorRequest { coordinator_keys: vec![self.group.clone()], ..Default::default() }
    }

    pub(super) fn join(&self, timeout_ms: i32, topics: Vec<String>) -> JoinGroupRequest {
        let subscription = ConsumerProtocolSubscription { topics, ..Default::default() };
        let metadata = encode_subscription(&subscription, 0).expect("topics have short names");
        let protocol = JoinGroupRequestProtocol { name: PROTOCOL.to_owned(), metadata };
        JoinGroupRequest {
            group_id: self.group.clone(),
            session_timeout_ms: timeout_ms,
            rebalance_timeout_ms: REBALANCE_TIMEOUT_MS,
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: PROTOCOL_TYPE.to_owned(),
            protocols: vec![protocol],
            ..Default::default()
        }
    }

    pub(super) fn sync(&self, assigned: &BTreeMap<String, Vec<Key>>) -> SyncGroupRequest {
        let assignments = assigned.iter().map(|(member, keys)| SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: assignment(keys),
        });
        SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: Some(PROTOCOL_TYPE.to_owned()),
            protocol_name: Some(PROTOCOL.to_owned()),
            assignments: assignments.collect(),
        }
    }

    pub(super) fn heartbeat(&self) -> HeartbeatRequest {
        HeartbeatRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
        }
    }

    pub(super) fn leave(&self) -> LeaveGroupRequest {
        let member = MemberIdentity {
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            reason: None,
        };
        LeaveGroupRequest {
            group_id: self.group.clone(),
            members: vec![member],
            ..Default::default()
        }
    }

    pub(super) fn commit(&self, offsets: &[(Key, i64)]) -> OffsetCommitRequest {
        let topics = offsets.iter().map(|(key, offset)| OffsetCommitRequestTopic {
            name: key.topic.clone(),
            partitions: vec![OffsetCommitRequestPartition {
                partition_index: key.partition,
                committed_offset: *offset,
                ..Default::default()
            }],
            ..Default::default()
        });
        OffsetCommitRequest {
            group_id: self.group.clone(),
            generation_id_or_member_epoch: self.generation,
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            topics: topics.collect(),
            ..Default::default()
        }
    }

    pub(super) fn fetch(&self, keys: &[Key]) -> OffsetFetchRequest {
        let topics = keys.iter().map(|key| OffsetFetchRequestTopics {
            name: key.topic.clone(),
            partition_indexes: vec![key.partition],
            ..Default::default()
        });
        let group = OffsetFetchRequestGroup {
            group_id: self.group.clone(),
            member_epoch: -1,
            topics: Some(topics.collect()),
            ..Default::default()
        };
        OffsetFetchRequest { groups: vec![group], require_stable: true, ..Default::default() }
    }
}

fn assignment(keys: &[Key]) -> Bytes {
    let assigned = keys
        .iter()
        .map(|key| TopicPartition { topic: key.topic.clone(), partitions: vec![key.partition] });
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: assigned.collect(),
        ..Default::default()
    };
    encode_assignment(&assignment, 0).expect("topics have short names")
}

/// The partitions that a member was assigned.
pub(super) fn owned(assignment: Bytes) -> Vec<Key> {
    if assignment.is_empty() {
        return Vec::new();
    }
    let (assignment, _) = decode_assignment(assignment).expect("what the leader wrote");
    let topics = assignment.assigned_partitions.into_iter();
    topics
        .flat_map(|topic| {
            topic.partitions.into_iter().map(move |p| Key::new(topic.topic.clone(), p))
        })
        .collect()
}

/// The leader's assignment: one after the other in turn.
pub(super) fn assign<'a>(
    members: impl Iterator<Item = &'a String> + Clone,
    keys: &[Key],
) -> BTreeMap<String, Vec<Key>> {
    let mut assigned: BTreeMap<String, Vec<Key>> =
        members.clone().map(|member| (member.clone(), Vec::new())).collect();
    for (key, member) in keys.iter().zip(members.cycle()) {
        assigned.entry(member.clone()).or_default().push(key.clone());
    }
    assigned
}

/// What became of each partition of a commit.
pub(super) fn committed(response: OffsetCommitResponse) -> Vec<(Key, i16)> {
    let topics = response.topics.into_iter();
    topics
        .flat_map(|topic| {
            let name = topic.name;
            let partitions = topic.partitions.into_iter();
            partitions
                .map(move |part| (Key::new(name.clone(), part.partition_index), part.error_code))
        })
        .collect()
}

/// Offsets that were fetched, or why they were not.
pub(super) fn fetched(response: OffsetFetchResponse) -> Result<Vec<(Key, Option<i64>)>, i16> {
    let mut found = Vec::new();
    for group in response.groups {
        if group.error_code != 0 {
            return Err(group.error_code);
        }
        for topic in group.topics {
            for part in topic.partitions {
                if part.error_code != 0 {
                    return Err(part.error_code);
                }
                let offset = Some(part.committed_offset).filter(|offset| *offset >= 0);
                found.push((Key::new(topic.name.clone(), part.partition_index), offset));
            }
        }
    }
    Ok(found)
}
