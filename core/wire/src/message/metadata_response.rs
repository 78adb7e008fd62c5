// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Brokers, topics and partitions as the answering broker knows them.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, unexpected_null, writable};

/// Brokers, topics and partitions as the answering broker knows them.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 3; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Brokers that serve clients.
    pub brokers: Vec<MetadataResponseBroker>,
    /// Id of the cluster; null if unknown.
    ///
    /// Since version 2; dropped otherwise.
    pub cluster_id: Option<String>,
    /// Node id of a broker to send administrative requests to; -1 for none.
    ///
    /// Since version 1; dropped otherwise.
    pub controller_id: i32,
    /// Topics described.
    pub topics: Vec<MetadataResponseTopic>,
    /// Bit set of what the client may do to the cluster; -2147483648 if not asked for.
    ///
    /// Only in versions 8 to 10.
    pub cluster_authorized_operations: i32,
    /// Error code of the whole answer; 0 for success.
    ///
    /// Since version 13; dropped otherwise.
    pub error_code: i16,
}

impl Default for MetadataResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Vec::new(),
            cluster_id: None,
            controller_id: -1,
            topics: Vec::new(),
            cluster_authorized_operations: i32::MIN,
            error_code: 0,
        }
    }
}

impl MetadataResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            throttle_time_ms: if version >= 3 { r.i32()? } else { 0 },
            brokers: r.array(flexible, 10, |r| MetadataResponseBroker::read(r, version))?,
            cluster_id: if version >= 2 { r.nullable_string(flexible)? } else { None },
            controller_id: if version >= 1 { r.i32()? } else { -1 },
            topics: r.array(flexible, 8, |r| MetadataResponseTopic::read(r, version))?,
            cluster_authorized_operations: if (8..=10).contains(&version) {
                r.i32()?
            } else {
                i32::MIN
            },
            error_code: if version >= 13 { r.i16()? } else { 0 },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.brokers, |w, item| item.write(w, version))?;
        if version >= 2 {
            w.nullable_string(flexible, self.cluster_id.as_deref())?;
        }
        if version >= 1 {
            w.i32(self.controller_id);
        }
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if (8..=10).contains(&version) {
            w.i32(self.cluster_authorized_operations);
        } else if self.cluster_authorized_operations != i32::MIN {
            return Err(not_in_version(
                "MetadataResponse",
                "cluster_authorized_operations",
                version,
            ));
        }
        if version >= 13 {
            w.i16(self.error_code);
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `MetadataResponse::brokers`: brokers that serve clients.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MetadataResponseBroker {
    /// Id of the node.
    pub node_id: i32,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: i32,
    /// Rack of the broker; null if unknown.
    ///
    /// Since version 1; dropped otherwise.
    pub rack: Option<String>,
}

impl MetadataResponseBroker {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            node_id: r.i32()?,
            host: r.string(flexible)?,
            port: r.i32()?,
            rack: if version >= 1 { r.nullable_string(flexible)? } else { None },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i32(self.node_id);
        w.string(flexible, &self.host)?;
        w.i32(self.port);
        if version >= 1 {
            w.nullable_string(flexible, self.rack.as_deref())?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `MetadataResponse::topics`: topics described.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponseTopic {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Name of the topic; null if asked by an unknown id.
    pub name: Option<String>,
    /// Id of the topic.
    ///
    /// Since version 10; dropped otherwise.
    pub topic_id: Uuid,
    /// Whether the topic serves the cluster itself.
    ///
    /// Since version 1; dropped otherwise.
    pub is_internal: bool,
    /// Partitions of the topic.
    pub partitions: Vec<MetadataResponsePartition>,
    /// Bit set of what the client may do to the topic; -2147483648 if not asked for.
    ///
    /// Since version 8.
    pub topic_authorized_operations: i32,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: 0,
            name: Some(String::new()),
            topic_id: Uuid::ZERO,
            is_internal: false,
            partitions: Vec::new(),
            topic_authorized_operations: i32::MIN,
        }
    }
}

impl MetadataResponseTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            error_code: r.i16()?,
            name: if version >= 12 {
                r.nullable_string(flexible)?
            } else {
                Some(r.string(flexible)?)
            },
            topic_id: if version >= 10 { r.uuid()? } else { Uuid::ZERO },
            is_internal: if version >= 1 { r.bool()? } else { false },
            partitions: r.array(flexible, 18, |r| MetadataResponsePartition::read(r, version))?,
            topic_authorized_operations: if version >= 8 { r.i32()? } else { i32::MIN },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i16(self.error_code);
        if version < 12 && self.name.is_none() {
            return Err(unexpected_null("MetadataResponse", "MetadataResponseTopic.name", version));
        }
        w.nullable_string(flexible, self.name.as_deref())?;
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 1 {
            w.bool(self.is_internal);
        }
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if version >= 8 {
            w.i32(self.topic_authorized_operations);
        } else if self.topic_authorized_operations != i32::MIN {
            return Err(not_in_version(
                "MetadataResponse",
                "MetadataResponseTopic.topic_authorized_operations",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `MetadataResponseTopic::partitions`: partitions of the topic.
#[derive(Clone, PartialEq, Debug)]
pub struct MetadataResponsePartition {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Number of the partition.
    pub partition_index: i32,
    /// Node id of the leader; -1 for none.
    pub leader_id: i32,
    /// Epoch of the leader; -1 if unknown.
    ///
    /// Since version 7; dropped otherwise.
    pub leader_epoch: i32,
    /// All replicas, preferred leader first.
    pub replica_nodes: Vec<i32>,
    /// Replicas that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Replicas that are not available.
    ///
    /// Since version 5; dropped otherwise.
    pub offline_replicas: Vec<i32>,
}

impl Default for MetadataResponsePartition {
    fn default() -> Self {
        Self {
            error_code: 0,
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        }
    }
}

impl MetadataResponsePartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 9;
        let out = Self {
            error_code: r.i16()?,
            partition_index: r.i32()?,
            leader_id: r.i32()?,
            leader_epoch: if version >= 7 { r.i32()? } else { -1 },
            replica_nodes: r.array(flexible, 4, Reader::i32)?,
            isr_nodes: r.array(flexible, 4, Reader::i32)?,
            offline_replicas: if version >= 5 {
                r.array(flexible, 4, Reader::i32)?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 9;
        w.i16(self.error_code);
        w.i32(self.partition_index);
        w.i32(self.leader_id);
        if version >= 7 {
            w.i32(self.leader_epoch);
        }
        w.array(flexible, &self.replica_nodes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(flexible, &self.isr_nodes, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        if version >= 5 {
            w.array(flexible, &self.offline_replicas, |w, item| {
                w.i32(*item);
                Ok(())
            })?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for MetadataResponse {
    const NAME: &'static str = "MetadataResponse";
    const VERSIONS: (i16, i16) = (0, 13);
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
