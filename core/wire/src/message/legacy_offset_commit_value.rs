// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! How far a group has read a partition, in the oldest form.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// How far a group has read a partition, in the oldest form.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LegacyOffsetCommitValue {
    /// Offset to read next.
    pub offset: i64,
    /// Note of the client's; may be empty.
    pub metadata: String,
    /// Time of the commit in milliseconds since 1970.
    pub commit_timestamp: i64,
}

impl LegacyOffsetCommitValue {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { offset: r.i64()?, metadata: r.string(false)?, commit_timestamp: r.i64()? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i64(self.offset);
        w.string(false, &self.metadata)?;
        w.i64(self.commit_timestamp);
        Ok(())
    }
}

impl Message for LegacyOffsetCommitValue {
    const NAME: &'static str = "LegacyOffsetCommitValue";
    const VERSIONS: (i16, i16) = (0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
