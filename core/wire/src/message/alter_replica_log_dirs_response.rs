// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Which moves have begun.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Which moves have begun.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDirsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
}

impl AlterReplicaLogDirsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 3, |r| AlterReplicaLogDirTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `AlterReplicaLogDirsResponse::results`: topics.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDirTopicResult {
    /// Name of the topic.
    pub topic_name: String,
    /// Partitions.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
}

impl AlterReplicaLogDirTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            topic_name: r.string(flexible)?,
            partitions: r
                .array(flexible, 6, |r| AlterReplicaLogDirPartitionResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.topic_name)?;
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `AlterReplicaLogDirTopicResult::partitions`: partitions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDirPartitionResult {
    /// Number of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl AlterReplicaLogDirPartitionResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { partition_index: r.i32()?, error_code: r.i16()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for AlterReplicaLogDirsResponse {
    const NAME: &'static str = "AlterReplicaLogDirsResponse";
    const VERSIONS: (i16, i16) = (1, 2);
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
