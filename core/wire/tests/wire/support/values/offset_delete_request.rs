// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::offset_delete_request::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetDeleteRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            topics: g.vec(|g| OffsetDeleteRequestTopic::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetDeleteRequestTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| OffsetDeleteRequestPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetDeleteRequestPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32() }
    }
}
