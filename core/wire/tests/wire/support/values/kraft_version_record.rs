// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::kraft_version_record::KRaftVersionRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for KRaftVersionRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { version: g.i16(), kraft_version: g.i16() }
    }
}
