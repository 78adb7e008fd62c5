// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each resource.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The outcome for each resource.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncrementalAlterConfigsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Resources asked for.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

impl IncrementalAlterConfigsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let out = Self {
            throttle_time_ms: r.i32()?,
            responses: r.array(flexible, 6, |r| AlterConfigsResourceResponse::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 1;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.responses, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `IncrementalAlterConfigsResponse::responses`: resources asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterConfigsResourceResponse {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// Kind of resource: 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Name of the resource.
    pub resource_name: String,
}

impl AlterConfigsResourceResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let out = Self {
            error_code: r.i16()?,
            error_message: r.nullable_string(flexible)?,
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 1;
        w.i16(self.error_code);
        w.nullable_string(flexible, self.error_message.as_deref())?;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for IncrementalAlterConfigsResponse {
    const NAME: &'static str = "IncrementalAlterConfigsResponse";
    const VERSIONS: (i16, i16) = (0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
