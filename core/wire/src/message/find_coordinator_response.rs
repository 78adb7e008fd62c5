// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Where the coordinators are.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// Where the coordinators are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FindCoordinatorResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    ///
    /// Only in versions 0 to 3.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    ///
    /// Only in versions 1 to 3; dropped otherwise.
    pub error_message: Option<String>,
    /// Id of the node.
    ///
    /// Only in versions 0 to 3.
    pub node_id: i32,
    /// Host name or address of the listener.
    ///
    /// Only in versions 0 to 3.
    pub host: String,
    /// TCP port of the listener.
    ///
    /// Only in versions 0 to 3.
    pub port: i32,
    /// The coordinator for each key.
    ///
    /// Since version 4.
    pub coordinators: Vec<Coordinator>,
}

impl FindCoordinatorResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: if version <= 3 { r.i16()? } else { 0 },
            error_message: if (1..=3).contains(&version) {
                r.nullable_string(flexible)?
            } else {
                None
            },
            node_id: if version <= 3 { r.i32()? } else { 0 },
            host: if version <= 3 { r.string(flexible)? } else { String::new() },
            port: if version <= 3 { r.i32()? } else { 0 },
            coordinators: if version >= 4 {
                r.array(flexible, 14, |r| Coordinator::read(r, version))?
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
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 3 {
            w.i16(self.error_code);
        } else if self.error_code != 0 {
            return Err(not_in_version("FindCoordinatorResponse", "error_code", version));
        }
        if (1..=3).contains(&version) {
            w.nullable_string(flexible, self.error_message.as_deref())?;
        }
        if version <= 3 {
            w.i32(self.node_id);
        } else if self.node_id != 0 {
            return Err(not_in_version("FindCoordinatorResponse", "node_id", version));
        }
        if version <= 3 {
            w.string(flexible, &self.host)?;
        } else if !self.host.is_empty() {
            return Err(not_in_version("FindCoordinatorResponse", "host", version));
        }
        if version <= 3 {
            w.i32(self.port);
        } else if self.port != 0 {
            return Err(not_in_version("FindCoordinatorResponse", "port", version));
        }
        if version >= 4 {
            w.array(flexible, &self.coordinators, |w, item| item.write(w, version))?;
        } else if !self.coordinators.is_empty() {
            return Err(not_in_version("FindCoordinatorResponse", "coordinators", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `FindCoordinatorResponse::coordinators`: the coordinator for each key.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Coordinator {
    /// Key asked about.
    pub key: String,
    /// Id of the node.
    pub node_id: i32,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
}

impl Coordinator {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            key: r.string(true)?,
            node_id: r.i32()?,
            host: r.string(true)?,
            port: r.i32()?,
            error_code: r.i16()?,
            error_message: r.nullable_string(true)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.key)?;
        w.i32(self.node_id);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.i16(self.error_code);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for FindCoordinatorResponse {
    const NAME: &'static str = "FindCoordinatorResponse";
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
