// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::legacy_offset_commit_value::LegacyOffsetCommitValue;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for LegacyOffsetCommitValue {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { offset: g.i64(), metadata: g.string(), commit_timestamp: g.i64() }
    }
}
