// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each topic.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, unexpected_null, writable};

/// The outcome for each topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub responses: Vec<DeletableTopicResult>,
}

impl DeleteTopicsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            throttle_time_ms: r.i32()?,
            responses: r.array(flexible, 4, |r| DeletableTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.responses, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DeleteTopicsResponse::responses`: topics asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct DeletableTopicResult {
    /// Name of the topic; null if asked by an unknown id.
    pub name: Option<String>,
    /// Id of the topic.
    ///
    /// Since version 6; dropped otherwise.
    pub topic_id: Uuid,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    ///
    /// Since version 5; dropped otherwise.
    pub error_message: Option<String>,
}

impl Default for DeletableTopicResult {
    fn default() -> Self {
        Self { name: Some(String::new()), topic_id: Uuid::ZERO, error_code: 0, error_message: None }
    }
}

impl DeletableTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            name: if version >= 6 {
                r.nullable_string(flexible)?
            } else {
                Some(r.string(flexible)?)
            },
            topic_id: if version >= 6 { r.uuid()? } else { Uuid::ZERO },
            error_code: r.i16()?,
            error_message: if version >= 5 { r.nullable_string(flexible)? } else { None },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        if version < 6 && self.name.is_none() {
            return Err(unexpected_null(
                "DeleteTopicsResponse",
                "DeletableTopicResult.name",
                version,
            ));
        }
        w.nullable_string(flexible, self.name.as_deref())?;
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.i16(self.error_code);
        if version >= 5 {
            w.nullable_string(flexible, self.error_message.as_deref())?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DeleteTopicsResponse {
    const NAME: &'static str = "DeleteTopicsResponse";
    const VERSIONS: (i16, i16) = (1, 6);
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
