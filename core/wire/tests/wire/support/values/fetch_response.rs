// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData, SnapshotId,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FetchResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            error_code: if version >= 7 { g.i16() } else { 0 },
            session_id: if version >= 7 { g.i32() } else { 0 },
            responses: g.vec(|g| FetchableTopicResponse::arbitrary(g, version)),
            node_endpoints: if version >= 16 {
                g.vec(|g| NodeEndpoint::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for FetchableTopicResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic: if version <= 12 { g.string() } else { String::new() },
            topic_id: if version >= 13 { g.uuid() } else { Uuid::ZERO },
            partitions: g.vec(|g| PartitionData::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for PartitionData {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            error_code: g.i16(),
            high_watermark: g.i64(),
            last_stable_offset: g.i64(),
            log_start_offset: if version >= 5 { g.i64() } else { -1 },
            diverging_epoch: if version >= 12 {
                EpochEndOffset::arbitrary(g, version)
            } else {
                EpochEndOffset::default()
            },
            current_leader: if version >= 12 {
                LeaderIdAndEpoch::arbitrary(g, version)
            } else {
                LeaderIdAndEpoch::default()
            },
            snapshot_id: if version >= 12 {
                SnapshotId::arbitrary(g, version)
            } else {
                SnapshotId::default()
            },
            aborted_transactions: g
                .option(|g| g.vec(|g| AbortedTransaction::arbitrary(g, version))),
            preferred_read_replica: if version >= 11 { g.i32() } else { -1 },
            records: g.option(|g| g.records()),
        }
    }
}

impl Arbitrary for EpochEndOffset {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { epoch: g.i32(), end_offset: g.i64() }
    }
}

impl Arbitrary for LeaderIdAndEpoch {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { leader_id: g.i32(), leader_epoch: g.i32() }
    }
}

impl Arbitrary for SnapshotId {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { end_offset: g.i64(), epoch: g.i32() }
    }
}

impl Arbitrary for AbortedTransaction {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { producer_id: g.i64(), first_offset: g.i64() }
    }
}

impl Arbitrary for NodeEndpoint {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { node_id: g.i32(), host: g.string(), port: g.i32(), rack: g.option(|g| g.string()) }
    }
}
