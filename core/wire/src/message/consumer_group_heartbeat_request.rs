// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Joins, keeps or leaves the membership in a consumer group.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Joins, keeps or leaves the membership in a consumer group.
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumerGroupHeartbeatRequest {
    /// Id of the group.
    pub group_id: String,
    /// Id of the member, for as long as its process lives.
    pub member_id: String,
    /// Epoch of the member; 0 to join, -1 to leave, -2 to leave as a static member that comes back.
    pub member_epoch: i32,
    /// Id that the user gave to a static member; null for a dynamic one or if unchanged.
    pub instance_id: Option<String>,
    /// Rack of the member; null if unknown or unchanged.
    pub rack_id: Option<String>,
    /// Milliseconds that the member may take to give up partitions; -1 if unchanged.
    pub rebalance_timeout_ms: i32,
    /// Names of the topics to read; null if unchanged.
    pub subscribed_topic_names: Option<Vec<String>>,
    /// Regular expression for names of topics to read; null if unchanged.
    ///
    /// Since version 1.
    pub subscribed_topic_regex: Option<String>,
    /// Assignor for the group's coordinator to use; null if unchanged or if it may choose.
    pub server_assignor: Option<String>,
    /// Partitions that the member owns; null if unchanged.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
}

impl Default for ConsumerGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
        }
    }
}

impl ConsumerGroupHeartbeatRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            group_id: r.string(true)?,
            member_id: r.string(true)?,
            member_epoch: r.i32()?,
            instance_id: r.nullable_string(true)?,
            rack_id: r.nullable_string(true)?,
            rebalance_timeout_ms: r.i32()?,
            subscribed_topic_names: r.nullable_array(true, 1, |r| r.string(true))?,
            subscribed_topic_regex: if version >= 1 { r.nullable_string(true)? } else { None },
            server_assignor: r.nullable_string(true)?,
            topic_partitions: r.nullable_array(true, 18, |r| TopicPartitions::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.group_id)?;
        w.string(true, &self.member_id)?;
        w.i32(self.member_epoch);
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.i32(self.rebalance_timeout_ms);
        w.nullable_array(true, self.subscribed_topic_names.as_deref(), |w, item| {
            w.string(true, item)
        })?;
        if version >= 1 {
            w.nullable_string(true, self.subscribed_topic_regex.as_deref())?;
        } else if self.subscribed_topic_regex.is_some() {
            return Err(not_in_version(
                "ConsumerGroupHeartbeatRequest",
                "subscribed_topic_regex",
                version,
            ));
        }
        w.nullable_string(true, self.server_assignor.as_deref())?;
        w.nullable_array(true, self.topic_partitions.as_deref(), |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ConsumerGroupHeartbeatRequest::topic_partitions`: partitions that the member owns; null if unchanged.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartitions {
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { topic_id: r.uuid()?, partitions: r.array(true, 4, Reader::i32)? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(true, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupHeartbeatRequest {
    const NAME: &'static str = "ConsumerGroupHeartbeatRequest";
    const VERSIONS: (i16, i16) = (0, 1);
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

impl Request for ConsumerGroupHeartbeatRequest {
    const KEY: ApiKey = ApiKey::ConsumerGroupHeartbeat;
    type Response = super::consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
}
