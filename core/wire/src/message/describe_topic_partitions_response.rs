// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! One page of partitions.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// One page of partitions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeTopicPartitionsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Topics described.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where the next page begins; null after the last one.
    pub next_cursor: Option<Cursor>,
}

impl DescribeTopicPartitionsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            throttle_time_ms: r.i32()?,
            topics: r
                .array(true, 26, |r| DescribeTopicPartitionsResponseTopic::read(r, version))?,
            next_cursor: r.nullable_struct(|r| Cursor::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.throttle_time_ms);
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        w.nullable_struct(self.next_cursor.as_ref(), |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeTopicPartitionsResponse::topics`: topics described.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Name of the topic; null if unknown.
    pub name: Option<String>,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Whether the topic serves the cluster itself.
    pub is_internal: bool,
    /// Partitions of the topic.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// Bit set of what the client may do to the topic; -2147483648 if not asked for.
    pub topic_authorized_operations: i32,
}

impl Default for DescribeTopicPartitionsResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: None,
            topic_id: Uuid::ZERO,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

impl DescribeTopicPartitionsResponseTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            error_code: r.i16()?,
            name: r.nullable_string(true)?,
            topic_id: r.uuid()?,
            is_internal: r.bool()?,
            partitions: r
                .array(true, 20, |r| DescribeTopicPartitionsResponsePartition::read(r, version))?,
            topic_authorized_operations: r.i32()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.error_code);
        w.nullable_string(true, self.name.as_deref())?;
        w.uuid(self.topic_id);
        w.bool(self.is_internal);
        w.array(true, &self.partitions, |w, item| item.write(w, version))?;
        w.i32(self.topic_authorized_operations);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeTopicPartitionsResponseTopic::partitions`: partitions of the topic.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Number of the partition.
    pub partition_index: i32,
    /// Node id of the leader; -1 for none.
    pub leader_id: i32,
    /// Epoch of the leader; -1 if unknown.
    pub leader_epoch: i32,
    /// All replicas, preferred leader first.
    pub replica_nodes: Vec<i32>,
    /// Replicas that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Replicas outside the in-sync set that hold all committed records; null if unknown.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Members of the last eligible set that may have lost records; null if unknown.
    pub last_known_elr: Option<Vec<i32>>,
    /// Replicas that are not available.
    pub offline_replicas: Vec<i32>,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Vec::new(),
        }
    }
}

impl DescribeTopicPartitionsResponsePartition {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            error_code: r.i16()?,
            partition_index: r.i32()?,
            leader_id: r.i32()?,
            leader_epoch: r.i32()?,
            replica_nodes: r.array(true, 4, Reader::i32)?,
            isr_nodes: r.array(true, 4, Reader::i32)?,
            eligible_leader_replicas: r.nullable_array(true, 4, Reader::i32)?,
            last_known_elr: r.nullable_array(true, 4, Reader::i32)?,
            offline_replicas: r.array(true, 4, Reader::i32)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i16(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.array(true, &self.replica_nodes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(true, &self.isr_nodes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.nullable_array(true, self.eligible_leader_replicas.as_deref(), |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.nullable_array(true, self.last_known_elr.as_deref(), |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(true, &self.offline_replicas, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.uvarint(0);
        Ok(())
    }
}

/// The `DescribeTopicPartitionsResponse::next_cursor`: where the next page begins; null after the last one.
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

impl Message for DescribeTopicPartitionsResponse {
    const NAME: &'static str = "DescribeTopicPartitionsResponse";
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
