//! Scenarios of the producer.

use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{Offset, ProducerEpoch, Timestamp};
use dohle_wire::record::{CodecError, Codecs, Compression, RawBatch};
use dohle_wire::{ApiKey, ErrorCode};

use super::broker::{Broker, Fault, values};
use super::world::World;
use crate::config::{Acks, ProducerConfig};
use crate::machine::producer::{Effect, Input, ProduceError, ProducerRecord, Receipt};
use crate::machine::{Machine as _, Producer, Token, TopicPartition, Trouble};

/// A codec for tests: turns the bytes around.
pub(super) struct Turning;

impl Codecs for Turning {
    fn compress(
        &self,
        _: Compression,
        _: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        dst.extend(src.iter().rev());
        Ok(())
    }

    fn decompress(&self, _: Compression, src: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
        if src.len() > limit {
            return Err(CodecError::TooLarge { limit });
        }
        Ok(src.iter().rev().copied().collect())
    }
}

type Outcome = Result<Receipt, ProduceError>;

fn config() -> ProducerConfig {
    ProducerConfig::to("node:9001").expect("an address")
}

fn world(config: ProducerConfig, broker: Broker) -> World<Producer> {
    World::new(Producer::new(config, Arc::new(Turning), 11).expect("valid settings"), broker)
}

fn broker(partitions: usize) -> Broker {
    let mut broker = Broker::new(1);
    broker.create("t", partitions);
    broker
}

fn record(token: u64) -> ProducerRecord {
    ProducerRecord::new("t", token.to_string()).with_partition(0)
}

fn send(world: &mut World<Producer>, tokens: impl IntoIterator<Item = u64>) {
    for token in tokens {
        world.input(Input::send(token, record(token)));
    }
}

fn outcomes(world: &mut World<Producer>) -> Vec<(u64, Outcome)> {
    let mut all: Vec<(u64, Outcome)> = world
        .out
        .drain(..)
        .filter_map(|effect| match effect {
            Effect::Delivered { token, result } => Some((token.0, result)),
            _ => None,
        })
        .collect();
    all.sort_by_key(|(token, _)| *token);
    all
}

fn offsets(world: &mut World<Producer>) -> Vec<(u64, i64)> {
    let of = |(token, result): (u64, Outcome)| (token, result.expect("delivered").offset.0);
    outcomes(world).into_iter().map(of).collect()
}

fn texts(tokens: std::ops::Range<u64>) -> Vec<String> {
    tokens.map(|token| token.to_string()).collect()
}

const LINGER: Duration = Duration::from_millis(5);

/// A producer whose first record has been acknowledged, so that it may have five requests under way.
fn proven(config: ProducerConfig) -> World<Producer> {
    let mut world = world(config, broker(1));
    send(&mut world, [0]);
    world.pass(Duration::from_secs(10));
    assert_eq!(offsets(&mut world), [(0, 0)]);
    world.broker.asked.clear();
    world
}

fn without_acks() -> ProducerConfig {
    ProducerConfig { acks: Acks::None, enable_idempotence: false, ..config() }
}

/// A producer without acknowledgements that has sent its first record.
fn unacknowledged() -> World<Producer> {
    let mut world = world(without_acks(), broker(1));
    send(&mut world, [0]);
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world), [(0, -1)]);
    world
}

/// Puts five batches on the wire: records 1 to 5.
fn five_on_the_wire() -> World<Producer> {
    let mut world = proven(ProducerConfig { linger: Duration::ZERO, batch_size: 1, ..config() });
    send(&mut world, 1..=7);
    assert!(outcomes(&mut world).is_empty());
    world
}

#[test]
fn a_record_is_delivered_where_the_broker_says() {
    let mut world = world(config(), broker(3));
    let record = ProducerRecord { timestamp: Some(Timestamp(77)), ..record(4).with_partition(2) };
    world.input(Input::send(4, record));
    world.pass(Duration::from_secs(1));
    let receipt = Receipt { partition: 2, offset: Offset(0), timestamp: Timestamp(77) };
    assert_eq!(outcomes(&mut world), [(4, Ok(receipt))]);
}

