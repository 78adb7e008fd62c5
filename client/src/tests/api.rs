//! The async interface on a runtime of its own: one thread, time that jumps, a broker in memory.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};

use super::broker::{Broker, Fault, PORT, Served};
use super::producer::Turning;
use crate::api::{
    Admin, Consumer, Disconnected, FrameRead, FrameWrite, Producer, Runtime, TypedError,
    TypedProducer, TypedRecord,
};
use crate::config::{Acks, AdminConfig, ConsumerConfig, ProducerConfig};
use crate::machine::admin::{AdminError, NewTopic, OffsetSpec};
use crate::machine::consumer::Start;
use crate::machine::producer::{ProduceError, ProducerRecord};
use crate::machine::{Frame, Now, TopicPartition};
use crate::serde::{SerdeError, Serializer, StringSerde, VoidSerde};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The bytes on their way to one connection's reader.
#[derive(Default)]
struct Pipe {
    frames: VecDeque<Bytes>,
    waker: Option<Waker>,
    closed: bool,
}

struct Inner {
    broker: Broker,
    now: Duration,
    timers: BTreeMap<(Duration, u64), Waker>,
    next_timer: u64,
    spawned: Vec<Task>,
    dark: bool,
    /// The broker does not close a connection that the client closed.
    stubborn: bool,
    seeds: u64,
    open: usize,
}

#[derive(Clone)]
pub(super) struct Desk(Arc<Mutex<Inner>>);

impl Desk {
    pub(super) fn new(broker: Broker) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            broker,
            now: Duration::from_secs(1),
            timers: BTreeMap::new(),
            next_timer: 0,
            spawned: Vec::new(),
            dark: false,
            stubborn: false,
            seeds: 0,
            open: 0,
        })))
    }

    /// Runs a future and everything it starts until the future ends.
    pub(super) fn run<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = std::pin::pin!(main);
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let mut tasks: Vec<Task> = Vec::new();
        loop {
            let mut cx = Context::from_waker(&waker);
            if let Poll::Ready(output) = main.as_mut().poll(&mut cx) {
                return output;
            }
            tasks.extend(std::mem::take(&mut self.0.lock().expect("alone").spawned));
            tasks.retain_mut(|task| task.as_mut().poll(&mut cx).is_pending());
            let started = !self.0.lock().expect("alone").spawned.is_empty();
            if !flag.take() && !started {
                self.jump();
            }
        }
    }

    /// Looks at the broker, or changes it.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Broker) -> T) -> T {
        act(&mut self.0.lock().expect("alone").broker)
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.0.lock().expect("alone").open
    }

    /// Lets time pass to the next timer.
    fn jump(&self) {
        let mut inner = self.0.lock().expect("alone");
        let ((at, _), waker) = inner.timers.pop_first().expect("somebody waits for something");
        inner.now = inner.now.max(at);
        drop(inner);
        waker.wake();
    }
}

/// Whether any task has to be polled again.
#[derive(Default)]
struct Flag(Mutex<bool>);

impl Flag {
    fn take(&self) -> bool {
        std::mem::take(&mut self.0.lock().expect("alone"))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        *self.0.lock().expect("alone") = true;
    }
}

pub(super) struct Read(Arc<Mutex<Pipe>>, Desk);

impl Drop for Read {
    fn drop(&mut self) {
        self.1.0.lock().expect("alone").open -= 1;
    }
}

