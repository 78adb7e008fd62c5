// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The new generation of the group.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, unexpected_null, writable};

/// The new generation of the group.
#[derive(Clone, PartialEq, Debug)]
pub struct JoinGroupResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 2; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Generation of the group; -1 for none.
    pub generation_id: i32,
    /// Kind of protocol that the members speak; null if there is none.
    ///
    /// Since version 7; dropped otherwise.
    pub protocol_type: Option<String>,
    /// Protocol that the coordinator chose.
    pub protocol_name: Option<String>,
    /// Member id of the leader.
    pub leader: String,
    /// Whether the leader must keep the assignment as it is.
    ///
    /// Since version 9.
    pub skip_assignment: bool,
    /// Id of the member.
    pub member_id: String,
    /// The members, for the leader; empty for all others.
    pub members: Vec<JoinGroupResponseMember>,
}

impl Default for JoinGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            generation_id: -1,
            protocol_type: None,
            protocol_name: Some(String::new()),
            leader: String::new(),
            skip_assignment: false,
            member_id: String::new(),
            members: Vec::new(),
        }
    }
}

impl JoinGroupResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            throttle_time_ms: if version >= 2 { r.i32()? } else { 0 },
            error_code: r.i16()?,
            generation_id: r.i32()?,
            protocol_type: if version >= 7 { r.nullable_string(flexible)? } else { None },
            protocol_name: if version >= 7 {
                r.nullable_string(flexible)?
            } else {
                Some(r.string(flexible)?)
            },
            leader: r.string(flexible)?,
            skip_assignment: if version >= 9 { r.bool()? } else { false },
            member_id: r.string(flexible)?,
            members: r.array(flexible, 4, |r| JoinGroupResponseMember::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code);
        w.i32(self.generation_id);
        if version >= 7 {
            w.nullable_string(flexible, self.protocol_type.as_deref())?;
        }
        if version < 7 && self.protocol_name.is_none() {
            return Err(unexpected_null("JoinGroupResponse", "protocol_name", version));
        }
        w.nullable_string(flexible, self.protocol_name.as_deref())?;
        w.string(flexible, &self.leader)?;
        if version >= 9 {
            w.bool(self.skip_assignment);
        } else if self.skip_assignment {
            return Err(not_in_version("JoinGroupResponse", "skip_assignment", version));
        }
        w.string(flexible, &self.member_id)?;
        w.array(flexible, &self.members, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `JoinGroupResponse::members`: the members, for the leader; empty for all others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JoinGroupResponseMember {
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 5; dropped otherwise.
    pub group_instance_id: Option<String>,
    /// What the member says to the leader in the chosen protocol.
    pub metadata: Bytes,
}

impl JoinGroupResponseMember {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let out = Self {
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 5 { r.nullable_string(flexible)? } else { None },
            metadata: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 6;
        w.string(flexible, &self.member_id)?;
        if version >= 5 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        }
        w.bytes(flexible, &self.metadata)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for JoinGroupResponse {
    const NAME: &'static str = "JoinGroupResponse";
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
