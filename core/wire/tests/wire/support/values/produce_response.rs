// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse,
    ProduceResponse, TopicProduceResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ProduceResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            responses: g.vec(|g| TopicProduceResponse::arbitrary(g, version)),
            throttle_time_ms: g.i32(),
            node_endpoints: if version >= 10 {
                g.vec(|g| NodeEndpoint::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for TopicProduceResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 12 { g.string() } else { String::new() },
            topic_id: if version >= 13 { g.uuid() } else { Uuid::ZERO },
            partition_responses: g.vec(|g| PartitionProduceResponse::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for PartitionProduceResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            index: g.i32(),
            error_code: g.i16(),
            base_offset: g.i64(),
            log_append_time_ms: g.i64(),
            log_start_offset: if version >= 5 { g.i64() } else { -1 },
            record_errors: if version >= 8 {
                g.vec(|g| BatchIndexAndErrorMessage::arbitrary(g, version))
            } else {
                Vec::new()
            },
            error_message: if version >= 8 { g.option(|g| g.string()) } else { None },
            current_leader: if version >= 10 {
                LeaderIdAndEpoch::arbitrary(g, version)
            } else {
                LeaderIdAndEpoch::default()
            },
        }
    }
}

impl Arbitrary for BatchIndexAndErrorMessage {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { batch_index: g.i32(), batch_index_error_message: g.option(|g| g.string()) }
    }
}

impl Arbitrary for LeaderIdAndEpoch {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { leader_id: g.i32(), leader_epoch: g.i32() }
    }
}

impl Arbitrary for NodeEndpoint {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { node_id: g.i32(), host: g.string(), port: g.i32(), rack: g.option(|g| g.string()) }
    }
}
