// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_describe_request::ConsumerGroupDescribeRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupDescribeRequest {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { group_ids: g.vec(|g| g.string()), include_authorized_operations: g.bool() }
    }
}
