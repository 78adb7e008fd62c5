//! The load: records written by some producers, closed or open.
//!
//! What is sent during the warm-up counts nowhere; the clock starts with the first record after it.
//! A load ends in time whatever happens: what is not acknowledged for long ends it, and so does an
//! open load's clock when the records cannot be sent as fast as they are due.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dohle_client::api::Producer;
use dohle_client::config::ProducerConfig;
use dohle_client::machine::Trouble;
use dohle_client::machine::producer::{ProduceError, ProducerRecord};
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::PATIENCE;
use super::latency::Latency;
use super::summary::Measure;
use crate::cmd::cluster::{Cluster, Failure, pair};
use crate::cmd::time::span;
use crate::cmd::waiting::{SOON, Waiting, because};

/// Records that are due are sent once in so long. (A runtime's timers are a millisecond coarse.)
const PACE: Duration = Duration::from_micros(250);
/// How far an open load may be behind at its end and still send what was due in time.
const OVERTIME: Duration = Duration::from_secs(1);
/// How often to look whether records are still acknowledged.
const LOOK: Duration = Duration::from_millis(250);
/// How long a load lasts if nothing else is said.
const LASTS: Duration = Duration::from_secs(10);
/// Payloads that differ.
const PAYLOADS: usize = 64;
/// A second.
const NANOS: u128 = 1_000_000_000;
/// The smallest record: what says when it was due.
const STAMP: usize = size_of::<u64>();

/// What both kinds of writing measurements take.
#[derive(clap::Args, Debug, Clone)]
pub(super) struct LoadArgs {
    /// A topic that exists; otherwise one is made, and deleted afterwards.
    #[arg(long)]
    pub(super) topic: Option<Arc<str>>,
    /// Partitions of a topic that is made.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(i32).range(1..))]
    pub(super) partitions: i32,
    /// A setting of a topic that is made; may be repeated.
    #[arg(short = 'C', long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(super) topic_config: Vec<(String, String)>,
    /// Keep a topic that is made.
    #[arg(long)]
    pub(super) keep: bool,
    /// Bytes of each value.
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(8..))]
    record_size: u32,
    /// Records to write; otherwise as many as there is time for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) records: Option<u64>,
    /// How long to write (90s, 10m) [default: 10s, or until --records are written]. A load that is
    /// behind --rate then ends a second later.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    lasts: Option<Duration>,
    /// How long to write before anything counts.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    warmup: Duration,
    /// Records a second, of all producers together; otherwise as fast as it goes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(super) rate: Option<u64>,
    /// Producers, each with connections of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    producers: u32,
    /// Unacknowledged records of a producer, at most; 1 for one after the other.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    in_flight: u32,
    /// Any setting of a producer, under Kafka's name; may be repeated.
    #[arg(short = 'X', long, value_name = "NAME=VALUE", value_parser = pair)]
    property: Vec<(String, String)>,
    #[command(flatten)]
    pub(super) cluster: Cluster,
    /// Print JSON. What goes wrong is said on standard error, too.
    #[arg(long)]
    pub(super) json: bool,
}

/// A span of time, such as `10s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let ms = span(text).and_then(|ms| u64::try_from(ms).ok());
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("expected a time such as 10s, found {text:?}"))
}

impl LoadArgs {
    /// Whether the producers can be made, and can write the records.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.producers().map(drop)
    }

    fn producers(&self) -> Result<ProducerConfig, Failure> {
        let mut config = ProducerConfig::to(self.cluster.servers())?;
        config.set("client.id", "dohle-bench")?;
        for (name, value) in &self.property {
            config.set(name, value)?;
            if name == "acks" && !matches!(value.as_str(), "all" | "-1") {
                config.set("enable.idempotence", "false")?;
            }
        }
        config.validate()?;
        let (size, most) = (self.record_size, config.max_request_size);
        if size as usize > most {
            return Err(Failure::Usage(format!(
                "--record-size {size} is more than max.request.size, {most} bytes; \
                 -X max.request.size=BYTES sets it"
            )));
        }
        Ok(config)
    }
}

/// What came of a load.
pub(super) struct Ran {
    pub(super) measure: Measure,
    /// How long what counts took.
    pub(super) took: Duration,
    /// Why it is not what was asked for.
    pub(super) problem: Option<String>,
}

