// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeTopicPartitionsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            topics: g.vec(|g| DescribeTopicPartitionsResponseTopic::arbitrary(g, version)),
            next_cursor: g.option(|g| Cursor::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribeTopicPartitionsResponseTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            name: g.option(|g| g.string()),
            topic_id: g.uuid(),
            is_internal: g.bool(),
            partitions: g.vec(|g| DescribeTopicPartitionsResponsePartition::arbitrary(g, version)),
            topic_authorized_operations: g.i32(),
        }
    }
}

impl Arbitrary for DescribeTopicPartitionsResponsePartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            error_code: g.i16(),
            partition_index: g.i32(),
            leader_id: g.i32(),
            leader_epoch: g.i32(),
            replica_nodes: g.vec(|g| g.i32()),
            isr_nodes: g.vec(|g| g.i32()),
            eligible_leader_replicas: g.option(|g| g.vec(|g| g.i32())),
            last_known_elr: g.option(|g| g.vec(|g| g.i32())),
            offline_replicas: g.vec(|g| g.i32()),
        }
    }
}

impl Arbitrary for Cursor {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_name: g.string(), partition_index: g.i32() }
    }
}
