//! A broker with several data directories: partitions spread over them and move between them while
//! they are used, and a directory that fails takes nothing but its own along.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dohle_client::api::{Admin, Consumer, Producer};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::consumer::Start;
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::codec::{Reader, Writer};
use dohle_wire::header::decode_response_header;
use dohle_wire::message::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest, DescribeLogDirsResult, MetadataRequest, MetadataRequestTopic, Request,
};
use dohle_wire::{ErrorCode, Message, RequestHeader};

use crate::broker::Broker;

const PARTITIONS: i32 = 6;
const PATIENCE: Duration = Duration::from_secs(30);

fn call<R: Request>(servers: &str, version: i16, request: &R) -> R::Response {
    let mut stream = TcpStream::connect(servers).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let header = RequestHeader {
        api_key: R::KEY.code(),
        api_version: version,
        correlation_id: 3,
        client_id: Some("test".into()),
    };
    let mut writer = Writer::new();
    header.encode(&mut writer).expect("a header");
    request.encode(&mut writer, version).expect("a request");
    let body = writer.into_bytes().expect("no holes");
    let len = u32::try_from(body.len()).expect("short").to_be_bytes();
    stream.write_all(&[&len[..], &body].concat()).expect("sent");
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).expect("an answer");
    let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
    stream.read_exact(&mut frame).expect("all of it");
    let mut reader = Reader::new(Bytes::from(frame));
    decode_response_header(&mut reader, R::KEY, version).expect("a header");
    R::Response::decode(&mut reader, version).expect("valid")
}

fn described(servers: &str) -> Vec<DescribeLogDirsResult> {
    call(servers, 4, &DescribeLogDirsRequest::default()).results
}

/// Partitions of `topic` by number: the directory of each, and whether it is a copy under way.
fn places(servers: &str, topic: &str) -> BTreeMap<(i32, bool), usize> {
    let mut places = BTreeMap::new();
    for (at, dir) in described(servers).iter().enumerate() {
        for found in dir.topics.iter().filter(|found| found.name == topic) {
            for partition in &found.partitions {
                let key = (partition.partition_index, partition.is_future_key);
                assert_eq!(places.insert(key, at), None, "{key:?} is in two directories");
            }
        }
    }
    places
}

fn alter(servers: &str, topic: &str, partition: i32, dir: &Path) -> ErrorCode {
    let topics = vec![AlterReplicaLogDirTopic { name: topic.into(), partitions: vec![partition] }];
    let dirs = vec![AlterReplicaLogDir { path: dir.display().to_string(), topics }];
    let response = call(servers, 2, &AlterReplicaLogDirsRequest { dirs });
    assert_eq!(response.results[0].topic_name, topic);
    ErrorCode::from(response.results[0].partitions[0].error_code)
}

/// Errors of the partitions of a topic.
fn errors(servers: &str, topic: &str) -> Vec<ErrorCode> {
    let named = MetadataRequestTopic { name: Some(topic.into()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![named]), ..Default::default() };
    let response = call(servers, 9, &request);
    let mut partitions = response.topics[0].partitions.clone();
    partitions.sort_by_key(|partition| partition.partition_index);
    partitions.iter().map(|partition| ErrorCode::from(partition.error_code)).collect()
}

async fn make(servers: &str, topic: &str, partitions: i32) {
    let config = AdminConfig::to(servers).expect("an address");
    let admin = Admin::new(Tokio::new(), config).expect("valid settings");
    let mut new = NewTopic::new(topic, partitions);
    new.configs.push(("internal.segment.bytes".to_owned(), "3000".to_owned()));
    let made = admin.create_topics(vec![new]).await.expect("an answer");
    assert!(made.values().all(Result::is_ok), "{made:?}");
}

fn value(partition: i32, number: i64) -> String {
    format!("{partition}:{number}:{}", "x".repeat(100))
}

/// Appends the records `from` to `upto` to these partitions.
async fn write(servers: &str, topic: &str, partitions: &[i32], from: i64, upto: i64) {
    let config = ProducerConfig::to(servers).expect("an address");
    let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs)).expect("valid");
    for number in from..upto {
        let record = |partition: &i32| {
            ProducerRecord::new(topic, value(*partition, number)).with_partition(*partition)
        };
        let sends: Vec<_> =
            partitions.iter().map(|partition| producer.send(record(partition))).collect();
        for sent in sends {
            assert_eq!(sent.await.expect("written").offset.0, number);
        }
    }
}

