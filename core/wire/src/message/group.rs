// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! All records of the topic `__consumer_offsets`.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader};
use crate::message::traits::{Message, prefixed, read_prefixed, with_prefix};

use super::consumer_group_current_member_assignment_key::ConsumerGroupCurrentMemberAssignmentKey;
use super::consumer_group_current_member_assignment_value::ConsumerGroupCurrentMemberAssignmentValue;
use super::consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey;
use super::consumer_group_member_metadata_value::ConsumerGroupMemberMetadataValue;
use super::consumer_group_metadata_key::ConsumerGroupMetadataKey;
use super::consumer_group_metadata_value::ConsumerGroupMetadataValue;
use super::consumer_group_partition_metadata_key::ConsumerGroupPartitionMetadataKey;
use super::consumer_group_partition_metadata_value::ConsumerGroupPartitionMetadataValue;
use super::consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey;
use super::consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;
use super::consumer_group_target_assignment_member_key::ConsumerGroupTargetAssignmentMemberKey;
use super::consumer_group_target_assignment_member_value::ConsumerGroupTargetAssignmentMemberValue;
use super::consumer_group_target_assignment_metadata_key::ConsumerGroupTargetAssignmentMetadataKey;
use super::consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;
use super::group_metadata_key::GroupMetadataKey;
use super::group_metadata_value::GroupMetadataValue;
use super::legacy_offset_commit_key::LegacyOffsetCommitKey;
use super::legacy_offset_commit_value::LegacyOffsetCommitValue;
use super::offset_commit_key::OffsetCommitKey;
use super::offset_commit_value::OffsetCommitValue;

/// A record of the topic `__consumer_offsets`: a key and a value, or no value if it removes what
/// the key names.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupRecord {
    /// How far a group has read a partition, in the oldest form.
    LegacyOffsetCommit(LegacyOffsetCommitKey, Option<LegacyOffsetCommitValue>),
    /// How far a group has read a partition.
    OffsetCommit(OffsetCommitKey, Option<OffsetCommitValue>),
    /// A generation of a classic group.
    GroupMetadata(GroupMetadataKey, Option<GroupMetadataValue>),
    /// The epoch of a consumer group.
    ConsumerGroupMetadata(ConsumerGroupMetadataKey, Option<ConsumerGroupMetadataValue>),
    /// The topics that a consumer group reads; written until 4.0.
    ConsumerGroupPartitionMetadata(
        ConsumerGroupPartitionMetadataKey,
        Option<ConsumerGroupPartitionMetadataValue>,
    ),
    /// What a member of a consumer group said of itself.
    ConsumerGroupMemberMetadata(
        ConsumerGroupMemberMetadataKey,
        Option<ConsumerGroupMemberMetadataValue>,
    ),
    /// The epoch of a consumer group's target assignment.
    ConsumerGroupTargetAssignmentMetadata(
        ConsumerGroupTargetAssignmentMetadataKey,
        Option<ConsumerGroupTargetAssignmentMetadataValue>,
    ),
    /// What a member of a consumer group is meant to read.
    ConsumerGroupTargetAssignmentMember(
        ConsumerGroupTargetAssignmentMemberKey,
        Option<ConsumerGroupTargetAssignmentMemberValue>,
    ),
    /// What a member of a consumer group may read.
    ConsumerGroupCurrentMemberAssignment(
        ConsumerGroupCurrentMemberAssignmentKey,
        Option<ConsumerGroupCurrentMemberAssignmentValue>,
    ),
    /// The topics that a regular expression stands for.
    ConsumerGroupRegularExpression(
        ConsumerGroupRegularExpressionKey,
        Option<ConsumerGroupRegularExpressionValue>,
    ),
    /// A record of a type that is not known here, as it is.
    Unknown {
        /// Number of the type.
        key_type: i16,
        /// Fields of the key.
        key: Bytes,
        /// The value from its version on.
        value: Option<Bytes>,
    },
}

impl GroupRecord {
    /// Number of the record's type, with which the key begins.
    pub const fn key_type(&self) -> i16 {
        match self {
            Self::LegacyOffsetCommit(..) => 0,
            Self::OffsetCommit(..) => 1,
            Self::GroupMetadata(..) => 2,
            Self::ConsumerGroupMetadata(..) => 3,
            Self::ConsumerGroupPartitionMetadata(..) => 4,
            Self::ConsumerGroupMemberMetadata(..) => 5,
            Self::ConsumerGroupTargetAssignmentMetadata(..) => 6,
            Self::ConsumerGroupTargetAssignmentMember(..) => 7,
            Self::ConsumerGroupCurrentMemberAssignment(..) => 8,
            Self::ConsumerGroupRegularExpression(..) => 16,
            Self::Unknown { key_type, .. } => *key_type,
        }
    }

