// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each topic.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The outcome for each topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub results: Vec<CreatePartitionsTopicResult>,
}

impl CreatePartitionsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 5, |r| CreatePartitionsTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreatePartitionsResponse::results`: topics asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsTopicResult {
    /// Name of the topic.
    pub name: String,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
}

impl CreatePartitionsTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            name: r.string(flexible)?,
            error_code: r.i16()?,
            error_message: r.nullable_string(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.name)?;
        w.i16(self.error_code);
        w.nullable_string(flexible, self.error_message.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for CreatePartitionsResponse {
    const NAME: &'static str = "CreatePartitionsResponse";
    const VERSIONS: (i16, i16) = (0, 3);
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
