// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for CreateTopicsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: g.vec(|g| CreatableTopic::arbitrary(g, version)),
            timeout_ms: g.i32(),
            validate_only: g.bool(),
        }
    }
}

impl Arbitrary for CreatableTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            num_partitions: g.i32(),
            replication_factor: g.i16(),
            assignments: g.vec(|g| CreatableReplicaAssignment::arbitrary(g, version)),
            configs: g.vec(|g| CreatableTopicConfig::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for CreatableReplicaAssignment {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), broker_ids: g.vec(|g| g.i32()) }
    }
}

impl Arbitrary for CreatableTopicConfig {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), value: g.option(|g| g.string()) }
    }
}
