// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetForLeaderEpochResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            topics: g.vec(|g| OffsetForLeaderTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetForLeaderTopicResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topic: g.string(), partitions: g.vec(|g| EpochEndOffset::arbitrary(g, version)) }
    }
}

impl Arbitrary for EpochEndOffset {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { error_code: g.i16(), partition: g.i32(), leader_epoch: g.i32(), end_offset: g.i64() }
    }
}
