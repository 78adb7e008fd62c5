// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_target_assignment_member_value::{
    ConsumerGroupTargetAssignmentMemberValue, TopicPartition,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupTargetAssignmentMemberValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topic_partitions: g.vec(|g| TopicPartition::arbitrary(g, version)) }
    }
}

impl Arbitrary for TopicPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_id: g.uuid(), partitions: g.vec(|g| g.i32()) }
    }
}