#[test]
fn records_linger_and_travel_together() {
    let mut world = proven(config());
    send(&mut world, 1..=9);
    world.settle();
    assert_eq!(world.broker.count(ApiKey::Produce), 0);
    world.pass(LINGER);
    assert_eq!(world.broker.count(ApiKey::Produce), 1);
    assert_eq!(offsets(&mut world), (1..=9).map(|n| (n, n as i64)).collect::<Vec<_>>());
    assert_eq!(world.broker.log("t", 0).batches.len(), 2);
}

#[test]
fn a_full_batch_does_not_linger() {
    let mut world = proven(ProducerConfig { batch_size: 400, ..config() });
    send(&mut world, 1..=100);
    world.settle();
    let full = world.broker.count(ApiKey::Produce);
    assert!(full >= 2, "{full} requests without waiting");
    world.pass(LINGER);
    assert_eq!(offsets(&mut world).len(), 100);
    let longest = world.broker.log("t", 0).batches.iter().map(|b| b.bytes.len()).max();
    assert!(longest <= Some(400), "{longest:?}");
}

#[test]
fn a_flush_ends_the_lingering_and_waits_for_all() {
    let mut world = proven(ProducerConfig { linger: Duration::from_secs(9), ..config() });
    send(&mut world, 1..=3);
    world.input(Input::Flush { token: Token(50) });
    assert!(world.out.is_empty());
    send(&mut world, [4]);
    world.settle();
    let flushed = world.out.iter().position(|e| *e == Effect::Flushed { token: Token(50) });
    assert_eq!(flushed, Some(world.out.len() - 1), "after all deliveries");
    assert_eq!(offsets(&mut world), [(1, 1), (2, 2), (3, 3)]);
    world.pass(Duration::from_secs(10));
    assert_eq!(offsets(&mut world), [(4, 4)], "what came later lingers");
    world.input(Input::Flush { token: Token(51) });
    assert_eq!(world.out, [Effect::Flushed { token: Token(51) }]);
}

#[test]
fn at_most_five_requests_are_under_way() {
    let mut world = five_on_the_wire();
    let conn = world.open()[0];
    for _ in 0..5 {
        assert!(world.serve(conn));
    }
    assert!(!world.serve(conn), "the sixth request waits");
    world.pass(Duration::from_secs(1));
    assert_eq!(values(world.broker.log("t", 0)), texts(0..8));
}

#[test]
fn only_one_batch_is_under_way_before_the_first_acknowledgement() {
    // Each record makes a batch of its own.
    let config = ProducerConfig { linger: Duration::ZERO, batch_size: 1, ..config() };
    let mut world = world(config, broker(1));
    send(&mut world, 0..4);
    world.broker.faults.push_back(Fault::Before(ErrorCode::NotEnoughReplicas));
    world.pass(Duration::from_secs(2));
    // A broker without state takes any first sequence: a second batch would have overtaken.
    assert_eq!(values(world.broker.log("t", 0)), texts(0..4));
}

#[test]
fn lost_answers_are_repeated_without_duplicates() {
    let mut world = five_on_the_wire();
    let conn = world.open()[0];
    for _ in 0..5 {
        world.serve(conn);
    }
    world.cut(conn, true);
    world.pass(Duration::from_secs(5));
    assert_eq!(offsets(&mut world), (1..=7).map(|n| (n, n as i64)).collect::<Vec<_>>());
    assert_eq!(values(world.broker.log("t", 0)), texts(0..8));
}

#[test]
fn lost_requests_are_repeated_in_order() {
    let mut world = five_on_the_wire();
    let conn = world.open()[0];
    world.serve(conn);
    world.serve(conn);
    world.cut(conn, false);
    world.pass(Duration::from_secs(5));
    assert_eq!(values(world.broker.log("t", 0)), texts(0..8));
}

