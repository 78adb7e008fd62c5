// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::list_groups_request::ListGroupsRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ListGroupsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            states_filter: if version >= 4 { g.vec(|g| g.string()) } else { Vec::new() },
            types_filter: if version >= 5 { g.vec(|g| g.string()) } else { Vec::new() },
        }
    }
}
