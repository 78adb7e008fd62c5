// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::heartbeat_request::HeartbeatRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for HeartbeatRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            generation_id: g.i32(),
            member_id: g.string(),
            group_instance_id: if version >= 3 { g.option(|g| g.string()) } else { None },
        }
    }
}
