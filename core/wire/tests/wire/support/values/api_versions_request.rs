// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::api_versions_request::ApiVersionsRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ApiVersionsRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            client_software_name: if version >= 3 { g.string() } else { String::new() },
            client_software_version: if version >= 3 { g.string() } else { String::new() },
            cluster_id: if version >= 5 { g.option(|g| g.string()) } else { None },
            node_id: if version >= 5 { g.i32() } else { -1 },
        }
    }
}
