// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks which groups a broker coordinates.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks which groups a broker coordinates.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListGroupsRequest {
    /// States of the groups to list; empty for any.
    ///
    /// Since version 4.
    pub states_filter: Vec<String>,
    /// Types of the groups to list; empty for any.
    ///
    /// Since version 5.
    pub types_filter: Vec<String>,
}

impl ListGroupsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            states_filter: if version >= 4 {
                r.array(flexible, 1, |r| r.string(flexible))?
            } else {
                Vec::new()
            },
            types_filter: if version >= 5 {
                r.array(flexible, 1, |r| r.string(flexible))?
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
        let flexible = version >= 3;
        if version >= 4 {
            w.array(flexible, &self.states_filter, |w, item| w.string(flexible, item))?;
        } else if !self.states_filter.is_empty() {
            return Err(not_in_version("ListGroupsRequest", "states_filter", version));
        }
        if version >= 5 {
            w.array(flexible, &self.types_filter, |w, item| w.string(flexible, item))?;
        } else if !self.types_filter.is_empty() {
            return Err(not_in_version("ListGroupsRequest", "types_filter", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ListGroupsRequest {
    const NAME: &'static str = "ListGroupsRequest";
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

impl Request for ListGroupsRequest {
    const KEY: ApiKey = ApiKey::ListGroups;
    type Response = super::list_groups_response::ListGroupsResponse;
}
