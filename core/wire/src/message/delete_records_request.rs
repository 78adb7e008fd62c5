// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to drop the records before given offsets.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks to drop the records before given offsets.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsRequest {
    /// Topics to drop records from.
    pub topics: Vec<DeleteRecordsTopic>,
    /// Milliseconds to wait for the outcome.
    pub timeout_ms: i32,
}

impl DeleteRecordsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            topics: r.array(flexible, 3, |r| DeleteRecordsTopic::read(r, version))?,
            timeout_ms: r.i32()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        w.i32(self.timeout_ms);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DeleteRecordsRequest::topics`: topics to drop records from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions to drop records from.
    pub partitions: Vec<DeleteRecordsPartition>,
}

impl DeleteRecordsTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 12, |r| DeleteRecordsPartition::read(r, version))?,
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

/// One of `DeleteRecordsTopic::partitions`: partitions to drop records from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteRecordsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Offset of the first record to keep; -1 for the high watermark.
    pub offset: i64,
}

impl DeleteRecordsPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { partition_index: r.i32()?, offset: r.i64()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.offset);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DeleteRecordsRequest {
    const NAME: &'static str = "DeleteRecordsRequest";
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

impl Request for DeleteRecordsRequest {
    const KEY: ApiKey = ApiKey::DeleteRecords;
    type Response = super::delete_records_response::DeleteRecordsResponse;
}
