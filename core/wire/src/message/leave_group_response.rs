// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The outcome for each member.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// The outcome for each member.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaveGroupResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Members asked for.
    ///
    /// Since version 3.
    pub members: Vec<MemberResponse>,
}

impl LeaveGroupResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.i16()?,
            members: if version >= 3 {
                r.array(flexible, 5, |r| MemberResponse::read(r, version))?
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
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code);
        if version >= 3 {
            w.array(flexible, &self.members, |w, item| item.write(w, version))?;
        } else if !self.members.is_empty() {
            return Err(not_in_version("LeaveGroupResponse", "members", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `LeaveGroupResponse::members`: members asked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemberResponse {
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    pub group_instance_id: Option<String>,
    /// Error code; 0 for success.
    pub error_code: i16,
}

impl MemberResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            member_id: r.string(flexible)?,
            group_instance_id: r.nullable_string(flexible)?,
            error_code: r.i16()?,
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
        w.i16(self.error_code);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for LeaveGroupResponse {
    const NAME: &'static str = "LeaveGroupResponse";
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
