// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupRegularExpressionKey {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { group_id: g.string(), regular_expression: g.string() }
    }
}
