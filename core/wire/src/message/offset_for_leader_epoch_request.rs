// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks where leader epochs ended, to find where two logs diverge.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks where leader epochs ended, to find where two logs diverge.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetForLeaderEpochRequest {
    /// Node id of the asking replica; -1 for a consumer, -2 if unknown.
    ///
    /// Since version 3; dropped otherwise.
    pub replica_id: i32,
    /// Topics asked about.
    pub topics: Vec<OffsetForLeaderTopic>,
}

impl Default for OffsetForLeaderEpochRequest {
    fn default() -> Self {
        Self { replica_id: -2, topics: Vec::new() }
    }
}

impl OffsetForLeaderEpochRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            replica_id: if version >= 3 { r.i32()? } else { -2 },
            topics: r.array(flexible, 3, |r| OffsetForLeaderTopic::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        if version >= 3 {
            w.i32(self.replica_id);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetForLeaderEpochRequest::topics`: topics asked about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetForLeaderTopic {
    /// Name of the topic.
    pub topic: String,
    /// Partitions asked about.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

impl OffsetForLeaderTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            topic: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| OffsetForLeaderPartition::read(r, version))?,
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

/// One of `OffsetForLeaderTopic::partitions`: partitions asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetForLeaderPartition {
    /// Number of the partition.
    pub partition: i32,
    /// Leader epoch as the client knows it, to detect that one side is behind; -1 if unknown.
    pub current_leader_epoch: i32,
    /// Epoch whose end is asked for.
    pub leader_epoch: i32,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self { partition: 0, current_leader_epoch: -1, leader_epoch: 0 }
    }
}

impl OffsetForLeaderPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out =
            Self { partition: r.i32()?, current_leader_epoch: r.i32()?, leader_epoch: r.i32()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i32(self.partition);
        w.i32(self.current_leader_epoch);
        w.i32(self.leader_epoch);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for OffsetForLeaderEpochRequest {
    const NAME: &'static str = "OffsetForLeaderEpochRequest";
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

impl Request for OffsetForLeaderEpochRequest {
    const KEY: ApiKey = ApiKey::OffsetForLeaderEpoch;
    type Response = super::offset_for_leader_epoch_response::OffsetForLeaderEpochResponse;
}
