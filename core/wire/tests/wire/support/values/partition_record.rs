// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::partition_record::PartitionRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for PartitionRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            partition_id: g.i32(),
            topic_id: g.uuid(),
            replicas: g.vec(|g| g.i32()),
            isr: g.vec(|g| g.i32()),
            removing_replicas: g.vec(|g| g.i32()),
            adding_replicas: g.vec(|g| g.i32()),
            leader: g.i32(),
            leader_recovery_state: g.i8(),
            leader_epoch: g.i32(),
            partition_epoch: g.i32(),
            directories: if version >= 1 { g.vec(|g| g.uuid()) } else { Vec::new() },
            eligible_leader_replicas: if version >= 2 {
                g.option(|g| g.vec(|g| g.i32()))
            } else {
                None
            },
            last_known_elr: if version >= 2 { g.option(|g| g.vec(|g| g.i32())) } else { None },
        }
    }
}
