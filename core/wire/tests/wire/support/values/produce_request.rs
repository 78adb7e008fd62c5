// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::produce_request::{
    PartitionProduceData, ProduceRequest, TopicProduceData,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ProduceRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            transactional_id: g.option(|g| g.string()),
            acks: g.i16(),
            timeout_ms: g.i32(),
            topic_data: g.vec(|g| TopicProduceData::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for TopicProduceData {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 12 { g.string() } else { String::new() },
            topic_id: if version >= 13 { g.uuid() } else { Uuid::ZERO },
            partition_data: g.vec(|g| PartitionProduceData::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for PartitionProduceData {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { index: g.i32(), records: g.option(|g| g.records()) }
    }
}
