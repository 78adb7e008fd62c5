use super::*;
use crate::config::properties::parse;

/// The server.properties of the broker that gave `described.tsv`.
const FILE: &str = "
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:19793
listeners=PLAINTEXT://127.0.0.1:19792,CONTROLLER://127.0.0.1:19793
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=/data
offsets.topic.replication.factor=1
log.retention.hours=24
log.retention.minutes=600
log.roll.hours=5
log.flush.scheduler.interval.ms=77777
min.insync.replicas=1
ssl.keystore.password=secret
my.custom.thing=hello
my.secret.custom=x
";

const BROKER: &str = "
leader.replication.throttled.rate=100
listener.name.plaintext.max.connections=100
listener.name.plaintext.ssl.keystore.password=a
log.retention.ms=3000
nope=a
num.io.threads=10
some.custom.prop=a
";

const DEFAULT: &str = "
leader.replication.throttled.rate=100
listener.name.plaintext.max.connections=100
log.cleaner.max.compaction.lag.ms=5
log.cleaner.min.compaction.lag.ms=10
log.cleanup.policy=delete,compact
log.retention.ms=4000
message.max.bytes=2000000
min.insync.replicas=1
some.custom=b
";

const TOPIC: &str = "
cleanup.policy=
follower.replication.throttled.replicas=
leader.replication.throttled.replicas=0:1,1:2,,2:1
min.insync.replicas=3
retention.bytes=1000
retention.ms=\\ 9\\ 
";

type Map = BTreeMap<String, String>;

fn map(text: &str) -> Map {
    parse(text).expect("properties")
}

fn broker() -> BrokerConfig {
    BrokerConfig::from_properties(&map(FILE)).expect("a valid configuration").0
}

fn row(entry: &ConfigEntry) -> String {
    let synonyms: String = entry
        .synonyms
        .iter()
        .map(|s| {
            let value = s.value.as_deref().unwrap_or("null");
            format!("{}={value}@{};", s.name, s.source.code())
        })
        .collect();
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{synonyms}",
        entry.name,
        entry.value.as_deref().unwrap_or("null"),
        entry.source.code(),
        entry.read_only,
        entry.sensitive,
        entry.kind.map_or("UNKNOWN", Kind::name),
    )
}

/// What a broker of Apache Kafka 4.4 said of itself, in the same state.
fn theirs(tag: &str) -> impl Iterator<Item = &'static str> {
    include_str!("../testdata/described.tsv").lines().filter_map(move |line| {
        let (resource, row) = line.split_once('\t')?;
        (resource == tag).then_some(row)
    })
}

fn check_all(tag: &str, ours: &[ConfigEntry]) {
    for (ours, theirs) in ours.iter().zip(theirs(tag)) {
        assert_eq!(row(ours), theirs);
    }
    assert_eq!(ours.len(), theirs(tag).count());
}

#[test]
fn topics_as_kafka_describes_them() {
    let early = map("min.insync.replicas=1");
    let first = map("cleanup.policy=compact\nretention.bytes=1000");
    check_all("T0", &describe_topic(&first, &Map::new(), &early, &broker()));
    check_all("T1", &describe_topic(&map(TOPIC), &map(BROKER), &map(DEFAULT), &broker()));
}

/// The group settings of the broker that described its groups. A node of several has Kafka's defaults.
const GROUPS: &str = "
controller.quorum.bootstrap.servers=127.0.0.1:19793
group.consumer.heartbeat.interval.ms=6000
group.consumer.max.heartbeat.interval.ms=60000
group.consumer.min.session.timeout.ms=47000
group.consumer.session.timeout.ms=51000
group.share.assignors=simple
group.share.delivery.count.limit=6
group.share.partition.max.record.locks=1000
group.share.record.lock.duration.ms=40000
group.share.session.timeout.ms=50000
group.streams.assignment.interval.ms=2000
group.streams.num.standby.replicas=1
group.streams.rack.aware.assignment.tags=x,y
group.streams.session.timeout.ms=50000
";

const GROUP: &str = "
consumer.assignment.interval.ms=5000
consumer.session.timeout.ms=\\ 48000\\ 
errors.deadletterqueue.topic.name=dlq
share.auto.offset.reset=by_duration:PT1H
share.isolation.level=read_committed
share.renew.acknowledge.enable=FALSE
streams.assignor.name=sticky
streams.num.warmup.replicas=3
streams.rack.aware.assignment.tags=\\ a , b
";

