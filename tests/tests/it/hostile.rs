//! Frames that no client sends, by the million: an answer or a closed connection, never a panic,
//! and never memory for what was only announced.
//!
//! `DOHLE_HOSTILE_FRAMES` sets how many (10,000,000 in the full suite).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_core::api::SERVED;
use dohle_core::config::broker::BrokerConfig;
use dohle_core::config::topic::TopicConfig;
use dohle_core::fx::Fx;
use dohle_core::image::{Image, PartitionImage, TopicImage};
use dohle_core::mail::SessionId;
use dohle_core::session::{Effect, Input, Session, SessionSettings};
use dohle_core::time::{Instant, Now};
use dohle_wire::codec::Writer;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp, TopicId, Uuid};
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{
    AlterConfigsRequest, AlterReplicaLogDirsRequest, ApiVersionsRequest, CreatePartitionsRequest,
    CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeClusterRequest,
    DescribeConfigsRequest, DescribeLogDirsRequest, DescribeQuorumRequest,
    DescribeTopicPartitionsRequest, FetchRequest, IncrementalAlterConfigsRequest,
    InitProducerIdRequest, ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest,
    PartitionProduceData, ProduceRequest, Request, TopicProduceData, describe_quorum_request,
};
use dohle_wire::record::{BatchBuilder, Compression};
use dohle_wire::{ApiKey, Records, RequestHeader};

/// Memory that handling hostile frames may take beyond what was there before: one decompressed
/// batch within its limit, and slack for the allocator.
const GROWTH_MAX_KIB: u64 = 160 * 1024;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap_or(0) % sides.max(1)
    }
}

fn frame<R: Request>(version: i16, request: &R) -> Option<Bytes> {
    let header = RequestHeader {
        api_key: R::KEY.code(),
        api_version: version,
        correlation_id: 1,
        client_id: Some("hostile".into()),
    };
    let mut writer = Writer::new();
    header.encode(&mut writer).ok()?;
    request.encode(&mut writer, version).ok()?;
    writer.into_bytes().ok()
}

fn every_version<R: Request>(request: &R, frames: &mut Vec<Bytes>) {
    let served = SERVED.iter().find(|served| served.key == R::KEY).expect("it is served");
    frames.extend((served.min..=served.max).filter_map(|version| frame(version, request)));
}

fn seeds() -> Vec<Bytes> {
    let mut frames = Vec::new();
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd, Compression::Lz4] {
        every_version(&produce(compression), &mut frames);
    }
    every_version(&fetch(), &mut frames);
    every_version(&ApiVersionsRequest::default(), &mut frames);
    every_version(&MetadataRequest::default(), &mut frames);
    every_version(&ListOffsetsRequest::default(), &mut frames);
    every_version(&OffsetForLeaderEpochRequest::default(), &mut frames);
    every_version(&CreateTopicsRequest::default(), &mut frames);
    every_version(&DeleteTopicsRequest::default(), &mut frames);
    every_version(&CreatePartitionsRequest::default(), &mut frames);
    every_version(&DeleteRecordsRequest::default(), &mut frames);
    every_version(&DescribeConfigsRequest::default(), &mut frames);
    every_version(&AlterConfigsRequest::default(), &mut frames);
    every_version(&IncrementalAlterConfigsRequest::default(), &mut frames);
    every_version(&DescribeClusterRequest::default(), &mut frames);
    every_version(&describe_quorum(), &mut frames);
    every_version(&DescribeTopicPartitionsRequest::default(), &mut frames);
    every_version(&AlterReplicaLogDirsRequest::default(), &mut frames);
    every_version(&DescribeLogDirsRequest::default(), &mut frames);
    every_version(&InitProducerIdRequest::default(), &mut frames);
    assert!(frames.len() > 60, "{} seeds", frames.len());
    frames
}

fn describe_quorum() -> DescribeQuorumRequest {
    let partitions = vec![describe_quorum_request::PartitionData { partition_index: 0 }];
    let topic_name = "__cluster_metadata".to_owned();
    let topic = describe_quorum_request::TopicData { topic_name, partitions };
    DescribeQuorumRequest { topics: vec![topic] }
}

fn produce(compression: Compression) -> ProduceRequest {
    let mut builder = BatchBuilder::new(Offset(0)).compression(compression, None);
    for _ in 0..5 {
        builder.push(Timestamp(1), Some(b"key"), Some(&[7; 40]), &[]).expect("it fits");
    }
    let bytes = builder.build(&NativeCodecs).expect("a batch");
    let data = PartitionProduceData { index: 0, records: Some(Records::Bytes(bytes)) };
    let topic =
        TopicProduceData { name: "t".into(), partition_data: vec![data], ..Default::default() };
    ProduceRequest { acks: -1, timeout_ms: 1, topic_data: vec![topic], ..Default::default() }
}

fn fetch() -> FetchRequest {
    let partition = FetchPartition { partition_max_bytes: 9, ..Default::default() };
    let topic = FetchTopic { topic: "t".into(), partitions: vec![partition], ..Default::default() };
    FetchRequest { max_bytes: 9, topics: vec![topic], ..Default::default() }
}

