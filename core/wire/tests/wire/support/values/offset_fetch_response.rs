// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::offset_fetch_response::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetFetchResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 3 { g.i32() } else { 0 },
            topics: if version <= 7 {
                g.vec(|g| OffsetFetchResponseTopic::arbitrary(g, version))
            } else {
                Vec::new()
            },
            error_code: if (2..=7).contains(&version) { g.i16() } else { 0 },
            groups: if version >= 8 {
                g.vec(|g| OffsetFetchResponseGroup::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for OffsetFetchResponseTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| OffsetFetchResponsePartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetFetchResponsePartition {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            committed_offset: g.i64(),
            committed_leader_epoch: if version >= 5 { g.i32() } else { -1 },
            metadata: g.option(|g| g.string()),
            error_code: g.i16(),
        }
    }
}

impl Arbitrary for OffsetFetchResponseGroup {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            topics: g.vec(|g| OffsetFetchResponseTopics::arbitrary(g, version)),
            error_code: g.i16(),
        }
    }
}

impl Arbitrary for OffsetFetchResponseTopics {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 9 { g.string() } else { String::new() },
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| OffsetFetchResponsePartitions::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for OffsetFetchResponsePartitions {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            committed_offset: g.i64(),
            committed_leader_epoch: g.i32(),
            metadata: g.option(|g| g.string()),
            error_code: g.i16(),
        }
    }
}
