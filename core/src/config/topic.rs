//! A topic's configuration, resolved and typed.

use std::collections::BTreeMap;

use dohle_wire::record::Compression;
pub use dohle_wire::record::TimestampType;

use super::broker::BrokerConfig;
use super::def::{
    ConfigDef, Synonym, Unit, exact_broker_def, near_topic_name, split_list, topic_def,
};
use super::error::ConfigError;
use super::number::millionths;

/// What happens to old segments. Neither: they are kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Segments past the retention are deleted.
    pub delete: bool,
    /// Of each key only the last record is kept.
    pub compact: bool,
}

/// The codec of stored batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionType {
    /// Whatever the producer used.
    Producer,
    /// None.
    Uncompressed,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4.
    Lz4,
    /// zstd.
    Zstd,
}

impl CompressionType {
    /// The codec that a batch is stored with which came with `source`.
    #[must_use]
    pub const fn target(self, source: Compression) -> Compression {
        match self {
            Self::Producer => source,
            Self::Uncompressed => Compression::None,
            Self::Gzip => Compression::Gzip,
            Self::Snappy => Compression::Snappy,
            Self::Lz4 => Compression::Lz4,
            Self::Zstd => Compression::Zstd,
        }
    }
}

/// Replicas whose replication traffic is limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Throttled {
    /// Every one of the topic.
    All,
    /// These, as (partition, broker).
    Some(Vec<(i32, i32)>),
}

/// Every config of a topic, as it holds on one broker. None stands for "no limit".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicConfig {
    /// `cleanup.policy`.
    pub cleanup_policy: CleanupPolicy,
    /// `compression.type`.
    pub compression_type: CompressionType,
    /// `compression.gzip.level`; -1: the codec's default.
    pub compression_gzip_level: i32,
    /// `compression.lz4.level`.
    pub compression_lz4_level: i32,
    /// `compression.zstd.level`.
    pub compression_zstd_level: i32,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
    /// `errors.deadletterqueue.group.enable`.
    pub errors_deadletterqueue_group_enable: bool,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: i64,
    /// `flush.messages`; the largest value means never.
    pub flush_messages: i64,
    /// `flush.ms`; the largest value means never.
    pub flush_ms: i64,
    /// `follower.replication.throttled.replicas`.
    pub follower_throttled: Throttled,
    /// `index.interval.bytes`.
    pub index_interval_bytes: i32,
    /// `leader.replication.throttled.replicas`.
    pub leader_throttled: Throttled,
    /// `local.retention.bytes`, -2 replaced by `retention.bytes`.
    pub local_retention_bytes: Option<i64>,
    /// `local.retention.ms`, -2 replaced by `retention.ms`.
    pub local_retention_ms: Option<i64>,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: i64,
    /// `max.decompressed.message.bytes`.
    pub max_decompressed_message_bytes: i32,
    /// `max.message.bytes`.
    pub max_message_bytes: i32,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `min.cleanable.dirty.ratio`, in parts per million.
    pub min_cleanable_dirty_ratio_ppm: u32,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// `preallocate`.
    pub preallocate: bool,
    /// `remote.copy.lag.bytes`, -1 replaced by the local retention; 0: at once.
    pub remote_copy_lag_bytes: i64,
    /// `remote.copy.lag.ms`, -1 replaced by the local retention; 0: at once.
    pub remote_copy_lag_ms: i64,
    /// `remote.log.copy.disable`.
    pub remote_log_copy_disable: bool,
    /// `remote.log.delete.on.disable`.
    pub remote_log_delete_on_disable: bool,
    /// `remote.storage.enable`.
    pub remote_storage_enable: bool,
    /// `retention.bytes`.
    pub retention_bytes: Option<i64>,
    /// `retention.ms`.
    pub retention_ms: Option<i64>,
    /// `segment.bytes`, or `internal.segment.bytes` if that is set.
    pub segment_bytes: i32,
    /// `segment.index.bytes`.
    pub segment_index_bytes: i32,
    /// `segment.jitter.ms`.
    pub segment_jitter_ms: i64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election_enable: bool,
}

impl Default for TopicConfig {
    /// A topic without overrides on a broker without configuration.
    fn default() -> Self {
        let none = BTreeMap::new();
        Self::resolve(&none, &none, &none, &BrokerConfig::default())
    }
}

