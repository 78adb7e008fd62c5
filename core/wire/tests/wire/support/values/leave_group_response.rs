// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::leave_group_response::{LeaveGroupResponse, MemberResponse};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for LeaveGroupResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 1 { g.i32() } else { 0 },
            error_code: g.i16(),
            members: if version >= 3 {
                g.vec(|g| MemberResponse::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for MemberResponse {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            member_id: g.string(),
            group_instance_id: g.option(|g| g.string()),
            error_code: g.i16(),
        }
    }
}
