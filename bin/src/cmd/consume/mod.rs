//! `dohle consume`: prints records.

mod format;
mod start;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::{Consumer, Polled};
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::Start;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;

use self::format::Format;
use self::start::From;
use super::cluster::{Cluster, Failure, about_topic, pair, run as run_to_end};

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(500);

/// Print the records of a topic.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the topic.
    topic: Arc<str>,
    /// A partition; may be repeated. Otherwise all.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Where to begin: earliest, latest, an offset, @ and milliseconds since 1970, or a time such
    /// as 2026-03-01T12:00:00Z.
    #[arg(long, value_name = "PLACE", default_value = "earliest")]
    from: From,
    /// End after so many records.
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// End at the records that were last when the command began.
    #[arg(short = 'e', long)]
    until_end: bool,
    /// What to print of each record: %t topic, %p partition, %o offset, %k key, %v value,
    /// %h headers, %T timestamp, %K and %V lengths, \n \t.
    #[arg(short, long, value_name = "FORMAT", default_value = "%v\\n")]
    format: Format,
    /// Print each record as a JSON object.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Any setting of a consumer, under Kafka's name; may be repeated.
    #[arg(short = 'X', long, value_name = "NAME=VALUE", value_parser = pair)]
    property: Vec<(String, String)>,
    #[command(flatten)]
    cluster: Cluster,
}

/// Runs `dohle consume`.
pub(crate) fn run(args: Args) -> ExitCode {
    run_to_end(consume(args))
}

fn config(args: &Args) -> Result<ConsumerConfig, Failure> {
    let mut config = ConsumerConfig::to(&args.cluster.bootstrap)?;
    config.set("client.id", "dohle-cli")?;
    config.set("allow.auto.create.topics", "false")?;
    for (name, value) in &args.property {
        config.set(name, value)?;
    }
    config.validate()?;
    Ok(config)
}

async fn consume(args: Args) -> Result<(), Failure> {
    let config = config(&args)?;
    if args.count == Some(0) {
        return Ok(());
    }
    let partitions = partitions(&args).await?;
    let mut consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    let ends = if args.until_end { Some(ends(&mut consumer, &partitions).await?) } else { None };
    consumer.assign(partitions.into_iter().map(|of| (of, args.from.0)));
    let mut printer = Printer {
        out: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
        format: (!args.json).then_some(args.format),
        left: args.count,
        ends,
    };
    loop {
        if printer.is_done(&mut consumer).await {
            return Ok(());
        }
        let polled = consumer.poll(POLL).await;
        let ended = printer.print(polled);
        printer.out.flush()?;
        ended?;
    }
}

/// The partitions that are meant.
async fn partitions(args: &Args) -> Result<Vec<TopicPartition>, Failure> {
    let admin = args.cluster.admin()?;
    let topics = admin.describe_topics(vec![Arc::clone(&args.topic)]).await;
    let topics =
        topics.map_err(|error| args.cluster.failed(&error, admin.last_connection_error()))?;
    let count = match topics.get(&args.topic) {
        Some(Ok(topic)) => topic.partitions.len(),
        Some(Err(error)) => return Err(Failure::Failed(about_topic(&args.topic, error))),
        None => return Err(Failure::Failed(format!("no broker describes {}", args.topic))),
    };
    let of = |partition| TopicPartition::new(Arc::clone(&args.topic), partition);
    if args.partition.is_empty() {
        return Ok((0..).take(count).map(of).collect());
    }
    match args.partition.iter().find(|index| usize::try_from(**index).is_ok_and(|i| i >= count)) {
        Some(missing) => Err(Failure::Failed(format!(
            "{} has {count} partitions, numbered from 0; there is no partition {missing}",
            args.topic
        ))),
        None => Ok(args.partition.iter().copied().map(of).collect()),
    }
}

/// Where the partitions end now, as this consumer sees it: with `isolation.level=read_committed`
/// before the first open transaction.
async fn ends(
    consumer: &mut Consumer<Tokio>,
    partitions: &[TopicPartition],
) -> Result<BTreeMap<TopicPartition, Offset>, Failure> {
    consumer.assign(partitions.iter().map(|of| (of.clone(), Start::Latest)));
    let mut ends = BTreeMap::new();
    for of in partitions {
        match consumer.position(of).await {
            Some(end) => ends.insert(of.clone(), end),
            None => {
                let last = consumer.last_connection_error();
                let last = last.map_or_else(String::new, |text| format!(": {text}"));
                return Err(Failure::Failed(format!("the end of {of} cannot be found{last}")));
            }
        };
    }
    Ok(ends)
}

/// What is printed, and how much of it is left.
struct Printer<W: Write> {
    out: W,
    /// JSON without.
    format: Option<Format>,
    left: Option<u64>,
    ends: Option<BTreeMap<TopicPartition, Offset>>,
}

impl<W: Write> Printer<W> {
    async fn is_done(&mut self, consumer: &mut Consumer<Tokio>) -> bool {
        if self.left == Some(0) {
            return true;
        }
        let Some(ends) = &mut self.ends else { return false };
        let partitions: Vec<TopicPartition> = ends.keys().cloned().collect();
        for of in partitions {
            if consumer.position(&of).await.is_some_and(|at| at >= ends[&of]) {
                ends.remove(&of);
                consumer.pause(of);
            }
        }
        ends.is_empty()
    }

    fn print(&mut self, polled: Polled) -> Result<(), Failure> {
        for (of, records) in polled.records {
            for record in records {
                // What came after the command began is not asked for.
                let end = self.ends.as_ref().map(|ends| ends.get(&of).copied());
                if self.left == Some(0)
                    || end.is_some_and(|end| end.is_none_or(|end| record.offset >= end))
                {
                    break;
                }
                match &self.format {
                    Some(format) => format.print(&mut self.out, &of, &record)?,
                    None => writeln!(self.out, "{}", format::object(&of, &record))?,
                }
                self.left = self.left.map(|left| left - 1);
            }
        }
        match polled.failed.first() {
            Some((of, error)) => Err(Failure::Failed(format!("{of}: {error}"))),
            None => Ok(()),
        }
    }
}