impl TopicConfig {
    /// Resolves a topic's configs: its own overrides, then the broker's dynamic configs, the
    /// cluster's dynamic defaults, the broker's file, the defaults. A value that does not parse is
    /// passed over: it was refused where it was set.
    pub fn resolve(
        topic: &BTreeMap<String, String>,
        dynamic_broker: &BTreeMap<String, String>,
        dynamic_default: &BTreeMap<String, String>,
        broker: &BrokerConfig,
    ) -> Self {
        Self::from_layers(&Layers { own: topic, dynamic_broker, dynamic_default, broker })
    }

    fn from_layers(layers: &Layers<'_>) -> Self {
        let policy = layers.text("cleanup.policy");
        let retention_bytes = layers.limit("retention.bytes");
        let retention_ms = layers.limit("retention.ms");
        let local = |key, whole| match layers.integer(key) {
            -2 => whole,
            limit => Some(limit).filter(|limit| *limit >= 0),
        };
        let local_retention_bytes = local("local.retention.bytes", retention_bytes);
        let local_retention_ms = local("local.retention.ms", retention_ms);
        let lag = |key, local: Option<i64>| layers.limit(key).unwrap_or(local.unwrap_or(0));
        Self {
            cleanup_policy: CleanupPolicy {
                delete: split_list(&policy).any(|p| p == "delete"),
                compact: split_list(&policy).any(|p| p == "compact"),
            },
            compression_type: layers.compression(),
            compression_gzip_level: layers.int("compression.gzip.level"),
            compression_lz4_level: layers.int("compression.lz4.level"),
            compression_zstd_level: layers.int("compression.zstd.level"),
            delete_retention_ms: layers.integer("delete.retention.ms"),
            errors_deadletterqueue_group_enable: layers
                .boolean("errors.deadletterqueue.group.enable"),
            file_delete_delay_ms: layers.integer("file.delete.delay.ms"),
            flush_messages: layers.integer("flush.messages"),
            flush_ms: layers.integer("flush.ms"),
            follower_throttled: layers.throttled("follower.replication.throttled.replicas"),
            index_interval_bytes: layers.int("index.interval.bytes"),
            leader_throttled: layers.throttled("leader.replication.throttled.replicas"),
            local_retention_bytes,
            local_retention_ms,
            max_compaction_lag_ms: layers.integer("max.compaction.lag.ms"),
            max_decompressed_message_bytes: layers.int("max.decompressed.message.bytes"),
            max_message_bytes: layers.int("max.message.bytes"),
            timestamp_after_max_ms: layers.integer("message.timestamp.after.max.ms"),
            timestamp_before_max_ms: layers.integer("message.timestamp.before.max.ms"),
            timestamp_type: match layers.text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_cleanable_dirty_ratio_ppm: layers.ppm("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms: layers.integer("min.compaction.lag.ms"),
            min_insync_replicas: layers.int("min.insync.replicas"),
            preallocate: layers.boolean("preallocate"),
            remote_copy_lag_bytes: lag("remote.copy.lag.bytes", local_retention_bytes),
            remote_copy_lag_ms: lag("remote.copy.lag.ms", local_retention_ms),
            remote_log_copy_disable: layers.boolean("remote.log.copy.disable"),
            remote_log_delete_on_disable: layers.boolean("remote.log.delete.on.disable"),
            remote_storage_enable: layers.boolean("remote.storage.enable"),
            retention_bytes,
            retention_ms,
            segment_bytes: match layers.int("internal.segment.bytes") {
                0 => layers.int("segment.bytes"),
                bytes => bytes,
            },
            segment_index_bytes: layers.int("segment.index.bytes"),
            segment_jitter_ms: layers.integer("segment.jitter.ms"),
            segment_ms: layers.integer("segment.ms"),
            unclean_leader_election_enable: layers.boolean("unclean.leader.election.enable"),
        }
    }

    /// The level that batches are compressed with, where the codec has levels.
    #[must_use]
    pub const fn compression_level(&self, codec: Compression) -> Option<i32> {
        match codec {
            Compression::Gzip => Some(self.compression_gzip_level),
            Compression::Lz4 => Some(self.compression_lz4_level),
            Compression::Zstd => Some(self.compression_zstd_level),
            Compression::None | Compression::Snappy => None,
        }
    }

    /// The age at which a segment is closed: compaction may not wait longer than its longest lag.
    pub const fn max_segment_ms(&self) -> i64 {
        if self.cleanup_policy.compact
            && self.max_compaction_lag_ms > 0
            && self.max_compaction_lag_ms < self.segment_ms
        {
            self.max_compaction_lag_ms
        } else {
            self.segment_ms
        }
    }
}

/// Checks a topic's overrides: every name and value, and the values against each other.
pub fn validate_topic_overrides(overrides: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    for (key, value) in overrides {
        let Some(def) = topic_def(key) else {
            let near = near_topic_name(key);
            return Err(ConfigError::UnknownTopicConfig { key: key.clone(), near });
        };
        def.validate(value)?;
    }
    let effective = |name| -> Option<i64> {
        let value = overrides.get(name).map(String::as_str).or(topic_def(name)?.default)?;
        value.trim().parse().ok()
    };
    let min = effective("min.compaction.lag.ms").unwrap_or(0);
    let max = effective("max.compaction.lag.ms").unwrap_or(i64::MAX);
    if min > max {
        return Err(ConfigError::Conflict(format!(
            "conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms \
             ({max})"
        )));
    }
    let tiered = overrides
        .get("remote.storage.enable")
        .is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    if tiered {
        return Err(ConfigError::Conflict(
            "remote.storage.enable: tiered storage is disabled in the broker".into(),
        ));
    }
    Ok(())
}

/// Everything the configs of a topic or a group are resolved from, the strongest first.
pub(super) struct Layers<'a> {
    pub(super) own: &'a BTreeMap<String, String>,
    pub(super) dynamic_broker: &'a BTreeMap<String, String>,
    pub(super) dynamic_default: &'a BTreeMap<String, String>,
    pub(super) broker: &'a BrokerConfig,
}

