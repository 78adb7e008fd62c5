// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! What a member of a consumer group may read.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// What a member of a consumer group may read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// Epoch of the member.
    pub member_epoch: i32,
    /// Epoch before that one, which the member still has if it missed an answer.
    pub previous_member_epoch: i32,
    /// State of the member: 0 stable, 1 partitions not given up yet, 2 partitions not free yet.
    pub state: i8,
    /// Partitions that the member owns.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// Partitions that the member has to give up.
    pub partitions_pending_revocation: Vec<TopicPartitions>,
}

impl ConsumerGroupCurrentMemberAssignmentValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            member_epoch: r.i32()?,
            previous_member_epoch: r.i32()?,
            state: r.i8()?,
            assigned_partitions: r.array(true, 18, |r| TopicPartitions::read(r, version))?,
            partitions_pending_revocation: r
                .array(true, 18, |r| TopicPartitions::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.member_epoch);
        w.i32(self.previous_member_epoch);
        w.i8(self.state);
        w.array(true, &self.assigned_partitions, |w, item| item.write(w, version))?;
        w.array(true, &self.partitions_pending_revocation, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ConsumerGroupCurrentMemberAssignmentValue::assigned_partitions`: partitions that the member owns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
    /// Epoch of the member at which it got each of these partitions; null if unknown.
    pub assignment_epochs: Option<Vec<i32>>,
}

impl TopicPartitions {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            topic_id: r.uuid()?,
            partitions: r.array(true, 4, Reader::i32)?,
            assignment_epochs: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.assignment_epochs = r.nullable_array(true, 4, Reader::i32)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(true, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        let mut tagged = TaggedFields::new();
        if self.assignment_epochs.is_some() {
            tagged.add(0, |w| {
                w.nullable_array(true, self.assignment_epochs.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

impl Message for ConsumerGroupCurrentMemberAssignmentValue {
    const NAME: &'static str = "ConsumerGroupCurrentMemberAssignmentValue";
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
