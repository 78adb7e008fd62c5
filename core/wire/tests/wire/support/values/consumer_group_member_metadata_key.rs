// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupMemberMetadataKey {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { group_id: g.string(), member_id: g.string() }
    }
}
