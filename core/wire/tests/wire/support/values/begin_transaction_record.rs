// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::begin_transaction_record::BeginTransactionRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for BeginTransactionRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.option(|g| g.string()) }
    }
}
