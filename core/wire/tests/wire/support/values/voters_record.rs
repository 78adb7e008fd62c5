// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::voters_record::{Endpoint, KRaftVersionFeature, Voter, VotersRecord};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for VotersRecord {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { version: g.i16(), voters: g.vec(|g| Voter::arbitrary(g, version)) }
    }
}

impl Arbitrary for Voter {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            voter_id: g.i32(),
            voter_directory_id: g.uuid(),
            endpoints: g.vec(|g| Endpoint::arbitrary(g, version)),
            kraft_version_feature: KRaftVersionFeature::arbitrary(g, version),
        }
    }
}

impl Arbitrary for Endpoint {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), host: g.string(), port: g.u16() }
    }
}

impl Arbitrary for KRaftVersionFeature {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { min_supported_version: g.i16(), max_supported_version: g.i16() }
    }
}
