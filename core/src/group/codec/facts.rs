//! Facts about consumer groups in Kafka's schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::id::{PartitionIndex, Timestamp, TopicId};
use dohle_wire::message::consumer_group_current_member_assignment_value::TopicPartitions;
use dohle_wire::message::consumer_group_member_metadata_value::{
    ClassicMemberMetadata, ClassicProtocol,
};
use dohle_wire::message::consumer_group_target_assignment_member_value::TopicPartition;
use dohle_wire::message::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue, GroupRecord,
};

use crate::group::record::{
    AboutMember, ClassicPart, Current, EpochValue, Fact, MemberState, Owned, PatternValue, Record,
};
use crate::group::topics::Part;

/// A fact about `group`.
pub(super) fn encoded(group: &Arc<str>, fact: &Fact) -> GroupRecord {
    let group_id = group.to_string();
    match fact {
        Fact::Epoch(value) => GroupRecord::ConsumerGroupMetadata(
            ConsumerGroupMetadataKey { group_id },
            value.map(|v| ConsumerGroupMetadataValue { epoch: v.epoch, metadata_hash: v.hash }),
        ),
        Fact::Member(member, value) => GroupRecord::ConsumerGroupMemberMetadata(
            ConsumerGroupMemberMetadataKey { group_id, member_id: member.to_string() },
            value.as_ref().map(about),
        ),
        Fact::TargetEpoch(value) => GroupRecord::ConsumerGroupTargetAssignmentMetadata(
            ConsumerGroupTargetAssignmentMetadataKey { group_id },
            value.map(|(assignment_epoch, at)| ConsumerGroupTargetAssignmentMetadataValue {
                assignment_epoch,
                assignment_timestamp: at.0,
            }),
        ),
        Fact::Target(member, value) => GroupRecord::ConsumerGroupTargetAssignmentMember(
            ConsumerGroupTargetAssignmentMemberKey { group_id, member_id: member.to_string() },
            value.as_ref().map(target),
        ),
        Fact::Current(member, value) => GroupRecord::ConsumerGroupCurrentMemberAssignment(
            ConsumerGroupCurrentMemberAssignmentKey { group_id, member_id: member.to_string() },
            value.as_ref().map(current),
        ),
        Fact::Pattern(pattern, value) => GroupRecord::ConsumerGroupRegularExpression(
            ConsumerGroupRegularExpressionKey { group_id, regular_expression: pattern.to_string() },
            value.as_ref().map(matched),
        ),
    }
}

fn about(value: &AboutMember) -> ConsumerGroupMemberMetadataValue {
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    ConsumerGroupMemberMetadataValue {
        instance_id: text(&value.instance),
        rack_id: text(&value.rack),
        client_id: value.client_id.to_string(),
        client_host: value.client_host.to_string(),
        subscribed_topic_names: value.topics.iter().map(|topic| topic.to_string()).collect(),
        subscribed_topic_regex: text(&value.pattern),
        rebalance_timeout_ms: value.rebalance_timeout_ms,
        server_assignor: text(&value.assignor),
        classic_member_metadata: value.classic.as_ref().map(classic),
    }
}

fn classic(part: &ClassicPart) -> ClassicMemberMetadata {
    let protocols = part.protocols.iter().map(|(name, metadata)| ClassicProtocol {
        name: name.to_string(),
        metadata: metadata.clone(),
    });
    ClassicMemberMetadata {
        session_timeout_ms: part.session_timeout_ms,
        supported_protocols: protocols.collect(),
    }
}

fn target(parts: &BTreeSet<Part>) -> ConsumerGroupTargetAssignmentMemberValue {
    let topics = by_topic(parts.iter().map(|part| (*part, ())));
    let topics = topics.into_iter().map(|(topic_id, parts)| TopicPartition {
        topic_id: topic_id.0,
        partitions: parts.into_iter().map(|(index, ())| index).collect(),
    });
    ConsumerGroupTargetAssignmentMemberValue { topic_partitions: topics.collect() }
}