impl FrameRead for Read {
    async fn read(&mut self) -> Result<Bytes, Disconnected> {
        poll_fn(|cx| {
            let mut pipe = self.0.lock().expect("alone");
            if let Some(frame) = pipe.frames.pop_front() {
                return Poll::Ready(Ok(frame));
            }
            if pipe.closed {
                return Poll::Ready(Err(Disconnected("closed".to_owned())));
            }
            pipe.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

pub(super) struct Write {
    node: i32,
    pipe: Arc<Mutex<Pipe>>,
    desk: Desk,
}

impl Drop for Write {
    /// The broker reads the end of the connection, and closes it.
    fn drop(&mut self) {
        let mut pipe = self.pipe.lock().expect("alone");
        pipe.closed = !self.desk.0.lock().expect("alone").stubborn;
        pipe.waker.take().into_iter().for_each(Waker::wake);
    }
}

impl FrameWrite for Write {
    async fn write(&mut self, frame: Frame) -> Result<(), Disconnected> {
        let served = {
            let mut inner = self.desk.0.lock().expect("alone");
            if inner.dark {
                return Err(Disconnected("dark".to_owned()));
            }
            inner.broker.serve(self.node, frame.content())
        };
        let answer = match served {
            Served::Silence => None,
            Served::Answer(answer, wait) => {
                self.desk.sleep(wait).await;
                Some(answer)
            }
            Served::Parked(ticket) => loop {
                let ready = {
                    let mut inner = self.desk.0.lock().expect("alone");
                    let now = inner.now;
                    inner.broker.groups.tick(now);
                    inner.broker.groups.take(ticket)
                };
                if ready.is_some() {
                    break ready;
                }
                self.desk.sleep(Duration::from_millis(1)).await;
            },
        };
        if let Some(answer) = answer {
            let mut pipe = self.pipe.lock().expect("alone");
            pipe.frames.push_back(answer);
            pipe.waker.take().into_iter().for_each(Waker::wake);
        }
        Ok(())
    }
}

impl Runtime for Desk {
    type Read = Read;
    type Write = Write;

    async fn connect(&self, _: Arc<str>, port: u16) -> Result<(Read, Write), Disconnected> {
        self.sleep(Duration::from_millis(1)).await;
        let mut inner = self.0.lock().expect("alone");
        if inner.dark {
            return Err(Disconnected("nobody listens".to_owned()));
        }
        inner.open += 1;
        let pipe = Arc::new(Mutex::new(Pipe::default()));
        let read = Read(Arc::clone(&pipe), self.clone());
        Ok((read, Write { node: i32::from(port - PORT), pipe, desk: self.clone() }))
    }

    async fn sleep(&self, wait: Duration) {
        let mut id = None;
        poll_fn(|cx| {
            let mut inner = self.0.lock().expect("alone");
            let (at, number) = *id.get_or_insert((inner.now + wait, inner.next_timer));
            inner.next_timer += 1;
            if at <= inner.now {
                return Poll::Ready(());
            }
            inner.timers.insert((at, number), cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().expect("alone").spawned.push(Box::pin(task));
    }

    fn now(&self) -> Now {
        let mono = self.0.lock().expect("alone").now;
        Now { mono, wall: Timestamp(mono.as_millis() as i64) }
    }

    fn seed(&self) -> u64 {
        let mut inner = self.0.lock().expect("alone");
        inner.seeds += 1;
        inner.seeds
    }
}

pub(super) const SERVER: &str = "node:9001";

fn desk() -> Desk {
    let mut broker = Broker::new(1);
    broker.create("t", 2);
    Desk::new(broker)
}

fn producer(desk: &Desk, config: ProducerConfig) -> Producer<Desk> {
    Producer::new(desk.clone(), config, Arc::new(Turning)).expect("valid settings")
}

#[test]
fn what_is_produced_is_consumed() {
    let desk = desk();
    let read = desk.run(async {
        let admin = Admin::new(desk.clone(), AdminConfig::to(SERVER).unwrap()).unwrap();
        let created = admin.create_topics(vec![NewTopic::new("new", 1)]).await.unwrap();
        assert_eq!(created["new"], Ok(()));
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        let mut deliveries = Vec::new();
        for n in 0..100 {
            let record = ProducerRecord::new("new", n.to_string());
            deliveries.push(producer.queue(record).await.unwrap());
        }
        producer.flush().await;
        for (delivery, offset) in deliveries.into_iter().zip(0..) {
            assert_eq!(delivery.await.unwrap().offset, Offset(offset));
        }
        let at = TopicPartition::new("new", 0);
        let ends = admin.list_offsets(vec![(at.clone(), OffsetSpec::Latest)]).await.unwrap();
        assert_eq!(ends[&at].as_ref().unwrap().offset, Offset(100));

        let config = ConsumerConfig::to(SERVER).unwrap();
        let mut consumer = Consumer::new(desk.clone(), config, Arc::new(Turning)).unwrap();
        consumer.assign([(at.clone(), Start::Offset(Offset(10)))]);
        let mut read = Vec::new();
        while consumer.position(&at).await < Some(Offset(100)) {
            for (_, records) in consumer.poll(Duration::from_secs(1)).await.records {
                read.extend(records.into_iter().map(|record| record.offset.0));
            }
        }
        assert!(consumer.poll(Duration::from_secs(1)).await.is_empty());
        read
    });
    assert_eq!(read, (10..100).collect::<Vec<_>>());
}

#[test]
fn what_is_flushed_without_acknowledgement_was_sent() {
    let desk = desk();
    let acks = Acks::None;
    let config = ProducerConfig::to(SERVER).unwrap();
    let config = ProducerConfig { acks, enable_idempotence: false, batch_size: 200, ..config };
    desk.run(async {
        let producer = producer(&desk, config);
        let record = |n: i32| ProducerRecord::new("t", n.to_string()).with_partition(0);
        // Once it is connected nothing has to be waited for but the sending.
        producer.send(record(0)).await.unwrap();
        for n in 1..50 {
            drop(producer.queue(record(n)).await.unwrap());
        }
        producer.flush().await;
        assert_eq!(desk.with(|broker| broker.log("t", 0).end()), 50);
    });
}

#[test]
fn a_producer_that_was_closed_has_no_connections() {
    let desk = desk();
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        let delivery = producer.queue(ProducerRecord::new("t", "a")).await.unwrap();
        producer.close().await;
        assert_eq!(desk.open(), 0);
        assert!(delivery.await.is_ok());
        let late = producer.send(ProducerRecord::new("t", "b")).await;
        assert_eq!(late, Err(ProduceError::Closed));
    });
}

#[test]
fn a_broker_that_keeps_its_side_open_is_not_waited_for_for_long() {
    let desk = desk();
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        producer.send(ProducerRecord::new("t", "a")).await.unwrap();
        desk.0.lock().unwrap().stubborn = true;
        let began = desk.mono();
        producer.close().await;
        assert_eq!((desk.open(), desk.mono() - began), (0, Duration::from_secs(5)));
    });
}

#[test]
fn a_full_buffer_makes_senders_wait() {
    let desk = desk();
    desk.run(async {
        let config = ProducerConfig { buffer_memory: 200, ..ProducerConfig::to(SERVER).unwrap() };
        let producer = producer(&desk, config);
        for n in 0..50 {
            let record = ProducerRecord::new("t", n.to_string()).with_partition(0);
            drop(producer.queue(record).await.unwrap());
        }
        producer.flush().await;
    });
    assert_eq!(desk.0.lock().unwrap().broker.log("t", 0).end(), 50);
}

#[test]
fn a_sender_that_waits_in_vain_is_told() {
    let desk = desk();
    desk.run(async {
        let config = ProducerConfig { buffer_memory: 100, ..ProducerConfig::to(SERVER).unwrap() };
        let producer =
            producer(&desk, ProducerConfig { max_block: Duration::from_secs(5), ..config });
        producer.send(ProducerRecord::new("t", "a")).await.unwrap();
        desk.0.lock().unwrap().dark = true;
        let first = producer.queue(ProducerRecord::new("t", "b")).await.unwrap();
        let second = producer.queue(ProducerRecord::new("t", vec![0; 60])).await;
        assert_eq!(second.err(), Some(ProduceError::BufferFull));
        assert!(matches!(first.await, Err(ProduceError::TimedOut { .. })));
        assert_eq!(producer.last_connection_error().as_deref(), Some("node:9001: nobody listens"));
    });
}

#[test]
fn errors_of_the_broker_reach_the_caller() {
    let desk = desk();
    desk.0.lock().unwrap().broker.faults.push_back(Fault::Before(ErrorCode::InvalidRecord));
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        let sent = producer.send(ProducerRecord::new("t", "a")).await;
        let Err(ProduceError::Refused { code, .. }) = sent else { panic!("{sent:?}") };
        assert_eq!(code, ErrorCode::InvalidRecord);
        assert!(producer.send(ProducerRecord::new("t", "b")).await.is_ok());
    });
}

#[test]
fn dropping_a_client_ends_its_tasks_and_connections() {
    let desk = desk();
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        producer.send(ProducerRecord::new("t", "a")).await.unwrap();
        let twin = producer.clone();
        drop(producer);
        twin.send(ProducerRecord::new("t", "b")).await.unwrap();
        assert_eq!(desk.0.lock().unwrap().open, 1);
        drop(twin);
        desk.sleep(Duration::from_secs(1)).await;
        assert_eq!(desk.0.lock().unwrap().open, 0);
        desk.0.lock().unwrap().dark = true;
        let config =
            AdminConfig { api_timeout: Duration::from_secs(3), ..AdminConfig::to(SERVER).unwrap() };
        let admin = Admin::new(desk.clone(), config).unwrap();
        assert_eq!(admin.list_topics().await, Err(AdminError::TimedOut("a connection")));
    });
}

