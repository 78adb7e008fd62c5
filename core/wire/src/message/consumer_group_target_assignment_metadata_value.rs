// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The epoch of a consumer group's target assignment.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::message::traits::{Message, readable, writable};

/// The epoch of a consumer group's target assignment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    /// Epoch of the group for which the assignment was computed.
    pub assignment_epoch: i32,
    /// Time at which it was, in milliseconds since 1970; 0 if unknown.
    pub assignment_timestamp: i64,
}

impl ConsumerGroupTargetAssignmentMetadataValue {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let mut out = Self { assignment_epoch: r.i32()?, assignment_timestamp: 0 };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.assignment_timestamp = r.i64()?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.assignment_epoch);
        let mut tagged = TaggedFields::new();
        if self.assignment_timestamp != 0 {
            tagged.add(0, |w| {
                w.i64(self.assignment_timestamp);
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

impl Message for ConsumerGroupTargetAssignmentMetadataValue {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMetadataValue";
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
