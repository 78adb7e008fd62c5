// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_configs_request::{
    DescribeConfigsRequest, DescribeConfigsResource,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeConfigsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            resources: g.vec(|g| DescribeConfigsResource::arbitrary(g, version)),
            include_synonyms: g.bool(),
            include_documentation: if version >= 3 { g.bool() } else { false },
        }
    }
}

impl Arbitrary for DescribeConfigsResource {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            resource_type: g.i8(),
            resource_name: g.string(),
            configuration_keys: g.option(|g| g.vec(|g| g.string())),
        }
    }
}
