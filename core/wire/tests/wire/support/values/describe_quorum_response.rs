// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::describe_quorum_response::{
    DescribeQuorumResponse, Listener, Node, PartitionData, ReplicaState, TopicData,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeQuorumResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            error_message: if version >= 2 { g.option(|g| g.string()) } else { None },
            topics: g.vec(|g| TopicData::arbitrary(g, version)),
            nodes: if version >= 2 { g.vec(|g| Node::arbitrary(g, version)) } else { Vec::new() },
        }
    }
}

impl Arbitrary for TopicData {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topic_name: g.string(), partitions: g.vec(|g| PartitionData::arbitrary(g, version)) }
    }
}

impl Arbitrary for PartitionData {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            error_code: g.i16(),
            error_message: if version >= 2 { g.option(|g| g.string()) } else { None },
            leader_id: g.i32(),
            leader_epoch: g.i32(),
            high_watermark: g.i64(),
            current_voters: g.vec(|g| ReplicaState::arbitrary(g, version)),
            observers: g.vec(|g| ReplicaState::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ReplicaState {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            replica_id: g.i32(),
            replica_directory_id: if version >= 2 { g.uuid() } else { Uuid::ZERO },
            log_end_offset: g.i64(),
            last_fetch_timestamp: if version >= 1 { g.i64() } else { -1 },
            last_caught_up_timestamp: if version >= 1 { g.i64() } else { -1 },
        }
    }
}

impl Arbitrary for Node {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { node_id: g.i32(), listeners: g.vec(|g| Listener::arbitrary(g, version)) }
    }
}

impl Arbitrary for Listener {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), host: g.string(), port: g.u16() }
    }
}
