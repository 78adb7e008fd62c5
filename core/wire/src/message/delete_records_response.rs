// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each partition.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The outcome for each partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

impl DeleteRecordsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 3, |r| DeleteRecordsTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DeleteRecordsResponse::topics`: topics asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsTopicResult {
    /// Name of the topic.
    pub name: String,
    /// Partitions asked for.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

impl DeleteRecordsTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r
                .array(flexible, 14, |r| DeleteRecordsPartitionResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.name)?;
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DeleteRecordsTopicResult::partitions`: partitions asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsPartitionResult {
    /// Number of the partition.
    pub partition_index: i32,
    /// Smallest first offset over all replicas.
    pub low_watermark: i64,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl DeleteRecordsPartitionResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { partition_index: r.i32()?, low_watermark: r.i64()?, error_code: r.i16()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.low_watermark);
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DeleteRecordsResponse {
    const NAME: &'static str = "DeleteRecordsResponse";
    const VERSIONS: (i16, i16) = (0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
