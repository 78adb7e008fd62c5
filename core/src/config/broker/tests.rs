use super::*;
use crate::config::listener::SecurityProtocol;

type Outcome = Result<(BrokerConfig, Vec<Warning>), ConfigError>;

fn read(pairs: &[(&str, &str)]) -> Outcome {
    let properties = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    BrokerConfig::from_properties(&properties)
}

#[track_caller]
fn good(pairs: &[(&str, &str)]) -> BrokerConfig {
    match read(pairs) {
        Ok((config, warnings)) => {
            assert_eq!(warnings, []);
            config
        }
        Err(error) => panic!("{pairs:?}: {error}"),
    }
}

#[track_caller]
fn bad(pairs: &[(&str, &str)], part: &str) {
    match read(pairs) {
        Ok(_) => panic!("{pairs:?} is accepted"),
        Err(error) => assert!(error.to_string().contains(part), "{error}"),
    }
}

#[test]
fn nothing_configured() {
    let config = BrokerConfig::default();
    assert!(config.single_node());
    assert_eq!(config.node_id, 1);
    assert_eq!(config.process_roles, Roles { broker: true, controller: true });
    assert_eq!(config.log_dirs, ["./dohle-data"]);
    assert_eq!(config.metadata_log_dir, "./dohle-data");
    let listener = Listener {
        name: "PLAINTEXT".into(),
        host: String::new(),
        port: 9092,
        protocol: SecurityProtocol::Plaintext,
    };
    assert_eq!(config.listeners, std::slice::from_ref(&listener));
    assert_eq!(config.advertised_listeners, None);
    assert_eq!(config.advertised(), [listener]);
    assert_eq!(config.controller_listener_names, ["CONTROLLER"]);
    assert_eq!(config.inter_broker_listener_name, "PLAINTEXT");
    assert_eq!(config.shards, 0);
    assert_eq!(config.num_partitions, 1);
    assert!(config.auto_create_topics_enable && config.delete_topic_enable);
    assert_eq!(config.socket_request_max_bytes, 104_857_600);
    assert_eq!(config.fetch_max_bytes, 57_671_680);
    assert_eq!(config.message_max_bytes, 1_048_588);
    assert_eq!(config.connections_max_idle_ms, Some(600_000));
    assert_eq!(config.queued_max_request_bytes, None);
    assert_eq!(config.metadata_log_segment_bytes, 1_073_741_824);
    assert_eq!(config.metadata_log_max_snapshot_interval_ms, Some(3_600_000));
    assert_eq!(config.metadata_max_idle_interval_ms, Some(500));
    assert_eq!(config.value("offsets.topic.replication.factor"), Some("1"));
    assert_eq!(config.value("transaction.state.log.min.isr"), Some("1"));
    assert_eq!(config.value("log.retention.hours"), Some("168"));
    assert!(config.explicit().is_empty());
}

#[test]
fn our_defaults_are_valid_and_do_differ() {
    for ours in OUR_DEFAULTS {
        let def = exact_broker_def(ours.key).expect("a broker config");
        assert_eq!(def.validate(ours.value), Ok(()));
        assert_ne!(def.default, Some(ours.value));
        assert!(!ours.reason.is_empty());
    }
}

#[test]
fn kafkas_own_example_file() {
    let config = good(&[
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("controller.quorum.bootstrap.servers", "localhost:9093"),
        ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
        ("inter.broker.listener.name", "PLAINTEXT"),
        ("advertised.listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"),
        ("controller.listener.names", "CONTROLLER"),
        (
            "listener.security.protocol.map",
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        ),
        ("log.dirs", "/tmp/a, /tmp/b"),
        ("num.partitions", "3"),
        ("offsets.topic.replication.factor", "1"),
    ]);
    assert!(!config.single_node());
    assert_eq!(config.log_dirs, ["/tmp/a", "/tmp/b"]);
    assert_eq!(config.advertised().len(), 1);
    assert_eq!(config.advertised()[0].host, "localhost");
    assert_eq!(config.listeners.len(), 2);
    assert_eq!(config.controller_quorum_bootstrap_servers, [("localhost".into(), 9093)]);
    assert_eq!(config.num_partitions, 3);
    assert_eq!(config.value("transaction.state.log.replication.factor"), Some("3"));
}

