// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Stores how far a group has read.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Stores how far a group has read.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetCommitRequest {
    /// Id of the group.
    pub group_id: String,
    /// Generation of a classic group or epoch of the member; -1 from outside of any.
    pub generation_id_or_member_epoch: i32,
    /// Id of the member; empty from outside of any group.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 7.
    pub group_instance_id: Option<String>,
    /// Milliseconds to keep the offsets; -1 for as long as the broker is configured to.
    ///
    /// Only in versions 2 to 4; dropped otherwise.
    pub retention_time_ms: i64,
    /// Topics to commit offsets of.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

impl Default for OffsetCommitRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Vec::new(),
        }
    }
}

impl OffsetCommitRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self {
            group_id: r.string(flexible)?,
            generation_id_or_member_epoch: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 7 { r.nullable_string(flexible)? } else { None },
            retention_time_ms: if version <= 4 { r.i64()? } else { -1 },
            topics: r.array(flexible, 3, |r| OffsetCommitRequestTopic::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 8;
        w.string(flexible, &self.group_id)?;
        w.i32(self.generation_id_or_member_epoch);
        w.string(flexible, &self.member_id)?;
        if version >= 7 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        } else if self.group_instance_id.is_some() {
            return Err(not_in_version("OffsetCommitRequest", "group_instance_id", version));
        }
        if version <= 4 {
            w.i64(self.retention_time_ms);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetCommitRequest::topics`: topics to commit offsets of.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitRequestTopic {
    /// Name of the topic.
    ///
    /// Only in versions 2 to 9; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions to commit offsets of.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

impl OffsetCommitRequestTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self {
            name: if version <= 9 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            partitions: r
                .array(flexible, 14, |r| OffsetCommitRequestPartition::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 8;
        if version <= 9 {
            w.string(flexible, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetCommitRequestTopic::partitions`: partitions to commit offsets of.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetCommitRequestPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset to read next.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    ///
    /// Since version 6; dropped otherwise.
    pub committed_leader_epoch: i32,
    /// Note of the client's; null if there is none.
    pub committed_metadata: Option<String>,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: None,
        }
    }
}

impl OffsetCommitRequestPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self {
            partition_index: r.i32()?,
            committed_offset: r.i64()?,
            committed_leader_epoch: if version >= 6 { r.i32()? } else { -1 },
            committed_metadata: r.nullable_string(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 8;
        w.i32(self.partition_index);
        w.i64(self.committed_offset);
        if version >= 6 {
            w.i32(self.committed_leader_epoch);
        }
        w.nullable_string(flexible, self.committed_metadata.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for OffsetCommitRequest {
    const NAME: &'static str = "OffsetCommitRequest";
    const VERSIONS: (i16, i16) = (2, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(8);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for OffsetCommitRequest {
    const KEY: ApiKey = ApiKey::OffsetCommit;
    type Response = super::offset_commit_response::OffsetCommitResponse;
}
