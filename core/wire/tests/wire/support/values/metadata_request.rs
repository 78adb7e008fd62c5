// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::metadata_request::{MetadataRequest, MetadataRequestTopic};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for MetadataRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topics: if version >= 1 {
                g.option(|g| g.vec(|g| MetadataRequestTopic::arbitrary(g, version)))
            } else {
                Some(g.vec(|g| MetadataRequestTopic::arbitrary(g, version)))
            },
            allow_auto_topic_creation: if version >= 4 { g.bool() } else { true },
            include_cluster_authorized_operations: if (8..=10).contains(&version) {
                g.bool()
            } else {
                false
            },
            include_topic_authorized_operations: if version >= 8 { g.bool() } else { false },
        }
    }
}

impl Arbitrary for MetadataRequestTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            name: if version >= 10 { g.option(|g| g.string()) } else { Some(g.string()) },
        }
    }
}
