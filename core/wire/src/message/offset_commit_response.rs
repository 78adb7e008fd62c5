// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each partition.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The outcome for each partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 3; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

impl OffsetCommitResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            topics: r.array(flexible, 3, |r| OffsetCommitResponseTopic::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 8;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetCommitResponse::topics`: topics asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponseTopic {
    /// Name of the topic.
    ///
    /// Only in versions 2 to 9; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions asked for.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

impl OffsetCommitResponseTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self {
            name: if version <= 9 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            partitions: r
                .array(flexible, 6, |r| OffsetCommitResponsePartition::read(r, version))?,
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

/// One of `OffsetCommitResponseTopic::partitions`: partitions asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetCommitResponsePartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl OffsetCommitResponsePartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 8;
        let out = Self { partition_index: r.i32()?, error_code: r.i16()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 8;
        w.i32(self.partition_index);
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for OffsetCommitResponse {
    const NAME: &'static str = "OffsetCommitResponse";
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
