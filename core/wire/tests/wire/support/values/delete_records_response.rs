// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteRecordsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            topics: g.vec(|g| DeleteRecordsTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DeleteRecordsTopicResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| DeleteRecordsPartitionResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DeleteRecordsPartitionResult {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), low_watermark: g.i64(), error_code: g.i16() }
    }
}
