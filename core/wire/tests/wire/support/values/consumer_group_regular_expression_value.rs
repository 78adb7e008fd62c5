// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupRegularExpressionValue {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { topics: g.vec(|g| g.string()), version: g.i64(), timestamp: g.i64() }
    }
}
