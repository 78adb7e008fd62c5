// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::init_producer_id_response::InitProducerIdResponse;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for InitProducerIdResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            error_code: g.i16(),
            producer_id: g.i64(),
            producer_epoch: g.i16(),
            ongoing_txn_producer_id: if version >= 6 { g.i64() } else { -1 },
            ongoing_txn_producer_epoch: if version >= 6 { g.i16() } else { -1 },
        }
    }
}