/// Reads partitions from the beginning and holds every record against what was written.
async fn check(servers: &str, topic: &str, partitions: &[i32], upto: i64) {
    let config = ConsumerConfig::to(servers).expect("an address");
    let consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs));
    let mut consumer = consumer.expect("valid settings");
    let at = |partition: &i32| (TopicPartition::new(topic, *partition), Start::Earliest);
    consumer.assign(partitions.iter().map(at));
    let mut read: BTreeMap<i32, i64> = partitions.iter().map(|at| (*at, 0)).collect();
    let until = Instant::now() + PATIENCE;
    while read.values().any(|next| *next < upto) {
        assert!(Instant::now() < until, "read {read:?} of {upto}");
        for (at, records) in consumer.poll(Duration::from_millis(100)).await.records {
            for record in records {
                let next = read.get_mut(&at.partition).expect("asked for");
                assert_eq!(record.offset.0, *next);
                assert_eq!(record.value.as_deref(), Some(value(at.partition, *next).as_bytes()));
                *next += 1;
            }
        }
    }
}

/// Waits until a partition is in a directory, and only there.
fn await_place(servers: &str, topic: &str, partition: i32, dir: usize) {
    let until = Instant::now() + PATIENCE;
    loop {
        let places = places(servers, topic);
        let there = places.get(&(partition, false)) == Some(&dir);
        if there && !places.contains_key(&(partition, true)) {
            return;
        }
        assert!(Instant::now() < until, "{places:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let ended = runtime.block_on(async { tokio::time::timeout(3 * PATIENCE, future).await });
    ended.expect("in time");
}

#[test]
fn partitions_spread_and_move_while_they_are_written_to() {
    let mut broker = Broker::with_dirs("dirs-move", &["a", "b", "c"]);
    let servers = broker.servers();
    let all: Vec<i32> = (0..PARTITIONS).collect();
    block_on(make(&servers, "t", PARTITIONS));
    block_on(write(&servers, "t", &all, 0, 60));
    let spread = places(&servers, "t");
    for dir in 0..3 {
        assert_eq!(spread.values().filter(|at| **at == dir).count(), 2, "{spread:?}");
    }
    let space = described(&servers);
    assert!(space.iter().all(|dir| dir.total_bytes >= dir.usable_bytes && dir.usable_bytes > 0));
    let from = spread[&(0, false)];
    let to = (from + 1) % 3;
    block_on(async {
        let mover = {
            let (servers, dir) = (servers.clone(), broker.dir(to).clone());
            tokio::task::spawn_blocking(move || {
                assert_eq!(alter(&servers, "t", 0, &dir), ErrorCode::None);
                await_place(&servers, "t", 0, to);
            })
        };
        write(&servers, "t", &all, 60, 200).await;
        mover.await.expect("moved");
        check(&servers, "t", &all, 200).await;
    });
    assert!(broker.dir(to).join("t-0").is_dir() && !broker.dir(from).join("t-0").exists());
    assert_eq!(alter(&servers, "t", 0, broker.dir(to)), ErrorCode::None, "it is there");
    assert_eq!(alter(&servers, "t", 0, Path::new("/nowhere")), ErrorCode::LogDirNotFound);
    // What is not there yet is made where it is wanted.
    let unknown = ErrorCode::UnknownTopicOrPartition;
    assert_eq!(alter(&servers, "u", 0, broker.dir(2)), unknown);
    assert_eq!(alter(&servers, "u", 1, broker.dir(2)), unknown);
    block_on(make(&servers, "u", 2));
    assert_eq!(places(&servers, "u"), BTreeMap::from([((0, false), 2), ((1, false), 2)]));
    broker.stop();
    broker.start_again().expect("it starts");
    let servers = broker.servers();
    await_place(&servers, "t", 0, to);
    block_on(check(&servers, "t", &all, 200));
}

#[test]
fn a_directory_that_cannot_be_used_takes_only_its_own_along() {
    let mut broker = Broker::with_dirs("dirs-gone", &["a", "b"]);
    let servers = broker.servers();
    block_on(make(&servers, "t", 2));
    block_on(write(&servers, "t", &[0, 1], 0, 20));
    let here = places(&servers, "t");
    let (good, bad) = if here[&(0, false)] == 0 { (0, 1) } else { (1, 0) };
    broker.stop();
    // Something else has its name.
    let away = broker.dir(1).with_extension("away");
    std::fs::rename(broker.dir(1), &away).expect("renamed");
    std::fs::write(broker.dir(1), "no directory").expect("written");
    broker.start_again().expect("one is enough");
    let servers = broker.servers();
    let dirs = described(&servers);
    assert_eq!(ErrorCode::from(dirs[0].error_code), ErrorCode::None);
    assert_eq!(ErrorCode::from(dirs[1].error_code), ErrorCode::KafkaStorageError);
    let told = errors(&servers, "t");
    assert_eq!(told[good as usize], ErrorCode::None);
    assert_eq!(told[bad as usize], ErrorCode::LeaderNotAvailable);
    block_on(write(&servers, "t", &[good], 20, 30));
    block_on(check(&servers, "t", &[good], 30));
    block_on(make(&servers, "new", 3));
    block_on(write(&servers, "new", &[0, 1, 2], 0, 2));
    assert!(places(&servers, "new").values().all(|dir| *dir == 0));
    assert_eq!(alter(&servers, "t", good, broker.dir(1)), ErrorCode::KafkaStorageError);
    broker.stop();
    std::fs::remove_file(broker.dir(1)).expect("removed");
    std::fs::rename(&away, broker.dir(1)).expect("renamed");
    broker.start_again().expect("it starts");
    let servers = broker.servers();
    assert_eq!(errors(&servers, "t"), [ErrorCode::None; 2]);
    block_on(check(&servers, "t", &[bad], 20));
    block_on(write(&servers, "t", &[bad], 20, 30));
    block_on(check(&servers, "t", &[0, 1], 30));
}

#[test]
fn a_directory_that_fails_at_work_goes_offline() {
    let broker = Broker::with_dirs("dirs-fail", &["a", "b"]);
    let servers = broker.servers();
    block_on(make(&servers, "t", 2));
    block_on(write(&servers, "t", &[0, 1], 0, 5));
    let here = places(&servers, "t");
    let good = if here[&(0, false)] == 0 { 0 } else { 1 };
    // No file can be made there any more: the next segment cannot.
    std::fs::rename(broker.dir(1), broker.dir(1).with_extension("away")).expect("renamed");
    std::fs::write(broker.dir(1), "no directory").expect("written");
    let bad = 1 - good;
    let until = Instant::now() + PATIENCE;
    let mut config = ProducerConfig::to(&servers).expect("an address");
    for (key, value) in [("request.timeout.ms", "1000"), ("delivery.timeout.ms", "2000")] {
        config.set(key, value).expect("a setting");
    }
    block_on(async {
        let codecs = Arc::new(NativeCodecs);
        let producer = Producer::new(Tokio::new(), config, codecs).expect("valid");
        let record = || ProducerRecord::new("t", "x".repeat(2000)).with_partition(bad);
        while producer.send(record()).await.is_ok() {
            assert!(Instant::now() < until, "it goes on");
        }
    });
    let told = errors(&servers, "t");
    assert_eq!(told[bad as usize], ErrorCode::LeaderNotAvailable);
    assert_eq!(ErrorCode::from(described(&servers)[1].error_code), ErrorCode::KafkaStorageError);
    block_on(write(&servers, "t", &[good], 5, 50));
    block_on(check(&servers, "t", &[good], 50));
}

#[test]
fn the_directory_of_the_metadata_is_needed() {
    let mut broker = Broker::with_dirs("dirs-meta", &["a", "b"]);
    broker.stop();
    let away = broker.dir(0).with_extension("away");
    std::fs::rename(broker.dir(0), &away).expect("renamed");
    std::fs::write(broker.dir(0), "no directory").expect("written");
    let why = broker.start_again().expect_err("it ends").to_string();
    assert!(why.contains(&broker.dir(0).display().to_string()), "{why}");
    // An empty one in its place is none, either.
    std::fs::remove_file(broker.dir(0)).expect("removed");
    let why = broker.start_again().expect_err("it ends").to_string();
    assert!(why.contains("to hold the metadata"), "{why}");
}
