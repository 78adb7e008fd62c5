//! What `dohle-client` does when driven as hard, or as steadily, as told. Twin of
//! `tests/perf/librdkafka.c`; `tests/perf/clients` runs both.
//!
//! `client_perf produce SERVERS TOPIC SIZE COUNT RATE [KEY=VALUE]…` writes COUNT records, RATE a
//! second (0: as fast as it goes), and waits for all acknowledgements.
//! `client_perf consume SERVERS TOPIC SIZE COUNT RATE [KEY=VALUE]…` reads COUNT records as a group
//! of one member; SIZE is what each must have.
//!
//! Each value begins with the time it was sent. Prints one JSON object: seconds from the first record
//! to the last, and, unless RATE is 0, percentiles of what a record took until its acknowledgement
//! or until it was read, without the RATE records of the first second, in which connections are made.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use dohle_client::api::{Consumer, Producer};
use dohle_client::config::{ConsumerConfig, ProducerConfig};
use dohle_client::machine::producer::ProducerRecord;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Records due are sent once in so long.
const PACE: Duration = Duration::from_millis(1);

/// No record for so long is a failure.
const SILENCE: Duration = Duration::from_secs(30);

struct Job<'a> {
    servers: &'a str,
    topic: &'a str,
    size: usize,
    count: u64,
    rate: u64,
    settings: &'a [String],
}

/// Microseconds of the wall clock, which two processes on one machine share.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn value(size: usize) -> Bytes {
    let mut value = vec![b'x'; size];
    value[..size_of::<u64>()].copy_from_slice(&now_us().to_le_bytes());
    value.into()
}

fn percentiles(mut micros: Vec<u64>) -> String {
    micros.sort_unstable();
    let at = |permille: usize| micros[(micros.len() - 1) * permille / 1000];
    format!("{{\"p50\":{},\"p99\":{},\"p999\":{},\"max\":{}}}", at(500), at(990), at(999), at(1000))
}

fn report(count: u64, took: Duration, micros: Vec<u64>) {
    let latency = if micros.is_empty() { "null".to_owned() } else { percentiles(micros) };
    let seconds = took.as_secs_f64();
    println!("{{\"records\":{count},\"seconds\":{seconds:.6},\"latency_us\":{latency}}}");
}

/// Records that were not written.
static FAILED: AtomicU64 = AtomicU64::new(0);
/// What records took until they were acknowledged.
static MICROS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

async fn produce(job: &Job<'_>) -> Result<(), Failure> {
    let mut config = ProducerConfig::to(job.servers)?;
    for (key, value) in pairs(job.settings)? {
        config.set(key, value)?;
    }
    let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    let topic: Arc<str> = job.topic.into();
    let (start, mut sent) = (Instant::now(), 0);
    while sent < job.count {
        let due = match job.rate {
            0 => job.count,
            rate => job.count.min((start.elapsed().as_micros() as u64) * rate / 1_000_000),
        };
        while sent < due {
            let timed = job.rate > 0 && sent >= job.rate;
            send(&producer, Arc::clone(&topic), job.size, timed).await?;
            sent += 1;
        }
        if sent < job.count {
            tokio::time::sleep(PACE).await;
        }
    }
    producer.flush().await;
    let took = start.elapsed();
    let failed = FAILED.load(Relaxed);
    if failed > 0 {
        return Err(format!("{failed} of {sent} records were not written").into());
    }
    report(sent, took, std::mem::take(&mut MICROS.lock().unwrap_or_else(PoisonError::into_inner)));
    Ok(())
}

async fn send(
    producer: &Producer<Tokio>,
    topic: Arc<str>,
    size: usize,
    timed: bool,
) -> Result<(), Failure> {
    let sent_at = timed.then(Instant::now);
    let told = move |fate: Result<_, _>| match (fate, sent_at) {
        (Ok(_), Some(at)) => {
            let mut micros = MICROS.lock().unwrap_or_else(PoisonError::into_inner);
            micros.push(at.elapsed().as_micros() as u64);
        }
        (Ok(_), None) => {}
        (Err(_), _) => drop(FAILED.fetch_add(1, Relaxed)),
    };
    Ok(producer.send_with(ProducerRecord::new(topic, value(size)), told).await?)
}

async fn consume(job: &Job<'_>) -> Result<(), Failure> {
    let mut config = ConsumerConfig::to(job.servers)?;
    config.set("auto.offset.reset", "earliest")?;
    for (key, value) in pairs(job.settings)? {
        config.set(key, value)?;
    }
    let mut consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    consumer.subscribe([job.topic])?;
    let (mut start, mut seen, mut micros) = (None, 0, Vec::new());
    while seen < job.count {
        let polled = consumer.poll(SILENCE).await;
        if let Some(error) = polled.group {
            return Err(error.into());
        }
        if polled.records.is_empty() {
            return Err(format!("no record for {SILENCE:?} after {seen}").into());
        }
        start.get_or_insert_with(Instant::now);
        let now = if job.rate > 0 { now_us() } else { 0 };
        for record in polled.records.into_iter().flat_map(|(_, records)| records) {
            let value = record.value.unwrap_or_default();
            if value.len() != job.size {
                return Err(format!("a record of {} bytes", value.len()).into());
            }
            if job.rate > 0 && seen >= job.rate {
                let sent = value.first_chunk().map_or(0, |at| u64::from_le_bytes(*at));
                micros.push(now.saturating_sub(sent));
            }
            seen += 1;
        }
    }
    let took = start.map_or(Duration::ZERO, |start| start.elapsed());
    report(seen, took, micros);
    consumer.close(SILENCE).await?;
    Ok(())
}

fn pairs(settings: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    settings.iter().map(|one| one.split_once('=').ok_or("settings are KEY=VALUE".into())).collect()
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, servers, topic, size, count, rate, settings @ ..] = &args[..] else {
        return Err(
            "usage: client_perf produce|consume SERVERS TOPIC SIZE COUNT RATE [KEY=VALUE]…".into(),
        );
    };
    let (size, count, rate) = (size.parse()?, count.parse()?, rate.parse()?);
    let job = Job { servers, topic, size, count, rate, settings };
    match what.as_str() {
        "produce" => produce(&job).await,
        "consume" => consume(&job).await,
        other => Err(format!("neither produce nor consume: {other}").into()),
    }
}
