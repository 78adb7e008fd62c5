// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each topic.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The outcome for each topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreateTopicsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics asked for.
    pub topics: Vec<CreatableTopicResult>,
}

impl CreateTopicsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            throttle_time_ms: r.i32()?,
            topics: r.array(flexible, 6, |r| CreatableTopicResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreateTopicsResponse::topics`: topics asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct CreatableTopicResult {
    /// Name of the topic.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 7; dropped otherwise.
    pub topic_id: Uuid,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// Error code if the settings below could not be read; otherwise 0.
    ///
    /// Since version 5; dropped otherwise.
    pub topic_config_error_code: i16,
    /// Number of partitions; -1 if unknown.
    ///
    /// Since version 5; dropped otherwise.
    pub num_partitions: i32,
    /// Replicas of each partition; -1 if unknown.
    ///
    /// Since version 5; dropped otherwise.
    pub replication_factor: i16,
    /// Settings of the new topic; null if they could not be read.
    ///
    /// Since version 5; dropped otherwise.
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Uuid::ZERO,
            error_code: 0,
            error_message: None,
            topic_config_error_code: 0,
            num_partitions: -1,
            replication_factor: -1,
            configs: None,
        }
    }
}

impl CreatableTopicResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let mut out = Self {
            name: r.string(flexible)?,
            topic_id: if version >= 7 { r.uuid()? } else { Uuid::ZERO },
            error_code: r.i16()?,
            error_message: r.nullable_string(flexible)?,
            topic_config_error_code: 0,
            num_partitions: if version >= 5 { r.i32()? } else { -1 },
            replication_factor: if version >= 5 { r.i16()? } else { -1 },
            configs: if version >= 5 {
                r.nullable_array(flexible, 6, |r| CreatableTopicConfigs::read(r, version))?
            } else {
                None
            },
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 => {
                        out.topic_config_error_code = r.i16()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.string(flexible, &self.name)?;
        if version >= 7 {
            w.uuid(self.topic_id);
        }
        w.i16(self.error_code);
        w.nullable_string(flexible, self.error_message.as_deref())?;
        if version >= 5 {
            w.i32(self.num_partitions);
        }
        if version >= 5 {
            w.i16(self.replication_factor);
        }
        if version >= 5 {
            w.nullable_array(flexible, self.configs.as_deref(), |w, item| item.write(w, version))?;
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if self.topic_config_error_code != 0 {
                tagged.add(0, |w| {
                    w.i16(self.topic_config_error_code);
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// One of `CreatableTopicResult::configs`: settings of the new topic; null if they could not be read.
#[derive(Clone, PartialEq, Debug)]
pub struct CreatableTopicConfigs {
    /// Name of the setting.
    pub name: String,
    /// Value; null if there is none.
    pub value: Option<String>,
    /// Whether the setting cannot be changed.
    pub read_only: bool,
    /// Where the value comes from: 1 topic, 2 broker, 3 cluster, 4 broker file, 5 default.
    pub config_source: i8,
    /// Whether the value is secret and therefore not shown.
    pub is_sensitive: bool,
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
        }
    }
}

impl CreatableTopicConfigs {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: r.string(true)?,
            value: r.nullable_string(true)?,
            read_only: r.bool()?,
            config_source: r.i8()?,
            is_sensitive: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.nullable_string(true, self.value.as_deref())?;
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for CreateTopicsResponse {
    const NAME: &'static str = "CreateTopicsResponse";
    const VERSIONS: (i16, i16) = (2, 7);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
