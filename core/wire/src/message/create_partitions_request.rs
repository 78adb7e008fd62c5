// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to add partitions to topics.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks to add partitions to topics.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsRequest {
    /// Topics to enlarge.
    pub topics: Vec<CreatePartitionsTopic>,
    /// Milliseconds to wait for the outcome.
    pub timeout_ms: i32,
    /// Check the request without carrying it out.
    pub validate_only: bool,
}

impl CreatePartitionsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            topics: r.array(flexible, 7, |r| CreatePartitionsTopic::read(r, version))?,
            timeout_ms: r.i32()?,
            validate_only: r.bool()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreatePartitionsRequest::topics`: topics to enlarge.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsTopic {
    /// Name of the topic.
    pub name: String,
    /// Number of partitions wanted in total.
    pub count: i32,
    /// Replicas of each new partition; null to let the controller place them.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

impl CreatePartitionsTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            name: r.string(flexible)?,
            count: r.i32()?,
            assignments: r
                .nullable_array(flexible, 2, |r| CreatePartitionsAssignment::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.name)?;
        w.i32(self.count);
        w.nullable_array(flexible, self.assignments.as_deref(), |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `CreatePartitionsTopic::assignments`: replicas of each new partition; null to let the controller place them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreatePartitionsAssignment {
    /// Node ids of the replicas, preferred leader first.
    pub broker_ids: Vec<i32>,
}

impl CreatePartitionsAssignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { broker_ids: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
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

impl Message for CreatePartitionsRequest {
    const NAME: &'static str = "CreatePartitionsRequest";
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

impl Request for CreatePartitionsRequest {
    const KEY: ApiKey = ApiKey::CreatePartitions;
    type Response = super::create_partitions_response::CreatePartitionsResponse;
}
