// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::leave_group_request::{LeaveGroupRequest, MemberIdentity};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for LeaveGroupRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            member_id: if version <= 2 { g.string() } else { String::new() },
            members: if version >= 3 {
                g.vec(|g| MemberIdentity::arbitrary(g, version))
            } else {
                Vec::new()
            },
        }
    }
}

impl Arbitrary for MemberIdentity {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_id: g.string(),
            group_instance_id: g.option(|g| g.string()),
            reason: if version >= 5 { g.option(|g| g.string()) } else { None },
        }
    }
}
