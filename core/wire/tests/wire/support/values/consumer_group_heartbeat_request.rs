// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_heartbeat_request::{
    ConsumerGroupHeartbeatRequest, TopicPartitions,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupHeartbeatRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            member_id: g.string(),
            member_epoch: g.i32(),
            instance_id: g.option(|g| g.string()),
            rack_id: g.option(|g| g.string()),
            rebalance_timeout_ms: g.i32(),
            subscribed_topic_names: g.option(|g| g.vec(|g| g.string())),
            subscribed_topic_regex: if version >= 1 { g.option(|g| g.string()) } else { None },
            server_assignor: g.option(|g| g.string()),
            topic_partitions: g.option(|g| g.vec(|g| TopicPartitions::arbitrary(g, version))),
        }
    }
}

impl Arbitrary for TopicPartitions {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_id: g.uuid(), partitions: g.vec(|g| g.i32()) }
    }
}
