// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to forget how far a group has read.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks to forget how far a group has read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequest {
    /// Id of the group.
    pub group_id: String,
    /// Topics to forget offsets of.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

impl OffsetDeleteRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            group_id: r.string(false)?,
            topics: r.array(false, 6, |r| OffsetDeleteRequestTopic::read(r, version))?,
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.group_id)?;
        w.array(false, &self.topics, |w, item| item.write(w, version))?;
        Ok(())
    }
}

/// One of `OffsetDeleteRequest::topics`: topics to forget offsets of.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequestTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions to forget offsets of.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

impl OffsetDeleteRequestTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            name: r.string(false)?,
            partitions: r.array(false, 4, |r| OffsetDeleteRequestPartition::read(r, version))?,
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.name)?;
        w.array(false, &self.partitions, |w, item| item.write(w, version))?;
        Ok(())
    }
}

/// One of `OffsetDeleteRequestTopic::partitions`: partitions to forget offsets of.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetDeleteRequestPartition {
    /// Number of the partition.
    pub partition_index: i32,
}

impl OffsetDeleteRequestPartition {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { partition_index: r.i32()? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        Ok(())
    }
}

impl Message for OffsetDeleteRequest {
    const NAME: &'static str = "OffsetDeleteRequest";
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

impl Request for OffsetDeleteRequest {
    const KEY: ApiKey = ApiKey::OffsetDelete;
    type Response = super::offset_delete_response::OffsetDeleteResponse;
}
