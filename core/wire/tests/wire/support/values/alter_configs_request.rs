// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::alter_configs_request::{
    AlterConfigsRequest, AlterConfigsResource, AlterableConfig,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for AlterConfigsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            resources: g.vec(|g| AlterConfigsResource::arbitrary(g, version)),
            validate_only: g.bool(),
        }
    }
}

impl Arbitrary for AlterConfigsResource {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            resource_type: g.i8(),
            resource_name: g.string(),
            configs: g.vec(|g| AlterableConfig::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for AlterableConfig {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), value: g.option(|g| g.string()) }
    }
}
