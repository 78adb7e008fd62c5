// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The end of each epoch asked for.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The end of each epoch asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderEpochResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked about.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

impl OffsetForLeaderEpochResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 3, |r| OffsetForLeaderTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetForLeaderEpochResponse::topics`: topics asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderTopicResult {
    /// Name of the topic.
    pub topic: String,
    /// Partitions asked about.
    pub partitions: Vec<EpochEndOffset>,
}

impl OffsetForLeaderTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            topic: r.string(flexible)?,
            partitions: r.array(flexible, 18, |r| EpochEndOffset::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.topic)?;
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetForLeaderTopicResult::partitions`: partitions asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct EpochEndOffset {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Number of the partition.
    pub partition: i32,
    /// Largest epoch not above the one asked for; -1 for none.
    pub leader_epoch: i32,
    /// Offset after the last record of that epoch; -1 for none.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { error_code: 0, partition: 0, leader_epoch: -1, end_offset: -1 }
    }
}

impl EpochEndOffset {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            error_code: r.i16()?,
            partition: r.i32()?,
            leader_epoch: r.i32()?,
            end_offset: r.i64()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i16(self.error_code);
        w.i32(self.partition);
        w.i32(self.leader_epoch);
        w.i64(self.end_offset);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for OffsetForLeaderEpochResponse {
    const NAME: &'static str = "OffsetForLeaderEpochResponse";
    const VERSIONS: (i16, i16) = (2, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
