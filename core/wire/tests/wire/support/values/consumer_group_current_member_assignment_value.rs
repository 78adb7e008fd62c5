// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_current_member_assignment_value::{
    ConsumerGroupCurrentMemberAssignmentValue, TopicPartitions,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupCurrentMemberAssignmentValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_epoch: g.i32(),
            previous_member_epoch: g.i32(),
            state: g.i8(),
            assigned_partitions: g.vec(|g| TopicPartitions::arbitrary(g, version)),
            partitions_pending_revocation: g.vec(|g| TopicPartitions::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for TopicPartitions {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            topic_id: g.uuid(),
            partitions: g.vec(|g| g.i32()),
            assignment_epochs: g.option(|g| g.vec(|g| g.i32())),
        }
    }
}