fn current(value: &Current) -> ConsumerGroupCurrentMemberAssignmentValue {
    ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: value.epoch,
        previous_member_epoch: value.previous_epoch,
        state: state_code(value.state),
        assigned_partitions: owned(&value.assigned),
        partitions_pending_revocation: owned(&value.revoking),
    }
}

fn owned(parts: &Owned) -> Vec<TopicPartitions> {
    let topics = by_topic(parts.iter().map(|(part, epoch)| (*part, *epoch)));
    let topics = topics.into_iter().map(|(topic_id, parts)| {
        let (partitions, epochs) = parts.into_iter().unzip();
        TopicPartitions { topic_id: topic_id.0, partitions, assignment_epochs: Some(epochs) }
    });
    topics.collect()
}

fn by_topic<T>(parts: impl Iterator<Item = (Part, T)>) -> BTreeMap<TopicId, Vec<(i32, T)>> {
    let mut topics: BTreeMap<TopicId, Vec<_>> = BTreeMap::new();
    for ((topic, index), with) in parts {
        topics.entry(topic).or_default().push((index.0, with));
    }
    topics
}

fn matched(value: &PatternValue) -> ConsumerGroupRegularExpressionValue {
    ConsumerGroupRegularExpressionValue {
        topics: value.topics.iter().map(|topic| topic.to_string()).collect(),
        version: value.version,
        timestamp: value.at.0,
    }
}

fn state_code(state: MemberState) -> i8 {
    match state {
        MemberState::Stable => 0,
        MemberState::Unrevoked => 1,
        MemberState::Unreleased => 2,
        MemberState::Unknown(code) => code,
    }
}

/// What a record says about a consumer group, if it does. Of topics and their partitions, which
/// brokers before 4.1 remembered, nothing is wanted.
pub(super) fn decoded(record: GroupRecord) -> Option<Record> {
    let (group, fact) = match record {
        GroupRecord::ConsumerGroupMetadata(key, value) => {
            let value = value.map(|v| EpochValue { epoch: v.epoch, hash: v.metadata_hash });
            (key.group_id, Fact::Epoch(value))
        }
        GroupRecord::ConsumerGroupMemberMetadata(key, value) => {
            (key.group_id, Fact::Member(key.member_id.into(), value.map(said)))
        }
        GroupRecord::ConsumerGroupTargetAssignmentMetadata(key, value) => {
            let value = value.map(|v| (v.assignment_epoch, Timestamp(v.assignment_timestamp)));
            (key.group_id, Fact::TargetEpoch(value))
        }
        GroupRecord::ConsumerGroupTargetAssignmentMember(key, value) => {
            (key.group_id, Fact::Target(key.member_id.into(), value.map(wanted)))
        }
        GroupRecord::ConsumerGroupCurrentMemberAssignment(key, value) => {
            (key.group_id, Fact::Current(key.member_id.into(), value.map(held)))
        }
        GroupRecord::ConsumerGroupRegularExpression(key, value) => {
            (key.group_id, Fact::Pattern(key.regular_expression.into(), value.map(found)))
        }
        _ => return None,
    };
    Some(Record::Consumer { group: group.into(), fact })
}

fn said(value: ConsumerGroupMemberMetadataValue) -> AboutMember {
    AboutMember {
        instance: value.instance_id.map(Arc::from),
        rack: value.rack_id.map(Arc::from),
        client_id: value.client_id.into(),
        client_host: value.client_host.into(),
        topics: value.subscribed_topic_names.into_iter().map(Arc::from).collect(),
        // Kafka has an empty text for none, too.
        pattern: value.subscribed_topic_regex.filter(|text| !text.is_empty()).map(Arc::from),
        rebalance_timeout_ms: value.rebalance_timeout_ms,
        assignor: value.server_assignor.map(Arc::from),
        classic: value.classic_member_metadata.map(|classic| ClassicPart {
            session_timeout_ms: classic.session_timeout_ms,
            protocols: classic
                .supported_protocols
                .into_iter()
                .map(|protocol| (protocol.name.into(), protocol.metadata))
                .collect(),
        }),
    }
}

