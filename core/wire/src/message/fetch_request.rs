// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for record batches from given offsets; sent by consumers and by replicas.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks for record batches from given offsets; sent by consumers and by replicas.
#[derive(Clone, PartialEq, Debug)]
pub struct FetchRequest {
    /// Id of the cluster the replica belongs to; null to skip the check.
    ///
    /// Since version 12; dropped otherwise.
    pub cluster_id: Option<String>,
    /// Node id of the asking replica; -1 for a consumer.
    ///
    /// Only in versions 4 to 14.
    pub replica_id: i32,
    /// The replica that asks.
    ///
    /// Since version 15.
    pub replica_state: ReplicaState,
    /// Milliseconds to wait for enough bytes.
    pub max_wait_ms: i32,
    /// Bytes to wait for before answering.
    pub min_bytes: i32,
    /// Bytes the whole answer should not exceed; the first batch is sent nevertheless.
    pub max_bytes: i32,
    /// 0 to read everything, 1 to read only what committed transactions wrote.
    pub isolation_level: i8,
    /// Fetch session; 0 for none.
    ///
    /// Since version 7; dropped otherwise.
    pub session_id: i32,
    /// Number of the request in its session: 0 to open one, -1 for none.
    ///
    /// Since version 7; dropped otherwise.
    pub session_epoch: i32,
    /// Topics to read.
    pub topics: Vec<FetchTopic>,
    /// Topics to drop from the session.
    ///
    /// Since version 7.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// Rack of the consumer; empty if unknown.
    ///
    /// Since version 11; dropped otherwise.
    pub rack_id: String,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: ReplicaState::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: String::new(),
        }
    }
}

