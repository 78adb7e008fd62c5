use super::*;

type Map = BTreeMap<String, String>;

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
}

fn change(op: Op, key: &str, value: &str) -> Change {
    Change { key: key.into(), op, value: Some(value.into()) }
}

fn topic(current: &[(&str, &str)], op: Op, key: &str, value: &str) -> Result<Map, AlterError> {
    alter_topic(&map(current), &[change(op, key, value)])
}

fn broker(target: Target, key: &str, value: &str) -> Result<Map, AlterError> {
    alter_broker(target, &Map::new(), &[change(Op::Set, key, value)])
}

#[track_caller]
fn refused(outcome: Result<Map, AlterError>, invalid_request: bool, part: &str) {
    let error = outcome.expect_err("refused");
    assert!(error.to_string().contains(part), "{error}");
    assert_eq!(error.is_invalid_request(), invalid_request, "{error}");
}

#[test]
fn setting_and_deleting() {
    assert_eq!(topic(&[], Op::Set, "retention.ms", "5"), Ok(map(&[("retention.ms", "5")])));
    assert_eq!(topic(&[("retention.ms", "5")], Op::Delete, "retention.ms", ""), Ok(Map::new()));
    assert_eq!(topic(&[], Op::Delete, "nope", ""), Ok(Map::new()));
    refused(topic(&[], Op::Set, "nope", "5"), false, "Unknown topic config name: nope");
    refused(topic(&[], Op::Set, "retention.ms", "abc"), false, "retention.ms");
    let null = Change { key: "retention.ms".into(), op: Op::Set, value: None };
    refused(alter_topic(&Map::new(), &[null]), true, "Null value not supported");
    let twice = [change(Op::Set, "retention.ms", "1"), change(Op::Delete, "retention.ms", "")];
    refused(alter_topic(&Map::new(), &twice), true, "duplicate config keys");
    let long = "x".repeat(VALUE_BYTES_MAX + 1);
    refused(topic(&[], Op::Set, "cleanup.policy", &long), false, "32768 bytes");
}

#[test]
fn lists() {
    let check = |current: &[(&str, &str)], op, key: &str, value: &str, then: &str| {
        assert_eq!(topic(current, op, key, value), Ok(map(&[(key, then)])));
    };
    const POLICY: &str = "cleanup.policy";
    check(&[], Op::Append, POLICY, "compact", "delete,compact");
    check(&[(POLICY, "compact")], Op::Append, POLICY, "compact", "compact");
    check(&[(POLICY, "compact,delete")], Op::Subtract, POLICY, "compact", "delete");
    check(&[(POLICY, "delete")], Op::Subtract, POLICY, "compact", "delete");
    check(&[(POLICY, "delete")], Op::Subtract, POLICY, "delete", "");
    check(&[(POLICY, "")], Op::Append, POLICY, "", "");
    check(&[], Op::Subtract, "follower.replication.throttled.replicas", "0:1", "");
    let throttled = "leader.replication.throttled.replicas";
    check(&[(throttled, "0:1")], Op::Append, throttled, "1:2, 0:1", "0:1,1:2");
    refused(topic(&[], Op::Append, POLICY, "foo"), false, "out of compact, delete");
    refused(topic(&[], Op::Append, "retention.ms", "5"), false, "Can't APPEND to key retention.ms");
    refused(topic(&[], Op::Subtract, "nope", "5"), false, "Can't SUBTRACT to key nope");
}

#[test]
fn groups() {
    let alter = |current: &[(&str, &str)], op, key: &str, value: &str| {
        alter_group(&BrokerConfig::default(), &map(current), &[change(op, key, value)])
    };
    const SESSION: &str = "consumer.session.timeout.ms";
    assert_eq!(alter(&[], Op::Set, SESSION, "50000"), Ok(map(&[(SESSION, "50000")])));
    assert_eq!(alter(&[(SESSION, "50000")], Op::Delete, SESSION, ""), Ok(Map::new()));
    assert_eq!(alter(&[], Op::Delete, "nope", ""), Ok(Map::new()));
    refused(alter(&[], Op::Set, "nope", "5"), false, "Unknown group config name: nope");
    refused(alter(&[], Op::Set, SESSION, "5"), false, "in the range 45000 to 60000 inclusive");
    const TAGS: &str = "streams.rack.aware.assignment.tags";
    for (op, name) in [(Op::Append, "APPEND"), (Op::Subtract, "SUBTRACT")] {
        for key in [SESSION, TAGS, "nope"] {
            let text = format!("Can't {name} to key {key} because its type is not LIST");
            refused(alter(&[(TAGS, "a")], op, key, "a"), false, &text);
        }
    }
    let long = "x".repeat(VALUE_BYTES_MAX + 1);
    refused(alter(&[], Op::Set, TAGS, &long), false, "32768 bytes");
}

#[test]
fn cross_field_rules_see_the_whole() {
    let current = [("min.compaction.lag.ms", "10")];
    refused(topic(&current, Op::Set, "max.compaction.lag.ms", "5"), false, "conflict");
}

