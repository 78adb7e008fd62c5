// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The registration of a broker was removed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The registration of a broker was removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UnregisterBrokerRecord {
    /// Id of the broker.
    pub broker_id: i32,
    /// Epoch of the broker's registration.
    pub broker_epoch: i64,
}

impl UnregisterBrokerRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { broker_id: r.i32()?, broker_epoch: r.i64()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.broker_id);
        w.i64(self.broker_epoch);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for UnregisterBrokerRecord {
    const NAME: &'static str = "UnregisterBrokerRecord";
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
