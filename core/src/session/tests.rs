//! Sessions driven by hand: frames of the wire crate's encoders go in, mail is answered from a
//! script, frames come out.

mod admin;
mod fetching;
mod groups;
mod hostile;
mod metadata;
mod offsets;
mod order;
mod producing;
mod quorum;

use std::collections::BTreeMap;

use dohle_wire::codec::{Hole, Reader, Writer};
use dohle_wire::error::ErrorCode;
use dohle_wire::header::{RequestHeader, decode_response_header};
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp, TopicId, Uuid};
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{
    FetchRequest, FetchResponse, Message, PartitionProduceData, ProduceRequest, ProduceResponse,
    Request, TopicProduceData,
};
use dohle_wire::record::{BatchBuilder, Codecs, NoCodecs};
use dohle_wire::records::Records;

use super::*;
use crate::config::topic::TopicConfig;
use crate::image::{BrokerImage, Endpoint, PartitionImage, TopicImage};
use crate::mail::{
    AdminReply, AdminRequest, Appended, Produce, Read, ReadOutcome, Readable, Refusal,
};

/// A session and what it wanted so far.
struct World {
    session: Session,
    mono: Instant,
    image: Image,
    sent: Vec<Vec<Part>>,
    shard: Vec<(ShardId, ToShard)>,
    control: Vec<(ReplyTo, AdminRequest)>,
    counts: Vec<Count>,
    closed: Option<CloseReason>,
    paused: bool,
    correlation: i32,
}

/// A question that was sent and not answered yet.
#[derive(Copy, Clone)]
struct Asked {
    version: i16,
    correlation: i32,
}

impl World {
    fn new() -> Self {
        Self::with(&[], 1)
    }

    /// A broker with these settings and this many shards, topic `t` and a client.
    fn with(properties: &[(&str, &str)], shards: u16) -> Self {
        Self::with_codecs(properties, shards, Arc::new(NoCodecs))
    }

    fn with_codecs(properties: &[(&str, &str)], shards: u16, codecs: Arc<dyn Codecs>) -> Self {
        let config = config(properties);
        let settings = SessionSettings {
            shards,
            codecs,
            config: Arc::clone(&config),
            peer: "127.0.0.1:5".into(),
            local: ("dialled.example".into(), 9092),
            listener: "PLAINTEXT".into(),
            seed: 7,
        };
        let mut world = Self {
            session: Session::new(SessionId(1), settings, now(Instant(0))),
            mono: Instant(0),
            image: image(&config),
            sent: Vec::new(),
            shard: Vec::new(),
            control: Vec::new(),
            counts: Vec::new(),
            closed: None,
            paused: false,
            correlation: 0,
        };
        world.add_topic("t", topic_id(), 4);
        world.publish();
        world
    }

    /// Gives the session the metadata as it is now.
    fn publish(&mut self) {
        self.image.offset = self.image.offset.plus(1);
        self.step(Input::Image(Arc::new(self.image.clone())));
    }

    fn add_topic(&mut self, name: &str, id: TopicId, partitions: usize) {
        let config = Arc::clone(&self.image.local);
        add_topic(&mut self.image, name, id, partitions, &config);
    }

    fn step(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.session.step(now(self.mono), input, &mut fx);
        for effect in fx.drain() {
            assert!(self.closed.is_none(), "{effect:?} after closing");
            match effect {
                Effect::Send(parts) => self.sent.push(parts),
                Effect::Pause => self.paused = true,
                Effect::Resume => self.paused = false,
                Effect::Close(reason) => self.closed = Some(reason),
                Effect::Shard(shard, mail) => self.shard.push((shard, mail)),
                Effect::Control(ToControl::Admin { reply, request }) => {
                    self.control.push((reply, request));
                }
                Effect::Control(other) => panic!("no client asks for {other:?}"),
                Effect::Count(count) => self.counts.push(count),
            }
        }
    }

