// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::sync_group_request::{SyncGroupRequest, SyncGroupRequestAssignment};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for SyncGroupRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            generation_id: g.i32(),
            member_id: g.string(),
            group_instance_id: if version >= 3 { g.option(|g| g.string()) } else { None },
            protocol_type: if version >= 5 { g.option(|g| g.string()) } else { None },
            protocol_name: if version >= 5 { g.option(|g| g.string()) } else { None },
            assignments: g.vec(|g| SyncGroupRequestAssignment::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for SyncGroupRequestAssignment {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { member_id: g.string(), assignment: g.bytes() }
    }
}
