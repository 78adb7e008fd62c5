// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_topic_partitions_request::{
    Cursor, DescribeTopicPartitionsRequest, TopicRequest,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeTopicPartitionsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: g.vec(|g| TopicRequest::arbitrary(g, version)),
            response_partition_limit: g.i32(),
            cursor: g.option(|g| Cursor::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for TopicRequest {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string() }
    }
}

impl Arbitrary for Cursor {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_name: g.string(), partition_index: g.i32() }
    }
}
