// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::group_metadata_value::{GroupMetadataValue, MemberMetadata};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for GroupMetadataValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            protocol_type: g.string(),
            generation: g.i32(),
            protocol: g.option(|g| g.string()),
            leader: g.option(|g| g.string()),
            current_state_timestamp: if version >= 2 { g.i64() } else { -1 },
            members: g.vec(|g| MemberMetadata::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for MemberMetadata {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            member_id: g.string(),
            group_instance_id: if version >= 3 { g.option(|g| g.string()) } else { None },
            client_id: g.string(),
            client_host: g.string(),
            rebalance_timeout: if version >= 1 { g.i32() } else { -1 },
            session_timeout: g.i32(),
            subscription: g.bytes(),
            assignment: g.bytes(),
        }
    }
}
