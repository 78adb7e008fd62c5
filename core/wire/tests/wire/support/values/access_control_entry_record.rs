// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::access_control_entry_record::AccessControlEntryRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for AccessControlEntryRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            id: g.uuid(),
            resource_type: g.i8(),
            resource_name: g.string(),
            pattern_type: g.i8(),
            principal: g.string(),
            host: g.string(),
            operation: g.i8(),
            permission_type: g.i8(),
        }
    }
}
