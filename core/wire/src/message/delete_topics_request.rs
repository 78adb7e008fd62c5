// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to delete topics.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks to delete topics.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicsRequest {
    /// Topics to delete, by name or id.
    ///
    /// Since version 6.
    pub topics: Vec<DeleteTopicState>,
    /// Names of the topics to delete.
    ///
    /// Only in versions 1 to 5; dropped otherwise.
    pub topic_names: Vec<String>,
    /// Milliseconds to wait for the outcome.
    pub timeout_ms: i32,
}

impl DeleteTopicsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            topics: if version >= 6 {
                r.array(flexible, 18, |r| DeleteTopicState::read(r, version))?
            } else {
                Vec::new()
            },
            topic_names: if version <= 5 {
                r.array(flexible, 1, |r| r.string(flexible))?
            } else {
                Vec::new()
            },
            timeout_ms: r.i32()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        if version >= 6 {
            w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        } else if !self.topics.is_empty() {
            return Err(not_in_version("DeleteTopicsRequest", "topics", version));
        }
        if version <= 5 {
            w.array(flexible, &self.topic_names, |w, item| w.string(flexible, item))?;
        }
        w.i32(self.timeout_ms);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DeleteTopicsRequest::topics`: topics to delete, by name or id.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteTopicState {
    /// Name of the topic; null if deleted by id.
    pub name: Option<String>,
    /// Id of the topic; zero if deleted by name.
    pub topic_id: Uuid,
}

impl DeleteTopicState {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.nullable_string(true)?, topic_id: r.uuid()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.nullable_string(true, self.name.as_deref())?;
        w.uuid(self.topic_id);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DeleteTopicsRequest {
    const NAME: &'static str = "DeleteTopicsRequest";
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

impl Request for DeleteTopicsRequest {
    const KEY: ApiKey = ApiKey::DeleteTopics;
    type Response = super::delete_topics_response::DeleteTopicsResponse;
}
