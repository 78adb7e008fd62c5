// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_describe_response::{
    Assignment, ConsumerGroupDescribeResponse, DescribedGroup, Member, TopicPartitions,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupDescribeResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { throttle_time_ms: g.i32(), groups: g.vec(|g| DescribedGroup::arbitrary(g, version)) }
    }
}

impl Arbitrary for DescribedGroup {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            group_id: g.string(),
            group_state: g.string(),
            group_epoch: g.i32(),
            assignment_epoch: g.i32(),
            assignor_name: g.string(),
            members: g.vec(|g| Member::arbitrary(g, version)),
            authorized_operations: g.i32(),
        }
    }
}

impl Arbitrary for Member {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_id: g.string(),
            instance_id: g.option(|g| g.string()),
            rack_id: g.option(|g| g.string()),
            member_epoch: g.i32(),
            client_id: g.string(),
            client_host: g.string(),
            subscribed_topic_names: g.vec(|g| g.string()),
            subscribed_topic_regex: g.option(|g| g.string()),
            assignment: Assignment::arbitrary(g, version),
            target_assignment: Assignment::arbitrary(g, version),
            member_type: if version >= 1 { g.i8() } else { -1 },
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
        Self { topic_id: g.uuid(), topic_name: g.string(), partitions: g.vec(|g| g.i32()) }
    }
}
