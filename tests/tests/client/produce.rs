//! Producing: acknowledgements, codecs, partitions, types, ways to send.

use std::sync::{Arc, Mutex};

use dohle_client::api::{Producer, TypedProducer, TypedRecord};
use dohle_client::machine::producer::{
    Partitioner, ProduceError, ProducerRecord, partition_of_key,
};
use dohle_client::serde::{
    Deserializer as _, DoubleSerde, IntegerSerde, JavaUuid, LongSerde, StringSerde, UuidSerde,
    VoidSerde,
};
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};

use crate::cluster::{on_a_broker, text};

const RECORDS: usize = 40;

/// Every acknowledgement in every codec, with idempotence and without.
#[test]
fn what_is_written_is_read_in_every_mode() {
    on_a_broker("modes", async |cluster| {
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            for (acks, idempotence) in
                [("0", "false"), ("1", "false"), ("all", "false"), ("all", "true")]
            {
                let mode = format!("{codec}-{acks}-{idempotence}");
                let topic = cluster.topic(&mode, 1).await;
                let producer = cluster.producer(&[
                    ("compression.type", codec),
                    ("acks", acks),
                    ("enable.idempotence", idempotence),
                    ("batch.size", "500"),
                ]);
                let mut deliveries = Vec::new();
                for number in 0..RECORDS {
                    let mut record = ProducerRecord::new(Arc::clone(&topic), format!("v{number}"))
                        .with_key(format!("k{number}"))
                        .with_header("h", format!("{number}"));
                    record.timestamp = Some(Timestamp(1_700_000_000_000 + number as i64));
                    deliveries.push(producer.queue(record).await.expect("room"));
                }
                for (delivery, offset) in deliveries.into_iter().zip(0..) {
                    let at = delivery.await.unwrap_or_else(|error| panic!("{mode}: {error}"));
                    let known = if acks == "0" { -1 } else { offset };
                    assert_eq!((at.partition, at.offset), (0, Offset(known)), "{mode}");
                }
                for (record, number) in cluster.read(&topic, 0, RECORDS).await.iter().zip(0..) {
                    assert_eq!(record.offset, Offset(number), "{mode}");
                    assert_eq!(text(record), format!("v{number}"), "{mode}");
                    assert_eq!(record.key.as_deref(), Some(format!("k{number}").as_bytes()));
                    assert_eq!(record.timestamp, Timestamp(1_700_000_000_000 + number), "{mode}");
                    let header = (b"h".as_slice().into(), Some(number.to_string().into()));
                    assert_eq!(record.headers, [header], "{mode}");
                }
            }
        }
    });
}

/// The last byte of the key.
#[derive(Debug)]
struct LastByte;

impl Partitioner for LastByte {
    fn partition(&self, _: &str, key: Option<&[u8]>, partitions: i32) -> Option<i32> {
        Some(i32::from(*key?.last()?) % partitions)
    }
}

