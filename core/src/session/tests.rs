//! A session driven by hand: frames in, mail answered from a script, frames out.

use std::collections::BTreeMap;

use dohle_wire::codec::Hole;
use dohle_wire::codec::Writer;
use dohle_wire::error::ErrorCode;
use dohle_wire::header::decode_response_header;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, PartitionIndex, Timestamp, TopicId, Uuid};
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, FetchRequest, FetchResponse, Message, MetadataRequest,
    MetadataRequestTopic, MetadataResponse, PartitionProduceData, ProduceRequest, ProduceResponse,
    Request, TopicProduceData,
};
use dohle_wire::record::{BatchBuilder, NoCodecs};
use dohle_wire::records::Records;

use super::*;
use crate::config::topic::TopicConfig;
use crate::image::{BrokerImage, Endpoint, PartitionImage, TopicImage};
use crate::mail::{
    AdminReply, AdminRequest, Appended, CreatedTopic, PartitionId, Produce, Read as ReadMail,
    ReadOutcome, Readable,
};

struct World {
    session: Session,
    mono: u64,
    image: Image,
    sent: Vec<Vec<Part>>,
    shard: Vec<ToShard>,
    control: Vec<ToControl>,
    closed: Option<CloseReason>,
    paused: bool,
    correlation: i32,
}

fn config(extra: &[(&str, &str)]) -> Arc<BrokerConfig> {
    let properties: BTreeMap<_, _> =
        extra.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(BrokerConfig::from_properties(&properties).expect("it is valid").0)
}

impl World {
    fn new() -> Self {
        let config = config(&[]);
        let settings = SessionSettings {
            shards: 1,
            codecs: Arc::new(NoCodecs),
            config: Arc::clone(&config),
            peer: "127.0.0.1:5".into(),
            local: ("broker.example".into(), 9092),
            listener: "PLAINTEXT".into(),
            seed: 7,
        };
        let now = Now { mono: Instant(0), wall: Timestamp(1_000) };
        let mut world = Self {
            session: Session::new(SessionId(1), settings, now),
            mono: 0,
            image: image(&config),
            sent: Vec::new(),
            shard: Vec::new(),
            control: Vec::new(),
            closed: None,
            paused: false,
            correlation: 0,
        };
        world.publish();
        world
    }

    fn publish(&mut self) {
        self.image.offset = self.image.offset.plus(1);
        self.step(Input::Image(Arc::new(self.image.clone())));
    }

    fn step(&mut self, input: Input) {
        let mut fx = Fx::new();
        let now = Now { mono: Instant(self.mono), wall: Timestamp(1_000) };
        self.session.step(now, input, &mut fx);
        for effect in fx.drain() {
            match effect {
                Effect::Send(parts) => self.sent.push(parts),
                Effect::Pause => self.paused = true,
                Effect::Resume => self.paused = false,
                Effect::Close(reason) => self.closed = Some(reason),
                Effect::Shard(_, mail) => self.shard.push(mail),
                Effect::Control(mail) => self.control.push(mail),
            }
        }
    }

    fn ask<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        self.correlation += 1;
        let frame = frame(version, self.correlation, request);
        self.step(Input::Frame(frame));
        self.correlation
    }

    /// The next response, which has to be the one to `correlation`.
    fn response<R: Request>(&mut self, version: i16, correlation: i32) -> R::Response {
        assert!(!self.sent.is_empty(), "no response; closed: {:?}", self.closed);
        let parts = self.sent.remove(0);
        let mut body = Reader::new(flat(parts).slice(4..));
        let found = decode_response_header(&mut body, R::KEY, version).expect("a header");
        assert_eq!(found, correlation, "responses keep the order of requests");
        let response = R::Response::decode(&mut body, version).expect("it decodes");
        body.expect_end().expect("nothing is left");
        response
    }

    fn answer(&mut self, reply: ReplyTo, answer: Answer) {
        self.step(Input::Mail(ToSession::Answer { reply, answer }));
    }

    fn produces(&mut self) -> Vec<Produce> {
        let taken = std::mem::take(&mut self.shard).into_iter();
        taken
            .filter_map(|mail| match mail {
                ToShard::Produce(produce) => Some(produce),
                _ => None,
            })
            .collect()
    }

    fn reads(&mut self) -> Vec<ReadMail> {
        let taken = std::mem::take(&mut self.shard).into_iter();
        taken
            .filter_map(|mail| match mail {
                ToShard::Read(read) => Some(read),
                _ => None,
            })
            .collect()
    }
}

