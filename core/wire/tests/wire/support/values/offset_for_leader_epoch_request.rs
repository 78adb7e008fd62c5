// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::offset_for_leader_epoch_request::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetForLeaderEpochRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            replica_id: if version >= 3 { g.i32() } else { -2 },
            topics: g.vec(|g| OffsetForLeaderTopic::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetForLeaderTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic: g.string(),
            partitions: g.vec(|g| OffsetForLeaderPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetForLeaderPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition: g.i32(), current_leader_epoch: g.i32(), leader_epoch: g.i32() }
    }
}
