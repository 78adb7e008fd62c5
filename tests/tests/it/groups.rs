//! Members of a group, written on the async API, share a topic while they come, close, vanish and
//! come back, in the simulation with its faults and over sockets.
//!
//! No record is skipped: whoever goes on in a partition goes on at most where others have read to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dohle_client::api::{Admin, Consumer, Polled, Producer, Runtime};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_sim::exec::{Weather, block_on};
use dohle_wire::id::Offset;

use crate::broker::Broker;

const TOPIC: &str = "work";
const PARTITIONS: i32 = 4;
const RECORDS: usize = 240;
const MEMBERS: u64 = 3;

/// How a group is set up.
#[derive(Copy, Clone, Debug)]
struct Shape {
    protocol: &'static str,
    assignor: &'static str,
    statics: bool,
    auto_commit: bool,
}

/// What all members have read, by partition.
#[derive(Clone, Default)]
struct Read(Arc<Mutex<BTreeMap<i32, BTreeSet<i64>>>>);

impl Read {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<i32, BTreeSet<i64>>> {
        self.0.lock().expect("no test thread panics with it")
    }

    fn count(&self) -> usize {
        self.lock().values().map(BTreeSet::len).sum()
    }

    /// Takes in what a poll gave; nothing before it may be unread.
    fn add(&self, polled: &Polled) {
        let mut read = self.lock();
        for (at, records) in &polled.records {
            let offsets = read.entry(at.partition).or_default();
            for record in records {
                let before = offsets.range(..record.offset.0).count();
                assert_eq!(Ok(before), usize::try_from(record.offset.0), "skipped before {at}");
                offsets.insert(record.offset.0);
            }
        }
    }
}

/// A source of choices that is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % sides
    }
}

fn config(servers: &str, shape: Shape, member: u64) -> ConsumerConfig {
    let mut config = ConsumerConfig::to(servers).expect("an address");
    let mut set = |key: &str, value: &str| config.set(key, value).expect("a valid setting");
    set("group.id", "readers");
    set("group.protocol", shape.protocol);
    set("auto.offset.reset", "earliest");
    set("max.poll.records", "7");
    set("fetch.max.wait.ms", "100");
    set("enable.auto.commit", if shape.auto_commit { "true" } else { "false" });
    set("auto.commit.interval.ms", "300");
    if shape.protocol == "classic" {
        set("partition.assignment.strategy", shape.assignor);
        set("session.timeout.ms", "6000");
        set("heartbeat.interval.ms", "500");
    }
    if shape.statics {
        set("group.instance.id", &format!("instance-{member}"));
    }
    config
}

async fn fill<R: Runtime>(runtime: R, servers: String) {
    let admin = Admin::new(runtime.clone(), AdminConfig::to(&servers).expect("an address"));
    let admin = admin.expect("valid settings");
    // Where power is lost, what was acknowledged is not.
    let synced = |mut topic: NewTopic| {
        topic.configs.push(("flush.messages".to_owned(), "1".to_owned()));
        topic
    };
    let topics =
        [synced(NewTopic::new(TOPIC, PARTITIONS)), synced(NewTopic::new("__consumer_offsets", 2))];
    for topic in topics {
        while admin.create_topics(vec![topic.clone()]).await.is_err() {}
    }
    let config = ProducerConfig::to(&servers).expect("an address");
    let producer = Producer::new(runtime, config, Arc::new(NativeCodecs)).expect("valid settings");
    for number in 0..RECORDS {
        let partition = i32::try_from(number).expect("few") % PARTITIONS;
        let record = ProducerRecord::new(TOPIC, number.to_string()).with_partition(partition);
        producer.send(record).await.expect("delivered");
    }
}

