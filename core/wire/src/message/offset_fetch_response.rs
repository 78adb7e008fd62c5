// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! How far the groups have read.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// How far the groups have read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 3; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Topics asked about.
    ///
    /// Only in versions 1 to 7.
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// Error code; 0 for success.
    ///
    /// Only in versions 2 to 7; dropped otherwise.
    pub error_code: i16,
    /// Groups asked about.
    ///
    /// Since version 8.
    pub groups: Vec<OffsetFetchResponseGroup>,
}

impl OffsetFetchResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            topics: if version <= 7 {
                r.array(flexible, 3, |r| OffsetFetchResponseTopic::read(r, version))?
            } else {
                Vec::new()
            },
            error_code: if (2..=7).contains(&version) { r.i16()? } else { 0 },
            groups: if version >= 8 {
                r.array(flexible, 5, |r| OffsetFetchResponseGroup::read(r, version))?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 7 {
            w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        } else if !self.topics.is_empty() {
            return Err(not_in_version("OffsetFetchResponse", "topics", version));
        }
        if (2..=7).contains(&version) {
            w.i16(self.error_code);
        }
        if version >= 8 {
            w.array(flexible, &self.groups, |w, item| item.write(w, version))?;
        } else if !self.groups.is_empty() {
            return Err(not_in_version("OffsetFetchResponse", "groups", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetFetchResponse::topics`: topics asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions asked about.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

impl OffsetFetchResponseTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r
                .array(flexible, 16, |r| OffsetFetchResponsePartition::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.string(flexible, &self.name)?;
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetFetchResponseTopic::partitions`: partitions asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchResponsePartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset to read next; -1 for none.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    ///
    /// Since version 5; dropped otherwise.
    pub committed_leader_epoch: i32,
    /// Note of the client's; null if there is none.
    pub metadata: Option<String>,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: if version >= 5 { r.i32()? } else { -1 },
            metadata: r.nullable_string(flexible)?,
            error_code: r.i16()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if version >= 5 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(flexible, self.metadata.as_deref())?;
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetFetchResponse::groups`: groups asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseGroup {
    /// Id of the group.
    pub group_id: String,
    /// Topics asked about.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl OffsetFetchResponseGroup {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            group_id: r.string(true)?,
            topics: r.array(true, 3, |r| OffsetFetchResponseTopics::read(r, version))?,
            error_code: r.i16()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.group_id)?;
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        w.i16(self.error_code);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `OffsetFetchResponseGroup::topics`: topics asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchResponseTopics {
    /// Name of the topic.
    ///
    /// Only in versions 8 to 9; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions asked about.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

impl OffsetFetchResponseTopics {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: if version <= 9 { r.string(true)? } else { String::new() },
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            partitions: r.array(true, 20, |r| OffsetFetchResponsePartitions::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        if version <= 9 {
            w.string(true, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(true, &self.partitions, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `OffsetFetchResponseTopics::partitions`: partitions asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchResponsePartitions {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset to read next; -1 for none.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    pub committed_leader_epoch: i32,
    /// Note of the client's; null if there is none.
    pub metadata: Option<String>,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: None,
            error_code: 0,
        }
    }
}

impl OffsetFetchResponsePartitions {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: r.i32()?,
            metadata: r.nullable_string(true)?,
            error_code: r.i16()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        w.i32(self.committed_leader_epoch);
        w.nullable_string(true, self.metadata.as_deref())?;
        w.i16(self.error_code);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for OffsetFetchResponse {
    const NAME: &'static str = "OffsetFetchResponse";
    const VERSIONS: (i16, i16) = (1, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
