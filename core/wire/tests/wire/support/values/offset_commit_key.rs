// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::offset_commit_key::OffsetCommitKey;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetCommitKey {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { group: g.string(), topic: g.string(), partition: g.i32() }
    }
}
