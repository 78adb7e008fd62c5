// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::producer_ids_record::ProducerIdsRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ProducerIdsRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { broker_id: g.i32(), broker_epoch: g.i64(), next_producer_id: g.i64() }
    }
}
