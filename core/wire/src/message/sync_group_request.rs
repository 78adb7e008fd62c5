// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Hands over the assignments if sent by the leader; asks for the own one.

use bytes::Bytes;

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Hands over the assignments if sent by the leader; asks for the own one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SyncGroupRequest {
    /// Id of the group.
    pub group_id: String,
    /// Generation of the group.
    pub generation_id: i32,
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 3.
    pub group_instance_id: Option<String>,
    /// Kind of protocol that the members speak; null if the member does not say.
    ///
    /// Since version 5; dropped otherwise.
    pub protocol_type: Option<String>,
    /// Protocol that was chosen; null if the member does not say.
    ///
    /// Since version 5; dropped otherwise.
    pub protocol_name: Option<String>,
    /// The assignments, from the leader; empty from all others.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

impl SyncGroupRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            group_id: r.string(flexible)?,
            generation_id: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 3 { r.nullable_string(flexible)? } else { None },
            protocol_type: if version >= 5 { r.nullable_string(flexible)? } else { None },
            protocol_name: if version >= 5 { r.nullable_string(flexible)? } else { None },
            assignments: r.array(flexible, 3, |r| SyncGroupRequestAssignment::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.group_id)?;
        w.i32(self.generation_id);
        w.string(flexible, &self.member_id)?;
        if version >= 3 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        } else if self.group_instance_id.is_some() {
            return Err(not_in_version("SyncGroupRequest", "group_instance_id", version));
        }
        if version >= 5 {
            w.nullable_string(flexible, self.protocol_type.as_deref())?;
        }
        if version >= 5 {
            w.nullable_string(flexible, self.protocol_name.as_deref())?;
        }
        w.array(flexible, &self.assignments, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `SyncGroupRequest::assignments`: the assignments, from the leader; empty from all others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SyncGroupRequestAssignment {
    /// Id of the member.
    pub member_id: String,
    /// Assignment of that member.
    pub assignment: Bytes,
}

impl SyncGroupRequestAssignment {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self { member_id: r.string(flexible)?, assignment: r.bytes(flexible)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id)?;
        w.bytes(flexible, &self.assignment)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for SyncGroupRequest {
    const NAME: &'static str = "SyncGroupRequest";
    const VERSIONS: (i16, i16) = (0, 5);
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

impl Request for SyncGroupRequest {
    const KEY: ApiKey = ApiKey::SyncGroup;
    type Response = super::sync_group_response::SyncGroupResponse;
}
