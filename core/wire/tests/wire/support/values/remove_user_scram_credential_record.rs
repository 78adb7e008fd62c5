// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::remove_user_scram_credential_record::RemoveUserScramCredentialRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for RemoveUserScramCredentialRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), mechanism: g.i8() }
    }
}