#[test]
fn order_is_kept_when_one_of_five_is_refused() {
    for at in 0..5 {
        let mut world = five_on_the_wire();
        let mut faults = vec![Fault::After(ErrorCode::RequestTimedOut); at];
        faults.push(Fault::Before(ErrorCode::NotEnoughReplicas));
        world.broker.faults.extend(faults);
        world.pass(Duration::from_secs(9));
        assert_eq!(offsets(&mut world).len(), 7);
        assert_eq!(values(world.broker.log("t", 0)), texts(0..8), "{at}");
    }
}

#[test]
fn a_batch_refused_for_good_leaves_the_others_in_order() {
    let mut world = five_on_the_wire();
    world.broker.faults.push_back(Fault::After(ErrorCode::RequestTimedOut));
    world.broker.faults.push_back(Fault::Before(ErrorCode::InvalidRecord));
    world.pass(Duration::from_secs(9));
    let outcomes = outcomes(&mut world);
    let failed: Vec<u64> = outcomes.iter().filter(|(_, r)| r.is_err()).map(|(t, _)| *t).collect();
    assert_eq!(failed, [2]);
    let (_, Err(error)) = &outcomes[1] else { panic!("the second failed") };
    assert!(!error.is_in_doubt());
    assert_eq!(values(world.broker.log("t", 0)), ["0", "1", "3", "4", "5", "6", "7"]);
}

#[test]
fn when_the_broker_lost_acknowledged_batches_what_is_in_doubt_fails_and_the_rest_goes_on() {
    let mut world = five_on_the_wire();
    let conn = world.open()[0];
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world).len(), 7);
    send(&mut world, [8]);
    // Record 8 was sent; then the broker comes back with less than it acknowledged.
    world.cut(conn, false);
    let log = world.broker.log("t", 0);
    log.batches.truncate(3);
    log.remember();
    send(&mut world, [9, 10]);
    world.pass(Duration::from_secs(9));
    let outcomes = outcomes(&mut world);
    let Err(error) = &outcomes[0].1 else { panic!("{outcomes:?}") };
    assert!(error.is_in_doubt(), "{error}");
    assert!(outcomes[1].1.is_ok() && outcomes[2].1.is_ok(), "{outcomes:?}");
    assert_eq!(values(world.broker.log("t", 0)), ["0", "1", "2", "9", "10"]);
}

#[test]
fn a_batch_too_large_for_the_broker_is_cut_until_it_fits() {
    let mut world = proven(ProducerConfig { compression: Compression::Gzip, ..config() });
    world.broker.max_batch = 120;
    send(&mut world, 1..=30);
    world.pass(Duration::from_secs(9));
    assert_eq!(offsets(&mut world), (1..=30).map(|n| (n, n as i64)).collect::<Vec<_>>());
    let log = world.broker.log("t", 0);
    assert!(log.batches.iter().all(|batch| batch.bytes.len() <= 120));
    let read: Vec<String> = log.values(&Turning).into_iter().map(|(_, value)| value).collect();
    assert_eq!(read, texts(0..31));
}

#[test]
fn nothing_joins_a_batch_that_was_cut() {
    let mut world = proven(config());
    world.broker.max_batch = 120;
    send(&mut world, 1..=12);
    assert!(world.wait(), "they linger");
    // Before each new record one answer comes, so that a half is the last batch in the queue.
    for token in 13..=60 {
        for conn in world.busy() {
            world.serve(conn);
            world.hear(conn);
        }
        send(&mut world, [token]);
    }
    world.pass(Duration::from_secs(9));
    assert_eq!(offsets(&mut world), (1..=60).map(|n| (n, n as i64)).collect::<Vec<_>>());
    let log = world.broker.log("t", 0);
    assert_eq!(values(log), texts(0..61));
    let same = |batch: &RawBatch| batch.header.producer_epoch == ProducerEpoch(0);
    assert!(log.batches.iter().all(same), "no sequence was taken twice");
}

