// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_groups_response::{
    DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeGroupsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: if version >= 1 { g.i32() } else { 0 },
            groups: g.vec(|g| DescribedGroup::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribedGroup {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            error_message: if version >= 6 { g.option(|g| g.string()) } else { None },
            group_id: g.string(),
            group_state: g.string(),
            protocol_type: g.string(),
            protocol_data: g.string(),
            members: g.vec(|g| DescribedGroupMember::arbitrary(g, version)),
            authorized_operations: if version >= 3 { g.i32() } else { i32::MIN },
        }
    }
}

impl Arbitrary for DescribedGroupMember {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_id: g.string(),
            group_instance_id: if version >= 4 { g.option(|g| g.string()) } else { None },
            client_id: g.string(),
            client_host: g.string(),
            member_metadata: g.bytes(),
            member_assignment: g.bytes(),
        }
    }
}
