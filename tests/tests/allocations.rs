//! What a broker allocates for each byte of records that it takes in or gives out.
//!
//! All of this process is counted: the broker, with files and sockets, and a client that sends a
//! frame which it made before and reads answers into memory that it has. Only growth counts where
//! memory is grown.

use std::alloc::System;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use dohle_client::api::Admin;
use dohle_client::config::AdminConfig;
use dohle_client::machine::admin::NewTopic;
use dohle_core::config::broker::BrokerConfig;
use dohle_net::client::Tokio;
use dohle_net::{Node, StartOptions};
use dohle_wire::codec::Writer;
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{
    FetchRequest, PartitionProduceData, ProduceRequest, Request, TopicProduceData,
};
use dohle_wire::record::{BatchBuilder, NoCodecs};
use dohle_wire::{Records, RequestHeader};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated for each byte of records, at most.
const PRODUCE_MOST: f64 = 1.1;
const FETCH_MOST: f64 = 0.01;

/// Records of a batch, and bytes of a value.
const RECORDS: usize = 900;
const VALUE: usize = 1_024;
/// Requests before counting begins, and while it goes on.
const WARM_UP: usize = 20;
const COUNTED: usize = 100;
/// Versions in which topics have names.
const PRODUCE: i16 = 12;
const FETCH: i16 = 12;

fn batch() -> Bytes {
    let mut builder = BatchBuilder::new(Offset(0));
    for _ in 0..RECORDS {
        builder.push(Timestamp(1), Some(b"key"), Some(&[7; VALUE]), &[]).expect("it fits");
    }
    builder.build(&NoCodecs).expect("a batch")
}

fn produce(batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData { index: 0, records: Some(Records::Bytes(batch)) };
    let topic =
        TopicProduceData { name: "t".into(), partition_data: vec![data], ..Default::default() };
    ProduceRequest { acks: 1, timeout_ms: 5_000, topic_data: vec![topic], ..Default::default() }
}

/// One batch from `offset` on.
fn fetch(offset: usize, most: usize) -> FetchRequest {
    let most = i32::try_from(most).expect("a batch");
    let partition = FetchPartition {
        fetch_offset: i64::try_from(offset).expect("an offset"),
        partition_max_bytes: most,
        ..Default::default()
    };
    let topic = FetchTopic { topic: "t".into(), partitions: vec![partition], ..Default::default() };
    FetchRequest {
        max_wait_ms: 5_000,
        min_bytes: 1,
        max_bytes: most,
        session_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    }
}

fn frame<R: Request>(version: i16, request: &R) -> Vec<u8> {
    let header = RequestHeader {
        api_key: R::KEY.code(),
        api_version: version,
        correlation_id: 1,
        client_id: Some("counted".into()),
    };
    let mut writer = Writer::new();
    header.encode(&mut writer).expect("a header");
    request.encode(&mut writer, version).expect("a body");
    let body = writer.into_bytes().expect("in memory");
    let len = u32::try_from(body.len()).expect("a frame").to_be_bytes();
    [&len[..], &body].concat()
}

/// A connection that allocates nothing.
struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("an option");
        Self { stream, answer: vec![0; 4 << 20] }
    }

    /// Bytes of the answer.
    fn call(&mut self, frame: &[u8]) -> usize {
        self.stream.write_all(frame).expect("sent");
        let mut len = [0; 4];
        self.stream.read_exact(&mut len).expect("an answer");
        let len = u32::from_be_bytes(len) as usize;
        self.stream.read_exact(&mut self.answer[..len]).expect("all of it");
        len
    }
}

/// Bytes allocated for each byte that `step` moved, once all is warm.
fn counted(mut step: impl FnMut(usize) -> usize) -> f64 {
    for at in 0..WARM_UP {
        step(at);
    }
    let before = HEAP.stats();
    let moved: usize = (WARM_UP..WARM_UP + COUNTED).map(&mut step).sum();
    let change = HEAP.stats() - before;
    println!("{change:?} for {moved} bytes");
    change.bytes_allocated as f64 / moved as f64
}

#[test]
fn a_byte_of_records_is_allocated_once_on_its_way_in_and_not_at_all_on_its_way_out() {
    let folder = std::env::temp_dir().join(format!("dohle-allocations-{}", std::process::id()));
    let properties = BTreeMap::from([
        ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
        ("log.dirs".to_owned(), folder.display().to_string()),
    ]);
    let (config, _) = BrokerConfig::from_properties(&properties).expect("valid");
    let node = Node::start(StartOptions { config, cluster_id: None, signals: false });
    let node = node.expect("it starts");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let config = AdminConfig::to(&node.address().to_string()).expect("an address");
        let admin = Admin::new(Tokio::new(), config).expect("valid");
        admin.create_topics(vec![NewTopic::new("t", 1)]).await.expect("answered");
    });
    drop(runtime);

    let batch = batch();
    let len = batch.len();
    let write = frame(PRODUCE, &produce(batch));
    let mut connection = Connection::to(node.address());
    let produced = counted(|_| {
        connection.call(&write);
        len
    });
    let reads: Vec<_> =
        (0..WARM_UP + COUNTED).map(|at| frame(FETCH, &fetch(at * RECORDS, len))).collect();
    let fetched = counted(|at| {
        let answer = connection.call(&reads[at]);
        assert!(answer > len, "{answer} bytes, not a batch of {len}");
        len
    });
    node.stop().expect("it stops");
    std::fs::remove_dir_all(&folder).expect("a folder");
    println!("bytes allocated per byte of records: produce {produced:.4}, fetch {fetched:.5}");
    assert!((1.0..=PRODUCE_MOST).contains(&produced), "{produced}");
    assert!(fetched <= FETCH_MOST, "{fetched}");
}
