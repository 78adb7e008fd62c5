// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::register_broker_record::{
    BrokerEndpoint, BrokerFeature, RegisterBrokerRecord,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for RegisterBrokerRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            broker_id: g.i32(),
            is_migrating_zk_broker: if version >= 2 { g.bool() } else { false },
            incarnation_id: g.uuid(),
            broker_epoch: g.i64(),
            end_points: g.vec(|g| BrokerEndpoint::arbitrary(g, version)),
            features: g.vec(|g| BrokerFeature::arbitrary(g, version)),
            rack: g.option(|g| g.string()),
            fenced: g.bool(),
            in_controlled_shutdown: if version >= 1 { g.bool() } else { false },
            log_dirs: if version >= 3 { g.vec(|g| g.uuid()) } else { Vec::new() },
            cordoned_log_dirs: if version >= 4 { g.option(|g| g.vec(|g| g.uuid())) } else { None },
        }
    }
}

impl Arbitrary for BrokerEndpoint {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), host: g.string(), port: g.u16(), security_protocol: g.i16() }
    }
}

impl Arbitrary for BrokerFeature {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), min_supported_version: g.i16(), max_supported_version: g.i16() }
    }
}
