// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteRecordsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topics: g.vec(|g| DeleteRecordsTopic::arbitrary(g, version)), timeout_ms: g.i32() }
    }
}

impl Arbitrary for DeleteRecordsTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| DeleteRecordsPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DeleteRecordsPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32(), offset: g.i64() }
    }
}
