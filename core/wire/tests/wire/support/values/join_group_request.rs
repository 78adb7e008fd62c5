// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::join_group_request::{JoinGroupRequest, JoinGroupRequestProtocol};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for JoinGroupRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            session_timeout_ms: g.i32(),
            rebalance_timeout_ms: if version >= 1 { g.i32() } else { -1 },
            member_id: g.string(),
            group_instance_id: if version >= 5 { g.option(|g| g.string()) } else { None },
            protocol_type: g.string(),
            protocols: g.vec(|g| JoinGroupRequestProtocol::arbitrary(g, version)),
            reason: if version >= 8 { g.option(|g| g.string()) } else { None },
        }
    }
}

impl Arbitrary for JoinGroupRequestProtocol {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), metadata: g.bytes() }
    }
}