fn image(config: &Arc<BrokerConfig>) -> Arc<Image> {
    let mut image = Image::empty("cluster".into(), Arc::clone(config));
    let me = NodeId(config.node_id);
    let none = BTreeMap::new();
    let partition = PartitionImage {
        replicas: vec![me],
        isr: vec![me],
        directories: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        removing: Vec::new(),
        adding: Vec::new(),
        leader: Some(me),
        recovering: false,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    };
    let id = TopicId(Uuid::from_u128(5 << 64));
    let topic = TopicImage {
        name: "t".into(),
        id,
        partitions: vec![Arc::new(partition)],
        config: Arc::new(TopicConfig::resolve(&none, &none, &none, config)),
    };
    image.topic_names.insert_mut(id, "t".into());
    image.topics.insert_mut("t".into(), Arc::new(topic));
    Arc::new(image)
}

/// Peak memory of this process in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn mutate(frame: &Bytes, dice: &mut Dice) -> Bytes {
    let mut bytes = frame.to_vec();
    match dice.roll(6) {
        0 => bytes.truncate(dice.roll(bytes.len())),
        1 => {
            bytes =
                (0..dice.roll(200)).map(|_| u8::try_from(dice.roll(256)).unwrap_or(0)).collect();
        }
        2 if bytes.len() > 14 => {
            // A length field of up to 2^31 somewhere behind the header.
            let at = 8 + dice.roll(bytes.len() - 12);
            let huge = [0x7f, 0xff, 0xff, u8::try_from(dice.roll(256)).unwrap_or(0)];
            bytes[at..at + 4].copy_from_slice(&huge);
        }
        _ => {
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.roll(256)).unwrap_or(0);
                }
            }
        }
    }
    bytes.into()
}

struct Target {
    config: Arc<BrokerConfig>,
    image: Arc<Image>,
    session: Session,
    handled: u32,
}

impl Target {
    fn new() -> Self {
        let config = Arc::new(BrokerConfig::default());
        let image = image(&config);
        let session = session(&config, &image);
        Self { config, image, session, handled: 0 }
    }

    /// Gives a frame; whether it was answered, closed the connection, or went on to other units.
    fn give(&mut self, frame: Bytes) -> (bool, bool) {
        let mut fx = Fx::new();
        self.session.step(now(0), Input::Frame(frame), &mut fx);
        let (mut answered, mut closed) = (false, false);
        for effect in fx.drain() {
            match effect {
                Effect::Send(_) => answered = true,
                Effect::Close(_) => closed = true,
                Effect::Pause | Effect::Resume | Effect::Count(_) => {}
                Effect::Shard(..) | Effect::Control(_) => {}
            }
        }
        self.handled += 1;
        // Requests that wait for other units would block the ones behind them.
        if closed || !answered || self.handled > 1_000 {
            self.session = session(&self.config, &self.image);
            self.handled = 0;
        }
        (answered, closed)
    }
}

fn now(ms: u64) -> Now {
    Now { mono: Instant(ms * 1_000_000), wall: Timestamp(1_000) }
}

fn session(config: &Arc<BrokerConfig>, image: &Arc<Image>) -> Session {
    let settings = SessionSettings {
        shards: 2,
        codecs: Arc::new(NativeCodecs),
        config: Arc::clone(config),
        peer: "127.0.0.1:1".into(),
        local: ("127.0.0.1".into(), 9092),
        listener: "PLAINTEXT".into(),
        seed: 1,
    };
    let mut session = Session::new(SessionId(1), settings, now(0));
    session.step(now(0), Input::Image(Arc::clone(image)), &mut Fx::new());
    session
}

#[test]
fn mutated_frames_are_answered_or_closed() {
    let wanted = std::env::var("DOHLE_HOSTILE_FRAMES").ok().and_then(|text| text.parse().ok());
    let frames = wanted.unwrap_or(200_000_u64);
    let seeds = seeds();
    let mut target = Target::new();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let before = peak_kib();
    let (mut answers, mut closes) = (0_u64, 0_u64);
    for _ in 0..frames {
        let seed = &seeds[dice.roll(seeds.len())];
        let (answered, closed) = target.give(mutate(seed, &mut dice));
        answers += u64::from(answered);
        closes += u64::from(closed);
    }
    let growth = peak_kib().saturating_sub(before);
    println!("{frames} frames: {answers} answered, {closes} closed, {growth} KiB more at the peak");
    assert!(answers > frames / 20 && closes > frames / 20, "the mutations reach both ends");
    assert!(growth < GROWTH_MAX_KIB, "{growth} KiB for hostile frames");
}

#[test]
fn produce_v3_of_12_bytes_announcing_2_to_31_topics_closes_and_costs_nothing() {
    let mut body = Writer::new();
    let header = RequestHeader {
        api_key: ApiKey::Produce.code(),
        api_version: 3,
        correlation_id: 1,
        client_id: None,
    };
    header.encode(&mut body).expect("a header");
    body.i16(-1);
    body.i16(-1);
    body.i32(1_000);
    body.i32(i32::MAX);
    let frame = body.into_bytes().expect("no holes");
    assert_eq!(frame.len(), 10 + 12);
    let before = peak_kib();
    let (answered, closed) = Target::new().give(frame);
    assert!(closed && !answered);
    assert!(peak_kib() - before < 10 * 1024);
}

#[test]
fn a_seed_frame_of_every_request_is_accepted() {
    for frame in seeds() {
        let (_, closed) = Target::new().give(frame.clone());
        assert!(!closed, "{:?}", &frame[..8]);
    }
}
