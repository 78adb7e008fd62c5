//! ApiVersions: what is served, and who asks.

use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::{DecodeError, Part, Reader, Writer};
use dohle_wire::error::ErrorCode;
use dohle_wire::header::encode_response_header;
use dohle_wire::message::api_versions_response::{
    ApiVersion, FinalizedFeatureKey, SupportedFeatureKey,
};
use dohle_wire::message::{ApiVersionsRequest, ApiVersionsResponse, Message};

use super::{Begun, Ctx, reply};

/// A request that is served, in a range of versions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Which request.
    pub key: ApiKey,
    /// First version.
    pub min: i16,
    /// Last version.
    pub max: i16,
}

const fn all_of(key: ApiKey) -> Served {
    match key.versions() {
        Some((min, max)) => Served { key, min, max },
        None => panic!("a request without versions cannot be served"),
    }
}

/// Everything that is served to clients; nothing else is advertised.
pub const SERVED: &[Served] = &[
    all_of(ApiKey::Produce),
    all_of(ApiKey::Fetch),
    all_of(ApiKey::ListOffsets),
    all_of(ApiKey::Metadata),
    all_of(ApiKey::ApiVersions),
    all_of(ApiKey::CreateTopics),
    all_of(ApiKey::DeleteTopics),
    all_of(ApiKey::DeleteRecords),
    // Version 6 is not stable in Kafka 4.4 (two-phase commit).
    Served { key: ApiKey::InitProducerId, min: 0, max: 5 },
    all_of(ApiKey::OffsetForLeaderEpoch),
    all_of(ApiKey::DescribeConfigs),
    all_of(ApiKey::AlterConfigs),
    all_of(ApiKey::AlterReplicaLogDirs),
    all_of(ApiKey::DescribeLogDirs),
    all_of(ApiKey::CreatePartitions),
    all_of(ApiKey::IncrementalAlterConfigs),
    all_of(ApiKey::DescribeCluster),
    all_of(ApiKey::DescribeQuorum),
    all_of(ApiKey::DescribeTopicPartitions),
    all_of(ApiKey::FindCoordinator),
    all_of(ApiKey::JoinGroup),
    all_of(ApiKey::SyncGroup),
    all_of(ApiKey::Heartbeat),
    all_of(ApiKey::LeaveGroup),
    all_of(ApiKey::OffsetCommit),
    all_of(ApiKey::OffsetFetch),
    all_of(ApiKey::OffsetDelete),
    all_of(ApiKey::ListGroups),
    all_of(ApiKey::DescribeGroups),
    all_of(ApiKey::DeleteGroups),
    all_of(ApiKey::ConsumerGroupHeartbeat),
    all_of(ApiKey::ConsumerGroupDescribe),
];

impl Served {
    /// The range that is served of `key`, if it is.
    pub(crate) fn find(key: ApiKey) -> Option<&'static Self> {
        SERVED.iter().find(|served| served.key == key)
    }

    /// Whether `version` is served.
    pub(crate) fn has(&self, version: i16) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// The range as clients are told. Produce is advertised from version 0, though 0 to 2 are
    /// refused: older librdkafka takes a higher minimum for a broker without compression
    /// (KAFKA-18659).
    fn advertised(&self) -> ApiVersion {
        let min_version = if self.key == ApiKey::Produce { 0 } else { self.min };
        ApiVersion { api_key: self.key.code(), min_version, max_version: self.max }
    }
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: ApiVersionsRequest = ctx.decode(body)?;
    let error = refusal(ctx, &request);
    if let Some(error) = error {
        let response = ApiVersionsResponse { error_code: error.code(), ..Default::default() };
        return Ok(reply::at_once(ctx, &response));
    }
    if ctx.version() >= 3 {
        ctx.client.software = Some((request.client_software_name, request.client_software_version));
    }
    let response = response(ctx);
    Ok(reply::at_once(ctx, &response))
}

/// Why the client is turned away: a name that is none, or another cluster or node than it meant
/// (KIP-1242). A client that does not know the node yet names a negative one.
fn refusal(ctx: &Ctx<'_>, request: &ApiVersionsRequest) -> Option<ErrorCode> {
    let named = [&request.client_software_name, &request.client_software_version];
    if ctx.version() >= 3 && !named.into_iter().all(|text| is_software_text(text)) {
        return Some(ErrorCode::InvalidRequest);
    }
    let cluster = request.cluster_id.as_deref()?;
    let own = ctx.settings.config.node_id;
    let other_node = request.node_id >= 0 && request.node_id != own;
    (cluster != &*ctx.image.cluster_id || other_node).then_some(ErrorCode::RebootstrapRequired)
}

/// Letters and digits, with dots and dashes between them (KIP-511).
fn is_software_text(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    edge(text.bytes().next()) && edge(text.bytes().last()) && text.bytes().all(inner)
}

fn response(ctx: &Ctx<'_>) -> ApiVersionsResponse {
    let mut api_keys: Vec<_> = SERVED.iter().map(Served::advertised).collect();
    api_keys.sort_by_key(|api| api.api_key);
    let broker = ctx.image.brokers.get(&dohle_wire::id::NodeId(ctx.settings.config.node_id));
    let supported = broker.map(|broker| broker.features.as_slice()).unwrap_or_default();
    // Versions below 4 cannot say that a feature may be off (minimum 0).
    let shown = supported.iter().filter(|(_, min, _)| ctx.version() >= 4 || *min > 0);
    ApiVersionsResponse {
        error_code: ErrorCode::None.code(),
        api_keys,
        supported_features: shown.map(supported_feature).collect(),
        finalized_features_epoch: ctx.image.offset.0,
        finalized_features: ctx.image.features.iter().map(finalized_feature).collect(),
        ..Default::default()
    }
}

fn supported_feature((name, min, max): &(String, i16, i16)) -> SupportedFeatureKey {
    SupportedFeatureKey { name: name.clone(), min_version: *min, max_version: *max }
}

fn finalized_feature((name, level): (&std::sync::Arc<str>, &i16)) -> FinalizedFeatureKey {
    FinalizedFeatureKey {
        name: name.to_string(),
        max_version_level: *level,
        min_version_level: *level,
    }
}

/// The answer to an ApiVersions request in a version that is not known: version 0, with the
/// versions of ApiVersions alone (KIP-511).
pub(crate) fn unsupported(correlation_id: i32) -> Vec<Part> {
    let own = Served::find(ApiKey::ApiVersions).map(Served::advertised);
    let body = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: own.into_iter().collect(),
        ..Default::default()
    };
    let mut frame = Writer::frame();
    encode_response_header(&mut frame, ApiKey::ApiVersions, 0, correlation_id);
    body.encode(&mut frame, 0).expect("version 0 carries numbers only");
    frame.finish_frame().expect("a few bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_software() {
        let good = ["apache-kafka-java", "4.4.0", "a", "librdkafka", "v2.12.1-rc"];
        let bad = ["", "-a", "a-", "a b", "a_b", "ä"];
        assert!(good.iter().all(|text| is_software_text(text)));
        assert!(!bad.iter().any(|text| is_software_text(text)));
    }

    #[test]
    fn produce_alone_is_advertised_from_0() {
        let lower: Vec<_> = SERVED.iter().filter(|s| s.advertised().min_version < s.min).collect();
        assert_eq!(lower.iter().map(|s| s.key).collect::<Vec<_>>(), [ApiKey::Produce]);
    }
}
