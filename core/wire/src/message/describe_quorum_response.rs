// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The metadata quorum as its leader sees it.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// The metadata quorum as its leader sees it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeQuorumResponse {
    /// Error code for the whole request; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    ///
    /// Since version 2; dropped otherwise.
    pub error_message: Option<String>,
    /// An answer for each topic.
    pub topics: Vec<TopicData>,
    /// Where the voters are.
    ///
    /// Since version 2; dropped otherwise.
    pub nodes: Vec<Node>,
}

impl DescribeQuorumResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            error_code: r.i16()?,
            error_message: if version >= 2 { r.nullable_string(true)? } else { None },
            topics: r.array(true, 3, |r| TopicData::read(r, version))?,
            nodes: if version >= 2 {
                r.array(true, 6, |r| Node::read(r, version))?
            } else {
                Vec::new()
            },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.error_code);
        if version >= 2 {
            w.nullable_string(true, self.error_message.as_deref())?;
        }
        w.array(true, &self.topics, |w, item| item.write(w, version))?;
        if version >= 2 {
            w.array(true, &self.nodes, |w, item| item.write(w, version))?;
        }
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeQuorumResponse::topics`: an answer for each topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicData {
    /// Name of the topic.
    pub topic_name: String,
    /// An answer for each partition.
    pub partitions: Vec<PartitionData>,
}

impl TopicData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topic_name: r.string(true)?,
            partitions: r.array(true, 25, |r| PartitionData::read(r, version))?,
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

/// One of `TopicData::partitions`: an answer for each partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartitionData {
    /// Index of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    ///
    /// Since version 2; dropped otherwise.
    pub error_message: Option<String>,
    /// Node id of the leader; -1 if unknown.
    pub leader_id: i32,
    /// Newest epoch that is known.
    pub leader_epoch: i32,
    /// Everything below is committed; -1 if unknown.
    pub high_watermark: i64,
    /// Those that vote.
    pub current_voters: Vec<ReplicaState>,
    /// Those that only follow.
    pub observers: Vec<ReplicaState>,
}

impl PartitionData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            partition_index: r.i32()?,
            error_code: r.i16()?,
            error_message: if version >= 2 { r.nullable_string(true)? } else { None },
            leader_id: r.i32()?,
            leader_epoch: r.i32()?,
            high_watermark: r.i64()?,
            current_voters: r.array(true, 13, |r| ReplicaState::read(r, version))?,
            observers: r.array(true, 13, |r| ReplicaState::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_index);
        w.i16(self.error_code);
        if version >= 2 {
            w.nullable_string(true, self.error_message.as_deref())?;
        }
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.i64(self.high_watermark);
        w.array(true, &self.current_voters, |w, item| item.write(w, version))?;
        w.array(true, &self.observers, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `PartitionData::current_voters`: those that vote.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaState {
    /// Node id.
    pub replica_id: i32,
    /// Id of the directory that holds its metadata log; zero if unknown.
    ///
    /// Since version 2; dropped otherwise.
    pub replica_directory_id: Uuid,
    /// Offset behind its last record; -1 if unknown.
    pub log_end_offset: i64,
    /// When it last fetched, in milliseconds since 1970; -1 if unknown.
    ///
    /// Since version 1; dropped otherwise.
    pub last_fetch_timestamp: i64,
    /// When it last had everything the leader has, in milliseconds since 1970; -1 if unknown.
    ///
    /// Since version 1; dropped otherwise.
    pub last_caught_up_timestamp: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: 0,
            replica_directory_id: Uuid::ZERO,
            log_end_offset: 0,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
        }
    }
}

impl ReplicaState {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            replica_id: r.i32()?,
            replica_directory_id: if version >= 2 { r.uuid()? } else { Uuid::ZERO },
            log_end_offset: r.i64()?,
            last_fetch_timestamp: if version >= 1 { r.i64()? } else { -1 },
            last_caught_up_timestamp: if version >= 1 { r.i64()? } else { -1 },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.replica_id);
        if version >= 2 {
            w.uuid(self.replica_directory_id);
        }
        w.i64(self.log_end_offset);
        if version >= 1 {
            w.i64(self.last_fetch_timestamp);
        }
        if version >= 1 {
            w.i64(self.last_caught_up_timestamp);
        }
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeQuorumResponse::nodes`: where the voters are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Node {
    /// Node id.
    pub node_id: i32,
    /// Its listeners for controllers.
    pub listeners: Vec<Listener>,
}

impl Node {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            node_id: r.i32()?,
            listeners: r.array(true, 5, |r| Listener::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.node_id);
        w.array(true, &self.listeners, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `Node::listeners`: its listeners for controllers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listener {
    /// Name of the listener.
    pub name: String,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Listener {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, host: r.string(true)?, port: r.u16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DescribeQuorumResponse {
    const NAME: &'static str = "DescribeQuorumResponse";
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
