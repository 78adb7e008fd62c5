//! A member of a group: reads, commits, and tells both.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, Message, Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::{Outcome, config, leaving, say, text};

/// What a commit meets when a rebalance was quicker, or the broker is away: somebody reads these records again.
const OVERTAKEN: &[RDKafkaErrorCode] = &[
    RDKafkaErrorCode::BrokerTransportFailure,
    RDKafkaErrorCode::CoordinatorLoadInProgress,
    RDKafkaErrorCode::CoordinatorNotAvailable,
    RDKafkaErrorCode::NotCoordinator,
    RDKafkaErrorCode::OperationTimedOut,
    RDKafkaErrorCode::RequestTimedOut,
    RDKafkaErrorCode::WaitingForCoordinator,
    RDKafkaErrorCode::IllegalGeneration,
    RDKafkaErrorCode::RebalanceInProgress,
    RDKafkaErrorCode::UnknownMemberId,
    RDKafkaErrorCode::NoOffset,
];

/// What reading meets while the broker is away: librdkafka goes on by itself.
const AWAY: &[RDKafkaErrorCode] = &[
    RDKafkaErrorCode::AllBrokersDown,
    RDKafkaErrorCode::BrokerTransportFailure,
    RDKafkaErrorCode::CoordinatorLoadInProgress,
    RDKafkaErrorCode::CoordinatorNotAvailable,
    RDKafkaErrorCode::NotCoordinator,
    RDKafkaErrorCode::OperationTimedOut,
];

/// Tells of rebalances, and forgets what is not to be committed any more.
#[derive(Default)]
struct Told {
    /// Positions that no commit has confirmed yet, by partition.
    pending: Mutex<BTreeMap<i32, i64>>,
}

impl Told {
    fn pending(&self) -> MutexGuard<'_, BTreeMap<i32, i64>> {
        self.pending.lock().expect("no thread panics with it")
    }
}

impl ClientContext for Told {}

impl ConsumerContext for Told {
    fn pre_rebalance(&self, _: &BaseConsumer<Told>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => {
                tell("assigned", json!({"partitions": numbers(partitions)}))
            }
            Rebalance::Revoke(partitions) => {
                self.pending().retain(|partition, _| !numbers(partitions).contains(partition));
                tell("revoked", json!({"partitions": numbers(partitions)}));
            }
            Rebalance::Error(error) => tell("uncommitted", json!({"message": error.to_string()})),
        }
    }
}

fn numbers(partitions: &TopicPartitionList) -> Vec<i32> {
    partitions.elements().iter().map(|element| element.partition()).collect()
}

/// One event, see `members.py`.
fn tell(event: &str, mut more: Value) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    more["event"] = event.into();
    more["at"] = u64::try_from(now.as_micros()).unwrap_or(u64::MAX).into();
    say(&more);
}

pub fn live(bootstrap: &str, command: &Value) {
    match run(bootstrap, command) {
        Ok(()) => tell("left", json!({})),
        Err(error) => {
            tell("failed", json!({"message": error.to_string()}));
            std::process::exit(1);
        }
    }
}

fn run(bootstrap: &str, command: &Value) -> Outcome<()> {
    let leaving = leaving();
    let mut config = config(bootstrap, command);
    config
        .set("client.id", text(command, "client_id")?)
        .set("group.id", text(command, "group")?)
        .set("session.timeout.ms", command["session_ms"].to_string())
        .set("heartbeat.interval.ms", "500")
        .set("partition.assignment.strategy", text(command, "strategy")?)
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "earliest");
    if let Some(instance) = command["instance"].as_str() {
        config.set("group.instance.id", instance);
    }
    let consumer: BaseConsumer<Told> = config.create_with_context(Told::default())?;
    let topic = text(command, "topic")?;
    consumer.subscribe(&[topic])?;
    while !leaving.load(Ordering::SeqCst) {
        step(&consumer, topic)?;
    }
    drop(consumer); // leaves the group, unless it is a static member
    Ok(())
}

/// Up to 500 records that are there, and the commit behind them.
fn step(consumer: &BaseConsumer<Told>, topic: &str) -> Outcome<()> {
    let mut read: BTreeMap<i32, (i64, i64)> = BTreeMap::new();
    let mut patience = Duration::from_millis(100);
    for _ in 0..500 {
        let Some(message) = consumer.poll(patience) else { break };
        let message = match message {
            Err(KafkaError::MessageConsumption(code)) if AWAY.contains(&code) => break,
            message => message?,
        };
        patience = Duration::ZERO;
        let (partition, offset) = (message.partition(), message.offset());
        let stretch = read.entry(partition).or_insert((offset, offset));
        if stretch.1 != offset {
            tell_read(partition, *stretch);
            stretch.0 = offset;
        }
        stretch.1 = offset + 1;
    }
    for (partition, stretch) in &read {
        tell_read(*partition, *stretch);
        consumer.context().pending().insert(*partition, stretch.1);
    }
    commit(consumer, topic)
}

fn commit(consumer: &BaseConsumer<Told>, topic: &str) -> Outcome<()> {
    let pending = consumer.context().pending().clone();
    if pending.is_empty() {
        return Ok(());
    }
    let mut positions = TopicPartitionList::new();
    for (partition, next) in &pending {
        positions.add_partition_offset(topic, *partition, Offset::Offset(*next))?;
    }
    match consumer.commit(&positions, CommitMode::Sync) {
        Ok(()) => {
            consumer.context().pending().clear();
            let offsets: BTreeMap<_, _> =
                pending.iter().map(|(partition, next)| (partition.to_string(), next)).collect();
            tell("committed", json!({"offsets": offsets}));
            Ok(())
        }
        Err(KafkaError::ConsumerCommit(code)) if OVERTAKEN.contains(&code) => {
            tell("uncommitted", json!({"message": code.to_string()}));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn tell_read(partition: i32, (first, next): (i64, i64)) {
    tell("read", json!({"partition": partition, "first": first, "next": next}));
}
