// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! An access rule was removed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// An access rule was removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RemoveAccessControlEntryRecord {
    /// Id of the rule.
    pub id: Uuid,
}

impl RemoveAccessControlEntryRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { id: r.uuid()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.id);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for RemoveAccessControlEntryRecord {
    const NAME: &'static str = "RemoveAccessControlEntryRecord";
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
