// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The records up to the next end or abort belong together.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::message::traits::{Message, readable, writable};

/// The records up to the next end or abort belong together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BeginTransactionRecord {
    /// What the transaction is for; null if not told.
    pub name: Option<String>,
}

impl BeginTransactionRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let mut out = Self { name: None };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.name = r.nullable_string(true)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        let mut tagged = TaggedFields::new();
        if self.name.is_some() {
            tagged.add(0, |w| {
                w.nullable_string(true, self.name.as_deref())?;
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

impl Message for BeginTransactionRecord {
    const NAME: &'static str = "BeginTransactionRecord";
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
