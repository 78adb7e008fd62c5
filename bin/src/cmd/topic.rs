//! `dohle topic`: creates, lists, describes, changes and deletes topics.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use dohle_client::api::Each;
use dohle_client::machine::admin::{
    AdminError, ConfigChange, ConfigEntry, ConfigResource, ConfigSource, FoundOffset, ItemError,
    NewTopic, OffsetSpec, TopicDescription,
};
use dohle_client::machine::{PartitionInfo, TopicPartition};
use dohle_wire::id::NodeId;
use serde_json::{Value, json};

use super::client::{Client, Common, none_of, say};
use super::cluster::{Failure, about_topic, pair, run as run_to_end};
use super::table::Table;

/// How long to wait for offsets: what else there is to say of a topic does not depend on them.
const OFFSETS: Duration = Duration::from_secs(5);

/// Create, list, describe, change and delete topics.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Create a topic.
    Create(Create),
    /// List topics.
    List(List),
    /// Describe topics: partitions, leaders, replicas, offsets, settings.
    Describe(Describe),
    /// Delete topics, with all their records.
    Delete(Delete),
    /// Add partitions to a topic, or change its settings.
    Alter(Alter),
}

#[derive(clap::Args, Debug)]
struct Create {
    /// Name of the topic.
    name: Arc<str>,
    /// Number of partitions; otherwise the broker's num.partitions.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// Number of replicas; otherwise the broker's default.replication.factor.
    #[arg(short, long, value_parser = clap::value_parser!(i16).range(1..))]
    replication_factor: Option<i16>,
    /// A setting of the topic; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    config: Vec<(String, String)>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct List {
    /// Show topics that serve the cluster itself, too.
    #[arg(long)]
    internal: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct Describe {
    /// Names of topics.
    #[arg(required = true)]
    names: Vec<Arc<str>>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct Delete {
    /// Names of topics.
    #[arg(required = true)]
    names: Vec<Arc<str>>,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
#[group(skip)]
struct Alter {
    /// Name of the topic.
    name: Arc<str>,
    /// The new number of partitions, more than now. Records with keys may then go elsewhere.
    #[arg(short, long, value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,
    /// A setting to change; may be repeated.
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = pair)]
    config: Vec<(String, String)>,
    /// A setting to put back to its default; may be repeated.
    #[arg(long, value_name = "NAME")]
    delete_config: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs `dohle topic`.
pub(crate) fn run(args: Args) -> ExitCode {
    match args.command {
        Command::Create(args) => run_to_end(create(args)),
        Command::List(args) => run_to_end(list(args)),
        Command::Describe(args) => run_to_end(describe(args)),
        Command::Delete(args) => run_to_end(delete(args)),
        Command::Alter(args) => run_to_end(alter(args)),
    }
}

/// All items succeeded, or why not.
fn all_done(each: BTreeMap<Arc<str>, Result<(), ItemError>>) -> Result<(), Failure> {
    let problems: Vec<String> = each
        .iter()
        .filter_map(|(name, result)| Some(about_topic(name, result.as_ref().err()?)))
        .collect();
    none_of(&problems)
}

async fn create(args: Create) -> Result<(), Failure> {
    let client = Client::new(&args.common).await?;
    let topic = NewTopic {
        name: Arc::clone(&args.name),
        partitions: args.partitions.unwrap_or(-1),
        replication_factor: args.replication_factor.unwrap_or(-1),
        configs: args.config,
    };
    all_done(client.or_failed(client.admin.create_topics(vec![topic]).await)?)?;
    let name = &args.name;
    say(args.common.json, &format!("created {name}"), &json!({"created": **name}))
}

async fn delete(args: Delete) -> Result<(), Failure> {
    let client = Client::new(&args.common).await?;
    all_done(client.or_failed(client.admin.delete_topics(args.names.clone()).await)?)?;
    for name in &args.names {
        say(args.common.json, &format!("deleted {name}"), &json!({"deleted": **name}))?;
    }
    Ok(())
}

async fn alter(args: Alter) -> Result<(), Failure> {
    let set = args.config.into_iter().map(|(name, value)| ConfigChange::Set(name, value));
    let changes: Vec<_> =
        set.chain(args.delete_config.into_iter().map(ConfigChange::Delete)).collect();
    if changes.is_empty() && args.partitions.is_none() {
        let problem = "nothing to change: expected --partitions, --config or --delete-config";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let client = Client::new(&args.common).await?;
    if !changes.is_empty() {
        let resource = ConfigResource::Topic(Arc::clone(&args.name));
        all_done(client.or_failed(client.admin.alter_configs(vec![(resource, changes)]).await)?)?;
    }
    if let Some(total) = args.partitions {
        let totals = vec![(Arc::clone(&args.name), total)];
        all_done(client.or_failed(client.admin.create_partitions(totals).await)?)?;
    }
    let name = &args.name;
    say(args.common.json, &format!("altered {name}"), &json!({"altered": **name}))
}

async fn list(args: List) -> Result<(), Failure> {
    let client = Client::new(&args.common).await?;
    let topics = client.or_failed(client.admin.list_topics().await)?;
    let mut table = Table::new(&["TOPIC", "PARTITIONS", "REPLICAS"]);
    let mut rows = Vec::new();
    for (name, topic) in &topics {
        let Ok(topic) = topic else { continue };
        if topic.internal && !args.internal {
            continue;
        }
        let replicas = topic.partitions.iter().map(|part| part.replicas.len()).max().unwrap_or(0);
        let partitions = topic.partitions.len();
        table.row([name.to_string(), partitions.to_string(), replicas.to_string()]);
        rows.push(json!({
            "name": **name, "id": topic.id.to_string(), "internal": topic.internal,
            "partitions": partitions, "replicas": replicas,
        }));
    }
    let mut out = io::stdout().lock();
    if args.common.json {
        writeln!(out, "{}", Value::Array(rows))?;
    } else {
        table.print(&mut out)?;
    }
    Ok(())
}

/// Everything about one topic.
struct Described<'a> {
    name: &'a str,
    topic: &'a TopicDescription,
    configs: &'a [ConfigEntry],
    start: &'a BTreeMap<TopicPartition, Result<FoundOffset, ItemError>>,
    end: &'a BTreeMap<TopicPartition, Result<FoundOffset, ItemError>>,
}

async fn describe(args: Describe) -> Result<(), Failure> {
    let client = Client::new(&args.common).await?;
    let topics = client.or_failed(client.admin.describe_topics(args.names.clone()).await)?;
    let missing = topics
        .iter()
        .filter_map(|(name, found)| found.as_ref().err().map(|error| about_topic(name, error)));
    let missing: Vec<String> = missing.collect();
    let known: Vec<(&Arc<str>, &TopicDescription)> =
        topics.iter().filter_map(|(name, found)| Some((name, found.as_ref().ok()?))).collect();
    let resources = known.iter().map(|(name, _)| ConfigResource::Topic(Arc::clone(name)));
    let configs = client.or_failed(client.admin.describe_configs(resources.collect()).await)?;
    let offsets_admin = client.cluster.admin_within(OFFSETS)?;
    let offsets = |spec| {
        // A partition without leader cannot tell; waiting for it would help nobody.
        let led = known.iter().flat_map(|(name, topic)| {
            let led = topic.partitions.iter().filter(|part| part.leader.is_some());
            led.map(|part| (TopicPartition::new(Arc::clone(name), part.index), spec))
        });
        offsets_admin.list_offsets(led.collect())
    };
    let (start, end) = tokio::join!(offsets(OffsetSpec::Earliest), offsets(OffsetSpec::Latest));
    let unread = unread(&end);
    let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
    let mut out = io::stdout().lock();
    for (name, topic) in known {
        let configs = configs.get(&ConfigResource::Topic(Arc::clone(name)));
        let configs = configs.and_then(|found| found.as_deref().ok()).unwrap_or_default();
        let described = Described { name, topic, configs, start: &start, end: &end };
        if args.common.json {
            writeln!(out, "{}", described.object())?;
        } else {
            described.print(&mut out)?;
        }
    }
    out.flush()?;
    let problems: Vec<String> = missing.into_iter().chain(unread).collect();
    none_of(&problems)
}

/// What to say about offsets that nobody told.
fn unread(found: &Result<Each<TopicPartition, FoundOffset>, AdminError>) -> Vec<String> {
    let of = |(of, found): (&TopicPartition, &Result<FoundOffset, ItemError>)| {
        Some(format!("the offsets of {of} are not known: {}", found.as_ref().err()?))
    };
    match found {
        Ok(each) => each.iter().filter_map(of).collect(),
        Err(error) => vec![format!("no offsets are known: {error}")],
    }
}

impl Described<'_> {
    fn offset(
        &self,
        of: &BTreeMap<TopicPartition, Result<FoundOffset, ItemError>>,
        index: i32,
    ) -> Option<i64> {
        let found = of.get(&TopicPartition::new(self.name, index))?.as_ref().ok()?;
        Some(found.offset.0)
    }

    /// Settings that were given to the topic itself.
    fn own_configs(&self) -> impl Iterator<Item = &ConfigEntry> {
        self.configs.iter().filter(|entry| entry.source == ConfigSource::Topic)
    }

    fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        writeln!(
            out,
            "{} (id {}, {} partitions)",
            self.name,
            self.topic.id,
            self.topic.partitions.len()
        )?;
        let mut table =
            Table::new(&["PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END"]);
        for part in &self.topic.partitions {
            let number =
                |value: Option<i64>| value.map_or("?".to_owned(), |value| value.to_string());
            table.row([
                part.index.to_string(),
                part.leader.map_or("none".to_owned(), |node| node.to_string()),
                part.epoch.to_string(),
                nodes(&part.replicas),
                nodes(&part.isr),
                number(self.offset(self.start, part.index)),
                number(self.offset(self.end, part.index)),
            ]);
        }
        table.print(out)?;
        for entry in self.own_configs() {
            writeln!(out, "{}={}", entry.name, entry.value.as_deref().unwrap_or("(hidden)"))?;
        }
        Ok(())
    }

    fn object(&self) -> Value {
        let ids = |list: &[NodeId]| list.iter().map(|node| node.0).collect::<Vec<_>>();
        let part = |part: &PartitionInfo| {
            json!({
                "partition": part.index, "leader": part.leader.map(|node| node.0),
                "leader_epoch": part.epoch.0, "replicas": ids(&part.replicas),
                "isr": ids(&part.isr), "offline": ids(&part.offline),
                "start": self.offset(self.start, part.index),
                "end": self.offset(self.end, part.index),
            })
        };
        let configs = self.configs.iter().map(|entry| {
            let own = entry.source == ConfigSource::Topic;
            (entry.name.clone(), json!({"value": entry.value, "own": own}))
        });
        json!({
            "name": self.name, "id": self.topic.id.to_string(), "internal": self.topic.internal,
            "partitions": self.topic.partitions.iter().map(part).collect::<Vec<_>>(),
            "configs": configs.collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn nodes(list: &[NodeId]) -> String {
    list.iter().map(NodeId::to_string).collect::<Vec<_>>().join(",")
}
