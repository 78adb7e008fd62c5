// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Where the batches went, partition by partition.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// Where the batches went, partition by partition.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProduceResponse {
    /// Topics appended to.
    pub responses: Vec<TopicProduceResponse>,
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Where to reach the leaders named above.
    ///
    /// Since version 10.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl ProduceResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let mut out = Self {
            responses: r.array(flexible, 3, |r| TopicProduceResponse::read(r, version))?,
            throttle_time_ms: r.i32()?,
            node_endpoints: Vec::new(),
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 if version >= 10 => {
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
        let flexible = version >= 9;
        w.array(flexible, &self.responses, |w, item| item.write(w, version))?;
        w.i32(self.throttle_time_ms);
        if version < 10 && !self.node_endpoints.is_empty() {
            return Err(not_in_version("ProduceResponse", "node_endpoints", version));
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if version >= 10 && !self.node_endpoints.is_empty() {
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

/// One of `ProduceResponse::responses`: topics appended to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicProduceResponse {
    /// Name of the topic.
    ///
    /// Only in versions 3 to 12; dropped otherwise.
    pub name: String,
    /// Id of the topic.
    ///
    /// Since version 13; dropped otherwise.
    pub topic_id: Uuid,
    /// Partitions appended to.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

impl TopicProduceResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            name: if version <= 12 { r.string(flexible)? } else { String::new() },
            topic_id: if version >= 13 { r.uuid()? } else { Uuid::ZERO },
            partition_responses: r
                .array(flexible, 22, |r| PartitionProduceResponse::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        if version <= 12 {
            w.string(flexible, &self.name)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flexible, &self.partition_responses, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `TopicProduceResponse::partition_responses`: partitions appended to.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionProduceResponse {
    /// Number of the partition.
    pub index: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Offset given to the first record.
    pub base_offset: i64,
    /// Time of the append in milliseconds since 1970 if the topic keeps it; otherwise -1.
    pub log_append_time_ms: i64,
    /// First offset of the log; -1 if unknown.
    ///
    /// Since version 5; dropped otherwise.
    pub log_start_offset: i64,
    /// Records that made the whole batch invalid.
    ///
    /// Since version 8; dropped otherwise.
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// Explanation of the error; null if there is none.
    ///
    /// Since version 8; dropped otherwise.
    pub error_message: Option<String>,
    /// The leader to go to, if this broker is not it.
    ///
    /// Since version 10.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: 0,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

impl PartitionProduceResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let mut out = Self {
            index: r.i32()?,
            error_code: r.i16()?,
            base_offset: r.i64()?,
            log_append_time_ms: r.i64()?,
            log_start_offset: if version >= 5 { r.i64()? } else { -1 },
            record_errors: if version >= 8 {
                r.array(flexible, 6, |r| BatchIndexAndErrorMessage::read(r, version))?
            } else {
                Vec::new()
            },
            error_message: if version >= 8 { r.nullable_string(flexible)? } else { None },
            current_leader: LeaderIdAndEpoch::default(),
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 if version >= 10 => {
                        out.current_leader = LeaderIdAndEpoch::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i32(self.index);
        w.i16(self.error_code);
        w.i64(self.base_offset);
        w.i64(self.log_append_time_ms);
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        if version >= 8 {
            w.array(flexible, &self.record_errors, |w, item| item.write(w, version))?;
        }
        if version >= 8 {
            w.nullable_string(flexible, self.error_message.as_deref())?;
        }
        if version < 10 && self.current_leader != LeaderIdAndEpoch::default() {
            return Err(not_in_version(
                "ProduceResponse",
                "PartitionProduceResponse.current_leader",
                version,
            ));
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if version >= 10 && self.current_leader != LeaderIdAndEpoch::default() {
                tagged.add(0, |w| {
                    self.current_leader.write(w, version)?;
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// One of `PartitionProduceResponse::record_errors`: records that made the whole batch invalid.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BatchIndexAndErrorMessage {
    /// Position of the record in the batch.
    pub batch_index: i32,
    /// What is wrong with the record.
    pub batch_index_error_message: Option<String>,
}

impl BatchIndexAndErrorMessage {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out =
            Self { batch_index: r.i32()?, batch_index_error_message: r.nullable_string(flexible)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i32(self.batch_index);
        w.nullable_string(flexible, self.batch_index_error_message.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// The `PartitionProduceResponse::current_leader`: the leader to go to, if this broker is not it.
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

/// One of `ProduceResponse::node_endpoints`: where to reach the leaders named above.
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

impl Message for ProduceResponse {
    const NAME: &'static str = "ProduceResponse";
    const VERSIONS: (i16, i16) = (3, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
