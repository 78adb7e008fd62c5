// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::join_group_response::{JoinGroupResponse, JoinGroupResponseMember};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for JoinGroupResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 2 { g.i32() } else { 0 },
            error_code: g.i16(),
            generation_id: g.i32(),
            protocol_type: if version >= 7 { g.option(|g| g.string()) } else { None },
            protocol_name: if version >= 7 { g.option(|g| g.string()) } else { Some(g.string()) },
            leader: g.string(),
            skip_assignment: if version >= 9 { g.bool() } else { false },
            member_id: g.string(),
            members: g.vec(|g| JoinGroupResponseMember::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for JoinGroupResponseMember {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_id: g.string(),
            group_instance_id: if version >= 5 { g.option(|g| g.string()) } else { None },
            metadata: g.bytes(),
        }
    }
}
