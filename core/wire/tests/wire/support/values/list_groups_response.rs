// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::list_groups_response::{ListGroupsResponse, ListedGroup};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ListGroupsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 1 { g.i32() } else { 0 },
            error_code: g.i16(),
            groups: g.vec(|g| ListedGroup::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ListedGroup {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            protocol_type: g.string(),
            group_state: if version >= 4 { g.string() } else { String::new() },
            group_type: if version >= 5 { g.string() } else { String::new() },
        }
    }
}