/// A load under way.
pub(super) struct Load {
    args: LoadArgs,
    config: ProducerConfig,
    topic: Arc<str>,
    /// All times in records and here are counted from it.
    pub(super) origin: Instant,
    /// Records that were begun.
    begun: AtomicU64,
    /// Records that were sent, and those of them that count.
    sent: AtomicU64,
    counted: AtomicU64,
    /// When the last producer had sent its last record, in nanoseconds.
    stopped: AtomicU64,
    /// Records whose fate is known.
    settled: Arc<AtomicU64>,
    /// Those that count and are acknowledged.
    pub(super) acked: Arc<AtomicU64>,
    /// Those that are not, and why the first of them is not.
    failed: Arc<AtomicU64>,
    why: Arc<OnceLock<ProduceError>>,
    /// Of those that count, from when they were due to their acknowledgement.
    pub(super) latency: Latency,
}

impl Load {
    pub(super) fn new(
        args: &LoadArgs,
        topic: &Arc<str>,
        acked: &Arc<AtomicU64>,
    ) -> Result<Arc<Self>, Failure> {
        Ok(Arc::new(Self {
            args: args.clone(),
            config: args.producers()?,
            topic: Arc::clone(topic),
            origin: Instant::now(),
            begun: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
            settled: Arc::default(),
            acked: Arc::clone(acked),
            failed: Arc::default(),
            why: Arc::default(),
            latency: Latency::new(),
        }))
    }

    /// When the warm-up ends.
    pub(super) fn counts_from(&self) -> Instant {
        self.origin + self.args.warmup
    }

    pub(super) fn record_size(&self) -> u64 {
        u64::from(self.args.record_size)
    }

    /// Runs all producers to the end, or until records are not acknowledged any more.
    pub(super) async fn run(self: &Arc<Self>) -> Result<Ran, Failure> {
        let (counts_from, (beat, ticks)) = (self.counts_from(), watch::channel(()));
        let measure = Arc::new(OnceLock::new());
        let begins = Arc::clone(&measure);
        let measuring = tokio::spawn(async move {
            tokio::time::sleep_until(counts_from.into()).await;
            begins.get_or_init(Measure::begin);
        });
        if self.args.rate.is_some() {
            std::thread::spawn(move || {
                while beat.send(()).is_ok() {
                    std::thread::sleep(PACE);
                }
            });
        }
        let (mut producers, mut tasks) = (Vec::new(), JoinSet::new());
        for index in 0..self.args.producers {
            let config = self.config.clone();
            let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
            producers.push(producer.clone());
            tasks.spawn(Arc::clone(self).produce(producer, index, ticks.clone()));
        }
        drop(ticks);
        let problem = tokio::select! {
            problem = first_problem(&mut tasks) => problem.or_else(|| self.refused()),
            stalled = self.stalled(&producers) => Some(stalled),
        };
        measuring.abort();
        let measure = *measure.get_or_init(Measure::begin);
        Ok(Ran { measure, took: counts_from.elapsed(), problem })
    }

    /// What is to be said of records that were not acknowledged.
    fn refused(&self) -> Option<String> {
        let (why, failed) = (self.why.get()?, self.failed.load(Relaxed));
        Some(format!("{failed} records were not acknowledged, the first because: {why}"))
    }

    /// Ends when records are under way and none of them was acknowledged for long; says why, as far
    /// as is known, then and before.
    async fn stalled(&self, producers: &[Producer<Tokio>]) -> String {
        // What lingers is under way, too.
        let patience = PATIENCE + self.config.linger;
        let (mut waiting, mut settled, mut since) = (Waiting::default(), 0, Instant::now());
        let mut told = false;
        while since.elapsed() < patience {
            tokio::time::sleep(LOOK).await;
            let (before, sent) = (settled, self.sent.load(Relaxed));
            settled = self.settled.load(Relaxed);
            if settled != before || settled >= sent {
                (since, told) = (Instant::now(), false);
            }
            if since.elapsed() >= SOON + self.config.linger && !std::mem::replace(&mut told, true) {
                eprintln!("dohle: nothing was acknowledged for {} s", SOON.as_secs());
            }
            let (troubles, last) = held_up(producers);
            waiting.tell(&troubles, last);
        }
        let left = self.sent.load(Relaxed).saturating_sub(settled);
        let secs = patience.as_secs();
        let refused = self.refused().map_or_else(String::new, |refused| format!("; {refused}"));
        let (troubles, last) = held_up(producers);
        let why = because(&troubles, last);
        format!("{left} records were sent and none acknowledged for {secs} s{refused}{why}")
    }

