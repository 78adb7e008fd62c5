// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::find_coordinator_request::FindCoordinatorRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FindCoordinatorRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            key: if version <= 3 { g.string() } else { String::new() },
            key_type: if version >= 1 { g.i8() } else { 0 },
            coordinator_keys: if version >= 4 { g.vec(|g| g.string()) } else { Vec::new() },
        }
    }
}
