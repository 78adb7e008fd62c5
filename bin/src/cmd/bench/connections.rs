//! `dohle bench connections`: what many idle connections cost those that are not idle.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::PATIENCE;
use super::idle::Waiting;
use super::latency::{Latency, spoken};
use super::load::duration;
use super::progress::Progress;
use super::summary::{Measure, tell, unless};
use crate::cmd::cluster::{Cluster, Failure};

/// Connections that are being made at a time.
const AT_A_TIME: usize = 64;
/// An answer is not longer than this.
const ANSWER_MAX: usize = 1 << 20;
/// ApiVersions, version 0, with correlation id 1 and no client id.
const REQUEST: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

/// Open many connections, leave them idle, and measure round trips on one more.
///
/// Each is asked for its ApiVersions once. With a topic each waits for its records, as a consumer
/// that has read everything does. `ulimit -n` limits how many there can be, here and on the broker.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Idle connections.
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    count: u32,
    /// A topic that nobody writes to, whose records the connections wait for.
    #[arg(long, value_name = "NAME")]
    topic: Option<Arc<str>>,
    /// Round trips a second; without it each begins when the last one has ended.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// How long to measure.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "10s")]
    lasts: Duration,
    #[command(flatten)]
    cluster: Cluster,
    /// Print JSON. What goes wrong is said on standard error, too.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    args.cluster.reach().await?;
    let server: Arc<str> = args.cluster.servers().split(',').next().unwrap_or_default().into();
    let connecting = Latency::new();
    let idle = connect_all(&server, args.count, &connecting).await?;
    let connected = idle.len();
    let mut waiting = match &args.topic {
        Some(topic) => Waiting::consumers(idle, &args.cluster, topic).await?,
        None => Waiting::silent(idle),
    };
    let mut probe = connect(&server).await?;
    let (measure, began) = (Measure::begin(), Instant::now());
    let mut trips = RoundTrips { times: Latency::new(), count: 0, bytes: 0 };
    let problem = tokio::select! {
        problem = trips.measure(&args, &mut probe, began) => problem,
        failure = waiting.ended() => Some(failure),
    };
    let problem = problem.map(|failure| failure.to_string());
    let mut found = measure.end(trips.count, trips.bytes, began.elapsed(), &trips.times);
    found["connections"] = json!(connected);
    found["connect_ms"] = connecting.json();
    tell(args.json, &mut found, ("round trips", "a round trip"), problem.as_deref())?;
    if !args.json && connected > 0 {
        println!("to connect {} and be answered: {}", connected, spoken(&found["connect_ms"]));
    }
    unless(problem)
}

/// What was measured on one more connection.
struct RoundTrips {
    times: Latency,
    count: u64,
    bytes: u64,
}

impl RoundTrips {
    /// Goes round until the time is over, or until it fails.
    async fn measure(
        &mut self,
        args: &Args,
        probe: &mut TcpStream,
        began: Instant,
    ) -> Option<Failure> {
        let progress = Progress::begin("round trips", None);
        while began.elapsed() < args.lasts {
            let mut asked = Instant::now();
            if let Some(rate) = args.rate {
                asked = began + Duration::from_secs(self.count) / rate;
                tokio::time::sleep_until(asked.into()).await;
            }
            match within(round_trip(probe)).await {
                Ok(bytes) => self.bytes += bytes,
                Err(failure) => return Some(failure),
            }
            self.times.note(asked.elapsed());
            self.count += 1;
            progress.done.store(self.count, Relaxed);
        }
        None
    }
}

async fn connect_all(
    server: &Arc<str>,
    count: u32,
    times: &Latency,
) -> Result<Vec<TcpStream>, Failure> {
    let progress = Progress::begin("connections", Some(count.into()));
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let (server, turns, times) = (Arc::clone(server), Arc::clone(&turns), times.clone());
        let done = Arc::clone(&progress.done);
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            let began = Instant::now();
            let mut stream = connect(&server).await?;
            within(round_trip(&mut stream)).await?;
            times.note(began.elapsed());
            done.fetch_add(1, Relaxed);
            Ok::<_, Failure>(stream)
        });
    }
    let mut idle = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        match ended.unwrap_or_else(|error| Err(Failure::Failed(error.to_string()))) {
            Ok(stream) => idle.push(stream),
            Err(Failure::Failed(why)) => {
                let open = idle.len();
                return Err(Failure::Failed(format!("{open} of {count} connections, then: {why}")));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(idle)
}

async fn connect(server: &str) -> Result<TcpStream, Failure> {
    within(async {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    })
    .await
}

/// Bytes there and back.
async fn round_trip(stream: &mut TcpStream) -> std::io::Result<u64> {
    stream.write_all(&REQUEST).await?;
    let len = answer(stream).await?.len();
    Ok((REQUEST.len() + 4 + len) as u64)
}

/// The next answer, without its length.
pub(super) async fn answer(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let len = stream.read_u32().await? as usize;
    if len > ANSWER_MAX {
        return Err(std::io::Error::other(format!("an answer of {len} bytes")));
    }
    let mut answer = vec![0; len];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

pub(super) async fn within<T>(
    what: impl Future<Output = std::io::Result<T>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, what).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Failure::Failed(format!("a connection failed: {error}"))),
        Err(_) => Err(Failure::Failed(format!("no answer within {} s", PATIENCE.as_secs()))),
    }
}
