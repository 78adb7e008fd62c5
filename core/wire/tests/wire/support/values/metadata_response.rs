// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::metadata_response::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for MetadataResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 3 { g.i32() } else { 0 },
            brokers: g.vec(|g| MetadataResponseBroker::arbitrary(g, version)),
            cluster_id: if version >= 2 { g.option(|g| g.string()) } else { None },
            controller_id: if version >= 1 { g.i32() } else { -1 },
            topics: g.vec(|g| MetadataResponseTopic::arbitrary(g, version)),
            cluster_authorized_operations: if (8..=10).contains(&version) {
                g.i32()
            } else {
                i32::MIN
            },
            error_code: if version >= 13 { g.i16() } else { 0 },
        }
    }
}

impl Arbitrary for MetadataResponseBroker {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            node_id: g.i32(),
            host: g.string(),
            port: g.i32(),
            rack: if version >= 1 { g.option(|g| g.string()) } else { None },
        }
    }
}

impl Arbitrary for MetadataResponseTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            name: if version >= 12 { g.option(|g| g.string()) } else { Some(g.string()) },
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            is_internal: if version >= 1 { g.bool() } else { false },
            partitions: g.vec(|g| MetadataResponsePartition::arbitrary(g, version)),
            topic_authorized_operations: if version >= 8 { g.i32() } else { i32::MIN },
        }
    }
}

impl Arbitrary for MetadataResponsePartition {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            partition_index: g.i32(),
            leader_id: g.i32(),
            leader_epoch: if version >= 7 { g.i32() } else { -1 },
            replica_nodes: g.vec(|g| g.i32()),
            isr_nodes: g.vec(|g| g.i32()),
            offline_replicas: if version >= 5 { g.vec(|g| g.i32()) } else { Vec::new() },
        }
    }
}
