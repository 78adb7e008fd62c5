// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_protocol_assignment::{
    ConsumerProtocolAssignment, TopicPartition,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerProtocolAssignment {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            assigned_partitions: g.vec(|g| TopicPartition::arbitrary(g, version)),
            user_data: g.option(|g| g.bytes()),
        }
    }
}

impl Arbitrary for TopicPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic: g.string(), partitions: g.vec(|g| g.i32()) }
    }
}
