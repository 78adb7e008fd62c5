// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::leader_change_message::{LeaderChangeMessage, Voter};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for LeaderChangeMessage {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            version: g.i16(),
            leader_id: g.i32(),
            voters: g.vec(|g| Voter::arbitrary(g, version)),
            granting_voters: g.vec(|g| Voter::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for Voter {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            voter_id: g.i32(),
            voter_directory_id: if version >= 1 { g.uuid() } else { Uuid::ZERO },
        }
    }
}
