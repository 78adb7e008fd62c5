//! Steps of sessions: a produce request comes in, a fetch answer goes out.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dohle_core::fx::Fx;
use dohle_core::mail::{
    Answer, Appended, Read, ReadOutcome, Readable, ReplyTo, SessionId, ToSession, ToShard,
};
use dohle_core::session::{Effect, Input, Session, SessionSettings};
use dohle_wire::codec::{Hole, Part, Reader, Writer};
use dohle_wire::header::{RequestHeader, decode_response_header};
use dohle_wire::id::Offset;
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{
    FetchRequest, FetchResponse, Message, PartitionProduceData, ProduceRequest, Request,
    TopicProduceData,
};
use dohle_wire::record::NoCodecs;
use dohle_wire::records::Records;

use crate::node::{self, now};
use crate::{Case, STEPS};

/// Version of Produce, the first that names topics by id: what Kafka's clients speak since 4.1.
const PRODUCE: i16 = 13;

/// Version of Fetch, as they speak it.
const FETCH: i16 = 17;

/// Some connections, and what each is to be given next.
struct Connections {
    sessions: Vec<Session>,
    next: Vec<Input>,
    fx: Fx<Effect>,
}

impl Connections {
    fn new() -> Self {
        let config = node::config();
        let settings = SessionSettings {
            shards: 1,
            codecs: Arc::new(NoCodecs),
            config: Arc::clone(&config),
            peer: "127.0.0.1:5".into(),
            local: ("localhost".into(), 9092),
            listener: "PLAINTEXT".into(),
            seed: 7,
        };
        let session = |id| Session::new(SessionId(id), settings.clone(), now());
        let sessions = (0..STEPS as u64).map(session).collect();
        let mut all = Self { sessions, next: Vec::new(), fx: Fx::new() };
        let image = node::image(&config, &[]);
        all.next = vec![Input::Image(image); STEPS];
        all.run();
        all
    }

    /// Gives each connection its input.
    fn run(&mut self) {
        for (session, input) in self.sessions.iter_mut().zip(self.next.drain(..)) {
            session.step(now(), input, &mut self.fx);
        }
    }

    /// Gives each connection an answer.
    fn answer(&mut self, answers: Vec<(ReplyTo, Answer)>) {
        let mail = |(reply, answer)| Input::Mail(ToSession::Answer { reply, answer });
        self.next = answers.into_iter().map(mail).collect();
    }

    /// What was sent to shards since the last look.
    fn mail(&mut self) -> Vec<ToShard> {
        let mail = self.fx.drain().filter_map(|effect| match effect {
            Effect::Shard(_, mail) => Some(mail),
            _ => None,
        });
        mail.collect()
    }

    /// Frames sent since the last look.
    fn frames(&mut self) -> Vec<Vec<Part>> {
        let frames = self.fx.drain().filter_map(|effect| match effect {
            Effect::Send(parts) => Some(parts),
            _ => None,
        });
        frames.collect()
    }
}

fn frame<R: Request>(api_version: i16, request: &R) -> Bytes {
    let client_id = Some("orders-service-1".to_owned());
    let header =
        RequestHeader { api_key: R::KEY.code(), api_version, correlation_id: 5, client_id };
    let mut writer = Writer::new();
    header.encode(&mut writer).expect("it fits");
    request.encode(&mut writer, api_version).expect("it fits");
    writer.into_bytes().expect("requests have no holes")
}

/// From a frame with one uncompressed batch to the mail that a shard gets.
pub(crate) struct Decode {
    connections: Connections,
    frame: Bytes,
}

impl Decode {
    pub(crate) fn new(records: usize, value_bytes: usize) -> Self {
        let records = Some(Records::Bytes(node::batch(records, value_bytes).bytes));
        let topic = TopicProduceData {
            topic_id: node::TOPIC,
            partition_data: vec![PartitionProduceData { index: 3, records }],
            ..Default::default()
        };
        let (acks, topic_data) = (-1, vec![topic]);
        let request = ProduceRequest { acks, timeout_ms: 30_000, topic_data, ..Default::default() };
        Self { connections: Connections::new(), frame: frame(PRODUCE, &request) }
    }

    /// Makes the answers ready to what the last round asked for: so many.
    fn answer(&mut self) -> usize {
        let answers = self.connections.mail().into_iter().map(|mail| {
            let ToShard::Produce(produce) = mail else { panic!("{mail:?}") };
            let base = Offset(5);
            let appended = Appended { base, log_append_time: None, log_start: Offset(0) };
            (produce.reply, Answer::Produced(Ok(appended)))
        });
        let answers: Vec<_> = answers.collect();
        let asked = answers.len();
        self.connections.answer(answers);
        asked
    }

    fn ask(&mut self) {
        self.connections.next = vec![Input::Frame(self.frame.clone()); STEPS];
    }
}

