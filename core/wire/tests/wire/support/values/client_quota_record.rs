// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::client_quota_record::{ClientQuotaRecord, EntityData};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ClientQuotaRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            entity: g.vec(|g| EntityData::arbitrary(g, version)),
            key: g.string(),
            value: g.f64(),
            remove: g.bool(),
        }
    }
}

impl Arbitrary for EntityData {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { entity_type: g.string(), entity_name: g.option(|g| g.string()) }
    }
}
