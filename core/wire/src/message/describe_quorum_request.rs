// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks who forms the metadata quorum and how far each member has come; the leader answers.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks who forms the metadata quorum and how far each member has come; the leader answers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeQuorumRequest {
    /// What is asked about: the metadata log.
    pub topics: Vec<TopicData>,
}

impl DescribeQuorumRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self { topics: r.array(true, 3, |r| TopicData::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeQuorumRequest::topics`: what is asked about: the metadata log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicData {
    /// Name of the topic.
    pub topic_name: String,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
}

impl TopicData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topic_name: r.string(true)?,
            partitions: r.array(true, 5, |r| PartitionData::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.topic_name)?;
        w.array(true, &self.partitions, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `TopicData::partitions`: its partitions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionData {
    /// Index of the partition.
    pub partition_index: i32,
}

impl PartitionData {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { partition_index: r.i32()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DescribeQuorumRequest {
    const NAME: &'static str = "DescribeQuorumRequest";
    const VERSIONS: (i16, i16) = (0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for DescribeQuorumRequest {
    const KEY: ApiKey = ApiKey::DescribeQuorum;
    type Response = super::describe_quorum_response::DescribeQuorumResponse;
}
