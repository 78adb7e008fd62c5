// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::config_record::ConfigRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConfigRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            resource_type: g.i8(),
            resource_name: g.string(),
            name: g.string(),
            value: g.option(|g| g.string()),
        }
    }
}