    fn ask<R: Request>(&mut self, version: i16, request: &R) -> Asked {
        self.correlation += 1;
        let correlation = self.correlation;
        self.step(Input::Frame(frame(version, correlation, request)));
        Asked { version, correlation }
    }

    /// Lets time pass.
    fn wait_ms(&mut self, ms: i64) {
        self.mono = self.mono.plus_ms(ms);
        self.step(Input::Tick);
    }

    /// The next response, which has to be the one to `asked`.
    fn response<R: Request>(&mut self, asked: Asked) -> R::Response {
        assert!(!self.sent.is_empty(), "no response; closed: {:?}", self.closed);
        let whole = flat(self.sent.remove(0));
        let mut body = Reader::new(whole.clone());
        assert_eq!(body.i32().unwrap() as usize, whole.len() - 4, "the length is right");
        let correlation = decode_response_header(&mut body, R::KEY, asked.version).unwrap();
        assert_eq!(correlation, asked.correlation, "responses keep the order of requests");
        let response = R::Response::decode(&mut body, asked.version).unwrap();
        body.expect_end().unwrap();
        response
    }

    /// Asks what is answered without help.
    fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let asked = self.ask(version, request);
        self.response::<R>(asked)
    }

    fn answer(&mut self, reply: ReplyTo, answer: Answer) {
        self.step(Input::Mail(ToSession::Answer { reply, answer }));
    }

    /// Answers the one thing that control was asked.
    fn decide(&mut self, reply: AdminReply) -> AdminRequest {
        let (to, request) = self.control.pop().expect("control was asked");
        assert!(self.control.is_empty(), "control was asked once");
        self.answer(to, Answer::Admin(reply));
        request
    }

    /// Batches sent to shards since the last look.
    fn produces(&mut self) -> Vec<Produce> {
        let mail = std::mem::take(&mut self.shard).into_iter();
        let batches = mail.filter_map(|(_, mail)| match mail {
            ToShard::Produce(produce) => Some(produce),
            _ => None,
        });
        batches.collect()
    }

    /// Reads sent to shards since the last look, by shard.
    fn reads(&mut self) -> Vec<(ShardId, Read)> {
        let mail = std::mem::take(&mut self.shard).into_iter();
        let reads = mail.filter_map(|(shard, mail)| match mail {
            ToShard::Read(read) => Some((shard, read)),
            _ => None,
        });
        reads.collect()
    }

    /// The only read sent since the last look.
    fn read(&mut self) -> Read {
        let mut reads = self.reads();
        assert_eq!(reads.len(), 1, "{reads:?}");
        reads.remove(0).1
    }

    /// The why of a closed connection.
    fn why_closed(&self) -> &str {
        match &self.closed {
            Some(CloseReason::BadRequest(why)) => why,
            other => panic!("closed: {other:?}"),
        }
    }
}

fn now(mono: Instant) -> Now {
    Now { mono, wall: Timestamp(1_000) }
}

fn config(properties: &[(&str, &str)]) -> Arc<BrokerConfig> {
    let set = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Arc::new(BrokerConfig::from_properties(&set.collect()).unwrap().0)
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
    frame_of("test", version, correlation_id, request)
}

fn frame_of<R: Request>(client: &str, api_version: i16, correlation_id: i32, request: &R) -> Bytes {
    let api_key = R::KEY.code();
    let client_id = Some(client.to_owned());
    let mut writer = Writer::new();
    let header = RequestHeader { api_key, api_version, correlation_id, client_id };
    header.encode(&mut writer).unwrap();
    request.encode(&mut writer, api_version).unwrap();
    writer.into_bytes().unwrap()
}

/// The id of topic `t`.
fn topic_id() -> TopicId {
    TopicId(Uuid::from_u128(9 << 64))
}

fn image(config: &Arc<BrokerConfig>) -> Image {
    let mut image = Image::empty("cluster".into(), Arc::clone(config));
    let broker = broker(config.node_id, "advertised.example");
    image.brokers.insert_mut(broker.id, Arc::new(broker));
    image
}

