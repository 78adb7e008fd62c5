// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A broker lost its leases; older form of BrokerRegistrationChangeRecord.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// A broker lost its leases; older form of BrokerRegistrationChangeRecord.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FenceBrokerRecord {
    /// Id of the broker.
    pub id: i32,
    /// Epoch of the broker's registration.
    pub epoch: i64,
}

impl FenceBrokerRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { id: r.i32()?, epoch: r.i64()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.id);
        w.i64(self.epoch);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for FenceBrokerRecord {
    const NAME: &'static str = "FenceBrokerRecord";
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
