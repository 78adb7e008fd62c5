// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A generation of a classic group.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// A generation of a classic group.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupMetadataValue {
    /// Kind of protocol that the members speak; empty for none.
    pub protocol_type: String,
    /// Generation of the group.
    pub generation: i32,
    /// Protocol that was chosen; null for none.
    pub protocol: Option<String>,
    /// Member id of the leader; null for none.
    pub leader: Option<String>,
    /// Time of the last change of state in milliseconds since 1970; -1 if unknown.
    ///
    /// Since version 2; dropped otherwise.
    pub current_state_timestamp: i64,
    /// Members of the group.
    pub members: Vec<MemberMetadata>,
}

impl Default for GroupMetadataValue {
    fn default() -> Self {
        Self {
            protocol_type: String::new(),
            generation: 0,
            protocol: None,
            leader: None,
            current_state_timestamp: -1,
            members: Vec::new(),
        }
    }
}

impl GroupMetadataValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            protocol_type: r.string(flexible)?,
            generation: r.i32()?,
            protocol: r.nullable_string(flexible)?,
            leader: r.nullable_string(flexible)?,
            current_state_timestamp: if version >= 2 { r.i64()? } else { -1 },
            members: r.array(flexible, 15, |r| MemberMetadata::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.protocol_type)?;
        w.i32(self.generation);
        w.nullable_string(flexible, self.protocol.as_deref())?;
        w.nullable_string(flexible, self.leader.as_deref())?;
        if version >= 2 {
            w.i64(self.current_state_timestamp);
        }
        w.array(flexible, &self.members, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `GroupMetadataValue::members`: members of the group.
#[derive(Clone, PartialEq, Debug)]
pub struct MemberMetadata {
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 3; dropped otherwise.
    pub group_instance_id: Option<String>,
    /// Client id of the member.
    pub client_id: String,
    /// Address of the member.
    pub client_host: String,
    /// Milliseconds that the member may take to join again; -1 if unknown.
    ///
    /// Since version 1; dropped otherwise.
    pub rebalance_timeout: i32,
    /// Milliseconds without a heartbeat after which the member is taken for dead.
    pub session_timeout: i32,
    /// What the member says to the leader in the chosen protocol.
    pub subscription: Bytes,
    /// Assignment of the member.
    pub assignment: Bytes,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout: -1,
            session_timeout: 0,
            subscription: Bytes::new(),
            assignment: Bytes::new(),
        }
    }
}

impl MemberMetadata {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 3 { r.nullable_string(flexible)? } else { None },
            client_id: r.string(flexible)?,
            client_host: r.string(flexible)?,
            rebalance_timeout: if version >= 1 { r.i32()? } else { -1 },
            session_timeout: r.i32()?,
            subscription: r.bytes(flexible)?,
            assignment: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id)?;
        if version >= 3 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        }
        w.string(flexible, &self.client_id)?;
        w.string(flexible, &self.client_host)?;
        if version >= 1 {
            w.i32(self.rebalance_timeout);
        }
        w.i32(self.session_timeout);
        w.bytes(flexible, &self.subscription)?;
        w.bytes(flexible, &self.assignment)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for GroupMetadataValue {
    const NAME: &'static str = "GroupMetadataValue";
    const VERSIONS: (i16, i16) = (0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
