// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::fetch_request::{
    FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FetchRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            cluster_id: if version >= 12 { g.option(|g| g.string()) } else { None },
            replica_id: if version <= 14 { g.i32() } else { -1 },
            replica_state: if version >= 15 {
                ReplicaState::arbitrary(g, version)
            } else {
                ReplicaState::default()
            },
            max_wait_ms: g.i32(),
            min_bytes: g.i32(),
            max_bytes: g.i32(),
            isolation_level: g.i8(),
            session_id: if version >= 7 { g.i32() } else { 0 },
            session_epoch: if version >= 7 { g.i32() } else { -1 },
            topics: g.vec(|g| FetchTopic::arbitrary(g, version)),
            forgotten_topics_data: if version >= 7 {
                g.vec(|g| ForgottenTopic::arbitrary(g, version))
            } else {
                Vec::new()
            },
            rack_id: if version >= 11 { g.string() } else { String::new() },
        }
    }
}

impl Arbitrary for ReplicaState {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { replica_id: g.i32(), replica_epoch: g.i64() }
    }
}

impl Arbitrary for FetchTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic: if version <= 12 { g.string() } else { String::new() },
            topic_id: if version >= 13 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| FetchPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for FetchPartition {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition: g.i32(),
            current_leader_epoch: if version >= 9 { g.i32() } else { -1 },
            fetch_offset: g.i64(),
            last_fetched_epoch: if version >= 12 { g.i32() } else { -1 },
            log_start_offset: if version >= 5 { g.i64() } else { -1 },
            partition_max_bytes: g.i32(),
            replica_directory_id: if version >= 17 { g.uuid() } else { Uuid::ZERO },
            high_watermark: if version >= 18 { g.i64() } else { i64::MAX },
        }
    }
}

impl Arbitrary for ForgottenTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic: if version <= 12 { g.string() } else { String::new() },
            topic_id: if version >= 13 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| g.i32()),
        }
    }
}
