// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for the state and the members of classic groups.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks for the state and the members of classic groups.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeGroupsRequest {
    /// Ids of the groups.
    pub groups: Vec<String>,
    /// Ask for what the client may do to each group.
    ///
    /// Since version 3.
    pub include_authorized_operations: bool,
}

impl DescribeGroupsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let out = Self {
            groups: r.array(flexible, 1, |r| r.string(flexible))?,
            include_authorized_operations: if version >= 3 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 5;
        w.array(flexible, &self.groups, |w, item| w.string(flexible, item))?;
        if version >= 3 {
            w.bool(self.include_authorized_operations);
        } else if self.include_authorized_operations {
            return Err(not_in_version(
                "DescribeGroupsRequest",
                "include_authorized_operations",
                version,
            ));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeGroupsRequest {
    const NAME: &'static str = "DescribeGroupsRequest";
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

impl Request for DescribeGroupsRequest {
    const KEY: ApiKey = ApiKey::DescribeGroups;
    type Response = super::describe_groups_response::DescribeGroupsResponse;
}