    async fn produce(
        self: Arc<Self>,
        producer: Producer<Tokio>,
        index: u32,
        mut ticks: watch::Receiver<()>,
    ) -> Result<(), Failure> {
        let payloads = payloads(self.args.record_size as usize, index);
        let window = Arc::new(Semaphore::new(self.args.in_flight as usize));
        let mut turn = 0;
        while let Some(due) = self.due(turn, index).filter(|due| self.takes(*due)) {
            if due < self.counts_from() && self.counts_from() < Instant::now() {
                // What the warm-up did not come to does not count: it only would be in the way.
                turn = self.first_that_counts(turn, index);
                continue;
            }
            while due > Instant::now() {
                // The beat ends with the last producer, not before.
                let _ = ticks.changed().await;
            }
            self.send(&producer, &window, &payloads[turn as usize % PAYLOADS], due).await?;
            turn += 1;
        }
        self.stopped.fetch_max(nanos(self.origin.elapsed()), Relaxed);
        producer.close().await;
        Ok(())
    }

    /// When a producer's record with this number is due.
    fn due(&self, turn: u64, index: u32) -> Option<Instant> {
        let Some(rate) = self.args.rate else { return Some(Instant::now()) };
        let all = u128::from(turn) * u128::from(self.args.producers) + u128::from(index);
        let ns = all * NANOS / u128::from(rate);
        Some(self.origin + Duration::from_nanos(u64::try_from(ns).ok()?))
    }

    /// The number of a producer's first record after `turn` that is due after the warm-up.
    fn first_that_counts(&self, turn: u64, index: u32) -> u64 {
        let rate = u128::from(self.args.rate.unwrap_or(0));
        let all = (self.args.warmup.as_nanos() * rate).div_ceil(NANOS);
        let own = all.saturating_sub(index.into()).div_ceil(self.args.producers.into());
        u64::try_from(own).unwrap_or(u64::MAX).max(turn + 1)
    }

    /// How many records a second were to be sent in an open load, and how many were.
    pub(super) fn rates(&self) -> Option<(u64, f64)> {
        let asked = self.args.rate?;
        let stopped = match self.stopped.load(Relaxed) {
            0 => self.origin.elapsed(),
            stopped => Duration::from_nanos(stopped),
        };
        let took = stopped.saturating_sub(self.args.warmup).as_secs_f64();
        Some((asked, self.counted.load(Relaxed) as f64 / took.max(1e-9)))
    }

    /// Whether a record that is due at `due` is one of the load.
    fn takes(&self, due: Instant) -> bool {
        let lasts = match (self.args.lasts, self.args.records) {
            (None, None) => Some(LASTS),
            (lasts, _) => lasts,
        };
        let over = |lasts| self.counts_from().elapsed() >= lasts + OVERTIME;
        // One record that fails is a load that failed.
        if lasts.is_some_and(over) || self.why.get().is_some() {
            return false;
        }
        let Some(into) = due.checked_duration_since(self.counts_from()) else { return true };
        match self.args.records {
            _ if lasts.is_some_and(|lasts| into >= lasts) => false,
            Some(records) => self.begun.fetch_add(1, Relaxed) < records,
            None => true,
        }
    }

    async fn send(
        &self,
        producer: &Producer<Tokio>,
        window: &Arc<Semaphore>,
        payload: &Bytes,
        due: Instant,
    ) -> Result<(), Failure> {
        let permit = Arc::clone(window).acquire_owned().await;
        let value = self.stamped(payload, due);
        let counts = due >= self.counts_from();
        let (acked, failed) = (Arc::clone(&self.acked), Arc::clone(&self.failed));
        let (settled, why) = (Arc::clone(&self.settled), Arc::clone(&self.why));
        let latency = self.latency.clone();
        self.sent.fetch_add(1, Relaxed);
        self.counted.fetch_add(u64::from(counts), Relaxed);
        let told = move |fate: Result<_, _>| {
            drop(permit);
            settled.fetch_add(1, Relaxed);
            match fate {
                Ok(_) if counts => {
                    latency.note(due.elapsed());
                    acked.fetch_add(1, Relaxed);
                }
                Ok(_) => {}
                Err(error) => {
                    failed.fetch_add(1, Relaxed);
                    why.get_or_init(|| error);
                }
            }
        };
        let queued = producer.send_with(ProducerRecord::new(Arc::clone(&self.topic), value), told);
        queued.await.map_err(|error| Failure::Failed(format!("a record cannot be sent: {error}")))
    }

