// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetFetchRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: if version <= 7 { g.string() } else { String::new() },
            topics: if version <= 7 {
                if version >= 2 {
                    g.option(|g| g.vec(|g| OffsetFetchRequestTopic::arbitrary(g, version)))
                } else {
                    Some(g.vec(|g| OffsetFetchRequestTopic::arbitrary(g, version)))
                }
            } else {
                Some(Vec::new())
            },
            groups: if version >= 8 {
                g.vec(|g| OffsetFetchRequestGroup::arbitrary(g, version))
            } else {
                Vec::new()
            },
            require_stable: if version >= 7 { g.bool() } else { false },
        }
    }
}

impl Arbitrary for OffsetFetchRequestTopic {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), partition_indexes: g.vec(|g| g.i32()) }
    }
}

impl Arbitrary for OffsetFetchRequestGroup {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            group_id: g.string(),
            member_id: if version >= 9 { g.option(|g| g.string()) } else { None },
            member_epoch: if version >= 9 { g.i32() } else { -1 },
            topics: g.option(|g| g.vec(|g| OffsetFetchRequestTopics::arbitrary(g, version))),
        }
    }
}

impl Arbitrary for OffsetFetchRequestTopics {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: if version <= 9 { g.string() } else { String::new() },
            topic_id: if version >= 10 { g.uuid() } else { Uuid::ZERO },
            partition_indexes: g.vec(|g| g.i32()),
        }
    }
}
