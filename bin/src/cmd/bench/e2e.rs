//! `dohle bench e2e`: how long a record takes from its producer to a consumer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dohle_client::api::Consumer;
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::Start;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::latency::Latency;
use super::load::{Load, LoadArgs};
use super::progress::Progress;
use super::summary::tell;
use super::topic::{Topic, on_topic};
use crate::cmd::cluster::{Failure, pair};

/// Records a second if nothing else is said.
const RATE: u64 = 1000;
/// No record for so long is a failure.
const SILENCE: Duration = Duration::from_secs(30);

/// Write and read at the same time, and measure from the moment a record is due until it is read.
///
/// 1000 records a second, unless --rate says otherwise.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    load: LoadArgs,
    /// Any setting of the consumer, under Kafka's name; may be repeated.
    #[arg(short = 'Y', long, value_name = "NAME=VALUE", value_parser = pair)]
    consumer_property: Vec<(String, String)>,
}

/// What is read.
struct Reader {
    load: Arc<Load>,
    seen: AtomicU64,
    latency: Latency,
    done: Notify,
}

pub(super) async fn run(mut args: Args) -> Result<(), Failure> {
    args.load.rate.get_or_insert(RATE);
    on_topic(&args.load, async |topic| measure(&args, topic).await).await
}

async fn measure(args: &Args, topic: &Topic) -> Result<(), Failure> {
    let consumer = consumer(args, topic).await?;
    let progress = Progress::begin("records", args.load.records);
    let load = Load::new(&args.load, &topic.name, &progress.done);
    let reader = Arc::new(Reader {
        load: Arc::clone(&load),
        seen: AtomicU64::new(0),
        latency: Latency::new(),
        done: Notify::new(),
    });
    let mut reading = JoinSet::new();
    reading.spawn(Arc::clone(&reader).read(consumer));
    let (measure, took) = load.run().await?;
    reader.until_read(load.acked.load(Relaxed)).await?;
    reading.shutdown().await;
    drop(progress);
    let seen = reader.seen.load(Relaxed);
    let mut found = measure.end(seen, seen * load.record_size(), took, &reader.latency);
    found["acknowledged_ms"] = load.latency.json();
    tell(args.load.json, &found, "records", "from due to read")?;
    if !args.load.json {
        println!("until acknowledged: {}", super::latency::spoken(&found["acknowledged_ms"]));
    }
    Ok(())
}

async fn consumer(args: &Args, topic: &Topic) -> Result<Consumer<Tokio>, Failure> {
    let mut config = ConsumerConfig::to(args.load.cluster.servers())?;
    config.set("client.id", "dohle-bench")?;
    for (name, value) in &args.consumer_property {
        config.set(name, value)?;
    }
    let mut consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    let described = args.load.cluster.topic(&topic.name).await?;
    let described = described.map_err(|error| Failure::Failed(error.to_string()))?;
    let partitions = 0..i32::try_from(described.partitions.len()).unwrap_or(i32::MAX);
    let partitions = partitions.map(|index| TopicPartition::new(Arc::clone(&topic.name), index));
    let partitions: Vec<_> = partitions.collect();
    consumer.assign(partitions.iter().cloned().map(|partition| (partition, Start::Latest)));
    // It knows where each one ends before the first record is written.
    for partition in &partitions {
        consumer.position(partition).await;
    }
    Ok(consumer)
}

impl Reader {
    async fn read(self: Arc<Self>, mut consumer: Consumer<Tokio>) {
        loop {
            let polled = consumer.poll(SILENCE).await;
            let now = Instant::now();
            for record in polled.records.into_iter().flat_map(|(_, records)| records) {
                if let Some(due) = record.value.as_ref().and_then(|value| self.load.due_of(value)) {
                    self.latency.note(now.saturating_duration_since(due));
                    self.seen.fetch_add(1, Relaxed);
                }
            }
            self.done.notify_one();
        }
    }

    /// Waits until so many are read.
    async fn until_read(&self, count: u64) -> Result<(), Failure> {
        while self.seen.load(Relaxed) < count {
            if tokio::time::timeout(SILENCE, self.done.notified()).await.is_err() {
                let seen = self.seen.load(Relaxed);
                return Err(Failure::Failed(format!(
                    "{seen} of {count} records were read, and no more within {} s",
                    SILENCE.as_secs()
                )));
            }
        }
        Ok(())
    }
}
