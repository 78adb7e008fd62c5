// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks which brokers there are and which of them lead which partitions.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{
    Message, Request, not_in_version, readable, unexpected_null, writable,
};

/// Asks which brokers there are and which of them lead which partitions.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataRequest {
    /// Topics to describe; null for all (in version 0, none for all).
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether the broker may create the topics it does not know.
    ///
    /// Since version 4.
    pub allow_auto_topic_creation: bool,
    /// Ask for what the client may do to the cluster.
    ///
    /// Only in versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// Ask for what the client may do to each topic.
    ///
    /// Since version 8.
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequest {
    fn default() -> Self {
        Self {
            topics: Some(Vec::new()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl MetadataRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            topics: if version >= 1 {
                r.nullable_array(flexible, 2, |r| MetadataRequestTopic::read(r, version))?
            } else {
                Some(r.array(flexible, 2, |r| MetadataRequestTopic::read(r, version))?)
            },
            allow_auto_topic_creation: if version >= 4 { r.bool()? } else { true },
            include_cluster_authorized_operations: if (8..=10).contains(&version) {
                r.bool()?
            } else {
                false
            },
            include_topic_authorized_operations: if version >= 8 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        if version < 1 && self.topics.is_none() {
            return Err(unexpected_null("MetadataRequest", "topics", version));
        }
        w.nullable_array(flexible, self.topics.as_deref(), |w, item| item.write(w, version))?;
        if version >= 4 {
            w.bool(self.allow_auto_topic_creation);
        } else if !self.allow_auto_topic_creation {
            return Err(not_in_version("MetadataRequest", "allow_auto_topic_creation", version));
        }
        if (8..=10).contains(&version) {
            w.bool(self.include_cluster_authorized_operations);
        } else if self.include_cluster_authorized_operations {
            return Err(not_in_version(
                "MetadataRequest",
                "include_cluster_authorized_operations",
                version,
            ));
        }
        if version >= 8 {
            w.bool(self.include_topic_authorized_operations);
        } else if self.include_topic_authorized_operations {
            return Err(not_in_version(
                "MetadataRequest",
                "include_topic_authorized_operations",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `MetadataRequest::topics`: topics to describe; null for all (in version 0, none for all).
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataRequestTopic {
    /// Id of the topic; zero if asked by name.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Name of the topic; null if asked by id.
    pub name: Option<String>,
}

impl Default for MetadataRequestTopic {
    fn default() -> Self {
        Self { topic_id: Uuid::ZERO, name: Some(String::new()) }
    }
}

impl MetadataRequestTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            name: if version >= 10 {
                r.nullable_string(flexible)?
            } else {
                Some(r.string(flexible)?)
            },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version < 10 && self.name.is_none() {
            return Err(unexpected_null("MetadataRequest", "MetadataRequestTopic.name", version));
        }
        w.nullable_string(flexible, self.name.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for MetadataRequest {
    const NAME: &'static str = "MetadataRequest";
    const VERSIONS: (i16, i16) = (0, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for MetadataRequest {
    const KEY: ApiKey = ApiKey::Metadata;
    type Response = super::metadata_response::MetadataResponse;
}
