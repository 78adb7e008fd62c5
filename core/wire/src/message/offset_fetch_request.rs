// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks how far groups have read.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{
    Message, Request, not_in_version, readable, unexpected_null, writable,
};

/// Asks how far groups have read.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchRequest {
    /// Id of the group.
    ///
    /// Only in versions 1 to 7.
    pub group_id: String,
    /// Topics asked about; null for all.
    ///
    /// Only in versions 1 to 7.
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// Groups asked about.
    ///
    /// Since version 8.
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Get an error instead of an offset that a pending transaction may change.
    ///
    /// Since version 7.
    pub require_stable: bool,
}

impl Default for OffsetFetchRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Some(Vec::new()),
            groups: Vec::new(),
            require_stable: false,
        }
    }
}

impl OffsetFetchRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            group_id: if version <= 7 { r.string(flexible)? } else { String::new() },
            topics: if version <= 7 {
                if version >= 2 {
                    r.nullable_array(flexible, 3, |r| OffsetFetchRequestTopic::read(r, version))?
                } else {
                    Some(r.array(flexible, 3, |r| OffsetFetchRequestTopic::read(r, version))?)
                }
            } else {
                Some(Vec::new())
            },
            groups: if version >= 8 {
                r.array(flexible, 3, |r| OffsetFetchRequestGroup::read(r, version))?
            } else {
                Vec::new()
            },
            require_stable: if version >= 7 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        if version <= 7 {
            w.string(flexible, &self.group_id)?;
        } else if !self.group_id.is_empty() {
            return Err(not_in_version("OffsetFetchRequest", "group_id", version));
        }
        if version <= 7 {
            if version < 2 && self.topics.is_none() {
                return Err(unexpected_null("OffsetFetchRequest", "topics", version));
            }
            w.nullable_array(flexible, self.topics.as_deref(), |w, item| item.write(w, version))?;
        } else if self.topics.as_ref().is_none_or(|value| !value.is_empty()) {
            return Err(not_in_version("OffsetFetchRequest", "topics", version));
        }
        if version >= 8 {
            w.array(flexible, &self.groups, |w, item| item.write(w, version))?;
        } else if !self.groups.is_empty() {
            return Err(not_in_version("OffsetFetchRequest", "groups", version));
        }
        if version >= 7 {
            w.bool(self.require_stable);
        } else if self.require_stable {
            return Err(not_in_version("OffsetFetchRequest", "require_stable", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetFetchRequest::topics`: topics asked about; null for all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchRequestTopic {
    /// Name of the topic.
    pub name: String,
    /// Numbers of the partitions.
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            name: r.string(flexible)?,
            partition_indexes: r.array(flexible, 4, Reader::i32)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.string(flexible, &self.name)?;
        w.array(flexible, &self.partition_indexes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `OffsetFetchRequest::groups`: groups asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetFetchRequestGroup {
    /// Id of the group.
    pub group_id: String,
    /// Id of the member; null from outside of the group.
    ///
    /// Since version 9; dropped otherwise.
    pub member_id: Option<String>,
    /// Epoch of the member; -1 from outside of the group.
    ///
    /// Since version 9; dropped otherwise.
    pub member_epoch: i32,
    /// Topics asked about; null for all.
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self { group_id: String::new(), member_id: None, member_epoch: -1, topics: None }
    }
}

impl OffsetFetchRequestGroup {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            group_id: r.string(true)?,
            member_id: if version >= 9 { r.nullable_string(true)? } else { None },
            member_epoch: if version >= 9 { r.i32()? } else { -1 },
            topics: r.nullable_array(true, 3, |r| OffsetFetchRequestTopics::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.group_id)?;
        if version >= 9 {
            w.nullable_string(true, self.member_id.as_deref())?;
        }
        if version >= 9 {
            w.i32(self.member_epoch);
        }
        w.nullable_array(true, self.topics.as_deref(), |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `OffsetFetchRequestGroup::topics`: topics asked about; null for all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OffsetFetchRequestTopics {
    /// Name of the topic.
    ///
    /// Only in versions 8 to 9; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Numbers of the partitions.
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopics {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: if version <= 9 { r.string(true)? } else { String::new() },
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            partition_indexes: r.array(true, 4, Reader::i32)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        if version <= 9 {
            w.string(true, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(true, &self.partition_indexes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for OffsetFetchRequest {
    const NAME: &'static str = "OffsetFetchRequest";
    const VERSIONS: (i16, i16) = (1, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for OffsetFetchRequest {
    const KEY: ApiKey = ApiKey::OffsetFetch;
    type Response = super::offset_fetch_response::OffsetFetchResponse;
}