#[test]
fn a_single_record_too_large_for_the_broker_fails() {
    let mut world = proven(config());
    world.broker.max_batch = 60;
    send(&mut world, [1]);
    world.pass(Duration::from_secs(1));
    let outcomes = outcomes(&mut world);
    let Err(ProduceError::Refused { code, in_doubt: false, .. }) = &outcomes[0].1 else {
        panic!("{outcomes:?}")
    };
    assert_eq!(*code, ErrorCode::MessageTooLarge);
    world.broker.max_batch = 1000;
    send(&mut world, [2]);
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world), [(2, 1)]);
}

#[test]
fn a_new_leader_is_found_and_order_kept() {
    let mut broker = Broker::new(2);
    broker.create("t", 1);
    let mut world = world(ProducerConfig { linger: Duration::ZERO, ..config() }, broker);
    send(&mut world, [0]);
    world.pass(Duration::from_secs(1));
    send(&mut world, 1..=3);
    let log = world.broker.log("t", 0);
    (log.leader, log.epoch) = (2, 2);
    send(&mut world, 4..=9);
    world.pass(Duration::from_secs(5));
    assert_eq!(values(world.broker.log("t", 0)), texts(0..10));
    assert!(world.broker.asked.iter().any(|(node, key, _)| *node == 2 && *key == ApiKey::Produce));
}

#[test]
fn a_dead_broker_is_tried_until_delivery_timeout() {
    let mut world = proven(config());
    send(&mut world, [1]);
    let conn = world.open()[0];
    world.dark = vec![1];
    world.cut(conn, false);
    world.pass(Duration::from_secs(119));
    assert!(outcomes(&mut world).is_empty());
    assert_eq!(world.machine.troubles(), [Trouble::NoBroker]);
    world.pass(Duration::from_secs(2));
    let error = ProduceError::TimedOut { last: None, in_doubt: false };
    assert_eq!(outcomes(&mut world), [(1, Err(error))]);
    assert_eq!(world.machine.troubles(), [], "nothing waits");
    world.dark.clear();
    send(&mut world, [2]);
    world.pass(Duration::from_secs(5));
    assert_eq!(offsets(&mut world), [(2, 1)]);
}

#[test]
fn a_silent_broker_costs_the_connection_after_request_timeout() {
    let mut world = proven(config());
    send(&mut world, [1]);
    let (conn, since) = (world.open()[0], world.now);
    // The request leaves, the answer never comes.
    while world.machine.deadline().is_some() && world.open().contains(&conn) {
        world.wait();
    }
    let waited = world.now - since;
    assert!(waited.as_secs_f32() > 29.0 && waited.as_secs_f32() < 31.0, "{waited:?}");
    world.pass(Duration::from_secs(5));
    assert_eq!(offsets(&mut world), [(1, 1)]);
    assert_eq!(values(world.broker.log("t", 0)), ["0", "1"]);
}

#[test]
fn what_times_out_under_way_is_in_doubt_and_the_next_epoch_goes_on() {
    let delivery_timeout = Duration::from_secs(3);
    let mut config = ProducerConfig { delivery_timeout, ..config() };
    config.connection.request_timeout = Duration::from_secs(2);
    let mut world = proven(config);
    world.broker.faults.extend([Fault::Before(ErrorCode::NotEnoughReplicas); 4]);
    send(&mut world, [1]);
    let conn = world.open()[0];
    while world.open().contains(&conn) {
        world.wait();
    }
    // The first attempt is lost; those after it are refused until the time is over.
    world.broker.faults.extend([Fault::Before(ErrorCode::NotEnoughReplicas); 40]);
    world.pass(Duration::from_secs(3));
    let last = Some(ErrorCode::NotEnoughReplicas);
    assert_eq!(outcomes(&mut world), [(1, Err(ProduceError::TimedOut { last, in_doubt: true }))]);
    world.broker.faults.clear();
    send(&mut world, [2]);
    world.pass(Duration::from_secs(2));
    assert_eq!(outcomes(&mut world).len(), 1);
    let epoch = world.broker.log("t", 0).batches.last().expect("written").header.producer_epoch.0;
    assert_eq!(epoch, 1, "the lost sequence is fenced off");
}

