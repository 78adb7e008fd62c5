// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_groups_request::DescribeGroupsRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeGroupsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            groups: g.vec(|g| g.string()),
            include_authorized_operations: if version >= 3 { g.bool() } else { false },
        }
    }
}
