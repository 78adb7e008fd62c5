// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::broker_registration_change_record::BrokerRegistrationChangeRecord;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for BrokerRegistrationChangeRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            broker_id: g.i32(),
            broker_epoch: g.i64(),
            fenced: g.i8(),
            in_controlled_shutdown: if version >= 1 { g.i8() } else { 0 },
            log_dirs: if version >= 2 { g.vec(|g| g.uuid()) } else { Vec::new() },
            cordoned_log_dirs: if version >= 3 { g.option(|g| g.vec(|g| g.uuid())) } else { None },
        }
    }
}
