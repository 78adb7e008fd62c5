//! Reading assigned partitions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::{ConsumeError, Start};
use dohle_client::machine::producer::ProducerRecord;
use dohle_wire::id::{Offset, Timestamp};

use crate::cluster::{Cluster, on_a_broker, read_on, text};

/// Records 0 to 9, each a second after the one before, in each partition.
async fn filled(cluster: &Cluster, partitions: i32) -> Arc<str> {
    let topic = cluster.topic("read", partitions).await;
    let producer = cluster.producer(&[("batch.size", "200")]);
    for partition in 0..partitions {
        for number in 0..10 {
            let value = format!("{partition}:{number}");
            let mut record =
                ProducerRecord::new(Arc::clone(&topic), value).with_partition(partition);
            record.timestamp = Some(Timestamp(1_700_000_000_000 + number * 1000));
            producer.send(record).await.expect("written");
        }
    }
    topic
}

#[test]
fn every_place_to_start_is_found() {
    on_a_broker("starts", async |cluster| {
        let topic = filled(&cluster, 1).await;
        let at = TopicPartition::new(Arc::clone(&topic), 0);
        let check = async |start: Start, reset: &str, position: i64| {
            let mut consumer = cluster.consumer(&[("auto.offset.reset", reset)]);
            consumer.assign([(at.clone(), start)]);
            let found = consumer.position(&at).await;
            assert_eq!(found, Some(Offset(position)), "{start:?} {reset}");
            if position < 10 {
                let read = read_on(&mut consumer, 1).await;
                assert_eq!(text(&read[0]), format!("0:{position}"), "{start:?} {reset}");
                assert_eq!(consumer.high_watermark(&at), Some(Offset(10)));
            }
        };
        check(Start::Earliest, "none", 0).await;
        check(Start::Latest, "none", 10).await;
        check(Start::Offset(Offset(7)), "none", 7).await;
        check(Start::Timestamp(Timestamp(1_700_000_003_500)), "none", 4).await;
        check(Start::Timestamp(Timestamp(1_800_000_000_000)), "none", 10).await;
        check(Start::Reset, "earliest", 0).await;
        check(Start::Reset, "latest", 10).await;
        let mut consumer = cluster.consumer(&[("auto.offset.reset", "none")]);
        consumer.assign([(at.clone(), Start::Offset(Offset(99)))]);
        let mut failed = Vec::new();
        while failed.is_empty() {
            failed = consumer.poll(Duration::from_secs(1)).await.failed;
        }
        assert_eq!(failed, [(at, ConsumeError::OffsetOutOfRange(Offset(99)))]);
    });
}

#[test]
fn partitions_are_paused_resumed_and_left_for_elsewhere() {
    on_a_broker("pausing", async |cluster| {
        let topic = filled(&cluster, 2).await;
        let [first, second] = [0, 1].map(|at| TopicPartition::new(Arc::clone(&topic), at));
        let mut consumer = cluster.consumer(&[("max.poll.records", "3")]);
        consumer.assign([&first, &second].map(|at| (at.clone(), Start::Earliest)));
        consumer.pause(first.clone());
        let read = read_on(&mut consumer, 10).await;
        assert!(read.iter().all(|record| text(record).starts_with("1:")), "{read:?}");
        assert!(consumer.poll(Duration::from_millis(300)).await.is_empty());
        consumer.resume(first.clone());
        consumer.seek(first.clone(), Start::Offset(Offset(8)));
        let read = read_on(&mut consumer, 2).await;
        assert_eq!(read.iter().map(text).collect::<Vec<_>>(), ["0:8", "0:9"]);
        // Only one partition from now on; what comes later is read, too.
        consumer.assign([(second.clone(), Start::Reset)]);
        let producer = cluster.producer(&[]);
        for partition in [0, 1] {
            let record = ProducerRecord::new(Arc::clone(&topic), "late").with_partition(partition);
            producer.send(record).await.expect("written");
        }
        let read = read_on(&mut consumer, 1).await;
        assert_eq!((text(&read[0]), read[0].offset), ("late", Offset(10)));
        assert!(consumer.poll(Duration::from_millis(300)).await.is_empty());
        assert_eq!(consumer.known_position(&second), Some(Offset(11)));
        assert_eq!(consumer.known_position(&first), None);
    });
}

#[test]
fn deleted_records_are_skipped_as_the_settings_say() {
    on_a_broker("deleted", async |cluster| {
        let topic = filled(&cluster, 1).await;
        let at = TopicPartition::new(Arc::clone(&topic), 0);
        let deleted = cluster.admin().delete_records(vec![(at.clone(), Offset(6))]).await;
        assert_eq!(deleted.expect("an answer")[&at].as_ref().map(|o| o.offset), Ok(Offset(6)));
        let mut consumer = cluster.consumer(&[("auto.offset.reset", "earliest")]);
        consumer.assign([(at, Start::Offset(Offset(2)))]);
        let read = read_on(&mut consumer, 4).await;
        assert_eq!(read.iter().map(|r| r.offset.0).collect::<Vec<_>>(), [6, 7, 8, 9]);
    });
}

#[test]
fn a_topic_created_anew_under_its_name_is_another_one() {
    on_a_broker("anew", async |cluster| {
        let topic = filled(&cluster, 1).await;
        let at = TopicPartition::new(Arc::clone(&topic), 0);
        let group = cluster.name("anew");
        // Its own looks at the topic must not make it anew.
        let mut consumer = cluster.consumer(&[
            ("group.id", &group),
            ("auto.offset.reset", "earliest"),
            ("enable.auto.commit", "false"),
            ("allow.auto.create.topics", "false"),
        ]);
        consumer.subscribe([Arc::clone(&topic)]).expect("a group");
        read_on(&mut consumer, 10).await;
        consumer.commit().await.expect("committed");
        let gone = cluster.admin().delete_topics(vec![Arc::clone(&topic)]).await;
        assert_eq!(gone.expect("an answer")[&topic], Ok(()));
        assert_eq!(filled(&cluster, 1).await, topic);
        // A change of hands between the two topics may repeat what was not committed.
        let mut read = BTreeSet::new();
        while read.len() < 10 {
            read.extend(read_on(&mut consumer, 1).await.iter().map(|record| record.offset.0));
        }
        assert_eq!(read, BTreeSet::from_iter(0..10));
        consumer.commit().await.expect("committed");
        let committed = consumer.committed([at.clone()]).await.expect("an answer");
        assert_eq!(committed[&at].offset, Offset(10));
    });
}
