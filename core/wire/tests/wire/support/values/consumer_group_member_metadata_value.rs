// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_member_metadata_value::{
    ClassicMemberMetadata, ClassicProtocol, ConsumerGroupMemberMetadataValue,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupMemberMetadataValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            instance_id: g.option(|g| g.string()),
            rack_id: g.option(|g| g.string()),
            client_id: g.string(),
            client_host: g.string(),
            subscribed_topic_names: g.vec(|g| g.string()),
            subscribed_topic_regex: g.option(|g| g.string()),
            rebalance_timeout_ms: g.i32(),
            server_assignor: g.option(|g| g.string()),
            classic_member_metadata: g.option(|g| ClassicMemberMetadata::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ClassicMemberMetadata {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            session_timeout_ms: g.i32(),
            supported_protocols: g.vec(|g| ClassicProtocol::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for ClassicProtocol {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), metadata: g.bytes() }
    }
}