#[test]
fn callbacks_hear_of_each_fate_in_order() {
    let desk = desk();
    let told = Arc::new(Mutex::new(Vec::new()));
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        for n in 0..20 {
            let told = Arc::clone(&told);
            let record = ProducerRecord::new("t", n.to_string()).with_partition(0);
            let twin = producer.clone();
            let callback = move |fate: Result<crate::api::RecordMetadata, ProduceError>| {
                told.lock().unwrap().push((n, fate.unwrap().offset.0));
                // A callback may use the producer: no lock is held.
                twin.send_and_forget(ProducerRecord::new("t", "again").with_partition(1)).unwrap();
            };
            producer.send_with(record, callback).await.unwrap();
        }
        producer.flush().await;
        producer.flush().await;
    });
    assert_eq!(*told.lock().unwrap(), (0..20).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!(desk.0.lock().unwrap().broker.log("t", 1).end(), 20);
}

#[test]
fn a_forgotten_record_never_waits_for_memory() {
    let desk = desk();
    desk.run(async {
        let config = ProducerConfig { buffer_memory: 200, ..ProducerConfig::to(SERVER).unwrap() };
        let producer = producer(&desk, config);
        let forget = || producer.send_and_forget(ProducerRecord::new("t", vec![0; 60]));
        assert_eq!((forget(), forget()), (Ok(()), Ok(())));
        assert_eq!(forget(), Err(ProduceError::BufferFull));
        producer.flush().await;
        assert_eq!(forget(), Ok(()));
    });
}

