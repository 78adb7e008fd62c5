// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_metadata_value::ConsumerGroupMetadataValue;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupMetadataValue {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { epoch: g.i32(), metadata_hash: g.i64() }
    }
}
