// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::remove_access_control_entry_record::RemoveAccessControlEntryRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for RemoveAccessControlEntryRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { id: g.uuid() }
    }
}
