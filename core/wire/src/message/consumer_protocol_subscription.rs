// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! What a consumer wants to read.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// What a consumer wants to read.
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumerProtocolSubscription {
    /// Names of the topics.
    pub topics: Vec<String>,
    /// What the assignor adds; null for nothing.
    pub user_data: Option<Bytes>,
    /// Partitions that the consumer has been reading.
    ///
    /// Since version 1; dropped otherwise.
    pub owned_partitions: Vec<TopicPartition>,
    /// Generation for which these were assigned; -1 if unknown.
    ///
    /// Since version 2; dropped otherwise.
    pub generation_id: i32,
    /// Rack of the consumer; null if unknown.
    ///
    /// Since version 3; dropped otherwise.
    pub rack_id: Option<String>,
}

impl Default for ConsumerProtocolSubscription {
    fn default() -> Self {
        Self {
            topics: Vec::new(),
            user_data: None,
            owned_partitions: Vec::new(),
            generation_id: -1,
            rack_id: None,
        }
    }
}

impl ConsumerProtocolSubscription {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        Ok(Self {
            topics: r.array(false, 2, |r| r.string(false))?,
            user_data: r.nullable_bytes(false)?,
            owned_partitions: if version >= 1 {
                r.array(false, 6, |r| TopicPartition::read(r, version))?
            } else {
                Vec::new()
            },
            generation_id: if version >= 2 { r.i32()? } else { -1 },
            rack_id: if version >= 3 { r.nullable_string(false)? } else { None },
        })
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(false, &self.topics, |w, item| w.string(false, item))?;
        w.nullable_bytes(false, self.user_data.as_ref())?;
        if version >= 1 {
            w.array(false, &self.owned_partitions, |w, item| item.write(w, version))?;
        }
        if version >= 2 {
            w.i32(self.generation_id);
        }
        if version >= 3 {
            w.nullable_string(false, self.rack_id.as_deref())?;
        }
        Ok(())
    }
}

/// One of `ConsumerProtocolSubscription::owned_partitions`: partitions that the consumer has been reading.
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

impl Message for ConsumerProtocolSubscription {
    const NAME: &'static str = "ConsumerProtocolSubscription";
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
