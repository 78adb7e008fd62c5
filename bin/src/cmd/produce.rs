//! `dohle produce`: writes the lines of standard input as records.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::ValueEnum;
use dohle_client::api::{Delivery, Producer};
use dohle_client::config::ProducerConfig;
use dohle_client::machine::producer::{ProducerRecord, RecordHeader};
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::ErrorCode;
use serde_json::json;
use tokio::sync::mpsc;

use super::cluster::{Cluster, Failure, about_partition, about_topic, pair, run as run_to_end};
use super::waiting::Waiting;

/// Records under way at the same time, at most.
const UNDER_WAY: usize = 20_000;
/// Lines that are read ahead.
const READ_AHEAD: usize = 64;
/// How often to look at what holds records up.
const LOOK: Duration = Duration::from_secs(1);
/// Failures that are told one by one.
const TOLD: u64 = 5;

/// Write the lines of standard input as records, one record a line.
///
/// A summary goes to standard error. Exit code 1 if any record is not acknowledged.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the topic.
    topic: Arc<str>,
    /// The key of all records.
    #[arg(short, long, conflicts_with = "key_delimiter")]
    key: Option<String>,
    /// What separates key and value in a line; a line without it has no key.
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_delimiter: Option<String>,
    /// A header of all records; may be repeated.
    #[arg(short = 'H', long, value_name = "NAME=VALUE", value_parser = pair)]
    header: Vec<(String, String)>,
    /// The partition; otherwise keys choose it, and records without key are spread.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Write a record without value (a tombstone) for an empty value.
    #[arg(short = 'Z', long)]
    tombstones: bool,
    /// Who must have a record: nobody, the leader, or all in-sync replicas.
    #[arg(short, long, default_value = "all")]
    acks: Acks,
    /// How batches are compressed.
    #[arg(short = 'z', long, value_name = "none|gzip|snappy|lz4|zstd", default_value = "none")]
    compression: String,
    /// Milliseconds to wait for more records before a batch is sent.
    #[arg(long, value_name = "MS")]
    linger: Option<u32>,
    /// Any setting of a producer, under Kafka's name; may be repeated.
    #[arg(short = 'X', long, value_name = "NAME=VALUE", value_parser = pair)]
    property: Vec<(String, String)>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: Cluster,
}

#[derive(Copy, Clone, Debug, ValueEnum)]
enum Acks {
    #[value(name = "0")]
    None,
    #[value(name = "1")]
    Leader,
    #[value(name = "all", alias = "-1")]
    All,
}

impl Acks {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::Leader => "1",
            Self::All => "all",
        }
    }
}

/// Runs `dohle produce`.
pub(crate) fn run(args: Args) -> ExitCode {
    run_to_end(produce(args))
}

fn config(args: &Args) -> Result<ProducerConfig, Failure> {
    let mut config = ProducerConfig::to(args.cluster.servers())?;
    config.set("client.id", "dohle-cli")?;
    config.set("acks", args.acks.name())?;
    if !matches!(args.acks, Acks::All) {
        config.set("enable.idempotence", "false")?;
    }
    config.set("compression.type", &args.compression)?;
    if let Some(linger) = args.linger {
        config.set("linger.ms", &linger.to_string())?;
    }
    for (name, value) in &args.property {
        config.set(name, value)?;
    }
    config.validate()?;
    Ok(config)
}

/// Makes records of lines.
struct Maker {
    topic: Arc<str>,
    partition: Option<i32>,
    key: Option<Bytes>,
    delimiter: Option<Vec<u8>>,
    headers: Vec<RecordHeader>,
    tombstones: bool,
}

impl Maker {
    fn new(args: &Args) -> Self {
        let header = |(key, value): &(String, String)| RecordHeader {
            key: key.clone(),
            value: Some(Bytes::copy_from_slice(value.as_bytes())),
        };
        Self {
            topic: Arc::clone(&args.topic),
            partition: args.partition,
            key: args.key.as_ref().map(|key| Bytes::copy_from_slice(key.as_bytes())),
            delimiter: args.key_delimiter.as_ref().map(|text| text.as_bytes().to_vec()),
            headers: args.header.iter().map(header).collect(),
            tombstones: args.tombstones,
        }
    }

    fn record(&self, line: Vec<u8>) -> ProducerRecord {
        let line = Bytes::from(line);
        let split = self.delimiter.as_ref().and_then(|delimiter| {
            let at = line.windows(delimiter.len().max(1)).position(|part| part == delimiter)?;
            Some((line.slice(..at), line.slice(at + delimiter.len()..)))
        });
        let (key, value) = match split {
            Some((key, value)) => (Some(key), value),
            None => (self.key.clone(), line),
        };
        ProducerRecord {
            topic: Arc::clone(&self.topic),
            partition: self.partition,
            key,
            value: (!self.tombstones || !value.is_empty()).then_some(value),
            headers: self.headers.clone(),
            timestamp: None,
        }
    }
}

/// What became of the records so far.
#[derive(Default)]
struct Count {
    records: u64,
    bytes: u64,
    failed: u64,
}

/// A record whose fate is not known yet.
struct UnderWay {
    line: u64,
    bytes: u64,
    delivery: Delivery,
}

impl Count {
    async fn settle(&mut self, record: UnderWay) {
        match record.delivery.await {
            Ok(_) => {
                self.records += 1;
                self.bytes += record.bytes;
            }
            Err(error) => self.fail(record.line, &error),
        }
    }

    fn fail(&mut self, line: u64, error: &dyn fmt::Display) {
        self.failed += 1;
        if self.failed <= TOLD {
            eprintln!("dohle: line {line} was not written: {error}");
        }
    }
}

