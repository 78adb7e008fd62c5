// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupTargetAssignmentMetadataValue {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { assignment_epoch: g.i32(), assignment_timestamp: g.i64() }
    }
}
