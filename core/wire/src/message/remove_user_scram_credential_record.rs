// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A user's password verifier was removed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// A user's password verifier was removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RemoveUserScramCredentialRecord {
    /// Name of the user.
    pub name: String,
    /// Hash of the mechanism: 1 SHA-256, 2 SHA-512.
    pub mechanism: i8,
}

impl RemoveUserScramCredentialRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, mechanism: r.i8()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.i8(self.mechanism);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for RemoveUserScramCredentialRecord {
    const NAME: &'static str = "RemoveUserScramCredentialRecord";
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
