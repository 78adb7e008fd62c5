// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::clear_elr_record::ClearElrRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ClearElrRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topic_name: g.string() }
    }
}
