// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! What a member of a consumer group is meant to read.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// What a member of a consumer group is meant to read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// Partitions by topic.
    pub topic_partitions: Vec<TopicPartition>,
}

impl ConsumerGroupTargetAssignmentMemberValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out =
            Self { topic_partitions: r.array(true, 18, |r| TopicPartition::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topic_partitions, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ConsumerGroupTargetAssignmentMemberValue::topic_partitions`: partitions by topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartition {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl TopicPartition {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { topic_id: r.uuid()?, partitions: r.array(true, 4, Reader::i32)? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(true, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupTargetAssignmentMemberValue {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMemberValue";
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
