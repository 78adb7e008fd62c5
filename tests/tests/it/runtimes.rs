//! One async function, two runtimes: sockets and threads, and the simulation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::{Admin, Consumer, Producer, Runtime};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::consumer::Start;
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_sim::exec::{Weather, block_on};
use dohle_wire::record::Compression;

use crate::broker::Broker;

const PARTITIONS: i32 = 3;
const RECORDS: usize = 300;

/// Makes a topic, fills it, reads it, and gives the values of each partition in order.
async fn fill_and_read<R: Runtime>(runtime: R, servers: String) -> BTreeMap<i32, Vec<String>> {
    let config = AdminConfig::to(&servers).expect("an address");
    let admin = Admin::new(runtime.clone(), config).expect("valid settings");
    let topic = NewTopic::new("numbers", PARTITIONS);
    admin.create_topics(vec![topic]).await.expect("an answer");
    let mut config = ProducerConfig::to(&servers).expect("an address");
    config.compression = Compression::Lz4;
    let codecs = Arc::new(NativeCodecs);
    let producer = Producer::new(runtime.clone(), config, codecs).expect("valid settings");
    let mut deliveries = Vec::new();
    for number in 0..RECORDS {
        let partition = i32::try_from(number).expect("few") % PARTITIONS;
        let record = ProducerRecord::new("numbers", number.to_string()).with_partition(partition);
        deliveries.push(producer.queue(record).await.expect("room"));
    }
    for delivery in deliveries {
        delivery.await.expect("delivered");
    }
    let config = ConsumerConfig::to(&servers).expect("an address");
    let codecs = Arc::new(NativeCodecs);
    let mut consumer = Consumer::new(runtime, config, codecs).expect("valid settings");
    let all = (0..PARTITIONS).map(|index| TopicPartition::new("numbers", index));
    consumer.assign(all.map(|partition| (partition, Start::Earliest)));
    let mut read: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    while read.values().map(Vec::len).sum::<usize>() < RECORDS {
        for (at, records) in consumer.poll(Duration::from_secs(5)).await.records {
            let values = records.into_iter().filter_map(|record| record.value);
            let texts = values.map(|value| String::from_utf8_lossy(&value).into_owned());
            read.entry(at.partition).or_default().extend(texts);
        }
    }
    read
}

fn expected() -> BTreeMap<i32, Vec<String>> {
    let values = |index: i32| {
        let first = usize::try_from(index).expect("not negative");
        (first..RECORDS).step_by(PARTITIONS as usize).map(|number| number.to_string()).collect()
    };
    (0..PARTITIONS).map(|index| (index, values(index))).collect()
}

#[test]
fn in_the_simulation() {
    let read =
        block_on(11, Weather::Calm, |runtime| fill_and_read(runtime, "node0:9092".to_owned()));
    assert_eq!(read, Ok(expected()));
}

#[test]
fn over_sockets() {
    let broker = Broker::start("runtimes");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let limit = Duration::from_secs(60);
    let read = runtime.block_on(async {
        tokio::time::timeout(limit, fill_and_read(Tokio::new(), broker.servers())).await
    });
    assert_eq!(read.ok(), Some(expected()));
}
