// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for CreatePartitionsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: g.vec(|g| CreatePartitionsTopic::arbitrary(g, version)),
            timeout_ms: g.i32(),
            validate_only: g.bool(),
        }
    }
}

impl Arbitrary for CreatePartitionsTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            count: g.i32(),
            assignments: g.option(|g| g.vec(|g| CreatePartitionsAssignment::arbitrary(g, version))),
        }
    }
}

impl Arbitrary for CreatePartitionsAssignment {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { broker_ids: g.vec(|g| g.i32()) }
    }
}
