// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Whether the member goes on as it is.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Whether the member goes on as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeartbeatResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl HeartbeatResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.i16()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for HeartbeatResponse {
    const NAME: &'static str = "HeartbeatResponse";
    const VERSIONS: (i16, i16) = (0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
