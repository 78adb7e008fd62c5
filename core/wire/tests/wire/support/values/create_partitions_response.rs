// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::create_partitions_response::{
    CreatePartitionsResponse, CreatePartitionsTopicResult,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for CreatePartitionsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            results: g.vec(|g| CreatePartitionsTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for CreatePartitionsTopicResult {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), error_code: g.i16(), error_message: g.option(|g| g.string()) }
    }
}
