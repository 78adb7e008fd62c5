// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Control record that begins a snapshot.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Control record that begins a snapshot.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SnapshotHeaderRecord {
    /// Version of the rest of the record.
    pub version: i16,
    /// Timestamp of the last record in the snapshot, in milliseconds since 1970.
    pub last_contained_log_timestamp: i64,
}

impl SnapshotHeaderRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { version: r.i16()?, last_contained_log_timestamp: r.i64()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i16(self.version);
        w.i64(self.last_contained_log_timestamp);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for SnapshotHeaderRecord {
    const NAME: &'static str = "SnapshotHeaderRecord";
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
