// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_heartbeat_response::{
    Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupHeartbeatResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            member_id: g.option(|g| g.string()),
            member_epoch: g.i32(),
            heartbeat_interval_ms: g.i32(),
            assignment: g.option(|g| Assignment::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for Assignment {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topic_partitions: g.vec(|g| TopicPartitions::arbitrary(g, version)) }
    }
}

impl Arbitrary for TopicPartitions {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_id: g.uuid(), partitions: g.vec(|g| g.i32()) }
    }
}
