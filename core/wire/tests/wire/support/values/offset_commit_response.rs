// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::offset_commit_response::{
    OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetCommitResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 3 { g.i32() } else { 0 },
            topics: g.vec(|g| OffsetCommitResponseTopic::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetCommitResponseTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 9 { g.string() } else { String::new() },
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| OffsetCommitResponsePartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetCommitResponsePartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), error_code: g.i16() }
    }
}
