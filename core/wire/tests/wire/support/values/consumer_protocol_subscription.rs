// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_protocol_subscription::{
    ConsumerProtocolSubscription, TopicPartition,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerProtocolSubscription {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: g.vec(|g| g.string()),
            user_data: g.option(|g| g.bytes()),
            owned_partitions: if version >= 1 {
                g.vec(|g| TopicPartition::arbitrary(g, version))
            } else {
                Vec::new()
            },
            generation_id: if version >= 2 { g.i32() } else { -1 },
            rack_id: if version >= 3 { g.option(|g| g.string()) } else { None },
        }
    }
}

impl Arbitrary for TopicPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic: g.string(), partitions: g.vec(|g| g.i32()) }
    }
}
