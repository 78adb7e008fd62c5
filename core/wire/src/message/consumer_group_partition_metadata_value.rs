// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The topics that a consumer group reads; written until 4.0.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The topics that a consumer group reads; written until 4.0.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// The topics.
    pub topics: Vec<TopicMetadata>,
}

impl ConsumerGroupPartitionMetadataValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self { topics: r.array(true, 23, |r| TopicMetadata::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ConsumerGroupPartitionMetadataValue::topics`: the topics.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicMetadata {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Name of the topic.
    pub topic_name: String,
    /// Number of partitions.
    pub num_partitions: i32,
    /// Racks by partition; empty if none is known.
    pub partition_metadata: Vec<PartitionMetadata>,
}

impl TopicMetadata {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topic_id: r.uuid()?,
            topic_name: r.string(true)?,
            num_partitions: r.i32()?,
            partition_metadata: r.array(true, 6, |r| PartitionMetadata::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
        w.i32(self.num_partitions);
        w.array(true, &self.partition_metadata, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `TopicMetadata::partition_metadata`: racks by partition; empty if none is known.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionMetadata {
    /// Number of the partition.
    pub partition: i32,
    /// Racks that have a replica.
    pub racks: Vec<String>,
}

impl PartitionMetadata {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { partition: r.i32()?, racks: r.array(true, 1, |r| r.string(true))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition);
        w.array(true, &self.racks, |w, item| w.string(true, item))?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupPartitionMetadataValue {
    const NAME: &'static str = "ConsumerGroupPartitionMetadataValue";
    const VERSIONS: (i16, i16) = (0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
