// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_cluster_request::DescribeClusterRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeClusterRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            include_cluster_authorized_operations: g.bool(),
            endpoint_type: if version >= 1 { g.i8() } else { 1 },
            include_fenced_brokers: if version >= 2 { g.bool() } else { false },
        }
    }
}
