// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::remove_delegation_token_record::RemoveDelegationTokenRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for RemoveDelegationTokenRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { token_id: g.string() }
    }
}