#[test]
fn an_unknown_topic_is_waited_for_up_to_max_block() {
    let mut world = world(config(), Broker::new(1));
    send(&mut world, 0..2);
    world.pass(Duration::from_secs(10));
    assert!(outcomes(&mut world).is_empty());
    world.broker.create("t", 1);
    world.pass(Duration::from_secs(3));
    assert_eq!(offsets(&mut world), [(0, 0), (1, 1)]);
    world.input(Input::send(5, ProducerRecord::new("nowhere", "x")));
    world.pass(Duration::from_secs(61));
    let outcomes = outcomes(&mut world);
    let Err(ProduceError::NoMetadata { last, .. }) = &outcomes[0].1 else { panic!("{outcomes:?}") };
    assert_eq!(*last, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_missing_partition_is_waited_for_and_then_named() {
    let mut world = world(config(), broker(3));
    send(&mut world, [0]);
    world.input(Input::send(1, record(1).with_partition(3)));
    world.pass(Duration::from_secs(61));
    let error = ProduceError::NoPartition { topic: "t".into(), partition: 3, count: 3 };
    assert_eq!(outcomes(&mut world)[1], (1, Err(error)));
}

#[test]
fn a_partition_that_is_offline_is_named_while_it_is_tried_and_in_the_end() {
    let mut world = proven(config());
    world.broker.log("t", 0).offline = true;
    send(&mut world, [1]);
    world.pass(Duration::from_secs(9));
    let code = ErrorCode::KafkaStorageError;
    let trouble = Trouble::Partition(TopicPartition::new("t", 0), code);
    assert_eq!(world.machine.troubles(), [trouble]);
    world.pass(Duration::from_secs(120));
    let error = outcomes(&mut world).remove(0).1.expect_err("it is offline");
    assert!(error.to_string().contains("KAFKA_STORAGE_ERROR"), "{error}");
}

#[test]
fn a_topic_is_created_by_asking_for_it() {
    let mut broker = Broker::new(1);
    broker.auto_create = true;
    let mut world = world(config(), broker);
    send(&mut world, [0]);
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world), [(0, 0)]);
}

#[test]
fn memory_is_bounded_and_given_back() {
    let mut world = proven(ProducerConfig { buffer_memory: 400, ..config() });
    send(&mut world, 1..=30);
    let refused = outcomes(&mut world);
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|(_, result)| *result == Err(ProduceError::BufferFull)));
    world.pass(Duration::from_secs(1));
    assert_eq!(outcomes(&mut world).len() + refused.len(), 30);
    assert_eq!(world.machine.free_memory(), 400);
    let large = ProducerRecord::new("t", vec![0; 500]);
    world.input(Input::send(31, large));
    assert!(matches!(outcomes(&mut world)[0].1, Err(ProduceError::RecordTooLarge { .. })));
}

#[test]
fn a_recreated_topic_is_written_to_under_its_new_id() {
    let mut world = proven(config());
    world.broker.create("t", 1);
    send(&mut world, [1]);
    world.pass(Duration::from_secs(5));
    assert_eq!(offsets(&mut world), [(1, 0)]);
}

#[test]
fn without_acknowledgements_sent_is_delivered() {
    let mut world = world(without_acks(), broker(1));
    send(&mut world, 0..3);
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world), [(0, -1), (1, -1), (2, -1)]);
    assert_eq!(values(world.broker.log("t", 0)), texts(0..3));
    assert_eq!(world.broker.count(ApiKey::InitProducerId), 0);
}

