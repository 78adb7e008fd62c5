use super::*;

type Map = BTreeMap<String, String>;

fn map(pairs: &[(&str, &str)]) -> Map {
    pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
}

fn broker(pairs: &[(&str, &str)]) -> BrokerConfig {
    BrokerConfig::from_properties(&map(pairs)).expect("a valid configuration").0
}

#[track_caller]
fn good(key: &str, value: &str) {
    let outcome = validate_group_overrides(&map(&[(key, value)]), &BrokerConfig::default());
    assert_eq!(outcome, Ok(()), "{key}={value}");
}

#[track_caller]
fn bad(key: &str, value: &str, text: &str) {
    let outcome = validate_group_overrides(&map(&[(key, value)]), &BrokerConfig::default());
    let error = outcome.expect_err("refused").to_string();
    assert!(error.contains(text), "{key}={value}: {error}");
}

/// What Apache Kafka 4.4 takes, and what it refuses.
#[test]
fn values_are_within_what_the_broker_allows() {
    let range = |key: &str, min: i64, max: i64| {
        good(key, &min.to_string());
        good(key, &max.to_string());
        let text = format!("{key} must be in the range {min} to {max} inclusive.");
        bad(key, &(max + 1).to_string(), &text);
        if group_def(key).expect("a config").validate(&(min - 1).to_string()).is_ok() {
            bad(key, &(min - 1).to_string(), &text);
        }
    };
    for protocol in PROTOCOLS {
        range(&format!("{protocol}.session.timeout.ms"), 45_000, 60_000);
        range(&format!("{protocol}.heartbeat.interval.ms"), 5_000, 15_000);
        range(&format!("{protocol}.assignment.interval.ms"), 0, 15_000);
    }
    range("share.delivery.count.limit", 2, 10);
    range("share.record.lock.duration.ms", 15_000, 60_000);
    range("share.partition.max.record.locks", 100, 4_000);
    good("streams.num.standby.replicas", "2");
    bad("streams.num.standby.replicas", "3", "must be less than or equal to 2");
    bad("streams.num.warmup.replicas", "21", "must be less than or equal to 20");
    good("streams.task.offset.interval.ms", "2147483647");
    bad("streams.task.offset.interval.ms", "14999", "must be greater than or equal to 15000");
    good("streams.initial.rebalance.delay.ms", "100000000");
    good("consumer.session.timeout.ms", " 46000 ");
}

#[test]
fn values_are_of_their_type() {
    for value in ["abc", "", "1.5", "99999999999", "0", "-1"] {
        bad("consumer.session.timeout.ms", value, "a 32-bit integer of at least 1");
    }
    bad("share.delivery.count.limit", "1", "at least 2");
    bad("streams.assignment.interval.ms", "-1", "at least 0");
    for value in ["earliest", "latest", "by_duration:PT1H", " earliest "] {
        good("share.auto.offset.reset", value);
    }
    for value in ["none", "LATEST", "by_duration", "by_duration:x", "by_duration:-PT1H", ""] {
        bad("share.auto.offset.reset", value, "earliest, latest or by_duration:");
    }
    good("share.isolation.level", "read_committed");
    bad("share.isolation.level", "READ_COMMITTED", "one of read_committed, read_uncommitted");
    good("share.renew.acknowledge.enable", "TRUE");
    bad("errors.deadletterqueue.copy.record.enable", "x", "true or false");
}

#[test]
fn names_are_those_of_group_configs() {
    bad("nope", "1", "Unknown group config name: nope");
    bad("group.consumer.session.timeout.ms", "50000", "Unknown group config name");
    bad("consumer.sesion.timeout.ms", "1", "(did you mean consumer.session.timeout.ms?)");
}

#[test]
fn other_rules() {
    good("streams.assignor.name", "sticky");
    for value in ["nope", ""] {
        bad("streams.assignor.name", value, "expected one of sticky");
    }
    for value in ["", "a,b"] {
        good("streams.rack.aware.assignment.tags", value);
    }
    bad("streams.rack.aware.assignment.tags", "a, a", "must not contain duplicate tag keys");
    bad("streams.rack.aware.assignment.tags", "a,,b", "without empty entries");
    for value in ["", "a topic", ".."] {
        good("errors.deadletterqueue.topic.name", value);
    }
    bad("errors.deadletterqueue.topic.name", "__x", "must not start with '__'");
}

#[test]
fn a_session_is_longer_than_the_time_between_heartbeats() {
    let broker = broker(&[
        ("group.consumer.max.heartbeat.interval.ms", "60000"),
        ("group.consumer.session.timeout.ms", "51000"),
    ]);
    let check = |pairs: &[(&str, &str)], fits: bool| {
        let outcome = validate_group_overrides(&map(pairs), &broker);
        let text =
            "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms";
        let expected = if fits { Ok(()) } else { Err(ConfigError::Conflict(text.to_owned())) };
        assert_eq!(outcome, expected, "{pairs:?}");
    };
    let (session, heartbeat) = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms");
    check(&[(session, "48000"), (heartbeat, "48000")], false);
    check(&[(session, "48000"), (heartbeat, "47999")], true);
    check(&[(heartbeat, "51000")], false);
    check(&[(heartbeat, "50999")], true);
}

#[test]
fn what_a_group_sets_is_held_within_what_the_broker_allows_now() {
    let own = map(&[
        ("consumer.session.timeout.ms", "60000"),
        ("consumer.heartbeat.interval.ms", " 5000 "),
        ("consumer.assignment.interval.ms", "15000"),
        ("share.session.timeout.ms", "50000"),
    ]);
    let of = |broker: &BrokerConfig| {
        let config = GroupConfig::resolve(&own, broker);
        (
            config.consumer_session_timeout_ms,
            config.consumer_heartbeat_interval_ms,
            config.consumer_assignment_interval_ms,
        )
    };
    assert_eq!(of(&BrokerConfig::default()), (Some(60_000), Some(5_000), Some(15_000)));
    let narrow = broker(&[
        ("group.consumer.max.session.timeout.ms", "50000"),
        ("group.consumer.min.heartbeat.interval.ms", "6000"),
        ("group.consumer.heartbeat.interval.ms", "7000"),
        ("group.consumer.max.assignment.interval.ms", "9000"),
    ]);
    assert_eq!(of(&narrow), (Some(50_000), Some(6_000), Some(9_000)));
    let none = GroupConfig::resolve(&Map::new(), &narrow);
    assert_eq!(none, GroupConfig::default());
}

#[test]
fn limits_are_broker_configs() {
    for (key, least, most) in LIMITS {
        assert!(group_def(key).is_some(), "{key}");
        let known = |name| BrokerConfig::default().integer(name).is_some();
        assert!(least.is_none_or(known) && most.is_none_or(known), "{key}");
    }
}
