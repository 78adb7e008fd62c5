// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::heartbeat_response::HeartbeatResponse;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for HeartbeatResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { throttle_time_ms: if version >= 1 { g.i32() } else { 0 }, error_code: g.i16() }
    }
}