impl Layers<'_> {
    /// The effective value of a config in canonical form; None if there is no default.
    pub(super) fn resolve(&self, def: &ConfigDef) -> Option<String> {
        if let Some(value) = self.own.get(def.name).and_then(|raw| def.canonical(raw).ok()) {
            return Some(value);
        }
        let maps = [self.dynamic_broker, self.dynamic_default, self.broker.explicit()];
        maps.iter()
            .flat_map(|map| def.server_synonyms.iter().map(move |synonym| (map, synonym)))
            .find_map(|(map, synonym)| from_broker(def, synonym, map.get(synonym.name)?))
            .or_else(|| {
                let synonym = def.server_synonyms.first()?;
                from_broker(def, synonym, self.broker.default_of(synonym.name)?)
            })
            .or_else(|| def.default.map(str::to_owned))
    }

    fn text(&self, name: &str) -> String {
        topic_def(name).and_then(|def| self.resolve(def)).unwrap_or_default()
    }

    fn boolean(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    fn integer(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or(0)
    }

    /// None for what is negative, Kafka's way of saying "no limit".
    fn limit(&self, name: &str) -> Option<i64> {
        Some(self.integer(name)).filter(|limit| *limit >= 0)
    }

    fn int(&self, name: &str) -> i32 {
        i32::try_from(self.integer(name)).unwrap_or(i32::MAX)
    }

    fn ppm(&self, name: &str) -> u32 {
        millionths(&self.text(name)).and_then(|m| u32::try_from(m.floor).ok()).unwrap_or(0)
    }

    fn compression(&self) -> CompressionType {
        match self.text("compression.type").as_str() {
            "uncompressed" => CompressionType::Uncompressed,
            "gzip" => CompressionType::Gzip,
            "snappy" => CompressionType::Snappy,
            "lz4" => CompressionType::Lz4,
            "zstd" => CompressionType::Zstd,
            _ => CompressionType::Producer,
        }
    }

    fn throttled(&self, name: &str) -> Throttled {
        let text = self.text(name);
        if split_list(&text).next() == Some("*") {
            return Throttled::All;
        }
        let replica = |entry: &str| {
            let (partition, broker) = entry.split_once(':')?;
            Some((partition.parse().ok()?, broker.parse().ok()?))
        };
        Throttled::Some(split_list(&text).filter_map(replica).collect())
    }
}

/// A broker config's value in the unit of the config it stands for.
fn from_broker(def: &ConfigDef, synonym: &Synonym, raw: &str) -> Option<String> {
    let value = exact_broker_def(synonym.name)?.canonical(raw).ok()?;
    if synonym.unit == Unit::First {
        return split_list(&value).next().map(str::to_owned);
    }
    let factor = synonym.unit.factor();
    if factor == 1 && def.name != "retention.ms" {
        return Some(value);
    }
    let converted = value.parse::<i64>().ok()?.saturating_mul(factor);
    // Whatever is negative means "no limit", which a topic writes as -1.
    Some(converted.max(-1).to_string())
}

#[cfg(test)]
mod tests;
