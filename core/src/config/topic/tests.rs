use super::*;

type Map = BTreeMap<String, String>;

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
}

fn broker(pairs: &[(&str, &str)]) -> BrokerConfig {
    BrokerConfig::from_properties(&map(pairs)).expect("a valid configuration").0
}

fn topic(pairs: &[(&str, &str)]) -> TopicConfig {
    TopicConfig::resolve(&map(pairs), &map(&[]), &map(&[]), &BrokerConfig::default())
}

#[test]
fn defaults() {
    let config = TopicConfig::default();
    assert_eq!(config.cleanup_policy, CleanupPolicy { delete: true, compact: false });
    assert_eq!(config.compression_type, CompressionType::Producer);
    let levels = (
        config.compression_gzip_level,
        config.compression_lz4_level,
        config.compression_zstd_level,
    );
    assert_eq!(levels, (-1, 9, 3));
    assert_eq!(config.retention_ms, Some(604_800_000));
    assert_eq!(config.retention_bytes, None);
    assert_eq!(config.local_retention_ms, Some(604_800_000));
    assert_eq!(config.segment_bytes, 1_073_741_824);
    assert_eq!(config.segment_ms, 604_800_000);
    assert_eq!(config.flush_ms, i64::MAX);
    assert_eq!(config.min_cleanable_dirty_ratio_ppm, 500_000);
    assert_eq!(config.timestamp_type, TimestampType::CreateTime);
    assert_eq!(config.timestamp_after_max_ms, 3_600_000);
    assert_eq!(config.min_insync_replicas, 1);
    assert_eq!(config.max_message_bytes, 1_048_588);
    assert_eq!(config.leader_throttled, Throttled::Some(vec![]));
    assert!(!config.unclean_leader_election_enable && !config.preallocate);
}

#[test]
fn precedence() {
    let file = broker(&[("log.retention.hours", "24"), ("log.retention.minutes", "600")]);
    let none = map(&[]);
    let default = map(&[("log.retention.ms", "4000")]);
    let own = map(&[("log.retention.ms", "3000")]);
    let over = map(&[("retention.ms", " 9 ")]);
    let check = |topic: &Map, own: &Map, default: &Map, broker: &BrokerConfig, ms| {
        let config = TopicConfig::resolve(topic, own, default, broker);
        assert_eq!(config.retention_ms, Some(ms));
    };
    check(&over, &own, &default, &file, 9);
    check(&none, &own, &default, &file, 3000);
    check(&none, &none, &default, &file, 4000);
    check(&none, &none, &none, &file, 36_000_000);
    check(&none, &none, &none, &broker(&[("log.retention.hours", "24")]), 86_400_000);
    check(&none, &none, &none, &BrokerConfig::default(), 604_800_000);
}

#[test]
fn a_value_that_does_not_parse_is_passed_over() {
    assert_eq!(topic(&[("retention.ms", "soon")]), TopicConfig::default());
}

#[test]
fn no_limits() {
    let of = |pairs: &[(&str, &str)]| {
        TopicConfig::resolve(&map(&[]), &map(&[]), &map(&[]), &broker(pairs)).retention_ms
    };
    assert_eq!(of(&[("log.retention.hours", "-1")]), None);
    assert_eq!(of(&[("log.retention.ms", "-5")]), None);
    let whole = topic(&[("retention.ms", "-1"), ("retention.bytes", "-7")]);
    assert_eq!((whole.retention_ms, whole.retention_bytes), (None, None));
}

#[test]
fn units_and_stand_ins() {
    let file = broker(&[
        ("log.roll.hours", "5"),
        ("log.roll.jitter.hours", "1"),
        ("log.flush.scheduler.interval.ms", "77777"),
    ]);
    let config = TopicConfig::resolve(&map(&[]), &map(&[]), &map(&[]), &file);
    assert_eq!(config.segment_ms, 18_000_000);
    assert_eq!(config.segment_jitter_ms, 3_600_000);
    assert_eq!(config.flush_ms, 77_777);
}

#[test]
fn values() {
    let config = topic(&[
        ("cleanup.policy", "compact,delete"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "-5"),
        ("min.cleanable.dirty.ratio", "0.0125"),
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", "0:1, 2:3"),
        ("message.timestamp.type", "LogAppendTime"),
        ("max.compaction.lag.ms", "1000"),
        ("internal.segment.bytes", "4096"),
        ("preallocate", "TRUE"),
        ("retention.ms", "50"),
        ("local.retention.ms", "20"),
        ("remote.copy.lag.ms", "-1"),
    ]);
    assert_eq!(config.cleanup_policy, CleanupPolicy { delete: true, compact: true });
    assert_eq!(config.compression_type, CompressionType::Zstd);
    assert_eq!(config.compression_zstd_level, -5);
    assert_eq!(config.min_cleanable_dirty_ratio_ppm, 12_500);
    assert_eq!(config.leader_throttled, Throttled::All);
    assert_eq!(config.follower_throttled, Throttled::Some(vec![(0, 1), (2, 3)]));
    assert_eq!(config.timestamp_type, TimestampType::LogAppendTime);
    assert_eq!(config.max_segment_ms(), 1000);
    assert_eq!(config.segment_bytes, 4096);
    assert!(config.preallocate);
    assert_eq!((config.local_retention_ms, config.remote_copy_lag_ms), (Some(20), 20));
    let none = topic(&[("cleanup.policy", "")]);
    assert_eq!(none.cleanup_policy, CleanupPolicy { delete: false, compact: false });
    assert_eq!(topic(&[("max.compaction.lag.ms", "1000")]).max_segment_ms(), 604_800_000);
}

#[test]
fn overrides_are_checked() {
    let check = |pairs: &[(&str, &str)]| validate_topic_overrides(&map(pairs));
    assert_eq!(check(&[]), Ok(()));
    assert_eq!(check(&[("internal.segment.bytes", "1024")]), Ok(()));
    assert_eq!(check(&[("segment.ms", "10"), ("segment.jitter.ms", "20")]), Ok(()));
    assert_eq!(check(&[("max.compaction.lag.ms", "5")]), Ok(()));
    let text = |pairs: &[(&str, &str)]| check(pairs).expect_err("refused").to_string();
    assert_eq!(
        text(&[("retention.mss", "1")]),
        "Unknown topic config name: retention.mss (did you mean retention.ms?)"
    );
    assert_eq!(text(&[("nope", "1")]), "Unknown topic config name: nope");
    assert!(text(&[("segment.bytes", "1024")]).contains("at least 1048576"));
    assert_eq!(
        text(&[("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")]),
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
    );
    assert!(text(&[("remote.storage.enable", "true")]).contains("tiered storage is disabled"));
}
