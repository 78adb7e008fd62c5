// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::init_producer_id_request::InitProducerIdRequest;

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for InitProducerIdRequest {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            transactional_id: g.option(|g| g.string()),
            transaction_timeout_ms: g.i32(),
            producer_id: if version >= 3 { g.i64() } else { -1 },
            producer_epoch: if version >= 3 { g.i16() } else { -1 },
            enable_2pc: if version >= 6 { g.bool() } else { false },
            keep_prepared_txn: if version >= 6 { g.bool() } else { false },
        }
    }
}
