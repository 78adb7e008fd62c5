// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::offset_delete_response::{
    OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetDeleteResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            throttle_time_ms: g.i32(),
            topics: g.vec(|g| OffsetDeleteResponseTopic::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetDeleteResponseTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| OffsetDeleteResponsePartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetDeleteResponsePartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), error_code: g.i16() }
    }
}
