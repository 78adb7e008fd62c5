//! `dohle consume`: prints records.

mod format;
mod group;
mod print;
mod start;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dohle_client::api::Consumer;
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::consumer::Start;
use dohle_client::machine::{TopicPartition, Trouble};
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;
use tokio::time::timeout;

use self::format::Format;
use self::print::Printer;
use self::start::From;
use super::cluster::{Cluster, Failure, about_partition, about_topic, pair, run as run_to_end};
use super::waiting::Waiting;

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(500);

/// Print the records of a topic.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the topic.
    topic: Arc<str>,
    /// Read as a member of this consumer group: its members share the partitions, and what was
    /// printed is committed, for the next one to go on there.
    #[arg(short, long, conflicts_with = "partition")]
    group: Option<String>,
    /// A partition; may be repeated. Otherwise all.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Vec<i32>,
    /// Where to begin: earliest, latest, an offset, @ and milliseconds since 1970, or a time such
    /// as 2026-03-01T12:00:00Z, in UTC if it has no zone. With --group, where to begin in partitions for which nothing is
    /// committed: earliest or latest.
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
    let mut config = ConsumerConfig::to(args.cluster.servers())?;
    config.set("client.id", "dohle-cli")?;
    config.set("allow.auto.create.topics", "false")?;
    for (name, value) in &args.property {
        config.set(name, value)?;
    }
    group::configure(args, &mut config)?;
    config.validate()?;
    Ok(config)
}

async fn consume(mut args: Args) -> Result<(), Failure> {
    args.cluster = args.cluster.or_set(&args.property)?;
    let config = config(&args)?;
    if args.count == Some(0) {
        return Ok(());
    }
    if args.group.is_some() {
        return group::consume(args, config).await;
    }
    let partitions = partitions(&args).await?;
    let patience = config.api_timeout;
    let mut reader = Reader {
        consumer: Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?,
        waiting: Waiting::default(),
    };
    let ends = if args.until_end { Some(reader.ends(&partitions, patience).await?) } else { None };
    reader.consumer.assign(partitions.iter().map(|of| (of.clone(), args.from.0)));
    if ends.is_some() {
        reader.settle(&partitions).await;
    }
    let mut printer = Printer::new(&args, ends);
    loop {
        if printer.is_done(&mut reader.consumer) {
            return Ok(());
        }
        let polled = reader.consumer.poll(POLL).await;
        reader.tell();
        printer.print(polled, |_, _| ())?;
    }
}

/// The partitions that are meant.
async fn partitions(args: &Args) -> Result<Vec<TopicPartition>, Failure> {
    let topic = args.cluster.topic(&args.topic).await?;
    let topic = topic.map_err(|error| Failure::Failed(about_topic(&args.topic, &error)))?;
    let count = topic.partitions.len();
    let of = |partition| TopicPartition::new(Arc::clone(&args.topic), partition);
    if args.partition.is_empty() {
        return Ok((0..).take(count).map(of).collect());
    }
    match args.partition.iter().find(|index| usize::try_from(**index).is_ok_and(|i| i >= count)) {
        Some(missing) => Err(about_partition(&args.topic, count, *missing)),
        None => Ok(args.partition.iter().copied().map(of).collect()),
    }
}

/// A consumer, and what is told of its waits.
struct Reader {
    consumer: Consumer<Tokio>,
    waiting: Waiting,
}

impl Reader {
    fn tell(&mut self) {
        self.waiting.tell(&self.consumer.troubles(), self.consumer.last_connection_error());
    }

    /// Where the partitions end now, as this consumer sees it: with
    /// `isolation.level=read_committed` before the first open transaction.
    async fn ends(
        &mut self,
        partitions: &[TopicPartition],
        patience: Duration,
    ) -> Result<BTreeMap<TopicPartition, Offset>, Failure> {
        let deadline = Instant::now() + patience;
        self.consumer.assign(partitions.iter().map(|of| (of.clone(), Start::Latest)));
        // A fetch at the end would wait for records, and keep the first one from its broker.
        partitions.iter().for_each(|of| self.consumer.pause(of.clone()));
        let mut ends = BTreeMap::new();
        for of in partitions {
            let end = self.position(of, deadline).await;
            ends.insert(of.clone(), end.ok_or_else(|| self.no_end(of))?);
        }
        Ok(ends)
    }

    /// Offset of the next record of a partition, waited for until `deadline`.
    async fn position(&mut self, of: &TopicPartition, deadline: Instant) -> Option<Offset> {
        while Instant::now() < deadline {
            if let Ok(Some(found)) = timeout(POLL, self.consumer.position(of)).await {
                return Some(found);
            }
            self.tell();
        }
        None
    }

    fn no_end(&self, of: &TopicPartition) -> Failure {
        let troubles = self.consumer.troubles();
        let mut why: Vec<String> = troubles.iter().map(Trouble::to_string).collect();
        why.extend(self.consumer.last_connection_error().map(|last| last.to_string()));
        Failure::Failed(format!("the end of {of} cannot be found: {}", why.join("; ")))
    }

    /// Waits a little for the positions: where there is nothing to read, no poll would end early.
    async fn settle(&mut self, partitions: &[TopicPartition]) {
        let all = async {
            for of in partitions {
                self.consumer.position(of).await;
            }
        };
        let _ = timeout(POLL, all).await;
    }
}
