// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for AlterReplicaLogDirsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            results: g.vec(|g| AlterReplicaLogDirTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for AlterReplicaLogDirTopicResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic_name: g.string(),
            partitions: g.vec(|g| AlterReplicaLogDirPartitionResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for AlterReplicaLogDirPartitionResult {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), error_code: g.i16() }
    }
}
