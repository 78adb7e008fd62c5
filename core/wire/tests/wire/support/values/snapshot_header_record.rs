// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::snapshot_header_record::SnapshotHeaderRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for SnapshotHeaderRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { version: g.i16(), last_contained_log_timestamp: g.i64() }
    }
}
