//! Producers with a rule of their own for partitions.

use std::sync::Arc;
use std::time::Duration;

use super::broker::{Broker, values};
use super::producer::Turning;
use super::world::World;
use crate::config::{ConfigError, ProducerConfig};
use crate::machine::Producer;
use crate::machine::producer::{
    Effect, Input, Partitioner, ProduceError, ProducerRecord, partition_of_key,
};

/// The first digit of the key; the built-in rule for the rest.
#[derive(Debug)]
struct FirstDigit;

impl Partitioner for FirstDigit {
    fn partition(&self, topic: &str, key: Option<&[u8]>, partitions: i32) -> Option<i32> {
        assert_eq!((topic, partitions), ("t", 4));
        key?.first().filter(|byte| byte.is_ascii_digit()).map(|byte| i32::from(byte - b'0'))
    }
}

fn world() -> World<Producer> {
    let mut broker = Broker::new(1);
    broker.create("t", 4);
    let config = ProducerConfig::to("node:9001").expect("an address");
    let producer = Producer::new(config, Arc::new(Turning), 5).expect("valid settings");
    World::new(producer.with_partitioner(Arc::new(FirstDigit)), broker)
}

#[test]
fn a_partitioner_is_asked_before_the_built_in_rule() {
    let mut world = world();
    let keyed = |key: &'static str| ProducerRecord::new("t", key).with_key(key);
    let records = [keyed("3x"), keyed("0y"), keyed("foobar"), keyed("3z").with_partition(1)];
    for (record, token) in records.into_iter().zip(0..) {
        world.input(Input::send(token, record));
    }
    world.pass(Duration::from_secs(1));
    let built_in = partition_of_key(b"foobar", 4);
    for partition in 0..4 {
        let mut expected: Vec<String> = match partition {
            0 => vec!["0y".to_owned()],
            1 => vec!["3z".to_owned()],
            3 => vec!["3x".to_owned()],
            _ => Vec::new(),
        };
        if partition == built_in {
            expected.insert(expected.len().min(1), "foobar".to_owned());
        }
        let mut found = values(world.broker.log("t", partition as usize));
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "partition {partition}");
    }
}

#[test]
fn a_partition_that_a_partitioner_makes_up_fails_the_record() {
    let mut world = world();
    world.input(Input::send(1, ProducerRecord::new("t", "a").with_key("7")));
    world.input(Input::send(2, ProducerRecord::new("t", "b").with_key("2")));
    world.pass(Duration::from_secs(1));
    let fates: Vec<_> = world
        .out
        .iter()
        .map(|effect| match effect {
            Effect::Delivered { token, result } => (token.0, result.clone().map(|at| at.partition)),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(fates, [(1, Err(ProduceError::InvalidPartition(7))), (2, Ok(2))]);
}

#[test]
fn keys_go_where_kafkas_clients_send_them() {
    // (murmur2 & 0x7fffffff) % partitions, with the hashes of Kafka's own UtilsTest.
    let check = |key: &str, hash: i32, partitions: i32| {
        let expected = (hash & 0x7fff_ffff) % partitions;
        assert_eq!(partition_of_key(key.as_bytes(), partitions), expected, "{key}");
    };
    check("21", -973_932_308, 7);
    check("foobar", -790_332_482, 12);
    check("a-little-bit-long-string", -985_981_536, 50);
}

#[test]
fn settings_that_are_code_here_say_so() {
    let mut config = ProducerConfig::to("node:9001").expect("an address");
    let mut check = |key: &str, part: &str| {
        let refused = config.set(key, "org.example.Class").expect_err("it is no setting");
        assert!(refused.to_string().contains(part), "{refused}");
    };
    check("partitioner.class", "`Partitioner` is given to the producer");
    check("key.serializer", "`TypedProducer`");
    check("send.bufer.bytes", "there is no setting `send.bufer.bytes`");
    let refused = config.set("nonsense", "1");
    assert_eq!(refused, Err(ConfigError::UnknownKey { key: "nonsense".to_owned() }));
}
