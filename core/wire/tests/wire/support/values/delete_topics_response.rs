// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteTopicsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            responses: g.vec(|g| DeletableTopicResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DeletableTopicResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version >= 6 { g.option(|g| g.string()) } else { Some(g.string()) },
            topic_id: if version >= 6 { g.uuid() } else { Uuid::ZERO },
            error_code: g.i16(),
            error_message: if version >= 5 { g.option(|g| g.string()) } else { None },
        }
    }
}
