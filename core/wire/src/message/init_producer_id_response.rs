// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The producer id and epoch to use.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// The producer id and epoch to use.
#[derive(Clone, PartialEq, Debug)]
pub struct InitProducerIdResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Id of the producer; -1 for none.
    pub producer_id: i64,
    /// Epoch of the producer; -1 for none.
    pub producer_epoch: i16,
    /// Producer id of the transaction left open; -1 for none.
    ///
    /// Since version 6.
    pub ongoing_txn_producer_id: i64,
    /// Producer epoch of the transaction left open; -1 for none.
    ///
    /// Since version 6.
    pub ongoing_txn_producer_epoch: i16,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            producer_id: -1,
            producer_epoch: 0,
            ongoing_txn_producer_id: -1,
            ongoing_txn_producer_epoch: -1,
        }
    }
}

impl InitProducerIdResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.i16()?,
            producer_id: r.i64()?,
            producer_epoch: r.i16()?,
            ongoing_txn_producer_id: if version >= 6 { r.i64()? } else { -1 },
            ongoing_txn_producer_epoch: if version >= 6 { r.i16()? } else { -1 },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.i16(self.error_code);
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        if version >= 6 {
            w.i64(self.ongoing_txn_producer_id);
        } else if self.ongoing_txn_producer_id != -1 {
            return Err(not_in_version(
                "InitProducerIdResponse",
                "ongoing_txn_producer_id",
                version,
            ));
        }
        if version >= 6 {
            w.i16(self.ongoing_txn_producer_epoch);
        } else if self.ongoing_txn_producer_epoch != -1 {
            return Err(not_in_version(
                "InitProducerIdResponse",
                "ongoing_txn_producer_epoch",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for InitProducerIdResponse {
    const NAME: &'static str = "InitProducerIdResponse";
    const VERSIONS: (i16, i16) = (0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
