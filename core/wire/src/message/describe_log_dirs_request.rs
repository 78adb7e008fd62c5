// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks what the log directories of a broker hold.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks what the log directories of a broker hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeLogDirsRequest {
    /// Topics to look for; null for all.
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

impl DescribeLogDirsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            topics: r.nullable_array(flexible, 3, |r| DescribableLogDirTopic::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.nullable_array(flexible, self.topics.as_deref(), |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeLogDirsRequest::topics`: topics to look for; null for all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribableLogDirTopic {
    /// Name of the topic.
    pub topic: String,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl DescribableLogDirTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out =
            Self { topic: r.string(flexible)?, partitions: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.topic)?;
        w.array(flexible, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeLogDirsRequest {
    const NAME: &'static str = "DescribeLogDirsRequest";
    const VERSIONS: (i16, i16) = (1, 5);
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

impl Request for DescribeLogDirsRequest {
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
    type Response = super::describe_log_dirs_response::DescribeLogDirsResponse;
}
