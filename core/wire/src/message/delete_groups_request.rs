// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks to delete groups that have no members.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks to delete groups that have no members.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeleteGroupsRequest {
    /// Ids of the groups.
    pub groups_names: Vec<String>,
}

impl DeleteGroupsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { groups_names: r.array(flexible, 1, |r| r.string(flexible))? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.array(flexible, &self.groups_names, |w, item| w.string(flexible, item))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DeleteGroupsRequest {
    const NAME: &'static str = "DeleteGroupsRequest";
    const VERSIONS: (i16, i16) = (0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for DeleteGroupsRequest {
    const KEY: ApiKey = ApiKey::DeleteGroups;
    type Response = super::delete_groups_response::DeleteGroupsResponse;
}