impl FetchRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut out = Self {
            cluster_id: None,
            replica_id: if version <= 14 { r.i32()? } else { -1 },
            replica_state: ReplicaState::default(),
            max_wait_ms: r.i32()?,
            min_bytes: r.i32()?,
            max_bytes: r.i32()?,
            isolation_level: r.i8()?,
            session_id: if version >= 7 { r.i32()? } else { 0 },
            session_epoch: if version >= 7 { r.i32()? } else { -1 },
            topics: r.array(flexible, 3, |r| FetchTopic::read(r, version))?,
            forgotten_topics_data: if version >= 7 {
                r.array(flexible, 3, |r| ForgottenTopic::read(r, version))?
            } else {
                Vec::new()
            },
            rack_id: if version >= 11 { r.string(flexible)? } else { String::new() },
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 => {
                        out.cluster_id = r.nullable_string(true)?;
                    }
                    1 if version >= 15 => {
                        out.replica_state = ReplicaState::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 12;
        if version <= 14 {
            w.i32(self.replica_id);
        } else if self.replica_id != -1 {
            return Err(not_in_version("FetchRequest", "replica_id", version));
        }
        if version < 15 && self.replica_state != ReplicaState::default() {
            return Err(not_in_version("FetchRequest", "replica_state", version));
        }
        w.i32(self.max_wait_ms);
        w.i32(self.min_bytes);
        w.i32(self.max_bytes);
        w.i8(self.isolation_level);
        if version >= 7 {
            w.i32(self.session_id);
        }
        if version >= 7 {
            w.i32(self.session_epoch);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if version >= 7 {
            w.array(flexible, &self.forgotten_topics_data, |w, item| item.write(w, version))?;
        } else if !self.forgotten_topics_data.is_empty() {
            return Err(not_in_version("FetchRequest", "forgotten_topics_data", version));
        }
        if version >= 11 {
            w.string(flexible, &self.rack_id)?;
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if self.cluster_id.is_some() {
                tagged.add(0, |w| {
                    w.nullable_string(true, self.cluster_id.as_deref())?;
                    Ok(())
                })?;
            }
            if version >= 15 && self.replica_state != ReplicaState::default() {
                tagged.add(1, |w| {
                    self.replica_state.write(w, version)?;
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// The `FetchRequest::replica_state`: the replica that asks.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaState {
    /// Node id of the asking replica; -1 for a consumer.
    pub replica_id: i32,
    /// Epoch of the replica's broker registration; -1 if unknown.
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1 }
    }
}

impl ReplicaState {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { replica_id: r.i32()?, replica_epoch: r.i64()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.replica_id);
        w.i64(self.replica_epoch);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `FetchRequest::topics`: topics to read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchTopic {
    /// Name of the topic.
    ///
    /// Only in versions 4 to 12; dropped otherwise.
    pub topic: String,
    /// Id of the topic.
    ///
    /// Since version 13; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions to read.
    pub partitions: Vec<FetchPartition>,
}

impl FetchTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let out = Self {
            topic: if version <= 12 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::ZERO },
            partitions: r.array(flexible, 16, |r| FetchPartition::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 12;
        if version <= 12 {
            w.string(flexible, &self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `FetchTopic::partitions`: partitions to read.
#[derive(Clone, PartialEq, Debug)]
pub struct FetchPartition {
    /// Number of the partition.
    pub partition: i32,
    /// Leader epoch as the client knows it, to detect that one side is behind; -1 if unknown.
    ///
    /// Since version 9; dropped otherwise.
    pub current_leader_epoch: i32,
    /// Offset to read from.
    pub fetch_offset: i64,
    /// Epoch of the last record the replica has, to detect divergence; -1 for none.
    ///
    /// Since version 12.
    pub last_fetched_epoch: i32,
    /// First offset of the replica's log; -1 for a consumer.
    ///
    /// Since version 5; dropped otherwise.
    pub log_start_offset: i64,
    /// Bytes that this partition's share of the answer should not exceed.
    pub partition_max_bytes: i32,
    /// Id of the log directory of the replica.
    ///
    /// Since version 17; dropped otherwise.
    pub replica_directory_id: Uuid,
    /// High watermark as the replica knows it; the largest number if unknown.
    ///
    /// Since version 18; dropped otherwise.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::ZERO,
            high_watermark: i64::MAX,
        }
    }
}

impl FetchPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut out = Self {
            partition: r.i32()?,
            current_leader_epoch: if version >= 9 { r.i32()? } else { -1 },
            fetch_offset: r.i64()?,
            last_fetched_epoch: if version >= 12 { r.i32()? } else { -1 },
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            partition_max_bytes: r.i32()?,
            replica_directory_id: Uuid::ZERO,
            high_watermark: i64::MAX,
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 if version >= 17 => {
                        out.replica_directory_id = r.uuid()?;
                    }
                    1 if version >= 18 => {
                        out.high_watermark = r.i64()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 12;
        w.i32(self.partition);
        if version >= 9 {
            w.i32(self.current_leader_epoch);
        }
        w.i64(self.fetch_offset);
        if version >= 12 {
            w.i32(self.last_fetched_epoch);
        } else if self.last_fetched_epoch != -1 {
            return Err(not_in_version(
                "FetchRequest",
                "FetchPartition.last_fetched_epoch",
                version,
            ));
        }
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        w.i32(self.partition_max_bytes);
        if flexible {
            let mut tagged = TaggedFields::new();
            if version >= 17 && self.replica_directory_id != Uuid::ZERO {
                tagged.add(0, |w| {
                    w.uuid(self.replica_directory_id);
                    Ok(())
                })?;
            }
            if version >= 18 && self.high_watermark != i64::MAX {
                tagged.add(1, |w| {
                    w.i64(self.high_watermark);
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// One of `FetchRequest::forgotten_topics_data`: topics to drop from the session.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ForgottenTopic {
    /// Name of the topic.
    ///
    /// Only in versions 7 to 12; dropped otherwise.
    pub topic: String,
    /// Id of the topic.
    ///
    /// Since version 13; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions to drop.
    pub partitions: Vec<i32>,
}

impl ForgottenTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let out = Self {
            topic: if version <= 12 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::ZERO },
            partitions: r.array(flexible, 4, Reader::i32)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 12;
        if version <= 12 {
            w.string(flexible, &self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
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

impl Message for FetchRequest {
    const NAME: &'static str = "FetchRequest";
    const VERSIONS: (i16, i16) = (4, 18);
    const FLEXIBLE_FROM: Option<i16> = Some(12);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for FetchRequest {
    const KEY: ApiKey = ApiKey::Fetch;
    type Response = super::fetch_response::FetchResponse;
}
