// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::unregister_controller_record::UnregisterControllerRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for UnregisterControllerRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { controller_id: g.i32() }
    }
}
