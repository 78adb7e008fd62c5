// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::incremental_alter_configs_response::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsResponse,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for IncrementalAlterConfigsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            responses: g.vec(|g| AlterConfigsResourceResponse::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for AlterConfigsResourceResponse {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            resource_type: g.i8(),
            resource_name: g.string(),
        }
    }
}
