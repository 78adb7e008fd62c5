// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for CreateTopicsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            topics: g.vec(|g| CreatableTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for CreatableTopicResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            topic_id: if version >= 7 { g.uuid() } else { Uuid::ZERO },
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            topic_config_error_code: if version >= 5 { g.i16() } else { 0 },
            num_partitions: if version >= 5 { g.i32() } else { -1 },
            replication_factor: if version >= 5 { g.i16() } else { -1 },
            configs: if version >= 5 {
                g.option(|g| g.vec(|g| CreatableTopicConfigs::arbitrary(g, version)))
            } else {
                None
            },
        }
    }
}

impl Arbitrary for CreatableTopicConfigs {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            name: g.string(),
            value: g.option(|g| g.string()),
            read_only: g.bool(),
            config_source: g.i8(),
            is_sensitive: g.bool(),
        }
    }
}
