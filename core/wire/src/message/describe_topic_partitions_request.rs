// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for the partitions of topics, page by page.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks for the partitions of topics, page by page.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsRequest {
    /// Topics to describe, in the order of their names.
    pub topics: Vec<TopicRequest>,
    /// Largest number of partitions in the answer.
    pub response_partition_limit: i32,
    /// Where the previous page ended; null for the first page.
    pub cursor: Option<Cursor>,
}

impl Default for DescribeTopicPartitionsRequest {
    fn default() -> Self {
        Self { topics: Vec::new(), response_partition_limit: 2000, cursor: None }
    }
}

impl DescribeTopicPartitionsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topics: r.array(true, 2, |r| TopicRequest::read(r, version))?,
            response_partition_limit: r.i32()?,
            cursor: r.nullable_struct(|r| Cursor::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        w.i32(self.response_partition_limit);
        w.nullable_struct(self.cursor.as_ref(), |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeTopicPartitionsRequest::topics`: topics to describe, in the order of their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicRequest {
    /// Name of the topic.
    pub name: String,
}

impl TopicRequest {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.uvarint(0);
        Ok(())
    }
}

/// The `DescribeTopicPartitionsRequest::cursor`: where the previous page ended; null for the first page.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cursor {
    /// Topic of the first partition of the page.
    pub topic_name: String,
    /// Number of the first partition of the page.
    pub partition_index: i32,
}

impl Cursor {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { topic_name: r.string(true)?, partition_index: r.i32()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.topic_name)?;
        w.i32(self.partition_index);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DescribeTopicPartitionsRequest {
    const NAME: &'static str = "DescribeTopicPartitionsRequest";
    const VERSIONS: (i16, i16) = (0, 0);
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

impl Request for DescribeTopicPartitionsRequest {
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
    type Response = super::describe_topic_partitions_response::DescribeTopicPartitionsResponse;
}
