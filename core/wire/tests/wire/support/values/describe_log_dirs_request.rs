// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_log_dirs_request::{
    DescribableLogDirTopic, DescribeLogDirsRequest,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeLogDirsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topics: g.option(|g| g.vec(|g| DescribableLogDirTopic::arbitrary(g, version))) }
    }
}

impl Arbitrary for DescribableLogDirTopic {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic: g.string(), partitions: g.vec(|g| g.i32()) }
    }
}
