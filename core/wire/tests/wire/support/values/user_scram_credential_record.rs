// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::user_scram_credential_record::UserScramCredentialRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for UserScramCredentialRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            name: g.string(),
            mechanism: g.i8(),
            salt: g.bytes(),
            stored_key: g.bytes(),
            server_key: g.bytes(),
            iterations: g.i32(),
        }
    }
}
