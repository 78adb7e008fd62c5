// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::delegation_token_record::DelegationTokenRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DelegationTokenRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            owner: g.string(),
            requester: g.string(),
            renewers: g.vec(|g| g.string()),
            issue_timestamp: g.i64(),
            max_timestamp: g.i64(),
            expiration_timestamp: g.i64(),
            token_id: g.string(),
        }
    }
}
