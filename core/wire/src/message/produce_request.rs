// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks the leaders of partitions to append record batches.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, Request, readable, writable};
use crate::records::Records;

/// Asks the leaders of partitions to append record batches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProduceRequest {
    /// Transactional id of the producer; null outside transactions.
    pub transactional_id: Option<String>,
    /// Who must have the batches before the answer: 0 nobody (and no answer), 1 the leader, -1 all in-sync replicas.
    pub acks: i16,
    /// Milliseconds to wait for the acknowledgements.
    pub timeout_ms: i32,
    /// Topics to append to.
    pub topic_data: Vec<TopicProduceData>,
}

impl ProduceRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            transactional_id: r.nullable_string(flexible)?,
            acks: r.i16()?,
            timeout_ms: r.i32()?,
            topic_data: r.array(flexible, 3, |r| TopicProduceData::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.nullable_string(flexible, self.transactional_id.as_deref())?;
        w.i16(self.acks);
        w.i32(self.timeout_ms);
        w.array(flexible, &self.topic_data, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `ProduceRequest::topic_data`: topics to append to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicProduceData {
    /// Name of the topic.
    ///
    /// Only in versions 3 to 12; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 13; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions to append to.
    pub partition_data: Vec<PartitionProduceData>,
}

impl TopicProduceData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            name: if version <= 12 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::ZERO },
            partition_data: r.array(flexible, 6, |r| PartitionProduceData::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        if version <= 12 {
            w.string(flexible, &self.name)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partition_data, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `TopicProduceData::partition_data`: partitions to append to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionProduceData {
    /// Number of the partition.
    pub index: i32,
    /// The batches to append.
    pub records: Option<Records>,
}

impl PartitionProduceData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self { index: r.i32()?, records: r.nullable_records(flexible)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i32(self.index);
        w.nullable_records(flexible, self.records.as_ref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ProduceRequest {
    const NAME: &'static str = "ProduceRequest";
    const VERSIONS: (i16, i16) = (3, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for ProduceRequest {
    const KEY: ApiKey = ApiKey::Produce;
    type Response = super::produce_response::ProduceResponse;
}