#[test]
fn unknown_keys_are_warned_of() {
    let (_, warnings) = read(&[
        ("num.partition", "1"),
        ("zookeeper.connect", "x"),
        ("dohle.shard", "1"),
        ("super.users", "User:a"),
        ("rsm.config.x", "y"),
        ("listener.name.plaintext.max.connections", "5"),
    ])
    .expect("only warnings");
    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "unknown configuration dohle.shard (did you mean dohle.shards?)",
            "unknown configuration num.partition (did you mean num.partitions?)",
            "unknown configuration zookeeper.connect",
        ]
    );
}

#[test]
fn bad_values() {
    bad(&[("num.partitions", "0")], "num.partitions: expected a 32-bit integer of at least 1");
    bad(&[("dohle.shards", "-1")], "dohle.shards");
    bad(&[("listener.name.a.max.connections", "x")], "listener.name.a.max.connections");
    bad(&[("node.id", "-1")], "node.id");
    bad(&[("broker.id", "-7")], "node.id");
    bad(&[("node.id", "1"), ("broker.id", "2")], "must be the same");
    bad(&[("max.connections.per.ip.overrides", "x")], "{address}:{count}");
    let protocols = "group.coordinator.rebalance.protocols";
    bad(&[(protocols, "consumer")], "a list that has classic in it");
    bad(&[(protocols, "classic,other")], protocols);
    bad(&[(protocols, "")], protocols);
}

#[test]
fn ids() {
    let config = good(&[("broker.id", "7")]);
    assert_eq!(config.node_id, 7);
    assert_eq!(config.value("node.id"), Some("7"));
    assert_eq!(good(&[("node.id", "3")]).value("broker.id"), Some("3"));
}

#[test]
fn directories() {
    let config = good(&[("log.dir", "/a,/b"), ("metadata.log.dir", "/m")]);
    assert_eq!(config.log_dirs, ["/a", "/b"]);
    assert_eq!(config.metadata_log_dir, "/m");
    assert_eq!(config.value("log.dirs"), None);
    assert_eq!(good(&[("log.dir", "/a"), ("log.dirs", "/b")]).log_dirs, ["/b"]);
}

#[test]
fn listeners() {
    let two = |raw| read(&[("listeners", raw)]).map(|(config, _)| config.listeners);
    assert!(two("plaintext://:9092,controller://:9093").is_ok());
    assert!(two("PLAINTEXT://:0,CONTROLLER://:0").is_ok());
    assert!(two("PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092").is_ok());
    let v6 = two("PLAINTEXT://[::1]:9092").expect("IPv6");
    assert_eq!(v6[0].host, "::1");
    bad(&[("listeners", "FOO://:9092")], "no security protocol defined for listener FOO");
    bad(&[("listeners", "PLAINTEXT:9092")], "{name}://{host}:{port}");
    bad(&[("listeners", "PLAINTEXT://h:99999")], "{name}://{host}:{port}");
    bad(&[("listeners", "PLAINTEXT://:1,PLAINTEXT://:2")], "two listeners are called PLAINTEXT");
    bad(&[("listeners", "PLAINTEXT://:1,SSL://:1")], "share port 1");
    bad(&[("listeners", "CONTROLLER://:1")], "no listener is left for clients");
    let secure = [("listeners", "SSL://:9092,CONTROLLER://:9093")];
    bad(&secure, "no security protocol defined for listener CONTROLLER");
    let any = good(&[("listeners", "PLAINTEXT://0.0.0.0:9092")]);
    assert_eq!(any.advertised()[0].host, "");
    let ext = good(&[
        ("listeners", "INT://:9092,EXT://:9094"),
        ("listener.security.protocol.map", "int:plaintext, ext:sasl_ssl"),
        ("inter.broker.listener.name", "int"),
    ]);
    assert_eq!(ext.listeners[1].protocol, SecurityProtocol::SaslSsl);
    assert_eq!(ext.inter_broker_listener_name, "INT");
}

#[test]
fn advertised_listeners() {
    bad(&[("advertised.listeners", "PLAINTEXT://0.0.0.0:1")], "cannot connect to 0.0.0.0");
    bad(&[("advertised.listeners", "SSL://h:1")], "SSL is not one of listeners");
    bad(&[("advertised.listeners", "")], "advertised.listeners");
    let config = good(&[("advertised.listeners", "PLAINTEXT://:19092")]);
    assert_eq!((config.advertised()[0].host.as_str(), config.advertised()[0].port), ("", 19092));
}

