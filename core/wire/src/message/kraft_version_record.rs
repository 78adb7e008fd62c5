// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Control record that sets the version of the consensus protocol.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Control record that sets the version of the consensus protocol.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KRaftVersionRecord {
    /// Version of the rest of the record.
    pub version: i16,
    /// Version of the consensus protocol: 0 static voters, 1 dynamic voters.
    pub kraft_version: i16,
}

impl KRaftVersionRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { version: r.i16()?, kraft_version: r.i16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i16(self.version);
        w.i16(self.kraft_version);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for KRaftVersionRecord {
    const NAME: &'static str = "KRaftVersionRecord";
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
