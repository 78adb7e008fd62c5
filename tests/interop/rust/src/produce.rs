//! Producing a file of records, and reading partitions to their ends into one.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::records::{Record, read_file, write_file};
use crate::{Outcome, config, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// Partition, offset and timestamp, or what was wrong.
type Report = Result<(i32, i64, i64), KafkaError>;

/// Where each record went, by its index.
#[derive(Default)]
struct Reports(Mutex<BTreeMap<usize, Report>>);

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<usize>;

    fn delivery(&self, result: &DeliveryResult<'_>, index: Box<usize>) {
        let report = match result {
            Ok(message) => Ok((
                message.partition(),
                message.offset(),
                message.timestamp().to_millis().unwrap_or(-1),
            )),
            Err((error, _)) => Err(error.clone()),
        };
        self.0.lock().expect("no thread panics with it").insert(*index, report);
    }
}

pub fn produce(bootstrap: &str, command: &Value) -> Outcome<Value> {
    let topic = text(command, "topic")?;
    let mut records = read_file(text(command, "in")?)?;
    let producer: BaseProducer<Reports> =
        config(bootstrap, command).create_with_context(Reports::default())?;
    for (index, record) in records.iter().enumerate() {
        send(&producer, topic, record, index)?;
    }
    producer.flush(PATIENCE)?;
    let mut reports = producer.context().0.lock().expect("no thread panics with it");
    for (index, record) in records.iter_mut().enumerate() {
        let report = reports.remove(&index).ok_or("a record was not reported")?;
        (record.partition, record.offset, record.timestamp) = report?;
    }
    write_file(text(command, "out")?, &records)?;
    Ok(json!({"records": records.len()}))
}

fn send(
    producer: &BaseProducer<Reports>,
    topic: &str,
    record: &Record,
    index: usize,
) -> Outcome<()> {
    let mut headers = OwnedHeaders::new();
    for (name, value) in &record.headers {
        headers = headers.insert(Header { key: name, value: value.as_deref() });
    }
    let mut message =
        BaseRecord::<[u8], [u8], _>::with_opaque_to(topic, Box::new(index)).headers(headers);
    message.key = record.key.as_deref();
    message.payload = record.value.as_deref();
    message.partition = (record.partition >= 0).then_some(record.partition);
    message.timestamp = (record.timestamp >= 0).then_some(record.timestamp);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match producer.send(message) {
            Ok(()) => break,
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back))
                if Instant::now() < deadline =>
            {
                message = back;
                producer.poll(Duration::from_millis(100));
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
    producer.poll(Duration::ZERO);
    Ok(())
}

pub fn consume(bootstrap: &str, command: &Value) -> Outcome<Value> {
    let topic = text(command, "topic")?;
    let mut left = BTreeMap::new();
    for (partition, end) in command["ends"].as_object().ok_or("the command has no 'ends'")? {
        let end = end.as_i64().ok_or("an end is a number")?;
        if end > 0 {
            left.insert(partition.parse::<i32>()?, end);
        }
    }
    let consumer: BaseConsumer = config(bootstrap, command)
        .set("group.id", "interop-never-used")
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "error")
        .create()?;
    let mut wanted = TopicPartitionList::new();
    for partition in left.keys() {
        wanted.add_partition_offset(topic, *partition, Offset::Offset(0))?;
    }
    consumer.assign(&wanted)?;
    let (mut records, deadline) = (Vec::new(), Instant::now() + PATIENCE);
    while !left.is_empty() {
        if Instant::now() > deadline {
            return Err(format!(
                "only {} records arrived; partitions {:?} are not done",
                records.len(),
                left
            )
            .into());
        }
        let Some(message) = consumer.poll(Duration::from_millis(500)) else { continue };
        let message = message?;
        if left.get(&message.partition()).is_some_and(|end| message.offset() + 1 >= *end) {
            left.remove(&message.partition());
        }
        records.push(owned(&message));
    }
    write_file(text(command, "out")?, &records)?;
    Ok(json!({"records": records.len()}))
}

fn owned(message: &BorrowedMessage<'_>) -> Record {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        headers
            .iter()
            .map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec)))
            .collect()
    });
    Record {
        partition: message.partition(),
        offset: message.offset(),
        timestamp: message.timestamp().to_millis().unwrap_or(-1),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers,
    }
}