/// The bytes of a frame; holes are filled with `h`.
fn flat(parts: Vec<Part>) -> Bytes {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Bytes(bytes) => all.extend_from_slice(&bytes),
            Part::Hole(hole) => all.resize(all.len() + hole.len as usize, b'h'),
        }
    }
    all.into()
}

fn frame<R: Request>(version: i16, correlation_id: i32, request: &R) -> Bytes {
    let header = RequestHeader {
        api_key: R::KEY.code(),
        api_version: version,
        correlation_id,
        client_id: Some("test".into()),
    };
    let mut writer = Writer::new();
    header.encode(&mut writer).expect("a header");
    request.encode(&mut writer, version).expect("a body");
    writer.into_bytes().expect("no holes")
}

fn topic_id() -> TopicId {
    TopicId(Uuid::from_u128(9 << 64))
}

fn image(config: &Arc<BrokerConfig>) -> Image {
    let mut image = Image::empty("cluster".into(), Arc::clone(config));
    let me = NodeId(config.node_id);
    let endpoint = Endpoint {
        listener: "PLAINTEXT".into(),
        host: "localhost".into(),
        port: 9092,
        security: 0,
    };
    let broker = BrokerImage {
        id: me,
        epoch: 1,
        incarnation: Uuid::ZERO,
        endpoints: vec![endpoint],
        rack: None,
        fenced: false,
        shutting_down: false,
        log_dirs: Vec::new(),
        features: Vec::new(),
    };
    image.brokers.insert_mut(me, Arc::new(broker));
    add_topic(&mut image, "t", topic_id(), config);
    image
}

fn add_topic(image: &mut Image, name: &str, id: TopicId, config: &Arc<BrokerConfig>) {
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
    let topic = TopicImage {
        name: name.into(),
        id,
        partitions: vec![Arc::new(partition.clone()), Arc::new(partition)],
        config: Arc::new(TopicConfig::resolve(&none, &none, &none, config)),
    };
    image.topic_names.insert_mut(id, name.into());
    image.topics.insert_mut(name.into(), Arc::new(topic));
}

fn batch() -> Bytes {
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1_000), Some(b"k"), Some(b"v"), &[]).unwrap();
    builder.build(&NoCodecs).unwrap()
}

fn produce(acks: i16, version: i16, records: Bytes) -> ProduceRequest {
    let data = PartitionProduceData { index: 0, records: Some(Records::Bytes(records)) };
    let by_id = version >= 13;
    let topic = TopicProduceData {
        name: if by_id { String::new() } else { "t".into() },
        topic_id: if by_id { topic_id().0 } else { Uuid::ZERO },
        partition_data: vec![data],
    };
    ProduceRequest { acks, timeout_ms: 5_000, topic_data: vec![topic], ..Default::default() }
}

fn appended(base: i64) -> Answer {
    let base = Offset(base);
    Answer::Produced(Ok(Appended { base, log_append_time: None, log_start: Offset(0) }))
}

fn fetch(min_bytes: i32, session_id: i32, session_epoch: i32, partitions: &[i32]) -> FetchRequest {
    let partitions = partitions.iter().map(|&partition| FetchPartition {
        partition,
        fetch_offset: 0,
        partition_max_bytes: 1_000,
        ..Default::default()
    });
    let topic =
        FetchTopic { topic: "t".into(), partitions: partitions.collect(), ..Default::default() };
    FetchRequest {
        max_wait_ms: 500,
        min_bytes,
        max_bytes: 1_500,
        session_id,
        session_epoch,
        topics: if topic.partitions.is_empty() { Vec::new() } else { vec![topic] },
        ..Default::default()
    }
}

