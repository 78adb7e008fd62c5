// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks which brokers coordinate groups or transactions.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks which brokers coordinate groups or transactions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FindCoordinatorRequest {
    /// Group id or transactional id.
    ///
    /// Only in versions 0 to 3.
    pub key: String,
    /// What the keys are: 0 group ids, 1 transactional ids, 2 partitions of share groups.
    ///
    /// Since version 1.
    pub key_type: i8,
    /// Group ids or transactional ids.
    ///
    /// Since version 4.
    pub coordinator_keys: Vec<String>,
}

impl FindCoordinatorRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            key: if version <= 3 { r.string(flexible)? } else { String::new() },
            key_type: if version >= 1 { r.i8()? } else { 0 },
            coordinator_keys: if version >= 4 {
                r.array(flexible, 1, |r| r.string(flexible))?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        if version <= 3 {
            w.string(flexible, &self.key)?;
        } else if !self.key.is_empty() {
            return Err(not_in_version("FindCoordinatorRequest", "key", version));
        }
        if version >= 1 {
            w.i8(self.key_type);
        } else if self.key_type != 0 {
            return Err(not_in_version("FindCoordinatorRequest", "key_type", version));
        }
        if version >= 4 {
            w.array(flexible, &self.coordinator_keys, |w, item| w.string(flexible, item))?;
        } else if !self.coordinator_keys.is_empty() {
            return Err(not_in_version("FindCoordinatorRequest", "coordinator_keys", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for FindCoordinatorRequest {
    const NAME: &'static str = "FindCoordinatorRequest";
    const VERSIONS: (i16, i16) = (0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for FindCoordinatorRequest {
    const KEY: ApiKey = ApiKey::FindCoordinator;
    type Response = super::find_coordinator_response::FindCoordinatorResponse;
}