#[test]
fn dynamic_broker_configs() {
    use Target::{Broker, ClusterDefault};
    for (target, key, value) in [
        (Broker, "log.retention.ms", "3000"),
        (ClusterDefault, "log.retention.ms", "4000"),
        (Broker, "listener.name.plaintext.ssl.keystore.password", "a"),
        (ClusterDefault, "listener.name.plaintext.num.network.threads", "4"),
        (Broker, "some.plugin.config", "a"),
        (ClusterDefault, "some.plugin.config", "a"),
        (ClusterDefault, "leader.replication.throttled.rate", "100"),
    ] {
        assert_eq!(broker(target, key, value), Ok(map(&[(key, value)])));
    }
    for target in [Broker, ClusterDefault] {
        for key in ["num.partitions", "node.id", "log.retention.hours", "dohle.shards"] {
            let part = format!("Cannot update these configs dynamically: [{key}]");
            refused(broker(target, key, "3"), true, &part);
        }
        refused(broker(target, "ssl.keystore.password", "a"), true, "using the listener prefix");
        refused(broker(target, "log.segment.bytes", "100"), true, "at least 1048576");
    }
    let per_broker = "broker id must be specified";
    let prefixed = "listener.name.a.ssl.keystore.password";
    refused(broker(ClusterDefault, prefixed, "a"), true, per_broker);
    let delete = [change(Op::Delete, "num.partitions", "")];
    assert_eq!(alter_broker(Broker, &Map::new(), &delete), Ok(Map::new()));
    let append = [change(Op::Append, "log.cleanup.policy", "compact")];
    let then = map(&[("log.cleanup.policy", "delete,compact")]);
    assert_eq!(alter_broker(ClusterDefault, &Map::new(), &append), Ok(then));
    let append = [change(Op::Append, "num.io.threads", "1")];
    refused(alter_broker(Broker, &Map::new(), &append), false, "not LIST");
}

#[test]
fn what_counts_only_at_the_start_is_refused() {
    for target in [Target::Broker, Target::ClusterDefault] {
        for (key, value) in [
            ("producer.id.expiration.ms", "5"),
            ("listeners", "PLAINTEXT://:9"),
            ("max.connection.creation.rate", "5"),
            ("listener.name.plaintext.max.connections", "5"),
            ("listener.name.plaintext.max.connection.creation.rate", "5"),
        ] {
            let part = format!("Cannot update these configs dynamically: [{key}]");
            refused(broker(target, key, value), true, &part);
            let kafkas = map(&[(key, value)]);
            let other = [change(Op::Set, "max.connections", "5")];
            if target == Target::Broker {
                assert!(alter_broker(target, &kafkas, &other).is_ok(), "what is there stays");
            }
            let delete = [change(Op::Delete, key, "")];
            assert_eq!(alter_broker(target, &kafkas, &delete), Ok(Map::new()));
        }
    }
}

#[test]
fn a_brokers_own_configs_go_before_the_clusters_and_the_files() {
    let file = map(&[("max.connections", "1"), ("max.connections.per.ip", "1")]);
    let (config, _) = BrokerConfig::from_properties(&file).unwrap();
    let (own, default) = (map(&[("max.connections", "3")]), map(&[("max.connections", "2")]));
    let of = |broker: &Map, default: &Map| {
        let effective = effective(&config, Dynamic { broker, default }).unwrap();
        (effective.max_connections, effective.max_connections_per_ip)
    };
    assert_eq!(of(&own, &default), (3, 1));
    assert_eq!(of(&Map::new(), &default), (2, 1));
    assert_eq!(of(&Map::new(), &Map::new()), (1, 1));
    let bad = map(&[("max.connections", "x")]);
    assert!(effective(&config, Dynamic { broker: &bad, default: &default }).is_err());
}

#[test]
fn effects_on_a_broker() {
    let config = BrokerConfig::default();
    let none = Map::new();
    let check = |before: &[(&str, &str)], after: &[(&str, &str)]| {
        let (before, after) = (map(before), map(after));
        let before = Dynamic { broker: &before, default: &none };
        check_effective(&config, before, Dynamic { broker: &after, default: &none })
    };
    assert_eq!(check(&[], &[("num.io.threads", "16")]), Ok(()));
    assert_eq!(check(&[], &[("num.io.threads", "4")]), Ok(()));
    assert!(check(&[], &[("num.io.threads", "17")]).is_err());
    assert!(check(&[], &[("num.io.threads", "3")]).is_err());
    assert_eq!(check(&[("num.io.threads", "16")], &[("num.io.threads", "32")]), Ok(()));
    assert_eq!(check(&[], &[("follower.replication.throttled.rate", "1")]), Ok(()));
    assert_eq!(check(&[], &[("log.local.retention.ms", "5")]), Ok(()));
    let error = check(&[], &[("log.local.retention.ms", "99999999999")]).expect_err("too long");
    assert!(error.to_string().contains("at most log.retention.ms, which is 604800000"), "{error}");
    assert!(error.is_invalid_request());
    assert!(check(&[], &[("log.local.retention.ms", "-1")]).is_err());
    assert!(check(&[], &[("listeners", "FOO://:1")]).is_err());
}

#[test]
fn op_codes() {
    for op in [Op::Set, Op::Delete, Op::Append, Op::Subtract] {
        assert_eq!(Op::from_code(op as i8), Some(op));
    }
    assert_eq!(Op::from_code(4), None);
}
