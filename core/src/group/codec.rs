//! Facts as records of `__consumer_offsets`, in Kafka's schemas.

mod facts;

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::codec::{DecodeError, EncodeError};
use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, Uuid};
use dohle_wire::message::group_metadata_value::MemberMetadata;
use dohle_wire::message::{
    GroupMetadataKey, GroupMetadataValue, GroupRecord, OffsetCommitKey, OffsetCommitValue,
};

use super::record::{GroupValue, MemberValue, Record};
use super::request::Committed;

/// The version that offsets are written in: the first that has topic ids.
const OFFSET_VERSION: i16 = 4;

/// The version for offsets that expire on their own, the only one that can say so.
const EXPIRING_VERSION: i16 = 1;

/// The version that groups are written in.
const GROUP_VERSION: i16 = 3;

/// The version that all about consumer groups is written in.
const CONSUMER_VERSION: i16 = 0;

/// Key and value as they are stored; no value for a fact that holds no longer.
///
/// # Errors
/// A text is longer than its field can be.
pub(crate) fn encode(record: &Record) -> Result<(Bytes, Option<Bytes>), EncodeError> {
    let (record, version) = match record {
        Record::Offset { group, topic, partition, value } => {
            let key = OffsetCommitKey {
                group: group.to_string(),
                topic: topic.to_string(),
                partition: partition.0,
            };
            let expires = value.as_ref().and_then(|value| value.expires);
            let version = if expires.is_some() { EXPIRING_VERSION } else { OFFSET_VERSION };
            (GroupRecord::OffsetCommit(key, value.as_ref().map(offset_value)), version)
        }
        Record::Group { group, value } => {
            let key = GroupMetadataKey { group: group.to_string() };
            (GroupRecord::GroupMetadata(key, value.as_ref().map(group_value)), GROUP_VERSION)
        }
        Record::Consumer { group, fact } => (facts::encoded(group, fact), CONSUMER_VERSION),
    };
    Ok((record.key()?, record.value(version)?))
}

fn offset_value(value: &Committed) -> OffsetCommitValue {
    OffsetCommitValue {
        offset: value.offset.0,
        leader_epoch: value.leader_epoch.0,
        metadata: value.metadata.to_string(),
        commit_timestamp: value.at.0,
        expire_timestamp: value.expires.map_or(-1, |at| at.0),
        topic_id: value.topic_id.map_or(Uuid::ZERO, |id| id.0),
    }
}

fn group_value(value: &GroupValue) -> GroupMetadataValue {
    let members = value.members.iter().map(|member| MemberMetadata {
        member_id: member.member.to_string(),
        group_instance_id: member.instance.as_deref().map(str::to_owned),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        rebalance_timeout: member.rebalance_timeout_ms,
        session_timeout: member.session_timeout_ms,
        subscription: member.subscription.clone(),
        assignment: member.assignment.clone(),
    });
    GroupMetadataValue {
        protocol_type: value.protocol_type.to_string(),
        generation: value.generation,
        protocol: value.protocol.as_deref().map(str::to_owned),
        leader: value.leader.as_deref().map(str::to_owned),
        current_state_timestamp: value.since.0,
        members: members.collect(),
    }
}

/// What a record says, if it is of a kind that is known here.
///
/// # Errors
/// It is of a known kind and does not hold what that kind does.
pub(crate) fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<Record>, DecodeError> {
    Ok(match GroupRecord::decode(key, value)?.0 {
        GroupRecord::OffsetCommit(key, value) => {
            Some(offset(key.group, key.topic, key.partition, value.map(committed)))
        }
        GroupRecord::LegacyOffsetCommit(key, value) => {
            let value = value.map(|value| {
                committed(OffsetCommitValue {
                    offset: value.offset,
                    metadata: value.metadata,
                    commit_timestamp: value.commit_timestamp,
                    ..Default::default()
                })
            });
            Some(offset(key.group, key.topic, key.partition, value))
        }
        GroupRecord::GroupMetadata(key, value) => {
            Some(Record::Group { group: key.group.into(), value: value.map(remembered) })
        }
        other => facts::decoded(other),
    })
}

fn offset(group: String, topic: String, partition: i32, value: Option<Committed>) -> Record {
    let partition = PartitionIndex(partition);
    Record::Offset { group: group.into(), topic: topic.into(), partition, value }
}

fn committed(value: OffsetCommitValue) -> Committed {
    Committed {
        offset: Offset(value.offset),
        leader_epoch: LeaderEpoch(value.leader_epoch),
        metadata: value.metadata.into(),
        at: Timestamp(value.commit_timestamp),
        expires: (value.expire_timestamp >= 0).then_some(Timestamp(value.expire_timestamp)),
        topic_id: (value.topic_id != Uuid::ZERO).then_some(TopicId(value.topic_id)),
    }
}

fn remembered(value: GroupMetadataValue) -> GroupValue {
    let members = value.members.into_iter().map(|member| MemberValue {
        member: member.member_id.into(),
        instance: member.group_instance_id.map(Arc::from),
        client_id: member.client_id.into(),
        client_host: member.client_host.into(),
        // The oldest form has no rebalance timeout of its own.
        rebalance_timeout_ms: match member.rebalance_timeout {
            -1 => member.session_timeout,
            timeout => timeout,
        },
        session_timeout_ms: member.session_timeout,
        subscription: member.subscription,
        assignment: member.assignment,
    });
    GroupValue {
        protocol_type: value.protocol_type.into(),
        generation: value.generation,
        protocol: value.protocol.map(Arc::from),
        leader: value.leader.map(Arc::from),
        since: Timestamp(value.current_state_timestamp),
        members: members.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &Record) {
        let (key, value) = encode(record).unwrap();
        assert_eq!(decode(key, value).unwrap().as_ref(), Some(record));
    }

    fn position(expires: Option<Timestamp>) -> Committed {
        Committed {
            offset: Offset(42),
            leader_epoch: LeaderEpoch(if expires.is_some() { -1 } else { 3 }),
            metadata: "note".into(),
            at: Timestamp(1_000),
            expires,
            topic_id: expires.is_none().then_some(TopicId(Uuid::from_u128(9 << 64))),
        }
    }

    #[test]
    fn facts_come_back() {
        for value in [None, Some(position(None)), Some(position(Some(Timestamp(5_000))))] {
            let (group, topic) = ("g".into(), "t".into());
            check(&Record::Offset { group, topic, partition: PartitionIndex(7), value });
        }
        let member = MemberValue {
            member: "m".into(),
            instance: Some("i".into()),
            client_id: "c".into(),
            client_host: "/h".into(),
            rebalance_timeout_ms: 300_000,
            session_timeout_ms: 45_000,
            subscription: Bytes::from_static(b"s"),
            assignment: Bytes::from_static(b"a"),
        };
        let value = GroupValue {
            protocol_type: "consumer".into(),
            generation: 5,
            protocol: Some("range".into()),
            leader: Some("m".into()),
            since: Timestamp(2_000),
            members: vec![member],
        };
        check(&Record::Group { group: "g".into(), value: Some(value) });
        check(&Record::Group { group: "g".into(), value: None });
    }

    #[test]
    fn records_of_other_kinds_are_passed_over() {
        let key = Bytes::from_static(&[0, 99, 1, 2]);
        assert_eq!(decode(key, Some(Bytes::new())), Ok(None));
    }

    #[test]
    fn a_text_that_no_field_holds_is_an_error() {
        let group = "g".repeat(40_000).into();
        assert!(encode(&Record::Group { group, value: None }).is_err());
    }
}
