// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_quorum_request::{
    DescribeQuorumRequest, PartitionData, TopicData,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeQuorumRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topics: g.vec(|g| TopicData::arbitrary(g, version)) }
    }
}

impl Arbitrary for TopicData {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topic_name: g.string(), partitions: g.vec(|g| PartitionData::arbitrary(g, version)) }
    }
}

impl Arbitrary for PartitionData {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition_index: g.i32() }
    }
}
