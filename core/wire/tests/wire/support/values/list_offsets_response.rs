// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ListOffsetsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 2 { g.i32() } else { 0 },
            topics: g.vec(|g| ListOffsetsTopicResponse::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ListOffsetsTopicResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| ListOffsetsPartitionResponse::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ListOffsetsPartitionResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            error_code: g.i16(),
            timestamp: g.i64(),
            offset: g.i64(),
            leader_epoch: if version >= 4 { g.i32() } else { -1 },
        }
    }
}
