// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetCommitRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            generation_id_or_member_epoch: g.i32(),
            member_id: g.string(),
            group_instance_id: if version >= 7 { g.option(|g| g.string()) } else { None },
            retention_time_ms: if version <= 4 { g.i64() } else { -1 },
            topics: g.vec(|g| OffsetCommitRequestTopic::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetCommitRequestTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 9 { g.string() } else { String::new() },
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| OffsetCommitRequestPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetCommitRequestPartition {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            committed_offset: g.i64(),
            committed_leader_epoch: if version >= 6 { g.i32() } else { -1 },
            committed_metadata: g.option(|g| g.string()),
        }
    }
}
