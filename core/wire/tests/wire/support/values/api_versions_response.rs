// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::api_versions_response::{
    ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ApiVersionsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            api_keys: g.vec(|g| ApiVersion::arbitrary(g, version)),
            throttle_time_ms: if version >= 1 { g.i32() } else { 0 },
            supported_features: if version >= 3 {
                g.vec(|g| SupportedFeatureKey::arbitrary(g, version))
            } else {
                Vec::new()
            },
            finalized_features_epoch: if version >= 3 { g.i64() } else { -1 },
            finalized_features: if version >= 3 {
                g.vec(|g| FinalizedFeatureKey::arbitrary(g, version))
            } else {
                Vec::new()
            },
            zk_migration_ready: if version >= 3 { g.bool() } else { false },
        }
    }
}

impl Arbitrary for ApiVersion {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { api_key: g.i16(), min_version: g.i16(), max_version: g.i16() }
    }
}

impl Arbitrary for SupportedFeatureKey {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), min_version: g.i16(), max_version: g.i16() }
    }
}

impl Arbitrary for FinalizedFeatureKey {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { name: g.string(), max_version_level: g.i16(), min_version_level: g.i16() }
    }
}
