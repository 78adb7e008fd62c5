// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::list_offsets_request::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ListOffsetsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            replica_id: g.i32(),
            isolation_level: if version >= 2 { g.i8() } else { 0 },
            topics: g.vec(|g| ListOffsetsTopic::arbitrary(g, version)),
            timeout_ms: if version >= 10 { g.i32() } else { 0 },
        }
    }
}

impl Arbitrary for ListOffsetsTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| ListOffsetsPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ListOffsetsPartition {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            current_leader_epoch: if version >= 4 { g.i32() } else { -1 },
            timestamp: g.i64(),
        }
    }
}
