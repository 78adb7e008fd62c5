//! `dohle bench consume`: how fast records are read that are there already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dohle_client::api::Consumer;
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::Start;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;
use tokio::task::JoinSet;

use super::PATIENCE;
use super::latency::Latency;
use super::progress::Progress;
use super::summary::{Measure, tell, unless};
use crate::cmd::cluster::{Cluster, Failure, about_topic, pair};
use crate::cmd::table::shown;
use crate::cmd::waiting::{Waiting, because};

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(500);

/// Read a topic from its beginning to where it ends now, and measure how long polls take.
///
/// `dohle bench produce --keep` makes a topic to read. When no record comes for 10 seconds it fails.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The topic.
    topic: Arc<str>,
    /// Records to read; otherwise all there are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    records: Option<u64>,
    /// Consumers that share the partitions, each with connections of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    consumers: u32,
    /// Any setting of a consumer, under Kafka's name; may be repeated.
    #[arg(short = 'X', long, value_name = "NAME=VALUE", value_parser = pair)]
    property: Vec<(String, String)>,
    #[command(flatten)]
    cluster: Cluster,
    /// Print JSON. What goes wrong is said on standard error, too.
    #[arg(long)]
    json: bool,
}

/// What all consumers count together.
#[derive(Clone)]
struct Count {
    records: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    latency: Latency,
    most: u64,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let described = args.cluster.topic(&args.topic).await?;
    let described = described.map_err(|error| Failure::Failed(about_topic(&args.topic, &error)))?;
    let partitions = described.partitions.len();
    let progress = Progress::begin("records", args.records);
    let count = Count {
        records: Arc::clone(&progress.done),
        bytes: Arc::default(),
        latency: Latency::new(),
        most: args.records.unwrap_or(u64::MAX),
    };
    let (measure, began) = (Measure::begin(), Instant::now());
    let mut reading = JoinSet::new();
    let consumers = (args.consumers as usize).min(partitions);
    for index in 0..consumers {
        let shares = (index..partitions).step_by(consumers);
        let shares = shares.filter_map(|at| i32::try_from(at).ok());
        let shares = shares.map(|at| TopicPartition::new(Arc::clone(&args.topic), at)).collect();
        reading.spawn(read(consumer(&args)?, shares, count.clone()));
    }
    let problem = first_problem(&mut reading).await;
    let took = began.elapsed();
    reading.shutdown().await;
    drop(progress);
    let (records, bytes) = (count.records.load(Relaxed), count.bytes.load(Relaxed));
    let mut found = measure.end(records, bytes, took, &count.latency);
    tell(args.json, &mut found, ("records", "a poll"), problem.as_deref())?;
    if let Some(asked) = args.records.filter(|asked| problem.is_none() && records < *asked) {
        eprintln!("dohle: {} has no more than {records} of {asked} records", shown(&args.topic));
    }
    unless(problem)
}

/// Waits for all consumers, or for the first one that fails.
async fn first_problem(reading: &mut JoinSet<Result<(), String>>) -> Option<String> {
    while let Some(ended) = reading.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => return Some(problem),
            Err(error) => return Some(format!("a consumer ended early: {error}")),
        }
    }
    None
}

fn consumer(args: &Args) -> Result<Consumer<Tokio>, Failure> {
    let mut config = ConsumerConfig::to(args.cluster.servers())?;
    config.set("client.id", "dohle-bench")?;
    config.set("allow.auto.create.topics", "false")?;
    for (name, value) in &args.property {
        config.set(name, value)?;
    }
    Ok(Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?)
}

async fn read(
    mut consumer: Consumer<Tokio>,
    shares: Vec<TopicPartition>,
    count: Count,
) -> Result<(), String> {
    let mut left = ends(&consumer, &shares).await?;
    consumer.assign(shares.into_iter().map(|share| (share, Start::Earliest)));
    let (mut waiting, mut since) = (Waiting::default(), Instant::now());
    loop {
        left.retain(|(at, end)| consumer.known_position(at).is_none_or(|position| position < *end));
        if left.is_empty() || count.records.load(Relaxed) >= count.most {
            return Ok(());
        }
        let polled = consumer.poll(POLL).await;
        if let Some((at, error)) = polled.failed.first() {
            return Err(format!("{}-{}: {error}", at.topic, at.partition));
        }
        let (troubles, last) = (consumer.troubles(), consumer.last_connection_error());
        waiting.tell(&troubles, last.clone());
        if polled.records.is_empty() {
            if since.elapsed() < PATIENCE {
                continue;
            }
            let why = because(&troubles, last);
            return Err(format!("no record came for {} s{why}", PATIENCE.as_secs()));
        }
        count.latency.note(since.elapsed());
        for record in polled.records.iter().flat_map(|(_, records)| records) {
            let size = |part: &Option<bytes::Bytes>| part.as_ref().map_or(0, bytes::Bytes::len);
            count.bytes.fetch_add((size(&record.key) + size(&record.value)) as u64, Relaxed);
        }
        let records: usize = polled.records.iter().map(|(_, records)| records.len()).sum();
        count.records.fetch_add(records as u64, Relaxed);
        since = Instant::now();
    }
}

/// Where the partitions end now.
async fn ends(
    consumer: &Consumer<Tokio>,
    shares: &[TopicPartition],
) -> Result<Vec<(TopicPartition, Offset)>, String> {
    let handle = consumer.handle();
    match tokio::time::timeout(PATIENCE, handle.end_offsets(shares.iter().cloned())).await {
        Ok(Ok(ends)) => Ok(ends.into_iter().collect()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the ends are not known after {} s", PATIENCE.as_secs())),
    }
}