/// Tells what holds records up, until the command ends.
async fn watch(producer: Producer<Tokio>) {
    let mut waiting = Waiting::default();
    loop {
        tokio::time::sleep(LOOK).await;
        waiting.tell(&producer.troubles(), producer.last_connection_error());
    }
}

/// Checks that there is a broker, and the partition that is asked for. A topic that does not exist
/// may be made by writing to it.
async fn check_place(args: &Args) -> Result<(), Failure> {
    let Some(partition) = args.partition else { return args.cluster.reach().await };
    match args.cluster.topic(&args.topic).await? {
        Ok(topic) if usize::try_from(partition).is_ok_and(|at| at >= topic.partitions.len()) => {
            Err(about_partition(&args.topic, topic.partitions.len(), partition))
        }
        Err(error) if error.code != ErrorCode::UnknownTopicOrPartition => {
            Err(Failure::Failed(about_topic(&args.topic, &error)))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn produce(mut args: Args) -> Result<(), Failure> {
    args.cluster = args.cluster.or_set(&args.property)?;
    let config = config(&args)?;
    check_place(&args).await?;
    let limit = config.max_request_size + args.key_delimiter.as_ref().map_or(0, String::len);
    let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    tokio::spawn(watch(producer.clone()));
    let maker = Maker::new(&args);
    let (began, mut count, mut under_way) = (Instant::now(), Count::default(), VecDeque::new());
    let (mut lines, mut line) = (lines(limit), 0);
    while let Some(read) = lines.recv().await {
        line += 1;
        let read = read.map_err(|error| Failure::Failed(format!("standard input: {error}")))?;
        let Line::Whole(text) = read else {
            count.fail(line, &format!("it has more than {limit} bytes (max.request.size)"));
            continue;
        };
        let bytes = text.len() as u64;
        match producer.queue(maker.record(text)).await {
            Ok(delivery) => under_way.push_back(UnderWay { line, bytes, delivery }),
            Err(error) => count.fail(line, &error),
        }
        if under_way.len() >= UNDER_WAY
            && let Some(oldest) = under_way.pop_front()
        {
            count.settle(oldest).await;
        }
    }
    producer.close().await;
    for record in under_way {
        count.settle(record).await;
    }
    summary(&args, &count, began)?;
    if count.failed == 0 {
        return Ok(());
    }
    let last = producer.last_connection_error();
    let last = last.map_or_else(String::new, |text| format!("; last connection: {text}"));
    Err(Failure::Failed(format!("{} records were not written{last}", count.failed)))
}

fn summary(args: &Args, count: &Count, began: Instant) -> io::Result<()> {
    let (wall, topic) = (began.elapsed(), &*args.topic);
    let Count { records, bytes, failed } = count;
    let mut out = io::stderr().lock();
    if args.json {
        let object = json!({
            "topic": topic, "records": records, "bytes": bytes, "failed": failed,
            "wall_s": wall.as_secs_f64(),
        });
        return writeln!(out, "{object}");
    }
    let seconds = wall.as_secs_f64();
    writeln!(out, "{records} records ({bytes} bytes) written to {topic} in {seconds:.3} s")
}

/// A line of the input, without its end.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Whole(Vec<u8>),
    /// It was passed over.
    TooLong,
}

/// The lines of standard input. Read on a thread of its own, because reading from a terminal or a
/// pipe waits.
fn lines(limit: usize) -> mpsc::Receiver<io::Result<Line>> {
    let (to, from) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next_line(&mut input, limit).transpose() {
            let failed = line.is_err();
            if to.blocking_send(line).is_err() || failed {
                return;
            }
        }
    });
    from
}

/// The next line, of which no more than `limit` bytes are ever kept.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let room = (limit as u64).saturating_add(1);
    if input.by_ref().take(room).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > limit {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Whole(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(delimiter: Option<&str>, tombstones: bool) -> Maker {
        Maker {
            topic: "t".into(),
            partition: None,
            key: None,
            delimiter: delimiter.map(|text| text.as_bytes().to_vec()),
            headers: Vec::new(),
            tombstones,
        }
    }

    fn check(maker: &Maker, line: &str, key: Option<&str>, value: Option<&str>) {
        let record = maker.record(line.as_bytes().to_vec());
        let bytes = |text: Option<&str>| text.map(|text| Bytes::copy_from_slice(text.as_bytes()));
        assert_eq!((record.key, record.value), (bytes(key), bytes(value)), "{line:?}");
    }

    #[test]
    fn lines_are_bounded() {
        let check = |mut input: &[u8], expected: &[Option<&str>]| {
            let mut found = Vec::new();
            while let Some(line) = next_line(&mut input, 3).unwrap() {
                found.push(line);
            }
            let line = |text: &Option<&str>| {
                text.map_or(Line::TooLong, |text| Line::Whole(text.as_bytes().to_vec()))
            };
            assert_eq!(found, expected.iter().map(line).collect::<Vec<_>>(), "{input:?}");
        };
        check(b"", &[]);
        check(b"abc\n\nab", &[Some("abc"), Some(""), Some("ab")]);
        check(b"abcd\nabc", &[None, Some("abc")]);
        check(b"a\nabcdefgh", &[Some("a"), None]);
    }

    #[test]
    fn a_line_is_a_value_or_a_key_and_a_value() {
        check(&maker(None, false), "a:b", None, Some("a:b"));
        check(&maker(None, false), "", None, Some(""));
        check(&maker(Some(":"), false), "a:b:c", Some("a"), Some("b:c"));
        check(&maker(Some("=>"), false), "a=>b", Some("a"), Some("b"));
        check(&maker(Some(":"), false), "plain", None, Some("plain"));
        check(&maker(Some(":"), false), ":b", Some(""), Some("b"));
        check(&maker(Some(":"), true), "gone:", Some("gone"), None);
    }
}
