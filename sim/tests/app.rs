//! An application written against the client's runtime, in the simulation.

use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::{Admin, Consumer, Producer, Runtime};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_client::machine::consumer::Start;
use dohle_client::machine::producer::ProducerRecord;
use dohle_sim::choice::Choices;
use dohle_sim::exec::{Weather, block_on};
use dohle_sim::fault::Fault;
use dohle_sim::swarm::Swarm;
use dohle_wire::record::NoCodecs;

const RECORDS: usize = 60;

/// Writes records now and then, reads them back, gives the values in the order read.
async fn there_and_back<R: Runtime>(runtime: R, servers: &'static str) -> Vec<String> {
    let admin = Admin::new(runtime.clone(), AdminConfig::to(servers).expect("an address"));
    let admin = admin.expect("valid settings");
    while admin.create_topics(vec![NewTopic::new("letters", 1)]).await.is_err() {
        runtime.sleep(Duration::from_millis(100)).await;
    }
    let config = ProducerConfig::to(servers).expect("an address");
    let producer = Producer::new(runtime.clone(), config, Arc::new(NoCodecs)).expect("valid");
    for number in 0..RECORDS {
        let record = ProducerRecord::new("letters", format!("letter {number}")).with_partition(0);
        producer.send(record).await.expect("delivered");
        runtime.sleep(Duration::from_millis(500)).await;
    }
    let config = ConsumerConfig::to(servers).expect("an address");
    let mut consumer = Consumer::new(runtime, config, Arc::new(NoCodecs)).expect("valid");
    consumer.assign([(TopicPartition::new("letters", 0), Start::Earliest)]);
    let mut read = Vec::new();
    while read.len() < RECORDS {
        let polled = consumer.poll(Duration::from_secs(1)).await;
        for (_, records) in polled.records {
            let values = records.iter().filter_map(|record| record.value.clone());
            read.extend(values.map(|value| String::from_utf8_lossy(&value).into_owned()));
        }
    }
    read
}

fn expected() -> Vec<String> {
    (0..RECORDS).map(|number| format!("letter {number}")).collect()
}

#[test]
fn an_application_runs_in_calm_weather() {
    let read = block_on(1, Weather::Calm, |runtime| there_and_back(runtime, "node0:9092"));
    assert_eq!(read, Ok(expected()));
}

/// Whether nothing that is acknowledged can be lost in a seed.
fn is_safe(seed: u64) -> bool {
    let swarm = Swarm::single(&mut Choices::new(seed));
    swarm.fsync || !swarm.has(Fault::Power)
}

#[test]
fn an_application_survives_storms() {
    for seed in (1..).filter(|seed| is_safe(*seed)).take(10) {
        let read = block_on(seed, Weather::Stormy, |runtime| there_and_back(runtime, "node0:9092"));
        assert_eq!(read, Ok(expected()), "seed {seed}");
    }
}
