// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DeleteTopicsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: if version >= 6 {
                g.vec(|g| DeleteTopicState::arbitrary(g, version))
            } else {
                Vec::new()
            },
            topic_names: if version <= 5 { g.vec(|g| g.string()) } else { Vec::new() },
            timeout_ms: g.i32(),
        }
    }
}

impl Arbitrary for DeleteTopicState {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.option(|g| g.string()), topic_id: g.uuid() }
    }
}
