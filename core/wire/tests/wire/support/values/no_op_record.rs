// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::no_op_record::NoOpRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for NoOpRecord {
    fn arbitrary(_g: &mut Generator, _version: i16) -> Self {
        Self {}
    }
}
