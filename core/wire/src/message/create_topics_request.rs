// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for new topics.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks for new topics.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTopicsRequest {
    /// Topics to create.
    pub topics: Vec<CreatableTopic>,
    /// Milliseconds to wait for the outcome.
    pub timeout_ms: i32,
    /// Check the request without carrying it out.
    pub validate_only: bool,
}

impl Default for CreateTopicsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), timeout_ms: 60000, validate_only: false }
    }
}

impl CreateTopicsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            topics: r.array(flexible, 10, |r| CreatableTopic::read(r, version))?,
            timeout_ms: r.i32()?,
            validate_only: r.bool()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreateTopicsRequest::topics`: topics to create.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatableTopic {
    /// Name of the topic.
    pub name: String,
    /// Number of partitions; -1 for the default, or if replicas are assigned.
    pub num_partitions: i32,
    /// Replicas of each partition; -1 for the default, or if replicas are assigned.
    pub replication_factor: i16,
    /// Replicas of each partition, if the client places them itself.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// Settings other than the defaults.
    pub configs: Vec<CreatableTopicConfig>,
}

impl CreatableTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            name: r.string(flexible)?,
            num_partitions: r.i32()?,
            replication_factor: r.i16()?,
            assignments: r.array(flexible, 6, |r| CreatableReplicaAssignment::read(r, version))?,
            configs: r.array(flexible, 3, |r| CreatableTopicConfig::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.string(flexible, &self.name)?;
        w.i32(self.num_partitions);
        w.i16(self.replication_factor);
        w.array(flexible, &self.assignments, |w, item| item.write(w, version))?;
        w.array(flexible, &self.configs, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreatableTopic::assignments`: replicas of each partition, if the client places them itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatableReplicaAssignment {
    /// Number of the partition.
    pub partition_index: i32,
    /// Node ids of the replicas, preferred leader first.
    pub broker_ids: Vec<i32>,
}

impl CreatableReplicaAssignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out =
            Self { partition_index: r.i32()?, broker_ids: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.i32(self.partition_index);
        w.array(flexible, &self.broker_ids, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreatableTopic::configs`: settings other than the defaults.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatableTopicConfig {
    /// Name of the setting.
    pub name: String,
    /// Value; null if there is none.
    pub value: Option<String>,
}

impl CreatableTopicConfig {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self { name: r.string(flexible)?, value: r.nullable_string(flexible)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.string(flexible, &self.name)?;
        w.nullable_string(flexible, self.value.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for CreateTopicsRequest {
    const NAME: &'static str = "CreateTopicsRequest";
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

impl Request for CreateTopicsRequest {
    const KEY: ApiKey = ApiKey::CreateTopics;
    type Response = super::create_topics_response::CreateTopicsResponse;
}