fn broker(id: i32, host: &str) -> BrokerImage {
    let (listener, host) = ("PLAINTEXT".into(), host.into());
    BrokerImage {
        id: NodeId(id),
        epoch: 1,
        incarnation: Uuid::ZERO,
        endpoints: vec![Endpoint { listener, host, port: 9999, security: 0 }],
        rack: None,
        fenced: false,
        shutting_down: false,
        log_dirs: Vec::new(),
        features: vec![("metadata.version".into(), 7, 30), ("kraft.version".into(), 0, 1)],
    }
}

fn add_topic(
    image: &mut Image,
    name: &str,
    id: TopicId,
    partitions: usize,
    config: &Arc<BrokerConfig>,
) {
    let me = NodeId(config.node_id);
    let none = BTreeMap::new();
    let partition = Arc::new(PartitionImage {
        replicas: vec![me],
        isr: vec![me],
        directories: Vec::new(),
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        removing: Vec::new(),
        adding: Vec::new(),
        leader: Some(me),
        recovering: false,
        leader_epoch: LeaderEpoch(3),
        partition_epoch: 0,
    });
    let overrides = image.overrides(crate::image::resource::TOPIC, name);
    let topic = TopicImage {
        name: name.into(),
        id,
        partitions: vec![partition; partitions],
        config: Arc::new(TopicConfig::resolve(&overrides, &none, &none, config)),
    };
    image.topic_names.insert_mut(id, name.into());
    image.topics.insert_mut(name.into(), Arc::new(topic));
}

/// A batch of one record.
fn batch() -> Bytes {
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1_000), Some(b"k"), Some(b"v"), &[]).unwrap();
    builder.build(&NoCodecs).unwrap()
}

/// A produce request with one batch for partition 0 of topic `t`.
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

/// A fetch request for partitions of topic `t`.
fn fetch(version: i16, min_bytes: i32, partitions: &[i32]) -> FetchRequest {
    let partitions = partitions.iter().map(|&partition| FetchPartition {
        partition,
        partition_max_bytes: 1_000,
        ..Default::default()
    });
    let by_id = version >= 13;
    let topic = FetchTopic {
        topic: if by_id { String::new() } else { "t".into() },
        topic_id: if by_id { topic_id().0 } else { Uuid::ZERO },
        partitions: partitions.collect(),
    };
    FetchRequest {
        max_wait_ms: 500,
        min_bytes,
        max_bytes: 1_500,
        topics: if topic.partitions.is_empty() { Vec::new() } else { vec![topic] },
        ..Default::default()
    }
}

/// `len` bytes can be read, in batches of up to 800 bytes.
fn readable(slot: u32, len: u32) -> ReadOutcome {
    let hole = Hole { file: 1, position: 0, len };
    let result = Ok(Readable {
        high_watermark: Offset(10),
        last_stable: Offset(9),
        log_start: Offset(2),
        records: if len == 0 { Records::default() } else { Records::Holes(vec![hole]) },
        first_batch_len: len.min(800),
        more: false,
        aborted: Vec::new(),
        diverging: None,
    });
    ReadOutcome { slot, result }
}

fn failed(slot: u32, error: ErrorCode) -> ReadOutcome {
    ReadOutcome { slot, result: Err(error) }
}

/// (partition, error, bytes of records) of everything that a response tells.
fn told(response: &FetchResponse) -> Vec<(i32, ErrorCode, usize)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    let told = partitions.map(|partition| {
        let bytes = partition.records.as_ref().map_or(0, Records::len);
        (partition.partition_index, ErrorCode::from(partition.error_code), bytes)
    });
    told.collect()
}

/// (error, base offset) of every partition of a response.
fn outcomes(response: &ProduceResponse) -> Vec<(ErrorCode, i64)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    partitions.map(|p| (ErrorCode::from(p.error_code), p.base_offset)).collect()
}