fn wanted(value: ConsumerGroupTargetAssignmentMemberValue) -> BTreeSet<Part> {
    let topics = value.topic_partitions.into_iter();
    let parts = topics.flat_map(|topic| {
        let id = TopicId(topic.topic_id);
        topic.partitions.into_iter().map(move |index| (id, PartitionIndex(index)))
    });
    parts.collect()
}

fn held(value: ConsumerGroupCurrentMemberAssignmentValue) -> Current {
    Current {
        epoch: value.member_epoch,
        previous_epoch: value.previous_member_epoch,
        state: state(value.state),
        assigned: with_epochs(value.assigned_partitions, value.member_epoch),
        revoking: with_epochs(value.partitions_pending_revocation, value.member_epoch),
    }
}

fn state(code: i8) -> MemberState {
    match code {
        0 => MemberState::Stable,
        1 => MemberState::Unrevoked,
        2 => MemberState::Unreleased,
        other => MemberState::Unknown(other),
    }
}

/// Brokers before 4.3 do not say since when a member has a partition: as far as anyone knows, since
/// its present epoch.
fn with_epochs(topics: Vec<TopicPartitions>, epoch: i32) -> Owned {
    let parts = topics.into_iter().flat_map(|topic| {
        let id = TopicId(topic.topic_id);
        let epochs = topic.assignment_epochs.unwrap_or_default();
        let epochs = epochs.into_iter().chain(std::iter::repeat(epoch));
        let parts = topic.partitions.into_iter().map(move |index| (id, PartitionIndex(index)));
        parts.zip(epochs)
    });
    parts.collect()
}

fn found(value: ConsumerGroupRegularExpressionValue) -> PatternValue {
    PatternValue {
        topics: value.topics.into_iter().map(Arc::from).collect(),
        version: value.version,
        at: Timestamp(value.timestamp),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decode, encode};
    use super::*;
    use bytes::Bytes;
    use dohle_wire::id::Uuid;

    fn check(fact: Fact) {
        let record = Record::Consumer { group: "g".into(), fact };
        let (key, value) = encode(&record).unwrap();
        assert_eq!(decode(key, value).unwrap(), Some(record));
    }

    fn part(index: i32) -> Part {
        (TopicId(Uuid::from_u128(9 << 64)), PartitionIndex(index))
    }

    #[test]
    fn facts_come_back() {
        let about = AboutMember {
            instance: Some("i".into()),
            rack: Some("r".into()),
            client_id: "c".into(),
            client_host: "/h".into(),
            topics: ["t".into()].into(),
            pattern: Some("t.*".into()),
            rebalance_timeout_ms: 300_000,
            assignor: Some("range".into()),
            classic: Some(ClassicPart {
                session_timeout_ms: 45_000,
                protocols: vec![("range".into(), Bytes::from_static(b"m"))],
            }),
        };
        let current = Current {
            epoch: 7,
            previous_epoch: 6,
            state: MemberState::Unrevoked,
            assigned: [(part(1), 3), (part(2), 7)].into(),
            revoking: [(part(4), 5)].into(),
        };
        let topics = ["t1".into(), "t2".into()].into();
        let pattern = PatternValue { topics, version: 12, at: Timestamp(9) };
        check(Fact::Epoch(Some(EpochValue { epoch: 4, hash: -3 })));
        check(Fact::Epoch(None));
        check(Fact::Member("m".into(), Some(about)));
        check(Fact::Member("m".into(), None));
        check(Fact::TargetEpoch(Some((4, Timestamp(5)))));
        check(Fact::TargetEpoch(None));
        check(Fact::Target("m".into(), Some([part(1), part(3)].into())));
        check(Fact::Target("m".into(), None));
        check(Fact::Current("m".into(), Some(current)));
        check(Fact::Current("m".into(), None));
        check(Fact::Pattern("t.*".into(), Some(pattern)));
        check(Fact::Pattern("t.*".into(), None));
    }

    #[test]
    fn a_partition_without_an_epoch_of_its_own_has_the_members() {
        let topic = TopicPartitions {
            topic_id: part(0).0.0,
            partitions: vec![1, 2],
            assignment_epochs: None,
        };
        assert_eq!(with_epochs(vec![topic], 8), [(part(1), 8), (part(2), 8)].into());
    }
}