fn readable(slot: u32, len: u32) -> ReadOutcome {
    let hole = Hole { file: 1, position: 0, len };
    let result = Ok(Readable {
        high_watermark: Offset(10),
        last_stable: Offset(10),
        log_start: Offset(0),
        records: if len == 0 { Records::Bytes(Bytes::new()) } else { Records::Holes(vec![hole]) },
        first_batch_len: len.min(800),
        aborted: Vec::new(),
        diverging: None,
    });
    ReadOutcome { slot, result }
}

#[test]
fn produce_requests_are_worked_on_at_once_and_answered_in_order() {
    for version in [3, 8, 9, 12, 13] {
        let mut world = World::new();
        let first = world.ask(version, &produce(-1, version, batch()));
        let second = world.ask(version, &produce(-1, version, batch()));
        let metadata = world.ask(4, &MetadataRequest::default());
        let mail = world.produces();
        assert_eq!(mail.len(), 2);
        world.answer(mail[1].reply, appended(7));
        assert!(world.sent.is_empty(), "the first one is not answered yet");
        world.answer(mail[0].reply, appended(6));
        for (correlation, base) in [(first, 6), (second, 7)] {
            let response: ProduceResponse = world.response::<ProduceRequest>(version, correlation);
            let partition = &response.responses[0].partition_responses[0];
            assert_eq!((partition.error_code, partition.base_offset), (0, base));
        }
        world.response::<MetadataRequest>(4, metadata);
    }
}

#[test]
fn without_acknowledgement_an_error_closes() {
    let mut world = World::new();
    world.ask(9, &produce(0, 9, batch()));
    let mail = world.produces();
    world.answer(mail[0].reply, appended(0));
    assert!(world.sent.is_empty() && world.closed.is_none());
    world.ask(9, &produce(0, 9, batch().slice(..65)));
    assert_eq!(world.closed, Some(CloseReason::UnacknowledgedError));
}

#[test]
fn bad_batches_are_refused_one_by_one() {
    let mut flipped = batch().to_vec();
    flipped[65] ^= 1;
    let check = |records: Bytes, expect: ErrorCode| {
        let mut world = World::new();
        let correlation = world.ask(9, &produce(1, 9, records));
        let response: ProduceResponse = world.response::<ProduceRequest>(9, correlation);
        let found = response.responses[0].partition_responses[0].error_code;
        assert_eq!(ErrorCode::from(found), expect);
    };
    check(flipped.into(), ErrorCode::CorruptMessage);
    check([batch(), batch()].concat().into(), ErrorCode::InvalidRecord);
    check(Bytes::new(), ErrorCode::InvalidRecord);
    let mut offset = batch().to_vec();
    offset[7] = 1;
    check(offset.into(), ErrorCode::InvalidRecord);
}

#[test]
fn unknown_versions_of_api_versions_are_answered() {
    let mut world = World::new();
    let request = ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..Default::default()
    };
    let mut newer = frame(3, 5, &request).to_vec();
    newer[3] = 99;
    world.step(Input::Frame(newer.into()));
    let response: ApiVersionsResponse = world.response::<ApiVersionsRequest>(0, 5);
    assert_eq!(response.error_code, ErrorCode::UnsupportedVersion.code());
    assert_eq!(response.api_keys.len(), 1);
    let correlation = world.ask(3, &request);
    let response: ApiVersionsResponse = world.response::<ApiVersionsRequest>(3, correlation);
    assert_eq!(response.api_keys.len(), api::SERVED.len());
    assert_eq!(world.session.client().software, Some(("test".into(), "1".into())));
}

