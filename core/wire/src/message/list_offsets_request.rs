// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for the offsets of given timestamps or of given ends of the log.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks for the offsets of given timestamps or of given ends of the log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsRequest {
    /// Node id of the asking replica; -1 for a consumer.
    pub replica_id: i32,
    /// 0 to read everything, 1 to read only what committed transactions wrote.
    ///
    /// Since version 2.
    pub isolation_level: i8,
    /// Topics to look into.
    pub topics: Vec<ListOffsetsTopic>,
    /// Milliseconds to wait for tiered storage.
    ///
    /// Since version 10; dropped otherwise.
    pub timeout_ms: i32,
}

impl ListOffsetsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            replica_id: r.i32()?,
            isolation_level: if version >= 2 { r.i8()? } else { 0 },
            topics: r.array(flexible, 3, |r| ListOffsetsTopic::read(r, version))?,
            timeout_ms: if version >= 10 { r.i32()? } else { 0 },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.i32(self.replica_id);
        if version >= 2 {
            w.i8(self.isolation_level);
        } else if self.isolation_level != 0 {
            return Err(not_in_version("ListOffsetsRequest", "isolation_level", version));
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if version >= 10 {
            w.i32(self.timeout_ms);
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `ListOffsetsRequest::topics`: topics to look into.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListOffsetsTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions to look into.
    pub partitions: Vec<ListOffsetsPartition>,
}

impl ListOffsetsTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| ListOffsetsPartition::read(r, version))?,
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

/// One of `ListOffsetsTopic::partitions`: partitions to look into.
#[derive(Clone, PartialEq, Debug)]
pub struct ListOffsetsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Leader epoch as the client knows it, to detect that one side is behind; -1 if unknown.
    ///
    /// Since version 4; dropped otherwise.
    pub current_leader_epoch: i32,
    /// Milliseconds since 1970, or a sentinel: -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5 latest tiered, -6 earliest not yet tiered.
    pub timestamp: i64,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self { partition_index: 0, current_leader_epoch: -1, timestamp: 0 }
    }
}

impl ListOffsetsPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            partition_index: r.i32()?,
            current_leader_epoch: if version >= 4 { r.i32()? } else { -1 },
            timestamp: r.i64()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.i32(self.partition_index);
        if version >= 4 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.timestamp);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ListOffsetsRequest {
    const NAME: &'static str = "ListOffsetsRequest";
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

impl Request for ListOffsetsRequest {
    const KEY: ApiKey = ApiKey::ListOffsets;
    type Response = super::list_offsets_response::ListOffsetsResponse;
}
