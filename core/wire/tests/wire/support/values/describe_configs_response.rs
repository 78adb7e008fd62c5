// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult,
    DescribeConfigsSynonym,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeConfigsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            results: g.vec(|g| DescribeConfigsResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribeConfigsResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            error_message: g.option(|g| g.string()),
            resource_type: g.i8(),
            resource_name: g.string(),
            configs: g.vec(|g| DescribeConfigsResourceResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribeConfigsResourceResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            value: g.option(|g| g.string()),
            read_only: g.bool(),
            config_source: g.i8(),
            is_sensitive: g.bool(),
            synonyms: g.vec(|g| DescribeConfigsSynonym::arbitrary(g, version)),
            config_type: if version >= 3 { g.i8() } else { 0 },
            documentation: if version >= 3 { g.option(|g| g.string()) } else { None },
        }
    }
}

impl Arbitrary for DescribeConfigsSynonym {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), value: g.option(|g| g.string()), source: g.i8() }
    }
}
