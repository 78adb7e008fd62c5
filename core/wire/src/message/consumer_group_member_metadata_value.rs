// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! What a member of a consumer group said of itself.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::message::traits::{Message, readable, writable};

/// What a member of a consumer group said of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumerGroupMemberMetadataValue {
    /// Id that the user gave to a static member; null for a dynamic one.
    pub instance_id: Option<String>,
    /// Rack of the member; null if unknown.
    pub rack_id: Option<String>,
    /// Client id of the member.
    pub client_id: String,
    /// Address of the member.
    pub client_host: String,
    /// Names of the topics that the member wants to read.
    pub subscribed_topic_names: Vec<String>,
    /// Regular expression for names of topics that the member wants to read; null if there is none.
    pub subscribed_topic_regex: Option<String>,
    /// Milliseconds that the member may take to give up partitions; -1 if unknown.
    pub rebalance_timeout_ms: i32,
    /// Assignor that the member asks for; null if it does not.
    pub server_assignor: Option<String>,
    /// What a member that speaks the classic protocol has besides; null for all others.
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

impl Default for ConsumerGroupMemberMetadataValue {
    fn default() -> Self {
        Self {
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: None,
            rebalance_timeout_ms: -1,
            server_assignor: None,
            classic_member_metadata: None,
        }
    }
}

impl ConsumerGroupMemberMetadataValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            instance_id: r.nullable_string(true)?,
            rack_id: r.nullable_string(true)?,
            client_id: r.string(true)?,
            client_host: r.string(true)?,
            subscribed_topic_names: r.array(true, 1, |r| r.string(true))?,
            subscribed_topic_regex: r.nullable_string(true)?,
            rebalance_timeout_ms: r.i32()?,
            server_assignor: r.nullable_string(true)?,
            classic_member_metadata: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.classic_member_metadata =
                        r.nullable_struct(|r| ClassicMemberMetadata::read(r, version))?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        w.array(true, &self.subscribed_topic_names, |w, item| w.string(true, item))?;
        w.nullable_string(true, self.subscribed_topic_regex.as_deref())?;
        w.i32(self.rebalance_timeout_ms);
        w.nullable_string(true, self.server_assignor.as_deref())?;
        let mut tagged = TaggedFields::new();
        if self.classic_member_metadata.is_some() {
            tagged.add(0, |w| {
                w.nullable_struct(self.classic_member_metadata.as_ref(), |w, item| {
                    item.write(w, version)
                })?;
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

/// The `ConsumerGroupMemberMetadataValue::classic_member_metadata`: what a member that speaks the classic protocol has besides; null for all others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClassicMemberMetadata {
    /// Milliseconds without a heartbeat after which the member is taken for dead.
    pub session_timeout_ms: i32,
    /// Protocols that the member supports, preferred first.
    pub supported_protocols: Vec<ClassicProtocol>,
}

impl ClassicMemberMetadata {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            session_timeout_ms: r.i32()?,
            supported_protocols: r.array(true, 3, |r| ClassicProtocol::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.session_timeout_ms);
        w.array(true, &self.supported_protocols, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ClassicMemberMetadata::supported_protocols`: protocols that the member supports, preferred first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClassicProtocol {
    /// Name of the protocol.
    pub name: String,
    /// What the member says to the leader in this protocol.
    pub metadata: Bytes,
}

impl ClassicProtocol {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, metadata: r.bytes(true)? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.bytes(true, &self.metadata)?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupMemberMetadataValue {
    const NAME: &'static str = "ConsumerGroupMemberMetadataValue";
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
