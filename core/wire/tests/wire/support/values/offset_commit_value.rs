// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::id::Uuid;
use dohle_wire::message::offset_commit_value::OffsetCommitValue;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for OffsetCommitValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            offset: g.i64(),
            leader_epoch: if version >= 3 { g.i32() } else { -1 },
            metadata: g.string(),
            commit_timestamp: g.i64(),
            expire_timestamp: if (1..=1).contains(&version) { g.i64() } else { -1 },
            topic_id: if version >= 4 { g.uuid() } else { Uuid::ZERO },
        }
    }
}
