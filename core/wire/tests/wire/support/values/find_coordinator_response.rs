// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::find_coordinator_response::{Coordinator, FindCoordinatorResponse};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FindCoordinatorResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 1 { g.i32() } else { 0 },
            error_code: if version <= 3 { g.i16() } else { 0 },
            error_message: if (1..=3).contains(&version) { g.option(|g| g.string()) } else { None },
            node_id: if version <= 3 { g.i32() } else { 0 },
            host: if version <= 3 { g.string() } else { String::new() },
            port: if version <= 3 { g.i32() } else { 0 },
            coordinators: if version >= 4 {
                g.vec(|g| Coordinator::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for Coordinator {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            key: g.string(),
            node_id: g.i32(),
            host: g.string(),
            port: g.i32(),
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
        }
    }
}
