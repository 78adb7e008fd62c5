// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::zk_migration_state_record::ZkMigrationStateRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ZkMigrationStateRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { zk_migration_state: g.i8() }
    }
}
