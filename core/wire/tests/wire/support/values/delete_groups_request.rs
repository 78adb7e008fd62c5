// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delete_groups_request::DeleteGroupsRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteGroupsRequest {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { groups_names: g.vec(|g| g.string()) }
    }
}
