// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for AlterReplicaLogDirsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { dirs: g.vec(|g| AlterReplicaLogDir::arbitrary(g, version)) }
    }
}

impl Arbitrary for AlterReplicaLogDir {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { path: g.string(), topics: g.vec(|g| AlterReplicaLogDirTopic::arbitrary(g, version)) }
    }
}

impl Arbitrary for AlterReplicaLogDirTopic {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), partitions: g.vec(|g| g.i32()) }
    }
}