#[test]
fn quorum() {
    let both = ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093");
    let voters = "1@a:9093,2@b:9093,3@c:9093";
    let config = good(&[("controller.quorum.voters", voters), both]);
    assert_eq!(config.controller_quorum_voters.len(), 3);
    assert_eq!(config.value("offsets.topic.replication.factor"), Some("3"));
    bad(&[("controller.quorum.voters", voters)], "must have one of controller.listener.names");
    bad(&[("controller.quorum.voters", "2@b:1"), both], "must name this node (1)");
    bad(&[("process.roles", "broker")], "needs controller.quorum.bootstrap.servers");
    let broker = [("process.roles", "broker"), ("controller.quorum.voters", "1@a:1")];
    bad(&broker, "must not name this node (1)");
    good(&[("process.roles", "broker"), ("controller.quorum.voters", "2@a:1")]);
    let controller = ("process.roles", "controller");
    bad(&[controller, ("controller.quorum.voters", "1@a:1")], "may name only");
    good(&[controller, ("controller.quorum.voters", "1@a:1"), ("listeners", "CONTROLLER://:1")]);
    let tls = ("security.inter.broker.protocol", "SSL");
    bad(&[("controller.quorum.voters", "1@a:1"), tls, both], "SSL is not one of");
    bad(&[tls, ("inter.broker.listener.name", "SSL")], "only one of");
    bad(&[("inter.broker.listener.name", "X")], "X is not in listener.security.protocol.map");
}

#[test]
fn relations() {
    bad(&[("replica.fetch.wait.max.ms", "60000")], "at most replica.socket.timeout.ms (30000)");
    bad(&[("group.consumer.heartbeat.interval.ms", "20000")], "at most");
    let same = [
        ("group.share.heartbeat.interval.ms", "45000"),
        ("group.share.max.heartbeat.interval.ms", "45000"),
    ];
    bad(&same, "must be less than group.share.session.timeout.ms");
    bad(&[("log.retention.ms", "0")], "log.retention.ms");
    bad(&[("log.retention.minutes", "0")], "log.retention.minutes");
    good(&[("log.retention.ms", "5"), ("log.retention.hours", "0")]);
    good(&[("log.retention.hours", "-1")]);
    bad(&[("log.roll.ms", "0")], "log.roll.ms");
    bad(&[("log.roll.jitter.ms", "-1")], "log.roll.jitter.ms");
    bad(&[("queued.max.request.bytes", "5")], "at least socket.request.max.bytes");
    assert_eq!(good(&[("queued.max.request.bytes", "0")]).queued_max_request_bytes, None);
    bad(&[("max.connections.per.ip", "0")], "max.connections.per.ip.overrides");
    let ip = [
        ("max.connections.per.ip", "0"),
        ("max.connections.per.ip.overrides", "127.0.0.1:5,::1:6"),
    ];
    let overrides = good(&ip).max_connections_per_ip_overrides;
    assert_eq!(overrides, BTreeMap::from([("127.0.0.1".into(), 5), ("::1".into(), 6)]));
    bad(&[("connections.max.idle.ms", "50")], "connections.max.idle.ms (50)");
    assert_eq!(good(&[("connections.max.idle.ms", "-1")]).connections_max_idle_ms, None);
    bad(&[("log.cleaner.dedupe.buffer.size", "1048576")], "1 MiB");
    good(&[("log.cleaner.dedupe.buffer.size", "1048577")]);
    bad(&[("offsets.topic.compression.codec", "9")], "codec id");
    bad(&[("early.start.listeners", "X")], "X is not one of listeners");
}

#[test]
fn debug_output_hides_secrets() {
    let (config, _) = read(&[
        ("ssl.keystore.password", "s3cret"),
        ("listener.name.a.plain.sasl.jaas.config", "s3cret"),
        ("my.plugin.token", "s3cret"),
        ("num.partitions", "17"),
    ])
    .expect("valid");
    let text = format!("{config:?}");
    assert!(!text.contains("s3cret") && text.contains("17"), "{text}");
}
