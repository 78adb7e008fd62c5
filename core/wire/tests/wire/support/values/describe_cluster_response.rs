// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_cluster_response::{
    DescribeClusterBroker, DescribeClusterResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeClusterResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            endpoint_type: if version >= 1 { g.i8() } else { 1 },
            cluster_id: g.string(),
            controller_id: g.i32(),
            brokers: g.vec(|g| DescribeClusterBroker::arbitrary(g, version)),
            cluster_authorized_operations: g.i32(),
        }
    }
}

impl Arbitrary for DescribeClusterBroker {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            broker_id: g.i32(),
            host: g.string(),
            port: g.i32(),
            rack: g.option(|g| g.string()),
            is_fenced: if version >= 2 { g.bool() } else { false },
        }
    }
}
