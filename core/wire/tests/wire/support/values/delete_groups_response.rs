// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delete_groups_response::{DeletableGroupResult, DeleteGroupsResponse};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteGroupsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            results: g.vec(|g| DeletableGroupResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DeletableGroupResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            error_code: g.i16(),
            error_message: if version >= 3 { g.option(|g| g.string()) } else { None },
        }
    }
}
