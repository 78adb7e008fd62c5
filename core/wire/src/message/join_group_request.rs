// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to become or to stay a member of a classic group, and waits for its next generation.

use bytes::Bytes;

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks to become or to stay a member of a classic group, and waits for its next generation.
#[derive(Clone, PartialEq, Debug)]
pub struct JoinGroupRequest {
    /// Id of the group.
    pub group_id: String,
    /// Milliseconds without a heartbeat after which the member is taken for dead.
    pub session_timeout_ms: i32,
    /// Milliseconds that the member may take to join again when the group rebalances; -1 for as long as the session.
    ///
    /// Since version 1; dropped otherwise.
    pub rebalance_timeout_ms: i32,
    /// Id that the coordinator gave to the member; empty for a new one.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 5.
    pub group_instance_id: Option<String>,
    /// Kind of protocol that the members speak, such as consumer.
    pub protocol_type: String,
    /// Protocols that the member supports, preferred first.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why the member joins; null if it does not say.
    ///
    /// Since version 8; dropped otherwise.
    pub reason: Option<String>,
}

impl Default for JoinGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: String::new(),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

impl JoinGroupRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            group_id: r.string(flexible)?,
            session_timeout_ms: r.i32()?,
            rebalance_timeout_ms: if version >= 1 { r.i32()? } else { -1 },
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 5 { r.nullable_string(flexible)? } else { None },
            protocol_type: r.string(flexible)?,
            protocols: r.array(flexible, 3, |r| JoinGroupRequestProtocol::read(r, version))?,
            reason: if version >= 8 { r.nullable_string(flexible)? } else { None },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.string(flexible, &self.group_id)?;
        w.i32(self.session_timeout_ms);
        if version >= 1 {
            w.i32(self.rebalance_timeout_ms);
        }
        w.string(flexible, &self.member_id)?;
        if version >= 5 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        } else if self.group_instance_id.is_some() {
            return Err(not_in_version("JoinGroupRequest", "group_instance_id", version));
        }
        w.string(flexible, &self.protocol_type)?;
        w.array(flexible, &self.protocols, |w, item| item.write(w, version))?;
        if version >= 8 {
            w.nullable_string(flexible, self.reason.as_deref())?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `JoinGroupRequest::protocols`: protocols that the member supports, preferred first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JoinGroupRequestProtocol {
    /// Name of the protocol.
    pub name: String,
    /// What the member says to the leader in this protocol.
    pub metadata: Bytes,
}

impl JoinGroupRequestProtocol {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self { name: r.string(flexible)?, metadata: r.bytes(flexible)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.string(flexible, &self.name)?;
        w.bytes(flexible, &self.metadata)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for JoinGroupRequest {
    const NAME: &'static str = "JoinGroupRequest";
    const VERSIONS: (i16, i16) = (0, 9);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for JoinGroupRequest {
    const KEY: ApiKey = ApiKey::JoinGroup;
    type Response = super::join_group_response::JoinGroupResponse;
}
