//! Readers of logs that are cut from below, deleted and made anew while they are read: whatever
//! they are given is a record that was written at its offset, or their connection ends; the broker
//! lives.
//!
//! `DOHLE_CHURN_SECONDS` sets how long (600 in the full suite). The segments are so small that a
//! few records fill one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dohle_client::api::{Admin, Consumer, Producer};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::consumer::{ConsumedRecord, Start};
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;

use crate::broker::Broker;

const READERS: usize = 32;
const TOPICS: [&str; 4] = ["churn-0", "churn-1", "churn-2", "churn-3"];
const PARTITIONS: i32 = 4;
/// Bytes of a segment, and of a value: five records or so fill one.
const SEGMENT: &str = "1500";
const VALUE: usize = 250;

/// What happened.
#[derive(Default)]
struct Counts {
    over: AtomicBool,
    written: AtomicU64,
    read: AtomicU64,
    /// Records that were cut from the beginnings of logs.
    cut: AtomicU64,
    /// Topics that were deleted and made anew.
    replaced: AtomicU64,
}

impl Counts {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }
}

/// The value of the record at `offset` of a partition: anyone can tell whether it is right.
fn value(partition: i32, offset: i64) -> Vec<u8> {
    let mut value = format!("{partition}:{offset}:").into_bytes();
    value.resize(VALUE, (offset % 251) as u8);
    value
}

fn check(record: &ConsumedRecord, partition: i32) {
    let wanted = value(partition, record.offset.0);
    let found = record.value.as_deref().expect("a value");
    assert_eq!(found, wanted, "partition {partition}, offset {}", record.offset);
}

async fn make(admin: &Admin<Tokio>, topic: &Arc<str>) {
    let mut new = NewTopic::new(Arc::clone(topic), PARTITIONS);
    let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    new.configs =
        BTreeMap::from([setting("internal.segment.bytes", SEGMENT)]).into_iter().collect();
    let made = admin.create_topics(vec![new]).await.expect("an answer");
    assert_eq!(made[topic], Ok(()));
}

/// Writes a topic, cuts it, and now and then makes it anew.
async fn churn(servers: String, topic: Arc<str>, counts: Arc<Counts>) {
    let admin = Admin::new(Tokio::new(), AdminConfig::to(&servers).expect("an address"));
    let admin = admin.expect("valid settings");
    while counts.goes_on() {
        make(&admin, &topic).await;
        let config = ProducerConfig {
            linger: Duration::ZERO,
            ..ProducerConfig::to(&servers).expect("an address")
        };
        let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs)).expect("valid");
        for round in 1..=10_i64 {
            if !counts.goes_on() {
                break;
            }
            let (from, upto) = ((round - 1) * 60, round * 60);
            let places = (0..PARTITIONS)
                .flat_map(|partition| (from..upto).map(move |offset| (partition, offset)));
            let sends = places.map(|(partition, offset)| {
                ProducerRecord::new(Arc::clone(&topic), value(partition, offset))
                    .with_partition(partition)
            });
            let sends: Vec<_> = sends.map(|record| producer.send(record)).collect();
            for sent in sends {
                sent.await.expect("written");
                counts.written.fetch_add(1, Ordering::Relaxed);
            }
            let cut =
                |partition| (TopicPartition::new(Arc::clone(&topic), partition), Offset(upto - 10));
            let done = admin.delete_records((0..PARTITIONS).map(cut).collect()).await;
            assert!(done.expect("an answer").values().all(Result::is_ok));
            counts.cut.fetch_add(60 * PARTITIONS as u64, Ordering::Relaxed);
        }
        let gone = admin.delete_topics(vec![Arc::clone(&topic)]).await.expect("an answer");
        assert_eq!(gone[&topic], Ok(()));
        counts.replaced.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads everything from its beginning, again and again.
async fn read(servers: String, number: usize, counts: Arc<Counts>) {
    let mut config = ConsumerConfig::to(&servers).expect("an address");
    config.set("auto.offset.reset", "earliest").expect("a setting");
    config.set("allow.auto.create.topics", "false").expect("a setting");
    config.set("fetch.max.wait.ms", "20").expect("a setting");
    // Some read much at a time, some little.
    config
        .set("max.partition.fetch.bytes", ["300", "2000", "1048576"][number % 3])
        .expect("a setting");
    while counts.goes_on() {
        let consumer = Consumer::new(Tokio::new(), config.clone(), Arc::new(NativeCodecs));
        let mut consumer = consumer.expect("valid settings");
        let all = TOPICS.iter().flat_map(|topic| {
            (0..PARTITIONS)
                .map(|partition| (TopicPartition::new(*topic, partition), Start::Earliest))
        });
        consumer.assign(all);
        let until = Instant::now() + Duration::from_secs(2);
        while counts.goes_on() && Instant::now() < until {
            let polled = consumer.poll(Duration::from_millis(100)).await;
            // A topic may be gone for a moment; nothing else may be wrong.
            assert_eq!(polled.failed, []);
            for (at, records) in polled.records {
                records.iter().for_each(|record| check(record, at.partition));
                counts.read.fetch_add(records.len() as u64, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn readers_of_logs_that_are_cut_and_replaced_get_records_or_nothing() {
    let seconds = std::env::var("DOHLE_CHURN_SECONDS").ok().and_then(|text| text.parse().ok());
    let broker = Broker::start("churn");
    let counts = Arc::new(Counts::default());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for topic in TOPICS {
            tasks.push(tokio::spawn(churn(broker.servers(), topic.into(), Arc::clone(&counts))));
        }
        for number in 0..READERS {
            tasks.push(tokio::spawn(read(broker.servers(), number, Arc::clone(&counts))));
        }
        tokio::time::sleep(Duration::from_secs(seconds.unwrap_or(5))).await;
        counts.over.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("no complaint");
        }
    });
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let segments = of(&counts.cut) / 5;
    println!(
        "{} records written, {} read by {READERS} readers, about {segments} segments deleted, {} \
         topics replaced",
        of(&counts.written),
        of(&counts.read),
        of(&counts.replaced)
    );
    assert!(of(&counts.read) > 1000 && segments > 100 && of(&counts.replaced) > 0);
}
