// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Says that a member of a classic group is alive.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Says that a member of a classic group is alive.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeartbeatRequest {
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
}

impl HeartbeatRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            group_id: r.string(flexible)?,
            generation_id: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 3 { r.nullable_string(flexible)? } else { None },
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
            return Err(not_in_version("HeartbeatRequest", "group_instance_id", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
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

impl Request for HeartbeatRequest {
    const KEY: ApiKey = ApiKey::Heartbeat;
    type Response = super::heartbeat_response::HeartbeatResponse;
}
