// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for a producer id and epoch, or for a newer epoch of a known one.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks for a producer id and epoch, or for a newer epoch of a known one.
#[derive(Clone, PartialEq, Debug)]
pub struct InitProducerIdRequest {
    /// Transactional id of the producer; null outside transactions.
    pub transactional_id: Option<String>,
    /// Milliseconds after which an idle transaction is aborted.
    pub transaction_timeout_ms: i32,
    /// Producer id to get a newer epoch of; -1 for a new one.
    ///
    /// Since version 3.
    pub producer_id: i64,
    /// Epoch the producer has; -1 for none.
    ///
    /// Since version 3.
    pub producer_epoch: i16,
    /// Take part in two-phase commits that another system coordinates.
    ///
    /// Since version 6.
    pub enable_2pc: bool,
    /// Leave a prepared transaction open instead of aborting it.
    ///
    /// Since version 6.
    pub keep_prepared_txn: bool,
}

impl Default for InitProducerIdRequest {
    fn default() -> Self {
        Self {
            transactional_id: None,
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
            enable_2pc: false,
            keep_prepared_txn: false,
        }
    }
}

impl InitProducerIdRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            transactional_id: r.nullable_string(flexible)?,
            transaction_timeout_ms: r.i32()?,
            producer_id: if version >= 3 { r.i64()? } else { -1 },
            producer_epoch: if version >= 3 { r.i16()? } else { -1 },
            enable_2pc: if version >= 6 { r.bool()? } else { false },
            keep_prepared_txn: if version >= 6 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.nullable_string(flexible, self.transactional_id.as_deref())?;
        w.i32(self.transaction_timeout_ms);
        if version >= 3 {
            w.i64(self.producer_id);
        } else if self.producer_id != -1 {
            return Err(not_in_version("InitProducerIdRequest", "producer_id", version));
        }
        if version >= 3 {
            w.i16(self.producer_epoch);
        } else if self.producer_epoch != -1 {
            return Err(not_in_version("InitProducerIdRequest", "producer_epoch", version));
        }
        if version >= 6 {
            w.bool(self.enable_2pc);
        } else if self.enable_2pc {
            return Err(not_in_version("InitProducerIdRequest", "enable_2pc", version));
        }
        if version >= 6 {
            w.bool(self.keep_prepared_txn);
        } else if self.keep_prepared_txn {
            return Err(not_in_version("InitProducerIdRequest", "keep_prepared_txn", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for InitProducerIdRequest {
    const NAME: &'static str = "InitProducerIdRequest";
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

impl Request for InitProducerIdRequest {
    const KEY: ApiKey = ApiKey::InitProducerId;
    type Response = super::init_producer_id_response::InitProducerIdResponse;
}