#[test]
fn groups_as_kafka_describes_them() {
    let file = BrokerConfig::from_properties(&map(GROUPS)).expect("a valid configuration").0;
    let none = Map::new();
    check_all("G0", &describe_group(&none, &none, &none, &file));
    let own = map("group.consumer.assignment.interval.ms=3000");
    let default =
        map("group.consumer.assignment.interval.ms=2000\ngroup.share.assignment.interval.ms=4000");
    check_all("G1", &describe_group(&map(GROUP), &own, &default, &file));
}

#[test]
fn a_group_has_the_default_of_its_broker() {
    let file = BrokerConfig::from_properties(&Map::new()).expect("a valid configuration").0;
    let none = Map::new();
    let entries = describe_group(&none, &none, &none, &file);
    let entry = entries.iter().find(|one| one.name == "consumer.assignment.interval.ms").unwrap();
    assert_eq!((entry.value.as_deref(), entry.source), (Some("100"), Source::Default));
}

#[test]
fn the_assignor_of_a_streams_group_is_the_first_there_is() {
    let list = map("group.streams.assignors=one,two");
    let file = BrokerConfig::from_properties(&list).expect("a valid configuration").0;
    let none = Map::new();
    let entries = describe_group(&none, &none, &none, &file);
    let entry = entries.iter().find(|entry| entry.name == "streams.assignor.name").unwrap();
    assert_eq!((entry.value.as_deref(), entry.source), (Some("one"), Source::Static));
}

#[test]
fn cluster_defaults_as_kafka_describes_them() {
    check_all("D1", &describe_cluster_default(&map(DEFAULT), &broker()));
}

#[test]
fn brokers_as_kafka_describes_them() {
    let ours = describe_broker(&map(BROKER), &map(DEFAULT), &broker());
    assert!(ours.is_sorted_by(|a, b| a.name < b.name));
    let mut count = 0;
    for row_of_theirs in theirs("B1") {
        let name = row_of_theirs.split('\t').next().expect("a name");
        let entry = ours.iter().find(|entry| entry.name == name).expect(name);
        // A few defaults are ours; they show among the synonyms of what is set.
        let differs = OURS.contains(&name);
        assert_eq!(row(entry) == row_of_theirs, !differs, "{}\n{row_of_theirs}", row(entry));
        count += 1;
    }
    assert!(count > 40);
}

const OURS: [&str; 4] = ["controller.listener.names", "log.dirs", "node.id", "process.roles"];

#[test]
fn values_set_in_the_file_are_shown_as_set() {
    let ours = describe_broker(&map(BROKER), &map(DEFAULT), &broker());
    let value = |name: &str| {
        ours.iter().find(|entry| entry.name == name).and_then(|entry| entry.value.as_deref())
    };
    assert_eq!(value("log.retention.hours"), Some("24"));
    assert_eq!(value("log.retention.minutes"), Some("600"));
}

#[test]
fn every_public_config_of_a_bare_broker() {
    let ours = describe_broker(&Map::new(), &Map::new(), &BrokerConfig::default());
    let public = broker_defs().iter().filter(|def| !def.internal).count();
    assert_eq!(ours.len(), public + dohle_defs().len());
    let entry = |name: &str| ours.iter().find(|entry| entry.name == name).expect(name);
    assert_eq!(entry("offsets.topic.replication.factor").value.as_deref(), Some("1"));
    assert_eq!(entry("log.dirs").value.as_deref(), Some("./dohle-data"));
    assert_eq!(entry("dohle.shards").kind_code(), 3);
    assert!(ours.iter().all(|entry| entry.source == Source::Default && entry.doc.is_some()));
}

#[test]
fn internal_configs_show_when_set() {
    let names = |topic: &Map| -> Vec<String> {
        let none = Map::new();
        let entries = describe_topic(topic, &none, &none, &BrokerConfig::default());
        entries.into_iter().map(|entry| entry.name).collect()
    };
    let internal = "internal.segment.bytes".to_owned();
    assert!(!names(&Map::new()).contains(&internal));
    assert!(names(&map("internal.segment.bytes=1024")).contains(&internal));
}

#[test]
fn secrets_are_never_shown() {
    let ours = describe_broker(&map(BROKER), &map(DEFAULT), &broker());
    let hidden = ours.iter().filter(|entry| entry.sensitive);
    assert!(hidden.clone().count() > 10);
    for entry in hidden {
        assert_eq!(entry.value, None);
        assert!(entry.synonyms.iter().all(|s| s.value.is_none()));
    }
}
