// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The record batches, or what the reader must do instead.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};
use crate::records::Records;

/// The record batches, or what the reader must do instead.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    ///
    /// Since version 7; dropped otherwise.
    pub error_code: i16,
    /// Fetch session; 0 for none.
    ///
    /// Since version 7.
    pub session_id: i32,
    /// Topics read.
    pub responses: Vec<FetchableTopicResponse>,
    /// Where to reach the leaders named above.
    ///
    /// Since version 16.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl FetchResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut out = Self {
            throttle_time_ms: r.i32()?,
            error_code: if version >= 7 { r.i16()? } else { 0 },
            session_id: if version >= 7 { r.i32()? } else { 0 },
            responses: r.array(flexible, 3, |r| FetchableTopicResponse::read(r, version))?,
            node_endpoints: Vec::new(),
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 if version >= 16 => {
                        out.node_endpoints =
                            r.array(true, 11, |r| NodeEndpoint::read(r, version))?;
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
        w.i32(self.throttle_time_ms);
        if version >= 7 {
            w.i16(self.error_code);
        }
        if version >= 7 {
            w.i32(self.session_id);
        } else if self.session_id != 0 {
            return Err(not_in_version("FetchResponse", "session_id", version));
        }
        w.array(flexible, &self.responses, |w, item| item.write(w, version))?;
        if version < 16 && !self.node_endpoints.is_empty() {
            return Err(not_in_version("FetchResponse", "node_endpoints", version));
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if version >= 16 && !self.node_endpoints.is_empty() {
                tagged.add(0, |w| {
                    w.array(true, &self.node_endpoints, |w, item| item.write(w, version))?;
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// One of `FetchResponse::responses`: topics read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchableTopicResponse {
    /// Name of the topic.
    ///
    /// Only in versions 4 to 12; dropped otherwise.
    pub topic: String,
    /// Id of the topic.
    ///
    /// Since version 13; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions read.
    pub partitions: Vec<PartitionData>,
}

impl FetchableTopicResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let out = Self {
            topic: if version <= 12 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::ZERO },
            partitions: r.array(flexible, 30, |r| PartitionData::read(r, version))?,
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

/// One of `FetchableTopicResponse::partitions`: partitions read.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionData {
    /// Number of the partition.
    pub partition_index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Offset before which every record is committed; -1 if unknown.
    pub high_watermark: i64,
    /// Offset before which every transaction is decided; -1 if unknown.
    pub last_stable_offset: i64,
    /// First offset of the log; -1 if unknown.
    ///
    /// Since version 5; dropped otherwise.
    pub log_start_offset: i64,
    /// Where the replica's log leaves the leader's: the largest common epoch and its end.
    ///
    /// Since version 12.
    pub diverging_epoch: EpochEndOffset,
    /// The leader to go to, if this broker is not it.
    ///
    /// Since version 12.
    pub current_leader: LeaderIdAndEpoch,
    /// Snapshot to fetch instead, because the log no longer holds the offset.
    ///
    /// Since version 12.
    pub snapshot_id: SnapshotId,
    /// Aborted transactions among the records; null if everything is to be read.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// Node to read from instead; -1 for none.
    ///
    /// Since version 11.
    pub preferred_read_replica: i32,
    /// The batches.
    pub records: Option<Records>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: None,
        }
    }
}

impl PartitionData {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let mut out = Self {
            partition_index: r.i32()?,
            error_code: r.i16()?,
            high_watermark: r.i64()?,
            last_stable_offset: r.i64()?,
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: r
                .nullable_array(flexible, 16, |r| AbortedTransaction::read(r, version))?,
            preferred_read_replica: if version >= 11 { r.i32()? } else { -1 },
            records: r.nullable_records(flexible)?,
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 => {
                        out.diverging_epoch = EpochEndOffset::read(r, version)?;
                    }
                    1 => {
                        out.current_leader = LeaderIdAndEpoch::read(r, version)?;
                    }
                    2 => {
                        out.snapshot_id = SnapshotId::read(r, version)?;
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
        w.i32(self.partition_index);
        w.i16(self.error_code);
        w.i64(self.high_watermark);
        w.i64(self.last_stable_offset);
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        if version < 12 && self.diverging_epoch != EpochEndOffset::default() {
            return Err(not_in_version("FetchResponse", "PartitionData.diverging_epoch", version));
        }
        if version < 12 && self.current_leader != LeaderIdAndEpoch::default() {
            return Err(not_in_version("FetchResponse", "PartitionData.current_leader", version));
        }
        if version < 12 && self.snapshot_id != SnapshotId::default() {
            return Err(not_in_version("FetchResponse", "PartitionData.snapshot_id", version));
        }
        w.nullable_array(flexible, self.aborted_transactions.as_deref(), |w, item| {
            item.write(w, version)
        })?;
        if version >= 11 {
            w.i32(self.preferred_read_replica);
        } else if self.preferred_read_replica != -1 {
            return Err(not_in_version(
                "FetchResponse",
                "PartitionData.preferred_read_replica",
                version,
            ));
        }
        w.nullable_records(flexible, self.records.as_ref())?;
        if flexible {
            let mut tagged = TaggedFields::new();
            if self.diverging_epoch != EpochEndOffset::default() {
                tagged.add(0, |w| {
                    self.diverging_epoch.write(w, version)?;
                    Ok(())
                })?;
            }
            if self.current_leader != LeaderIdAndEpoch::default() {
                tagged.add(1, |w| {
                    self.current_leader.write(w, version)?;
                    Ok(())
                })?;
            }
            if self.snapshot_id != SnapshotId::default() {
                tagged.add(2, |w| {
                    self.snapshot_id.write(w, version)?;
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// The `PartitionData::diverging_epoch`: where the replica's log leaves the leader's: the largest common epoch and its end.
#[derive(Clone, PartialEq, Debug)]
pub struct EpochEndOffset {
    /// Epoch; -1 if there is no divergence.
    pub epoch: i32,
    /// Offset after the last record of that epoch; -1 if there is no divergence.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1 }
    }
}

impl EpochEndOffset {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { epoch: r.i32()?, end_offset: r.i64()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.epoch);
        w.i64(self.end_offset);
        w.uvarint(0);
        Ok(())
    }
}

/// The `PartitionData::current_leader`: the leader to go to, if this broker is not it.
#[derive(Clone, PartialEq, Debug)]
pub struct LeaderIdAndEpoch {
    /// Node id of the leader; -1 if unknown.
    pub leader_id: i32,
    /// Epoch of the leader; -1 if unknown.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

impl LeaderIdAndEpoch {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { leader_id: r.i32()?, leader_epoch: r.i32()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.uvarint(0);
        Ok(())
    }
}

/// The `PartitionData::snapshot_id`: snapshot to fetch instead, because the log no longer holds the offset.
#[derive(Clone, PartialEq, Debug)]
pub struct SnapshotId {
    /// Offset after the last record of the snapshot; -1 for none.
    pub end_offset: i64,
    /// Epoch of the last record of the snapshot; -1 for none.
    pub epoch: i32,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1 }
    }
}

impl SnapshotId {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { end_offset: r.i64()?, epoch: r.i32()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i64(self.end_offset);
        w.i32(self.epoch);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `PartitionData::aborted_transactions`: aborted transactions among the records; null if everything is to be read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AbortedTransaction {
    /// Producer of the transaction.
    pub producer_id: i64,
    /// First offset of the transaction.
    pub first_offset: i64,
}

impl AbortedTransaction {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 12;
        let out = Self { producer_id: r.i64()?, first_offset: r.i64()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 12;
        w.i64(self.producer_id);
        w.i64(self.first_offset);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `FetchResponse::node_endpoints`: where to reach the leaders named above.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeEndpoint {
    /// Id of the node.
    pub node_id: i32,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: i32,
    /// Rack of the broker; null if unknown.
    pub rack: Option<String>,
}

impl NodeEndpoint {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            node_id: r.i32()?,
            host: r.string(true)?,
            port: r.i32()?,
            rack: r.nullable_string(true)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i32(self.node_id);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.nullable_string(true, self.rack.as_deref())?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for FetchResponse {
    const NAME: &'static str = "FetchResponse";
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