/// One member after the other, until everything is read.
async fn member<R: Runtime>(runtime: R, servers: String, shape: Shape, number: u64, read: Read) {
    let mut dice = Dice(number * 7_919 + 1);
    while read.count() < RECORDS {
        let config = config(&servers, shape, number);
        let codecs = Arc::new(NativeCodecs);
        let mut consumer = Consumer::new(runtime.clone(), config, codecs).expect("valid settings");
        consumer.subscribe([TOPIC]).expect("it has a group");
        for _ in 0..10 + dice.below(30) {
            if read.count() >= RECORDS {
                break;
            }
            read.add(&consumer.poll(Duration::from_millis(300)).await);
            if !shape.auto_commit && dice.below(3) == 0 {
                // A rebalance may come first; then others read it again.
                let _ = consumer.commit().await;
            }
            runtime.sleep(Duration::from_millis(dice.below(200))).await;
        }
        match dice.below(3) {
            0 => drop(consumer),
            _ => _ = consumer.close(Duration::from_secs(5)).await,
        }
        runtime.sleep(Duration::from_millis(dice.below(2_000))).await;
    }
}

/// The last member reads to the end; gives what is committed then.
async fn finish<R: Runtime>(runtime: R, servers: String, shape: Shape, read: Read) -> Vec<i64> {
    let config = ConsumerConfig { max_poll_records: 500, ..config(&servers, shape, 0) };
    let mut consumer = Consumer::new(runtime, config, Arc::new(NativeCodecs)).expect("valid");
    consumer.subscribe([TOPIC]).expect("it has a group");
    let all: Vec<TopicPartition> =
        (0..PARTITIONS).map(|index| TopicPartition::new(TOPIC, index)).collect();
    let end = Offset(i64::try_from(RECORDS).expect("few") / i64::from(PARTITIONS));
    loop {
        read.add(&consumer.poll(Duration::from_millis(300)).await);
        let at_end = all.iter().all(|at| consumer.known_position(at) == Some(end));
        if at_end && consumer.commit().await.is_ok() {
            break;
        }
    }
    let committed = consumer.committed(all.clone()).await.expect("it is told");
    let _ = consumer.close(Duration::from_secs(5)).await;
    all.iter().map(|at| committed.get(at).map_or(-1, |found| found.offset.0)).collect()
}

async fn share<R: Runtime>(runtime: R, servers: String, shape: Shape) -> Vec<i64> {
    fill(runtime.clone(), servers.clone()).await;
    let read = Read::default();
    let (done, ended) = (Arc::new(Mutex::new(0)), MEMBERS);
    for number in 0..MEMBERS {
        let (done, runtime2) = (Arc::clone(&done), runtime.clone());
        let life = member(runtime.clone(), servers.clone(), shape, number, read.clone());
        runtime2.spawn(async move {
            life.await;
            *done.lock().expect("a count") += 1;
        });
    }
    while *done.lock().expect("a count") < ended {
        runtime.sleep(Duration::from_millis(100)).await;
    }
    finish(runtime, servers, shape, read).await
}

fn expected() -> Vec<i64> {
    let each = i64::try_from(RECORDS).expect("few") / i64::from(PARTITIONS);
    vec![each; usize::try_from(PARTITIONS).expect("few")]
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (index, assignor) in
        ["range", "roundrobin", "sticky", "cooperative-sticky"].into_iter().enumerate()
    {
        let (statics, auto_commit) = (index % 2 == 1, index < 2);
        shapes.push(Shape { protocol: "classic", assignor, statics, auto_commit });
    }
    shapes
}

#[test]
fn members_share_a_topic_in_the_simulation() {
    for (seed, shape) in (1..).zip(shapes().into_iter().cycle().take(12)) {
        for weather in [Weather::Calm, Weather::Stormy] {
            let application = |runtime| share(runtime, "node0:9092".to_owned(), shape);
            let committed = block_on(seed, weather, application);
            assert_eq!(committed, Ok(expected()), "seed {seed}, {weather:?}, {shape:?}");
        }
    }
}

#[test]
fn members_share_a_topic_over_sockets() {
    for shape in shapes() {
        let broker = Broker::start("groups");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let limit = Duration::from_secs(120);
        let committed = runtime.block_on(async {
            tokio::time::timeout(limit, share(Tokio::new(), broker.servers(), shape)).await
        });
        assert_eq!(committed.ok(), Some(expected()), "{shape:?}");
    }
}
