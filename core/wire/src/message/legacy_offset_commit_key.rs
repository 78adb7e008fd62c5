// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Names a group and a partition, in the oldest form.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Names a group and a partition, in the oldest form.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LegacyOffsetCommitKey {
    /// Id of the group.
    pub group: String,
    /// Name of the topic.
    pub topic: String,
    /// Number of the partition.
    pub partition: i32,
}

impl LegacyOffsetCommitKey {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { group: r.string(false)?, topic: r.string(false)?, partition: r.i32()? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.group)?;
        w.string(false, &self.topic)?;
        w.i32(self.partition);
        Ok(())
    }
}

impl Message for LegacyOffsetCommitKey {
    const NAME: &'static str = "LegacyOffsetCommitKey";
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