#[test]
fn keys_and_partitioners_choose_partitions() {
    on_a_broker("partitions", async |cluster| {
        let topic = cluster.topic("spread", 5).await;
        let producer = cluster.producer(&[]);
        for number in 0..20 {
            let key = format!("key-{number}");
            let record = ProducerRecord::new(Arc::clone(&topic), "v").with_key(key.clone());
            let at = producer.send(record).await.expect("written");
            assert_eq!(at.partition, partition_of_key(key.as_bytes(), 5), "{key}");
        }
        let own = Producer::with_partitioner(
            Tokio::new(),
            cluster.producing(&[]),
            Arc::new(NativeCodecs),
            Arc::new(LastByte),
        );
        let own = own.expect("valid settings");
        for byte in 0..10u8 {
            let record = ProducerRecord::new(Arc::clone(&topic), "v").with_key(vec![7, byte]);
            let at = own.send(record).await.expect("written");
            assert_eq!(at.partition, i32::from(byte) % 5);
        }
        // Without keys and with a batch for each record every partition gets some.
        let spread = cluster.producer(&[("batch.size", "1"), ("linger.ms", "0")]);
        let mut seen = [false; 5];
        for _ in 0..200 {
            let at = spread.send(ProducerRecord::new(Arc::clone(&topic), "v")).await;
            seen[at.expect("written").partition as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    });
}

#[test]
fn typed_keys_and_values_come_back() {
    on_a_broker("typed", async |cluster| {
        let topic = cluster.topic("typed", 1).await;
        let producer = cluster.producer(&[]);
        let texts: TypedProducer<Tokio, str, i64> =
            TypedProducer::new(producer.clone(), StringSerde, LongSerde);
        let record = TypedRecord::new(Arc::clone(&topic), &-5).with_key("five");
        texts.send(record).await.expect("written");
        let uuids: TypedProducer<Tokio, JavaUuid, f64> =
            TypedProducer::new(producer.clone(), UuidSerde, DoubleSerde);
        let record = TypedRecord::new(Arc::clone(&topic), &0.25).with_key(&77);
        uuids.send(record).await.expect("written");
        let voids: TypedProducer<Tokio, (), i32> =
            TypedProducer::new(producer, VoidSerde, IntegerSerde);
        voids.send(TypedRecord::new(Arc::clone(&topic), &9)).await.expect("written");
        let tombstone = TypedRecord::tombstone(Arc::clone(&topic), "five");
        texts.send(tombstone).await.expect("written");
        let read = cluster.read(&topic, 0, 4).await;
        let key = |at: usize| read[at].key.clone();
        let value = |at: usize| read[at].value.clone().expect("a value");
        assert_eq!(StringSerde.deserialize(&topic, key(0).unwrap()), Ok("five".to_owned()));
        assert_eq!(LongSerde.deserialize(&topic, value(0)), Ok(-5));
        let uuid: Result<JavaUuid, _> = UuidSerde.deserialize(&topic, key(1).unwrap());
        assert_eq!(uuid, Ok(77));
        assert_eq!(DoubleSerde.deserialize(&topic, value(1)), Ok(0.25));
        assert_eq!(VoidSerde.deserialize_nullable(&topic, key(2)), Ok(Some(())));
        assert_eq!(IntegerSerde.deserialize(&topic, value(2)), Ok(9));
        assert_eq!(read[3].value, None);
    });
}

#[test]
fn each_way_to_send_writes() {
    on_a_broker("ways", async |cluster| {
        let topic = cluster.topic("ways", 1).await;
        let producer = cluster.producer(&[]);
        let record = |value: &'static str| ProducerRecord::new(Arc::clone(&topic), value);
        producer.send_and_forget(record("forgotten")).expect("room");
        let fates = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&fates);
        let callback = move |fate: Result<dohle_client::api::RecordMetadata, ProduceError>| {
            told.lock().expect("alone").push(fate.map(|at| at.offset));
        };
        producer.send_with(record("called back"), callback).await.expect("room");
        producer.flush().await;
        assert_eq!(*fates.lock().expect("alone"), [Ok(Offset(1))]);
        assert_eq!(producer.send(record("awaited")).await.map(|at| at.offset), Ok(Offset(2)));
        let read = cluster.read(&topic, 0, 3).await;
        let texts: Vec<&str> = read.iter().map(text).collect();
        assert_eq!(texts, ["forgotten", "called back", "awaited"]);
    });
}

#[test]
fn what_a_broker_refuses_is_told() {
    on_a_broker("refused", async |cluster| {
        let topic = cluster.topic_with("small", 1, &[("max.message.bytes", "1000")]).await;
        let producer = cluster.producer(&[("max.block.ms", "2000")]);
        let large = ProducerRecord::new(Arc::clone(&topic), vec![b'x'; 5000]);
        let refused = producer.send(large).await;
        let Err(ProduceError::Refused { code, .. }) = refused else { panic!("{refused:?}") };
        assert!(
            matches!(code, ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge),
            "{code}"
        );
        let nowhere = ProducerRecord::new(Arc::clone(&topic), "v").with_partition(1);
        let refused = producer.send(nowhere).await;
        assert!(matches!(refused, Err(ProduceError::NoPartition { count: 1, .. })), "{refused:?}");
        // Batches that are too large together are cut.
        let lines: Vec<String> = (0..100).map(|number| format!("{number:090}")).collect();
        for line in &lines {
            producer
                .send_and_forget(ProducerRecord::new(Arc::clone(&topic), line.clone()))
                .unwrap();
        }
        producer.flush().await;
        let read = cluster.read(&topic, 0, lines.len()).await;
        assert!(read.iter().map(text).eq(lines.iter().map(String::as_str)));
    });
}
