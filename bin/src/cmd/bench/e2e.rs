//! `dohle bench e2e`: how long a record takes from its producer to a consumer.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dohle_client::api::Consumer;
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::Start;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::PATIENCE;
use super::latency::{Latency, spoken};
use super::load::{Load, LoadArgs};
use super::progress::Progress;
use super::summary::{add_rates, tell, unless};
use super::topic::{Topic, on_topic};
use crate::cmd::cluster::{Failure, pair};

/// Records a second if nothing else is said.
const RATE: u64 = 1000;
/// How long one poll waits.
const POLL: Duration = Duration::from_millis(500);

/// Write and read at the same time, and measure from the moment a record is due until it is read.
///
/// 1000 records a second, unless --rate says otherwise. Ends when all that was acknowledged was read,
/// or when nothing more was read for 10 seconds after that.
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
    /// There were records.
    read: Notify,
    /// What could not be read, and why.
    failed: OnceLock<String>,
}

pub(super) async fn run(mut args: Args) -> Result<(), Failure> {
    args.load.rate.get_or_insert(RATE);
    args.load.check()?;
    on_topic(&args.load, async |topic| measure(&args, topic).await).await
}

async fn measure(args: &Args, topic: &Topic) -> Result<(), Failure> {
    let consumer = consumer(args, topic).await?;
    let progress = Progress::begin("records", args.load.records);
    let load = Load::new(&args.load, &topic.name, &progress.done)?;
    let reader = Arc::new(Reader {
        load: Arc::clone(&load),
        seen: AtomicU64::new(0),
        latency: Latency::new(),
        read: Notify::new(),
        failed: OnceLock::new(),
    });
    let mut reading = JoinSet::new();
    reading.spawn(Arc::clone(&reader).read(consumer));
    let ran = load.run().await?;
    let problem = match ran.problem {
        None => reader.until_read(load.acked.load(Relaxed)).await,
        problem => problem,
    };
    reading.shutdown().await;
    drop(progress);
    let seen = reader.seen.load(Relaxed);
    let mut found = ran.measure.end(seen, seen * load.record_size(), ran.took, &reader.latency);
    found["acknowledged_ms"] = load.latency.json();
    add_rates(&mut found, load.rates());
    tell(args.load.json, &mut found, ("records", "from due to read"), problem.as_deref())?;
    if !args.load.json && !found["acknowledged_ms"].is_null() {
        println!("until acknowledged: {}", spoken(&found["acknowledged_ms"]));
    }
    unless(problem)
}

async fn consumer(args: &Args, topic: &Topic) -> Result<Consumer<Tokio>, Failure> {
    let mut config = ConsumerConfig::to(args.load.cluster.servers())?;
    config.set("client.id", "dohle-bench")?;
    // A topic that was deleted does not come back because somebody waits for its records.
    config.set("allow.auto.create.topics", "false")?;
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
    let known = async {
        for partition in &partitions {
            consumer.position(partition).await;
        }
    };
    if tokio::time::timeout(PATIENCE, known).await.is_err() {
        let secs = PATIENCE.as_secs();
        return Err(Failure::Failed(format!("the ends of the topic are not known after {secs} s")));
    }
    Ok(consumer)
}

impl Reader {
    async fn read(self: Arc<Self>, mut consumer: Consumer<Tokio>) {
        loop {
            let polled = consumer.poll(POLL).await;
            let now = Instant::now();
            if let Some((at, error)) = polled.failed.first() {
                self.failed.get_or_init(|| format!("{}-{}: {error}", at.topic, at.partition));
            }
            for record in polled.records.into_iter().flat_map(|(_, records)| records) {
                if let Some(due) = record.value.as_ref().and_then(|value| self.load.due_of(value)) {
                    self.latency.note(now.saturating_duration_since(due));
                    self.seen.fetch_add(1, Relaxed);
                    self.read.notify_one();
                }
            }
        }
    }

    /// Waits until so many are read, or no more come; says which are missing.
    async fn until_read(&self, count: u64) -> Option<String> {
        while self.seen.load(Relaxed) < count {
            if tokio::time::timeout(PATIENCE, self.read.notified()).await.is_err() {
                let missing = count.saturating_sub(self.seen.load(Relaxed));
                let why = self.failed.get().map_or_else(String::new, |why| format!("; {why}"));
                let secs = PATIENCE.as_secs();
                return Some(format!(
                    "{missing} of {count} records never arrived: none came for {secs} s{why}"
                ));
            }
        }
        None
    }
}
