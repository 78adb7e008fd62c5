// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The epoch of a consumer group.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::message::traits::{Message, readable, writable};

/// The epoch of a consumer group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupMetadataValue {
    /// Epoch of the group.
    pub epoch: i32,
    /// Hash of the topics that the group reads; 0 if unknown.
    pub metadata_hash: i64,
}

impl ConsumerGroupMetadataValue {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let mut out = Self { epoch: r.i32()?, metadata_hash: 0 };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.metadata_hash = r.i64()?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.epoch);
        let mut tagged = TaggedFields::new();
        if self.metadata_hash != 0 {
            tagged.add(0, |w| {
                w.i64(self.metadata_hash);
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

impl Message for ConsumerGroupMetadataValue {
    const NAME: &'static str = "ConsumerGroupMetadataValue";
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
