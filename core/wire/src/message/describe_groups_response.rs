// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The groups and their members.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// The groups and their members.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeGroupsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Groups asked for.
    pub groups: Vec<DescribedGroup>,
}

impl DescribeGroupsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            groups: r.array(flexible, 12, |r| DescribedGroup::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.groups, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeGroupsResponse::groups`: groups asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedGroup {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    ///
    /// Since version 6.
    pub error_message: Option<String>,
    /// Id of the group.
    pub group_id: String,
    /// Name of the group's state; empty if unknown.
    pub group_state: String,
    /// Kind of protocol that the members speak; empty for none.
    pub protocol_type: String,
    /// Protocol that was chosen; empty for none.
    pub protocol_data: String,
    /// Members of the group.
    pub members: Vec<DescribedGroupMember>,
    /// Bit set of what the client may do to the group; -2147483648 if not asked for.
    ///
    /// Since version 3.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            protocol_type: String::new(),
            protocol_data: String::new(),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

impl DescribedGroup {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            error_code: r.i16()?,
            error_message: if version >= 6 { r.nullable_string(flexible)? } else { None },
            group_id: r.string(flexible)?,
            group_state: r.string(flexible)?,
            protocol_type: r.string(flexible)?,
            protocol_data: r.string(flexible)?,
            members: r.array(flexible, 7, |r| DescribedGroupMember::read(r, version))?,
            authorized_operations: if version >= 3 { r.i32()? } else { i32::MIN },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.i16(self.error_code);
        if version >= 6 {
            w.nullable_string(flexible, self.error_message.as_deref())?;
        } else if self.error_message.is_some() {
            return Err(not_in_version(
                "DescribeGroupsResponse",
                "DescribedGroup.error_message",
                version,
            ));
        }
        w.string(flexible, &self.group_id)?;
        w.string(flexible, &self.group_state)?;
        w.string(flexible, &self.protocol_type)?;
        w.string(flexible, &self.protocol_data)?;
        w.array(flexible, &self.members, |w, item| item.write(w, version))?;
        if version >= 3 {
            w.i32(self.authorized_operations);
        } else if self.authorized_operations != i32::MIN {
            return Err(not_in_version(
                "DescribeGroupsResponse",
                "DescribedGroup.authorized_operations",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribedGroup::members`: members of the group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribedGroupMember {
    /// Id of the member.
    pub member_id: String,
    /// Id that the user gave to a static member; null for a dynamic one.
    ///
    /// Since version 4; dropped otherwise.
    pub group_instance_id: Option<String>,
    /// Client id of the member.
    pub client_id: String,
    /// Address of the member.
    pub client_host: String,
    /// What the member says to the leader in the chosen protocol.
    pub member_metadata: Bytes,
    /// Assignment of the member.
    pub member_assignment: Bytes,
}

impl DescribedGroupMember {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 4 { r.nullable_string(flexible)? } else { None },
            client_id: r.string(flexible)?,
            client_host: r.string(flexible)?,
            member_metadata: r.bytes(flexible)?,
            member_assignment: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.string(flexible, &self.member_id)?;
        if version >= 4 {
            w.nullable_string(flexible, self.group_instance_id.as_deref())?;
        }
        w.string(flexible, &self.client_id)?;
        w.string(flexible, &self.client_host)?;
        w.bytes(flexible, &self.member_metadata)?;
        w.bytes(flexible, &self.member_assignment)?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeGroupsResponse {
    const NAME: &'static str = "DescribeGroupsResponse";
    const VERSIONS: (i16, i16) = (0, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(5);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}
