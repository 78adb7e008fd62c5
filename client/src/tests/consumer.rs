//! Scenarios of the consumer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::id::{Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};
use dohle_wire::record::control::ControlType;
use dohle_wire::record::{BatchBuilder, Compression, Header, RawBatch};
use dohle_wire::{ApiKey, ErrorCode};

use super::broker::Broker;
use super::producer::Turning;
use super::world::World;
use crate::config::{AutoOffsetReset, ConsumerConfig, IsolationLevel};
use crate::machine::consumer::{ConsumeError, Effect, Input, Start};
use crate::machine::{Consumer, Machine as _, TopicPartition, Trouble};

fn config() -> ConsumerConfig {
    ConsumerConfig::to("node:9001").expect("an address")
}

fn world(config: ConsumerConfig, broker: Broker) -> World<Consumer> {
    World::new(Consumer::new(config, Arc::new(Turning), 5).expect("valid settings"), broker)
}

fn at(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

pub(super) fn batch(values: &[&str], build: impl FnOnce(BatchBuilder) -> BatchBuilder) -> RawBatch {
    let mut builder = BatchBuilder::new(Offset(0));
    for (value, time) in values.iter().zip(100..) {
        let header = Header { key: b"h", value: Some(b"v") };
        let value = Some(value.as_bytes());
        builder.push(Timestamp(time), Some(b"k"), value, &[header]).expect("fits");
    }
    RawBatch::parse(build(builder).build(&Turning).expect("a batch")).expect("a batch")
}

fn append(broker: &mut Broker, partition: usize, batch: &RawBatch) {
    broker.log("t", partition).append(batch).expect("appended");
}

fn plain(broker: &mut Broker, partition: usize, values: &[&str]) {
    append(broker, partition, &batch(values, |builder| builder));
}

/// One partition with the records a to f in three batches.
fn six() -> Broker {
    let mut broker = Broker::new(1);
    broker.create("t", 1);
    plain(&mut broker, 0, &["a", "b"]);
    append(&mut broker, 0, &batch(&["c", "d"], |b| b.compression(Compression::Lz4, None)));
    plain(&mut broker, 0, &["e", "f"]);
    broker
}

fn assign(world: &mut World<Consumer>, start: Start) {
    world.input(Input::Assign(vec![(at(0), start)]));
    world.pass(Duration::from_secs(1));
}

fn poll(world: &mut World<Consumer>, max_records: usize) -> (String, Vec<ConsumeError>) {
    world.input(Input::Poll { max_records });
    let (mut values, mut errors) = (String::new(), Vec::new());
    for effect in world.out.drain(..) {
        match effect {
            Effect::Records { records, .. } => {
                let text =
                    |value: Option<Bytes>| String::from_utf8(value.expect("a value").to_vec());
                values.extend(records.into_iter().map(|record| text(record.value).expect("text")));
            }
            Effect::Failed { error, .. } => errors.push(error),
            other @ (Effect::Net(_) | Effect::Group(_)) => panic!("{other:?}"),
        }
    }
    (values, errors)
}

fn check(world: &mut World<Consumer>, max_records: usize, values: &str) {
    assert_eq!(poll(world, max_records), (values.to_owned(), vec![]));
}

#[test]
fn records_come_in_order_with_all_they_have() {
    let mut world = world(config(), six());
    world.input(Input::Assign(vec![(at(0), Start::Earliest)]));
    assert_eq!(world.machine.position(&at(0)), None);
    world.pass(Duration::from_secs(1));
    assert!(world.machine.has_records());
    assert_eq!(world.machine.position(&at(0)), Some(Offset(0)));
    world.input(Input::Poll { max_records: 1 });
    let Effect::Records { partition, records } = &world.out[0] else { panic!("{:?}", world.out) };
    assert_eq!((partition, records.len()), (&at(0), 1));
    let record = &records[0];
    assert_eq!((record.offset, record.timestamp), (Offset(0), Timestamp(100)));
    assert_eq!(record.key.as_deref(), Some(&b"k"[..]));
    assert_eq!(record.headers, [(Bytes::from("h"), Some(Bytes::from("v")))]);
    world.out.clear();
    assert_eq!(world.machine.position(&at(0)), Some(Offset(1)));
    check(&mut world, 4, "bcde");
    check(&mut world, 4, "f");
    assert_eq!(world.machine.position(&at(0)), Some(Offset(6)));
    assert_eq!(world.machine.high_watermark(&at(0)), Some(Offset(6)));
    plain(&mut world.broker, 0, &["g"]);
    world.pass(Duration::from_secs(1));
    check(&mut world, 9, "g");
}

#[test]
fn a_poll_that_is_full_leaves_the_rest_for_the_next() {
    for max_records in 1..=4 {
        let mut broker = Broker::new(1);
        broker.create("t", 3);
        for partition in 0..3 {
            plain(&mut broker, partition, &["a", "b", "c"]);
        }
        let mut world = world(config(), broker);
        world.input(Input::Assign((0..3).map(|index| (at(index), Start::Earliest)).collect()));
        world.pass(Duration::from_secs(1));
        let mut given = 0;
        for _ in 0..9 {
            assert_eq!(world.machine.has_records(), given < 9, "{given} of {max_records} each");
            given += poll(&mut world, max_records).0.len();
            world.pass(Duration::from_secs(1));
        }
        assert_eq!(given, 9);
    }
}

#[test]
fn a_busy_partition_does_not_wait_for_an_idle_one() {
    let mut broker = Broker::new(1);
    broker.create("t", 2);
    for _ in 0..20 {
        plain(&mut broker, 0, &["a"]);
    }
    let config = ConsumerConfig { max_partition_fetch_bytes: 1, ..config() };
    let mut world = world(config, broker);
    world.input(Input::Assign(vec![(at(0), Start::Earliest), (at(1), Start::Earliest)]));
    world.settle();
    for given in 0..20 {
        assert!(world.machine.has_records(), "{given} records without waiting");
        check(&mut world, 9, "a");
        world.settle();
    }
    assert!(!world.machine.has_records());
}

#[test]
fn a_start_is_found_by_offset_end_or_time() {
    let check_start = |start: Start, values: &str| {
        let mut world = world(config(), six());
        assign(&mut world, start);
        check(&mut world, 9, values);
    };
    check_start(Start::Offset(Offset(3)), "def");
    check_start(Start::Latest, "");
    check_start(Start::Reset, "");
    check_start(Start::Timestamp(Timestamp(100)), "abcdef");
    check_start(Start::Timestamp(Timestamp(9999)), "");
}

#[test]
fn a_seek_drops_what_was_fetched() {
    let mut world = world(config(), six());
    assign(&mut world, Start::Earliest);
    check(&mut world, 1, "a");
    world.input(Input::Seek(at(0), Start::Offset(Offset(4))));
    assert!(!world.machine.has_records());
    world.pass(Duration::from_secs(1));
    check(&mut world, 9, "ef");
}

#[test]
fn an_answer_to_a_fetch_before_a_seek_is_not_given_out() {
    let mut world = world(config(), six());
    world.input(Input::Assign(vec![(at(0), Start::Offset(Offset(0)))]));
    while world.broker.count(ApiKey::Fetch) == 0 {
        let conn = world.busy()[0];
        let _ = world.serve(conn) || world.hear(conn);
    }
    world.input(Input::Seek(at(0), Start::Offset(Offset(5))));
    world.pass(Duration::from_secs(1));
    check(&mut world, 9, "f");
}

#[test]
fn a_position_out_of_range_follows_the_reset_policy() {
    let of = |auto_offset_reset| {
        let mut world = world(ConsumerConfig { auto_offset_reset, ..config() }, six());
        assign(&mut world, Start::Offset(Offset(77)));
        world
    };
    check(&mut of(AutoOffsetReset::Earliest), 9, "abcdef");
    let mut latest = of(AutoOffsetReset::Latest);
    check(&mut latest, 9, "");
    assert_eq!(latest.machine.position(&at(0)), Some(Offset(6)));
    let mut none = of(AutoOffsetReset::None);
    assert!(none.machine.has_records(), "an error is news");
    let error = ConsumeError::OffsetOutOfRange(Offset(77));
    assert_eq!(poll(&mut none, 9), (String::new(), vec![error]));
    check(&mut none, 9, "");
    none.input(Input::Seek(at(0), Start::Offset(Offset(5))));
    none.pass(Duration::from_secs(1));
    check(&mut none, 9, "f");
}

#[test]
fn a_paused_partition_rests() {
    let mut broker = Broker::new(1);
    broker.create("t", 2);
    plain(&mut broker, 0, &["a"]);
    plain(&mut broker, 1, &["x"]);
    let mut world = world(config(), broker);
    world.input(Input::Assign(vec![(at(0), Start::Earliest), (at(1), Start::Earliest)]));
    world.pass(Duration::from_secs(1));
    world.input(Input::Pause(at(0), true));
    check(&mut world, 9, "x");
    assert!(!world.machine.has_records());
    world.input(Input::Pause(at(0), false));
    check(&mut world, 9, "a");
}

#[test]
fn damage_is_reported_after_the_good_records_before_it() {
    let damaged = || {
        let mut broker = six();
        let last = broker.log("t", 0).batches.last_mut().expect("a batch");
        let mut bytes = last.bytes.to_vec();
        // The last byte is the value of a header.
        *bytes.last_mut().expect("a byte") ^= 1;
        last.bytes = bytes.into();
        broker
    };
    let mut world = world(config(), damaged());
    assign(&mut world, Start::Earliest);
    let (values, errors) = poll(&mut world, 9);
    assert_eq!(values, "abcd");
    let [ConsumeError::Corrupt { offset: Offset(4), problem }] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(problem, "checksum is wrong");
    assert_eq!(world.machine.position(&at(0)), None);
    let config = ConsumerConfig { check_crcs: false, ..config() };
    let mut trusting = self::world(config, damaged());
    assign(&mut trusting, Start::Earliest);
    check(&mut trusting, 9, "abcdef");
}

/// The second of three batches is changed.
fn with_second(change: impl FnOnce(&mut [u8])) -> Broker {
    let mut broker = six();
    let second = &mut broker.log("t", 0).batches[1];
    let mut bytes = second.bytes.to_vec();
    change(&mut bytes);
    second.bytes = bytes.into();
    broker
}

#[test]
fn no_flip_under_the_checksum_gets_through() {
    let len = six().log("t", 0).batches[1].bytes.len();
    for at in 17..len {
        let mut world = world(config(), with_second(|bytes| bytes[at] ^= 1 << (at % 8)));
        assign(&mut world, Start::Earliest);
        let (values, errors) = poll(&mut world, 9);
        assert_eq!(values, "ab", "flip at {at}");
        assert!(matches!(&errors[..], [ConsumeError::Corrupt { .. }]), "{at}: {errors:?}");
    }
}

#[test]
fn offsets_that_go_back_from_batch_to_batch_are_refused() {
    // Down, the records would be passed over; up, those behind them would.
    for (base, before) in [(0u8, "ab"), (1, "ab"), (3, "abcd"), (9, "abcd")] {
        let mut world = world(config(), with_second(|bytes| bytes[7] = base));
        assign(&mut world, Start::Earliest);
        let (values, errors) = poll(&mut world, 9);
        assert_eq!(values, before, "base offset {base}");
        let [ConsumeError::Corrupt { problem, .. }] = &errors[..] else { panic!("{errors:?}") };
        assert!(problem.contains("behind one that ends at"), "{problem}");
    }
}

#[test]
fn offsets_that_do_not_rise_within_their_batch_move_the_position_nowhere() {
    // A record: length, attributes, time, and then the offset delta, a byte each.
    let second_delta = |bytes: &[u8]| 61 + 1 + usize::from(bytes[61] / 2) + 3;
    for delta in [-1i8, 0, 2, 63] {
        let mut broker = six();
        let first = &mut broker.log("t", 0).batches[0];
        let mut bytes = first.bytes.to_vec();
        let place = second_delta(&bytes);
        assert_eq!(bytes[place], 2);
        bytes[place] = ((delta << 1) ^ (delta >> 7)) as u8;
        first.bytes = bytes.into();
        let mut world = world(ConsumerConfig { check_crcs: false, ..config() }, broker);
        assign(&mut world, Start::Earliest);
        let (values, errors) = poll(&mut world, 9);
        assert_eq!(values, "a", "{delta}");
        assert!(matches!(&errors[..], [ConsumeError::Corrupt { .. }]), "{delta}: {errors:?}");
        world.input(Input::Seek(at(0), Start::Offset(Offset(2))));
        world.pass(Duration::from_secs(1));
        check(&mut world, 9, "cdef");
    }
}

#[test]
fn what_cannot_be_read_now_is_named_until_it_can() {
    let mut world = world(config(), six());
    world.dark = vec![1];
    assign(&mut world, Start::Earliest);
    assert_eq!(world.machine.troubles(), [Trouble::NoBroker]);
    world.dark.clear();
    world.broker.log("t", 0).offline = true;
    world.pass(Duration::from_secs(5));
    let trouble = |code| [Trouble::Partition(at(0), code)];
    assert_eq!(world.machine.troubles(), trouble(ErrorCode::KafkaStorageError));
    world.broker.log("t", 0).offline = false;
    world.pass(Duration::from_secs(5));
    assert_eq!(world.machine.troubles(), []);
    check(&mut world, 9, "abcdef");
    world.broker.topics.clear();
    world.pass(Duration::from_secs(5));
    let troubles = world.machine.troubles();
    assert_eq!(troubles, trouble(ErrorCode::UnknownTopicId));
    assert_eq!(troubles[0].to_string(), "the brokers know no topic t (any more)");
}

#[test]
fn lost_connections_and_moved_leaders_repeat_and_skip_nothing() {
    let mut broker = Broker::new(2);
    broker.create("t", 1);
    plain(&mut broker, 0, &["a"]);
    let mut world = world(config(), broker);
    assign(&mut world, Start::Earliest);
    let mut seen = poll(&mut world, 9).0;
    for (step, value) in ["b", "c", "d", "e", "f", "g"].iter().enumerate() {
        plain(&mut world.broker, 0, &[value]);
        if step % 2 == 0 {
            let log = world.broker.log("t", 0);
            log.leader = 3 - log.leader;
            log.epoch += 1;
        }
        let open = world.open();
        open.into_iter().for_each(|conn| world.cut(conn, step % 3 == 0));
        world.pass(Duration::from_secs(5));
        seen += &poll(&mut world, 9).0;
    }
    assert_eq!(seen, "abcdefg");
}

#[test]
fn only_committed_records_are_given_out_if_asked_for() {
    let of = |producer: i64, sequence| {
        move |b: BatchBuilder| {
            b.producer(ProducerId(producer), ProducerEpoch(0), Sequence(sequence)).transactional()
        }
    };
    let marker = |producer: i64, kind: ControlType| {
        let mut builder = BatchBuilder::new(Offset(0))
            .producer(ProducerId(producer), ProducerEpoch(0), Sequence(-1))
            .transactional()
            .control();
        builder.push(Timestamp(1), Some(&kind.key()), Some(&[0; 6]), &[]).expect("fits");
        RawBatch::parse(builder.build(&Turning).expect("a batch")).expect("a batch")
    };
    let mut broker = Broker::new(1);
    broker.create("t", 1);
    let mut put = |batch: RawBatch| {
        // Markers have no sequence, so the state of producers is left out here.
        let log = broker.log("t", 0);
        let base = log.end();
        let mut bytes = batch.bytes.to_vec();
        bytes[..8].copy_from_slice(&base.to_be_bytes());
        log.batches.push(RawBatch::parse(bytes.into()).expect("a batch"));
    };
    put(batch(&["a"], of(7, 0)));
    put(batch(&["b"], of(8, 0)));
    put(batch(&["c"], |b| b));
    put(marker(7, ControlType::Abort));
    put(batch(&["d"], of(7, 1)));
    put(marker(8, ControlType::Commit));
    put(marker(7, ControlType::Commit));
    broker.log("t", 0).aborted = vec![(7, 0)];
    let mut committed =
        world(ConsumerConfig { isolation: IsolationLevel::ReadCommitted, ..config() }, broker);
    assign(&mut committed, Start::Earliest);
    check(&mut committed, 9, "bcd");
    // Markers at the end are passed over, too: a reader that compares positions gets to the end.
    assert_eq!(committed.machine.position(&at(0)), Some(Offset(7)));
    let broker = std::mem::replace(&mut committed.broker, Broker::new(1));
    let mut all = world(config(), broker);
    assign(&mut all, Start::Earliest);
    check(&mut all, 9, "abcd");
}

#[test]
fn a_topic_may_come_later_or_be_forbidden() {
    let mut broker = Broker::new(1);
    broker.forbidden.push("secret".to_owned());
    let mut world = world(config(), broker);
    let secret = TopicPartition::new("secret", 0);
    world.input(Input::Assign(vec![(at(0), Start::Earliest), (secret, Start::Earliest)]));
    world.pass(Duration::from_secs(5));
    let refused = ConsumeError::Refused(ErrorCode::TopicAuthorizationFailed);
    assert_eq!(poll(&mut world, 9), (String::new(), vec![refused]));
    world.broker.create("t", 1);
    plain(&mut world.broker, 0, &["a"]);
    world.pass(Duration::from_secs(5));
    check(&mut world, 9, "a");
}

#[test]
fn a_partition_is_not_fetched_while_it_has_records() {
    let mut world = world(config(), six());
    assign(&mut world, Start::Earliest);
    let fetches = world.broker.count(ApiKey::Fetch);
    world.pass(Duration::from_secs(60));
    assert_eq!(world.broker.count(ApiKey::Fetch), fetches);
    assert!(world.machine.deadline().is_some());
}