    /// The protocol's name of the record's type.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::LegacyOffsetCommit(..) => "LegacyOffsetCommit",
            Self::OffsetCommit(..) => "OffsetCommit",
            Self::GroupMetadata(..) => "GroupMetadata",
            Self::ConsumerGroupMetadata(..) => "ConsumerGroupMetadata",
            Self::ConsumerGroupPartitionMetadata(..) => "ConsumerGroupPartitionMetadata",
            Self::ConsumerGroupMemberMetadata(..) => "ConsumerGroupMemberMetadata",
            Self::ConsumerGroupTargetAssignmentMetadata(..) => {
                "ConsumerGroupTargetAssignmentMetadata"
            }
            Self::ConsumerGroupTargetAssignmentMember(..) => "ConsumerGroupTargetAssignmentMember",
            Self::ConsumerGroupCurrentMemberAssignment(..) => {
                "ConsumerGroupCurrentMemberAssignment"
            }
            Self::ConsumerGroupRegularExpression(..) => "ConsumerGroupRegularExpression",
            Self::Unknown { .. } => "Unknown",
        }
    }

    /// Oldest and newest version of the value; `None` for a type that is not known.
    pub const fn value_versions(&self) -> Option<(i16, i16)> {
        match self {
            Self::LegacyOffsetCommit(..) => Some(LegacyOffsetCommitValue::VERSIONS),
            Self::OffsetCommit(..) => Some(OffsetCommitValue::VERSIONS),
            Self::GroupMetadata(..) => Some(GroupMetadataValue::VERSIONS),
            Self::ConsumerGroupMetadata(..) => Some(ConsumerGroupMetadataValue::VERSIONS),
            Self::ConsumerGroupPartitionMetadata(..) => {
                Some(ConsumerGroupPartitionMetadataValue::VERSIONS)
            }
            Self::ConsumerGroupMemberMetadata(..) => {
                Some(ConsumerGroupMemberMetadataValue::VERSIONS)
            }
            Self::ConsumerGroupTargetAssignmentMetadata(..) => {
                Some(ConsumerGroupTargetAssignmentMetadataValue::VERSIONS)
            }
            Self::ConsumerGroupTargetAssignmentMember(..) => {
                Some(ConsumerGroupTargetAssignmentMemberValue::VERSIONS)
            }
            Self::ConsumerGroupCurrentMemberAssignment(..) => {
                Some(ConsumerGroupCurrentMemberAssignmentValue::VERSIONS)
            }
            Self::ConsumerGroupRegularExpression(..) => {
                Some(ConsumerGroupRegularExpressionValue::VERSIONS)
            }
            Self::Unknown { .. } => None,
        }
    }

    /// The key as it is stored.
    pub fn key(&self) -> Result<Bytes, EncodeError> {
        match self {
            Self::LegacyOffsetCommit(key, _) => prefixed(0, key, 0),
            Self::OffsetCommit(key, _) => prefixed(1, key, 0),
            Self::GroupMetadata(key, _) => prefixed(2, key, 0),
            Self::ConsumerGroupMetadata(key, _) => prefixed(3, key, 0),
            Self::ConsumerGroupPartitionMetadata(key, _) => prefixed(4, key, 0),
            Self::ConsumerGroupMemberMetadata(key, _) => prefixed(5, key, 0),
            Self::ConsumerGroupTargetAssignmentMetadata(key, _) => prefixed(6, key, 0),
            Self::ConsumerGroupTargetAssignmentMember(key, _) => prefixed(7, key, 0),
            Self::ConsumerGroupCurrentMemberAssignment(key, _) => prefixed(8, key, 0),
            Self::ConsumerGroupRegularExpression(key, _) => prefixed(16, key, 0),

            Self::Unknown { key_type, key, .. } => Ok(with_prefix(*key_type, key)),
        }
    }

    /// The value as it is stored in `version`, which is ignored for a type that is not known.
    pub fn value(&self, version: i16) -> Result<Option<Bytes>, EncodeError> {
        match self {
            Self::LegacyOffsetCommit(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::OffsetCommit(_, value) => value.as_ref().map(|v| prefixed(version, v, version)),
            Self::GroupMetadata(_, value) => value.as_ref().map(|v| prefixed(version, v, version)),
            Self::ConsumerGroupMetadata(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupPartitionMetadata(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupMemberMetadata(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupTargetAssignmentMetadata(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupTargetAssignmentMember(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupCurrentMemberAssignment(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }
            Self::ConsumerGroupRegularExpression(_, value) => {
                value.as_ref().map(|v| prefixed(version, v, version))
            }

            Self::Unknown { value, .. } => value.clone().map(Ok),
        }
        .transpose()
    }

    /// Reads key and value; gives the record and the version of its value, which is `None` if there
    /// is no value or the type is not known.
    ///
    /// As in Kafka's `CoordinatorRecordSerde`, bytes behind the fields are no error, a version of the
    /// value that does not exist is.
    pub fn decode(key: Bytes, value: Option<Bytes>) -> Result<(Self, Option<i16>), DecodeError> {
        let mut key = Reader::new(key);
        match key.i16()? {
            0 => known(Self::LegacyOffsetCommit, key, value),
            1 => known(Self::OffsetCommit, key, value),
            2 => known(Self::GroupMetadata, key, value),
            3 => known(Self::ConsumerGroupMetadata, key, value),
            4 => known(Self::ConsumerGroupPartitionMetadata, key, value),
            5 => known(Self::ConsumerGroupMemberMetadata, key, value),
            6 => known(Self::ConsumerGroupTargetAssignmentMetadata, key, value),
            7 => known(Self::ConsumerGroupTargetAssignmentMember, key, value),
            8 => known(Self::ConsumerGroupCurrentMemberAssignment, key, value),
            16 => known(Self::ConsumerGroupRegularExpression, key, value),

            key_type => {
                let key = key.take(key.remaining())?;
                Ok((Self::Unknown { key_type, key, value }, None))
            }
        }
    }
}

/// Reads the rest of a key and the value of a known type.
fn known<K: Message, V: Message>(
    of: fn(K, Option<V>) -> GroupRecord,
    mut key: Reader,
    value: Option<Bytes>,
) -> Result<(GroupRecord, Option<i16>), DecodeError> {
    let fields = K::decode(&mut key, 0)?;
    let Some((version, value)) = value.map(read_prefixed).transpose()? else {
        return Ok((of(fields, None), None));
    };
    Ok((of(fields, Some(value)), Some(version)))
}
