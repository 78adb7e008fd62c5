// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::feature_level_record::FeatureLevelRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for FeatureLevelRecord {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), feature_level: g.i16() }
    }
}
