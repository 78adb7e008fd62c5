use super::*;

/// The facts as Kafka 4.4 states them: name, type and default of each config; for brokers' also
/// where it may change at run time.
fn check_facts(defs: &[ConfigDef], facts: &str) {
    let ours = defs.iter().map(|def| (def.name, def.kind.name(), def.default));
    let theirs = facts.lines().map(|line| {
        let mut fields = line.split('\t');
        let (name, kind) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        let default = fields.next().filter(|d| !matches!(*d, "<NULL>" | "<REQUIRED>"));
        (name, kind, default)
    });
    for (ours, theirs) in ours.clone().zip(theirs.clone()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.count(), theirs.count());
}

#[test]
fn broker_configs_are_kafkas() {
    check_facts(broker_defs(), include_str!("../testdata/broker.tsv"));
}

#[test]
fn topic_configs_are_kafkas() {
    check_facts(topic_defs(), include_str!("../testdata/topic.tsv"));
}

#[test]
fn group_configs_are_kafkas() {
    check_facts(group_defs(), include_str!("../testdata/group.tsv"));
}

#[test]
fn tables_are_sound() {
    for table in [broker_defs(), topic_defs(), group_defs(), dohle_defs(), dynamic_only_defs()] {
        assert!(table.is_sorted_by(|a, b| a.name < b.name));
        for def in table {
            assert!(def.doc.ends_with('.') && !def.doc.contains('\n'), "{}", def.name);
            if let Some(default) = def.default {
                let canonical = def.canonical(default).expect("a default is a valid value");
                assert_eq!(canonical, default, "{}", def.name);
            }
            for synonym in def.server_synonyms {
                let broker = exact_broker_def(synonym.name).expect("a synonym is a broker config");
                let list = def.kind == Kind::List || synonym.unit == Unit::First;
                assert_eq!(broker.kind == Kind::List, list);
            }
        }
    }
    for def in broker_defs() {
        assert_eq!(broker_def(def.name), Some(def));
    }
    assert_eq!(topic_def("nope"), None);
}

#[test]
fn what_may_change_at_run_time_is_as_in_kafka() {
    for line in include_str!("../testdata/broker.tsv").lines() {
        let (name, scope) = line.split_once('\t').zip(line.rsplit_once('\t')).expect("fields");
        let scope = match scope.1 {
            "per-broker" => Scope::PerBroker,
            "cluster-wide" => Scope::ClusterWide,
            _ => Scope::ReadOnly,
        };
        assert_eq!(broker_def(name.0).map(|def| def.dynamic), Some(scope), "{}", name.0);
    }
}

#[test]
fn retention_synonyms_convert_units() {
    let def = topic_def("retention.ms").expect("a topic config");
    let expected = [
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ];
    assert!(def.server_synonyms.iter().map(|s| (s.name, s.unit.factor())).eq(expected));
}

#[track_caller]
fn good(key: &str, raw: &str, canonical: &str) {
    let def = topic_def(key).or_else(|| broker_def(key)).expect("a config");
    assert_eq!(def.canonical(raw).as_deref(), Ok(canonical), "{key}={raw:?}");
}

#[track_caller]
fn bad(key: &str, raw: &str) -> String {
    let def = topic_def(key).or_else(|| broker_def(key)).expect("a config");
    def.validate(raw).expect_err(raw).to_string()
}

#[test]
fn booleans() {
    good("preallocate", " tRue ", "true");
    good("preallocate", "FALSE", "false");
    for raw in ["yes", "1", "", "truee"] {
        bad("preallocate", raw);
    }
}

#[test]
fn integers() {
    good("retention.ms", "+5", "5");
    good("retention.ms", " -1\t", "-1");
    good("retention.ms", "-0", "0");
    good("compression.gzip.level", "-1", "-1");
    good("compression.zstd.level", "-131072", "-131072");
    good("max.message.bytes", "2147483647", "2147483647");
    bad("max.message.bytes", "2147483648");
    bad("retention.ms", "9223372036854775808");
    for raw in ["", "-2", "0x10", "1_000", "5L", "5.0"] {
        bad("retention.ms", raw);
    }
    for raw in ["0", "10", "-2"] {
        bad("compression.gzip.level", raw);
    }
    bad("offsets.topic.replication.factor", "32768");
    bad("segment.bytes", "1048575");
    good("internal.segment.bytes", "100", "100");
}

#[test]
fn decimals() {
    good("min.cleanable.dirty.ratio", "0.50", "0.5");
    good("min.cleanable.dirty.ratio", "1", "1.0");
    good("min.cleanable.dirty.ratio", "1e-1", "0.1");
    good("log.cleaner.io.max.bytes.per.second", "1e9", "1.0E9");
    for raw in ["1.0000001", "-0.0000001", "NaN", "2", "", "half"] {
        bad("min.cleanable.dirty.ratio", raw);
    }
}

#[test]
fn texts() {
    good("compression.type", " gzip ", "gzip");
    good("group.consumer.migration.policy", "disabled", "disabled");
    good("authorizer.class.name", "", "");
    good("principal.builder.class", "a.b.C", "a.b.C");
    bad("principal.builder.class", " ");
    bad("compression.type", "GZIP");
    bad("compression.type", "none");
    bad("remote.log.storage.manager.class.name", "");
}

#[test]
fn lists() {
    good("cleanup.policy", "", "");
    good("cleanup.policy", " compact , delete", "compact,delete");
    good("cleanup.policy", "compact,compact", "compact");
    bad("cleanup.policy", "compact,,delete");
    bad("cleanup.policy", "compact,keep");
    bad("log.dirs", "");
    bad("log.dirs", "a,,b");
    good("log.dirs", "a, a ,b", "a,b");
    good("leader.replication.throttled.replicas", "0:1, 1:2,", "0:1,1:2,");
    good("leader.replication.throttled.replicas", "*", "*");
    bad("leader.replication.throttled.replicas", "0:1,x");
    good("controller.quorum.voters", "1@h:9093,2@[::1]:9", "1@h:9093,2@[::1]:9");
    for raw in ["1@h", "h:1", "1@h:99999", "x@h:1"] {
        bad("controller.quorum.voters", raw);
    }
    bad("controller.quorum.bootstrap.servers", "host");
    good("controller.quorum.bootstrap.servers", "", "");
}

#[test]
fn messages_say_what_was_expected_and_found() {
    assert_eq!(
        bad("segment.bytes", "100"),
        "Invalid value \"100\" for configuration segment.bytes: \
         expected a 32-bit integer of at least 1048576"
    );
    assert_eq!(
        bad("min.cleanable.dirty.ratio", "2"),
        "Invalid value \"2\" for configuration min.cleanable.dirty.ratio: \
         expected a decimal number from 0 to 1"
    );
    assert_eq!(
        bad("cleanup.policy", "keep"),
        "Invalid value \"keep\" for configuration cleanup.policy: \
         expected a comma-separated list out of compact, delete"
    );
}

#[test]
fn listener_prefixes() {
    assert_eq!(listener_base("listener.name.ext.ssl.key.password"), Some("ssl.key.password"));
    assert_eq!(
        listener_base("listener.name.ext.scram-sha-256.sasl.jaas.config"),
        Some("sasl.jaas.config")
    );
    assert_eq!(listener_base("listener.name.ext"), None);
    assert_eq!(listener_base("ssl.key.password"), None);
    assert!(broker_def("listener.name.ext.max.connections").is_some());
}
