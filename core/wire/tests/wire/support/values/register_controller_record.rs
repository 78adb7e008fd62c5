// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::register_controller_record::{
    ControllerEndpoint, ControllerFeature, RegisterControllerRecord,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for RegisterControllerRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            controller_id: g.i32(),
            incarnation_id: g.uuid(),
            zk_migration_ready: g.bool(),
            end_points: g.vec(|g| ControllerEndpoint::arbitrary(g, version)),
            features: g.vec(|g| ControllerFeature::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ControllerEndpoint {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), host: g.string(), port: g.u16(), security_protocol: g.i16() }
    }
}

impl Arbitrary for ControllerFeature {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), min_supported_version: g.i16(), max_supported_version: g.i16() }
    }
}
