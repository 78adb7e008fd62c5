//! Reads as a member of a group and says what happens:
//! `member SERVERS TOPIC|/PATTERN/ SECONDS [KEY=VALUE]…`, with settings by Kafka's names.
//!
//! Prints a line for each rebalance, for each record that was read (`partition offset value`), and for
//! each error; leaves the group in the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dohle_client::api::{Consumer, ConsumerHandle, Listening, RebalanceListener};
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::group::Pattern;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;

struct Speaker(Instant);

impl Speaker {
    fn say(&self, what: &str, partitions: &[TopicPartition]) -> Listening<'static> {
        let names: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        println!("# {:?} {what} {}", self.0.elapsed(), names.join(" "));
        Box::pin(std::future::ready(()))
    }
}

impl RebalanceListener<Tokio> for Speaker {
    fn assigned<'a>(
        &'a mut self,
        _: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.say("assigned", partitions)
    }

    fn revoked<'a>(
        &'a mut self,
        _: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.say("revoked", partitions)
    }

    fn lost<'a>(
        &'a mut self,
        _: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.say("lost", partitions)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [servers, topic, seconds, settings @ ..] = &args[..] else {
        return Err("usage: member SERVERS TOPIC|/PATTERN/ SECONDS [KEY=VALUE]…".into());
    };
    let mut config = ConsumerConfig::to(servers)?;
    config.set("auto.offset.reset", "earliest")?;
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or("settings are KEY=VALUE")?;
        config.set(key, value)?;
    }
    let start = Instant::now();
    let mut consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    consumer.listen(Speaker(start));
    match topic.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
        Some(pattern) => consumer.subscribe_pattern(Pattern::new(pattern)?)?,
        None => consumer.subscribe([topic.as_str()])?,
    }
    let end = start + Duration::from_secs(seconds.parse()?);
    while Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        let polled = consumer.poll(left.min(Duration::from_millis(500))).await;
        if let Some(error) = polled.group {
            println!("# {:?} error {error}", start.elapsed());
        }
        for (at, records) in polled.records {
            for record in records {
                let value = record.value.unwrap_or_default();
                println!("{at} {} {}", record.offset.0, String::from_utf8_lossy(&value));
            }
        }
    }
    consumer.close(Duration::from_secs(10)).await?;
    println!("# {:?} closed", start.elapsed());
    Ok(())
}