    /// A payload that says when it was due.
    fn stamped(&self, payload: &Bytes, due: Instant) -> Bytes {
        let mut value = payload.to_vec();
        value[..STAMP].copy_from_slice(&nanos(due - self.origin).to_be_bytes());
        value.into()
    }

    /// When the record with this value was due; nothing if it does not count.
    pub(super) fn due_of(&self, value: &[u8]) -> Option<Instant> {
        let stamp = value.first_chunk().map(|stamp| u64::from_be_bytes(*stamp))?;
        let due = self.origin + Duration::from_nanos(stamp);
        (due >= self.counts_from()).then_some(due)
    }
}

/// What holds a producer up that something holds up, and why its last connection
/// ended.
fn held_up(producers: &[Producer<Tokio>]) -> (Vec<Trouble>, Option<Arc<str>>) {
    let each = producers.iter().map(|one| (one.troubles(), one.last_connection_error()));
    each.max_by_key(|(troubles, last)| (!troubles.is_empty(), last.is_some())).unwrap_or_default()
}

/// Waits for all parts of the load, or for the first one that fails.
async fn first_problem(tasks: &mut JoinSet<Result<(), Failure>>) -> Option<String> {
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => return Some(failure.to_string()),
            Err(error) => return Some(format!("a part of the load ended early: {error}")),
        }
    }
    None
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Letters and digits at random: text that a codec makes about three quarters of.
fn payloads(size: usize, salt: u32) -> Vec<Bytes> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(salt) << 32;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b"abcdefghijklmnopqrstuvwxyz0123456789"[(state >> 32) as usize % 36]
    };
    (0..PAYLOADS).map(|_| (0..size).map(|_| letter()).collect::<Vec<u8>>().into()).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        load: LoadArgs,
    }

    fn load(args: &[&str]) -> Arc<Load> {
        let args = Cli::parse_from([&["bench"], args].concat()).load;
        Load::new(&args, &"t".into(), &Arc::default()).expect("sound arguments")
    }

    #[test]
    fn an_open_load_is_spread_over_time_and_producers() {
        let load = load(&["--rate", "1000", "--producers", "2", "--for", "2s", "--warmup", "1s"]);
        let at = |sent, index| load.due(sent, index).expect("due") - load.origin;
        assert_eq!([at(0, 0), at(0, 1), at(1, 0)].map(|time| time.as_millis()), [0, 1, 2]);
        assert_eq!(at(500, 1), Duration::from_millis(1001));
        assert_eq!([0, 1].map(|index| load.first_that_counts(3, index)), [500, 500]);
        assert_eq!(load.first_that_counts(700, 0), 701, "it only goes on");
        let takes = |ms| load.takes(load.origin + Duration::from_millis(ms));
        assert_eq!([0, 999, 1000, 2999, 3000].map(takes), [true, true, true, true, false]);
    }

    #[test]
    fn a_number_of_records_is_counted_after_the_warmup() {
        let load = load(&["--records", "2", "--warmup", "1s"]);
        let takes = |ms| load.takes(load.origin + Duration::from_millis(ms));
        assert_eq!(
            [500, 500, 500, 1500, 1500, 1500].map(takes),
            [true, true, true, true, true, false]
        );
    }

    #[test]
    fn a_value_says_when_it_was_due() {
        let load = load(&["--record-size", "20", "--warmup", "1s"]);
        let payload = &payloads(20, 0)[3];
        let due = load.origin + Duration::from_millis(1500);
        let value = load.stamped(payload, due);
        assert_eq!((value.len(), load.due_of(&value)), (20, Some(due)));
        let early = load.stamped(payload, load.origin + Duration::from_millis(500));
        assert_eq!(load.due_of(&early), None);
    }
}