#[test]
fn without_acknowledgements_a_flush_waits_until_all_is_sent() {
    let mut world = unacknowledged();
    send(&mut world, 1..=3);
    world.input(Input::Flush { token: Token(9) });
    assert_eq!(world.machine.undelivered(), 3, "nothing was taken from the machine yet");
    assert!(world.out.is_empty(), "{:?}", world.out);
    world.settle();
    assert!(world.out.contains(&Effect::Flushed { token: Token(9) }));
    assert_eq!(offsets(&mut world), [(1, -1), (2, -1), (3, -1)]);
}

#[test]
fn without_acknowledgements_what_was_not_sent_is_sent_over_the_next_connection() {
    let mut world = unacknowledged();
    send(&mut world, 1..=3);
    world.input(Input::Flush { token: Token(9) });
    let conn = world.open()[0];
    world.cut(conn, false);
    assert_eq!(world.machine.undelivered(), 3);
    world.pass(Duration::from_secs(5));
    assert_eq!(offsets(&mut world), [(1, -1), (2, -1), (3, -1)]);
    assert_eq!(values(world.broker.log("t", 0)), texts(0..4));
}

#[test]
fn without_acknowledgements_a_connection_that_takes_nothing_is_given_up() {
    let mut world = unacknowledged();
    send(&mut world, 1..=3);
    world.input(Input::Flush { token: Token(9) });
    let stuck = world.open();
    let until = world.now + world.machine.config().connection.request_timeout;
    while world.open() == stuck {
        assert!(world.wait() && world.now <= until, "the request timeout ends it");
    }
}

#[test]
fn old_brokers_are_spoken_to_in_old_versions() {
    let mut broker = broker(1);
    let newest = [
        (ApiKey::ApiVersions, 2),
        (ApiKey::Metadata, 1),
        (ApiKey::Produce, 3),
        (ApiKey::InitProducerId, 0),
    ];
    broker.newest.extend(newest);
    let mut world = world(config(), broker);
    send(&mut world, 0..3);
    world.pass(Duration::from_secs(1));
    assert_eq!(offsets(&mut world), [(0, 0), (1, 1), (2, 2)]);
    let asked: Vec<_> =
        world.broker.asked.iter().map(|(_, key, version)| (*key, *version)).collect();
    assert_eq!(asked[..2], [(ApiKey::ApiVersions, 5), (ApiKey::ApiVersions, 2)]);
    assert!(asked.contains(&(ApiKey::Produce, 3)));
}

#[test]
fn keys_go_to_their_partition_and_the_rest_sticks() {
    let mut world = world(config(), broker(4));
    for token in 0..20 {
        let record = ProducerRecord::new("t", "x").with_key("foobar");
        world.input(Input::send(token, record));
    }
    for token in 20..40 {
        world.input(Input::send(token, ProducerRecord::new("t", "x")));
    }
    world.pass(Duration::from_secs(1));
    let outcomes = outcomes(&mut world);
    let partition = |at: usize| outcomes[at].1.as_ref().expect("delivered").partition;
    // murmur2("foobar") & 0x7fffffff, modulo 4.
    assert!((0..20).all(|at| partition(at) == (-790_332_482i32 & 0x7fff_ffff) % 4));
    assert!((20..40).all(|at| partition(at) == partition(20)));
}

#[test]
fn closing_fails_what_is_left() {
    let mut world = proven(config());
    send(&mut world, 1..=2);
    world.input(Input::Close);
    assert_eq!(
        outcomes(&mut world),
        [(1, Err(ProduceError::Closed)), (2, Err(ProduceError::Closed))]
    );
    assert!(world.open().is_empty());
    assert_eq!(world.machine.deadline(), None);
    send(&mut world, [3]);
    assert_eq!(outcomes(&mut world), [(3, Err(ProduceError::Closed))]);
}

#[test]
fn an_idle_producer_sleeps_long() {
    let world = proven(config());
    let (at, why) = world.machine.deadline().expect("metadata ages");
    assert!(at - world.now > Duration::from_secs(60), "{at:?} {why}");
}
