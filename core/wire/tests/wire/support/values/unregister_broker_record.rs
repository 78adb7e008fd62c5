// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::unregister_broker_record::UnregisterBrokerRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for UnregisterBrokerRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { broker_id: g.i32(), broker_epoch: g.i64() }
    }
}