/// Refuses every value.
struct Never;

impl Serializer<str> for Never {
    fn serialize(&self, topic: &str, _: &str) -> Result<Option<Bytes>, SerdeError> {
        Err(SerdeError::Other(format!("nothing for {topic}")))
    }
}

#[test]
fn typed_records_are_serialized() {
    let desk = desk();
    desk.run(async {
        let producer = producer(&desk, ProducerConfig::to(SERVER).unwrap());
        let typed: TypedProducer<Desk, (), str> =
            TypedProducer::new(producer.clone(), VoidSerde, StringSerde);
        let record = || TypedRecord::new("t", "text").with_key(&()).with_partition(0);
        let bytes = typed.serialize(record()).unwrap();
        assert_eq!((bytes.key, bytes.value.as_deref()), (None, Some(&b"text"[..])));
        assert_eq!(typed.send(record()).await.unwrap().offset, Offset(0));
        let tombstone = typed.serialize(TypedRecord::tombstone("t", &())).unwrap();
        assert_eq!(tombstone.value, None);
        let refusing: TypedProducer<Desk, str, str> =
            TypedProducer::new(producer, Never, StringSerde);
        let refused = refusing.send(TypedRecord::new("t", "text").with_key("key")).await;
        let why = SerdeError::Other("nothing for t".to_owned());
        assert_eq!(refused, Err(TypedError::Key(why)));
    });
    assert_eq!(desk.0.lock().unwrap().broker.log("t", 0).end(), 1);
}