#[test]
fn other_unknown_requests_close_with_a_reason() {
    for (frame, text) in [
        (&[0u8, 3, 0, 99, 0, 0, 0, 1, 255, 255][..], "Metadata version 99"),
        (&[1, 3, 0, 0, 0, 0, 0, 1, 255, 255][..], "request key 259"),
        (&[0, 3][..], ""),
    ] {
        let mut world = World::new();
        world.step(Input::Frame(Bytes::copy_from_slice(frame)));
        match &world.closed {
            Some(CloseReason::BadRequest(why)) => assert!(why.contains(text), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn metadata_tells_the_address_that_was_dialled_and_makes_topics() {
    let mut world = World::new();
    let topics =
        Some(vec![MetadataRequestTopic { name: Some("new".into()), topic_id: Uuid::ZERO }]);
    let request = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
    let correlation = world.ask(9, &request);
    let Some(ToControl::Admin { reply, request }) = world.control.pop() else {
        panic!("control is asked to make the topic")
    };
    assert!(matches!(request, AdminRequest::CreateTopics { .. }));
    let id = TopicId(Uuid::from_u128(11 << 64));
    let created = CreatedTopic { id, partitions: 2, replication: 1, configs: Vec::new() };
    world.answer(reply, Answer::Admin(AdminReply::Created(vec![Ok(created)])));
    assert!(world.sent.is_empty(), "the image does not have it yet");
    let config = Arc::clone(&world.image.local);
    add_topic(&mut world.image, "new", id, &config);
    world.publish();
    let response: MetadataResponse = world.response::<MetadataRequest>(9, correlation);
    assert_eq!(response.brokers[0].host, "broker.example");
    assert_eq!(response.topics[0].error_code, 0);
    assert_eq!(response.topics[0].partitions.len(), 2);
}

#[test]
fn a_fetch_waits_for_enough_bytes_is_woken_and_times_out() {
    let mut world = World::new();
    let correlation = world.ask(11, &fetch(500, 0, -1, &[0]));
    let read = world.reads().remove(0);
    assert!(read.watch.is_some());
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    assert!(world.sent.is_empty());
    world.step(Input::Mail(ToSession::Wake { request: read.reply.request }));
    let again = world.reads().remove(0);
    world.answer(again.reply, Answer::Read(vec![readable(0, 600)]));
    let response: FetchResponse = world.response::<FetchRequest>(11, correlation);
    assert_eq!(response.responses[0].partitions[0].records.as_ref().unwrap().len(), 600);

    let correlation = world.ask(11, &fetch(1, 0, -1, &[0]));
    let read = world.reads().remove(0);
    world.answer(read.reply, Answer::Read(vec![readable(0, 0)]));
    world.mono += 501_000_000;
    world.step(Input::Tick);
    let response: FetchResponse = world.response::<FetchRequest>(11, correlation);
    assert_eq!(response.responses[0].partitions[0].high_watermark, 10);
    assert!(world.shard.iter().any(|mail| matches!(mail, ToShard::Unwatch { .. })));
}

#[test]
fn a_response_keeps_to_its_limit_but_the_first_batch_passes() {
    let mut world = World::new();
    let mut request = fetch(1, 0, -1, &[0, 1]);
    request.max_bytes = 900;
    let correlation = world.ask(11, &request);
    let read = world.reads().remove(0);
    world.answer(read.reply, Answer::Read(vec![readable(0, 800), readable(1, 800)]));
    let response: FetchResponse = world.response::<FetchRequest>(11, correlation);
    let lens: Vec<_> = response.responses[0]
        .partitions
        .iter()
        .map(|partition| partition.records.as_ref().map_or(0, |records| records.len()))
        .collect();
    assert_eq!(lens[0], 800);
    assert!(lens[1] <= 100, "{lens:?}");

    request.max_bytes = 10;
    let correlation = world.ask(11, &request);
    let read = world.reads().remove(0);
    world.answer(read.reply, Answer::Read(vec![readable(0, 800), readable(1, 800)]));
    let response: FetchResponse = world.response::<FetchRequest>(11, correlation);
    let first = response.responses[0].partitions[0].records.as_ref().map_or(0, |r| r.len());
    assert_eq!(first, 800, "the first batch passes whole");
}

#[test]
fn a_fetch_session_answers_only_what_is_new() {
    let mut world = World::new();
    let correlation = world.ask(11, &fetch(0, 0, 0, &[0, 1]));
    let read = world.reads().remove(0);
    world.answer(read.reply, Answer::Read(vec![readable(0, 0), readable(1, 0)]));
    let opened: FetchResponse = world.response::<FetchRequest>(11, correlation);
    assert_ne!(opened.session_id, 0);
    assert_eq!(opened.responses[0].partitions.len(), 2);

    let correlation = world.ask(11, &fetch(0, opened.session_id, 1, &[]));
    let read = world.reads().remove(0);
    assert_eq!(read.parts.len(), 2, "the session knows what is read");
    world.answer(read.reply, Answer::Read(vec![readable(0, 0), readable(1, 300)]));
    let news: FetchResponse = world.response::<FetchRequest>(11, correlation);
    let told: Vec<_> = news
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions)
        .map(|p| p.partition_index)
        .collect();
    assert_eq!(told, [1]);

    let correlation = world.ask(11, &fetch(0, opened.session_id, 9, &[]));
    let wrong: FetchResponse = world.response::<FetchRequest>(11, correlation);
    assert_eq!(wrong.error_code, ErrorCode::InvalidFetchSessionEpoch.code());
    let correlation = world.ask(11, &fetch(0, opened.session_id + 1, 2, &[]));
    let wrong: FetchResponse = world.response::<FetchRequest>(11, correlation);
    assert_eq!(wrong.error_code, ErrorCode::FetchSessionIdNotFound.code());
}

#[test]
fn reading_pauses_under_load_and_goes_on() {
    let mut world = World::new();
    for _ in 0..64 {
        world.ask(9, &produce(-1, 9, batch()));
    }
    assert!(world.paused);
    for mail in world.produces() {
        world.answer(mail.reply, appended(0));
    }
    assert!(!world.paused);
    assert_eq!(world.sent.len(), 64);
}

#[test]
fn an_idle_connection_is_closed() {
    let mut world = World::new();
    let (at, _) = world.session.deadline().expect("idle is bounded");
    world.mono = at.0;
    world.step(Input::Tick);
    assert_eq!(world.closed, Some(CloseReason::Idle));
}

/// Mutated and random frames: an answer or a close, never a panic.
#[test]
fn hostile_frames_are_answered_or_closed() {
    let frames = [
        frame(9, 1, &produce(-1, 9, batch())),
        frame(13, 1, &produce(1, 13, batch())),
        frame(12, 1, &fetch(1, 0, 0, &[0, 1])),
        frame(9, 1, &MetadataRequest::default()),
    ];
    let mut state = 1_u64;
    let mut roll = |sides: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % sides
    };
    for round in 0..20_000 {
        let mut bytes = frames[round % frames.len()].to_vec();
        for _ in 0..=roll(4) {
            let at = roll(bytes.len());
            bytes[at] = u8::try_from(roll(256)).unwrap();
        }
        if roll(4) == 0 {
            bytes.truncate(roll(bytes.len()));
        }
        let mut world = World::new();
        world.step(Input::Frame(bytes.into()));
        for _ in 0..3 {
            // Further than any wait that 32 bits of milliseconds can ask for.
            world.mono += 1 << 60;
            world.step(Input::Tick);
        }
        let pending = world.session.queue.waiting();
        assert!(pending.is_empty(), "round {round}: {:?}", world.session);
    }
}

#[test]
fn partitions_are_routed_by_id() {
    let mut world = World::new();
    world.ask(13, &produce(-1, 13, batch()));
    let mail = world.produces();
    assert_eq!(mail[0].partition, PartitionId { topic: topic_id(), index: PartitionIndex(0) });
    let mut unknown = produce(-1, 13, batch());
    unknown.topic_data[0].topic_id = Uuid::from_u128(1234 << 64);
    let mut world = World::new();
    let correlation = world.ask(13, &unknown);
    let response: ProduceResponse = world.response::<ProduceRequest>(13, correlation);
    let found = response.responses[0].partition_responses[0].error_code;
    assert_eq!(ErrorCode::from(found), ErrorCode::UnknownTopicId);
}
