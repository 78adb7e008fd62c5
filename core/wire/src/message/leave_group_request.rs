// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Removes members from a classic group.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Removes members from a classic group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaveGroupRequest {
    /// Id of the group.
    pub group_id: String,
    /// Id of the member.
    ///
    /// Only in versions 0 to 2.
    pub member_id: String,
    /// Members to remove.
    ///
    /// Since version 3.
    pub members: Vec<MemberIdentity>,
}

impl LeaveGroupRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            group_id: r.string(flexible)?,
            member_id: if version <= 2 { r.string(flexible)? } else { String::new() },
            members: if version >= 3 {
                r.array(flexible, 3, |r| MemberIdentity::read(r, version))?
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
        let flexible = version >= 4;
        w.string(flexible, &self.group_id)?;
        if version <= 2 {
            w.string(flexible, &self.member_id)?;
        } else if !self.member_id.is_empty() {
            return Err(not_in_version("LeaveGroupRequest", "member_id", version));
        }
        if version >= 3 {
            w.array(flexible, &self.members, |w, item| item.write(w, version))?;
        } else if !self.members.is_empty() {
            return Err(not_in_version("LeaveGroupRequest", "members", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `LeaveGroupRequest::members`: members to remove.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemberIdentity {
    /// Id of the member; may be empty for a static one.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    pub group_instance_id: Option<String>,
    /// Why the member leaves; null if it does not say.
    ///
    /// Since version 5; dropped otherwise.
    pub reason: Option<String>,
}

impl MemberIdentity {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            member_id: r.string(flexible)?,
            group_instance_id: r.nullable_string(flexible)?,
            reason: if version >= 5 { r.nullable_string(flexible)? } else { None },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id)?;
        w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        if version >= 5 {
            w.nullable_string(flexible, self.reason.as_deref())?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for LeaveGroupRequest {
    const NAME: &'static str = "LeaveGroupRequest";
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

impl Request for LeaveGroupRequest {
    const KEY: ApiKey = ApiKey::LeaveGroup;
    type Response = super::leave_group_response::LeaveGroupResponse;
}
