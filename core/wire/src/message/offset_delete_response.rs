// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each partition.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The outcome for each partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponse {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

impl OffsetDeleteResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            error_code: r.i16()?,
            throttle_time_ms: r.i32()?,
            topics: r.array(false, 6, |r| OffsetDeleteResponseTopic::read(r, version))?,
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.error_code);
        w.i32(self.throttle_time_ms);
        w.array(false, &self.topics, |w, item| item.write(w, version))?;
        Ok(())
    }
}

/// One of `OffsetDeleteResponse::topics`: topics asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponseTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions asked for.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

impl OffsetDeleteResponseTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string(false)?,
            partitions: r.array(false, 6, |r| OffsetDeleteResponsePartition::read(r, version))?,
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.name)?;
        w.array(false, &self.partitions, |w, item| item.write(w, version))?;
        Ok(())
    }
}

/// One of `OffsetDeleteResponseTopic::partitions`: partitions asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteResponsePartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl OffsetDeleteResponsePartition {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32()?, error_code: r.i16()? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.i16(self.error_code);
        Ok(())
    }
}

impl Message for OffsetDeleteResponse {
    const NAME: &'static str = "OffsetDeleteResponse";
    const VERSIONS: (i16, i16) = (0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