impl Case for Decode {
    fn prepare(&mut self) {
        let asked = self.answer();
        self.connections.run();
        assert_eq!(self.connections.frames().len(), asked);
        self.ask();
    }

    fn run(&mut self) {
        self.connections.run();
    }
}

/// From a shard's answer to a produce request to the frame that says so.
pub(crate) struct Acknowledge(Decode);

impl Acknowledge {
    pub(crate) fn new() -> Self {
        let mut decode = Decode::new(1, 100);
        decode.ask();
        Self(decode)
    }
}

impl Case for Acknowledge {
    fn prepare(&mut self) {
        let Self(decode) = self;
        decode.connections.frames();
        decode.ask();
        decode.connections.run();
        assert_eq!(decode.answer(), STEPS);
    }

    fn run(&mut self) {
        self.0.connections.run();
    }
}

/// From what a shard found in each partition to the frame with holes for the records. The client
/// keeps a fetch session, so its request says only from where it goes on.
pub(crate) struct Encode {
    connections: Connections,
    partitions: u16,
    /// Of each connection.
    fetch_sessions: Vec<i32>,
    epoch: i32,
}

impl Encode {
    pub(crate) fn new(partitions: u16) -> Self {
        let (connections, fetch_sessions) = (Connections::new(), Vec::new());
        let mut encode = Self { connections, partitions, fetch_sessions, epoch: 0 };
        encode.ask(0);
        encode.read(0);
        encode.connections.run();
        encode.fetch_sessions = encode.connections.frames().into_iter().map(session_id).collect();
        encode
    }

    /// Each connection fetches once more.
    fn ask(&mut self, offset: i64) {
        let partitions = (0..self.partitions).map(|index| FetchPartition {
            partition: index.into(),
            fetch_offset: offset,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        });
        let (topic_id, partitions) = (node::TOPIC, partitions.collect());
        let topic = FetchTopic { topic_id, partitions, ..Default::default() };
        let mut request = FetchRequest {
            max_wait_ms: 500,
            min_bytes: 0,
            max_bytes: 50 << 20,
            session_epoch: self.epoch,
            topics: vec![topic],
            ..Default::default()
        };
        for at in 0..STEPS {
            request.session_id = self.fetch_sessions.get(at).copied().unwrap_or(0);
            self.connections.next.push(Input::Frame(frame(FETCH, &request)));
        }
        self.connections.run();
        self.epoch += 1;
    }

    /// Makes an answer ready for each fetch, with so many bytes for each partition.
    fn read(&mut self, len: u32) {
        let answers = self.connections.mail().into_iter().filter_map(|mail| match mail {
            ToShard::Read(read) => Some((read.reply, answer(&read, len))),
            ToShard::Unwatch { .. } => None,
            other => panic!("{other:?}"),
        });
        let answers: Vec<_> = answers.collect();
        assert_eq!(answers.len(), STEPS);
        self.connections.answer(answers);
    }
}

impl Case for Encode {
    fn prepare(&mut self) {
        let sent = self.connections.frames();
        let holes = |parts: &[Part]| parts.iter().filter(|p| matches!(p, Part::Hole(_))).count();
        assert!(sent.iter().all(|parts| holes(parts) == usize::from(self.partitions)));
        self.ask(i64::from(self.epoch) * 145);
        self.read(64 << 10);
    }

    fn run(&mut self) {
        self.connections.run();
    }
}

/// What a shard answers that has `len` bytes for each partition.
fn answer(read: &Read, len: u32) -> Answer {
    let outcomes = read.parts.iter().map(|part| {
        let hole = Hole { file: 1, position: 5, len };
        let readable = Readable {
            high_watermark: part.offset.plus(580),
            last_stable: part.offset.plus(580),
            log_start: Offset(0),
            records: if len == 0 { Records::default() } else { Records::Holes(vec![hole]) },
            first_batch_len: len.min(16 << 10),
            more: false,
            aborted: Vec::new(),
            diverging: None,
        };
        ReadOutcome { slot: part.slot, result: Ok(readable) }
    });
    Answer::Read(outcomes.collect())
}

/// The fetch session that an answer without records opens.
fn session_id(parts: Vec<Part>) -> i32 {
    let mut bytes = BytesMut::new();
    for part in parts {
        let Part::Bytes(part) = part else { panic!("{part:?} in an answer without records") };
        bytes.extend_from_slice(&part);
    }
    let mut body = Reader::new(bytes.freeze());
    body.i32().expect("a length");
    decode_response_header(&mut body, FetchRequest::KEY, FETCH).expect("a header");
    let response = FetchResponse::decode(&mut body, FETCH).expect("a response");
    assert_ne!(response.session_id, 0, "a session was opened");
    response.session_id
}
