// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::fence_broker_record::FenceBrokerRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FenceBrokerRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { id: g.i32(), epoch: g.i64() }
    }
}
