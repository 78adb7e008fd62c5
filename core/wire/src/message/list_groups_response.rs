// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The groups.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The groups.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListGroupsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Groups found.
    pub groups: Vec<ListedGroup>,
}

impl ListGroupsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.i16()?,
            groups: r.array(flexible, 3, |r| ListedGroup::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code);
        w.array(flexible, &self.groups, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `ListGroupsResponse::groups`: groups found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListedGroup {
    /// Id of the group.
    pub group_id: String,
    /// Kind of protocol that the members speak; empty for none.
    pub protocol_type: String,
    /// Name of the group's state.
    ///
    /// Since version 4; dropped otherwise.
    pub group_state: String,
    /// Name of the group's type.
    ///
    /// Since version 5; dropped otherwise.
    pub group_type: String,
}

impl ListedGroup {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            group_id: r.string(flexible)?,
            protocol_type: r.string(flexible)?,
            group_state: if version >= 4 { r.string(flexible)? } else { String::new() },
            group_type: if version >= 5 { r.string(flexible)? } else { String::new() },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        w.string(flexible, &self.group_id)?;
        w.string(flexible, &self.protocol_type)?;
        if version >= 4 {
            w.string(flexible, &self.group_state)?;
        }
        if version >= 5 {
            w.string(flexible, &self.group_type)?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ListGroupsResponse {
    const NAME: &'static str = "ListGroupsResponse";
    const VERSIONS: (i16, i16) = (0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
