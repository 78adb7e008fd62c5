// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The offsets found.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// The offsets found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 2; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Topics looked into.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

impl ListOffsetsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            throttle_time_ms: if version >= 2 { r.i32()? } else { 0 },
            topics: r.array(flexible, 3, |r| ListOffsetsTopicResponse::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `ListOffsetsResponse::topics`: topics looked into.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsTopicResponse {
    /// Name of the topic.
    pub name: String,
    /// Partitions looked into.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

impl ListOffsetsTopicResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r
                .array(flexible, 22, |r| ListOffsetsPartitionResponse::read(r, version))?,
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

/// One of `ListOffsetsTopicResponse::partitions`: partitions looked into.
#[derive(Clone, PartialEq, Debug)]
pub struct ListOffsetsPartitionResponse {
    /// Number of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Timestamp of the record found, in milliseconds since 1970; -1 for none.
    pub timestamp: i64,
    /// Offset found; -1 for none.
    pub offset: i64,
    /// Epoch of the record found; -1 for none.
    ///
    /// Since version 4.
    pub leader_epoch: i32,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self { partition_index: 0, error_code: 0, timestamp: -1, offset: -1, leader_epoch: -1 }
    }
}

impl ListOffsetsPartitionResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            partition_index: r.i32()?,
            error_code: r.i16()?,
            timestamp: r.i64()?,
            offset: r.i64()?,
            leader_epoch: if version >= 4 { r.i32()? } else { -1 },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        w.i16(self.error_code);
        w.i64(self.timestamp);
        w.i64(self.offset);
        if version >= 4 {
            w.i32(self.leader_epoch);
        } else if self.leader_epoch != -1 {
            return Err(not_in_version(
                "ListOffsetsResponse",
                "ListOffsetsPartitionResponse.leader_epoch",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ListOffsetsResponse {
    const NAME: &'static str = "ListOffsetsResponse";
    const VERSIONS: (i16, i16) = (1, 11);
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
