// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! What a consumer is to read.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// What a consumer is to read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerProtocolAssignment {
    /// Partitions by topic.
    pub assigned_partitions: Vec<TopicPartition>,
    /// What the assignor adds; null for nothing.
    pub user_data: Option<Bytes>,
}

impl ConsumerProtocolAssignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            assigned_partitions: r.array(false, 6, |r| TopicPartition::read(r, version))?,
            user_data: r.nullable_bytes(false)?,
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(false, &self.assigned_partitions, |w, item| item.write(w, version))?;
        w.nullable_bytes(false, self.user_data.as_ref())?;
        Ok(())
    }
}

/// One of `ConsumerProtocolAssignment::assigned_partitions`: partitions by topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartition {
    /// Name of the topic.
    pub topic: String,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { topic: r.string(false)?, partitions: r.array(false, 4, Reader::i32)? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.topic)?;
        w.array(false, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        Ok(())
    }
}

impl Message for ConsumerProtocolAssignment {
    const NAME: &'static str = "ConsumerProtocolAssignment";
    const VERSIONS: (i16, i16) = (0, 3);
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
