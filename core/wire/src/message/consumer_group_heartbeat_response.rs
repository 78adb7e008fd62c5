// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The member's epoch, and its assignment if that is news.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The member's epoch, and its assignment if that is news.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupHeartbeatResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// Id of the member; null if there is none.
    pub member_id: Option<String>,
    /// Epoch of the member.
    pub member_epoch: i32,
    /// Milliseconds until the next heartbeat.
    pub heartbeat_interval_ms: i32,
    /// Assignment of the member; null if unchanged.
    pub assignment: Option<Assignment>,
}

impl ConsumerGroupHeartbeatResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.i16()?,
            error_message: r.nullable_string(true)?,
            member_id: r.nullable_string(true)?,
            member_epoch: r.i32()?,
            heartbeat_interval_ms: r.i32()?,
            assignment: r.nullable_struct(|r| Assignment::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.throttle_time_ms);
        w.i16(self.error_code);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.nullable_string(true, self.member_id.as_deref())?;
        w.i32(self.member_epoch);
        w.i32(self.heartbeat_interval_ms);
        w.nullable_struct(self.assignment.as_ref(), |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// The `ConsumerGroupHeartbeatResponse::assignment`: assignment of the member; null if unchanged.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment {
    /// Partitions that the member may read.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Assignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out =
            Self { topic_partitions: r.array(true, 18, |r| TopicPartitions::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topic_partitions, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `Assignment::topic_partitions`: partitions that the member may read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
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

impl Message for ConsumerGroupHeartbeatResponse {
    const NAME: &'static str = "ConsumerGroupHeartbeatResponse";
    const VERSIONS: (i16, i16) = (0, 1);
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
