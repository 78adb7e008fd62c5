//! `dohle group describe`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{
    GroupDescription, GroupFilter, GroupMember, GroupOffsets, OffsetSpec,
};
use serde_json::{Value, json};

use super::{Groups, about_group, lag, members, offsets};
use crate::cmd::client::{Client, Common, none_of};
use crate::cmd::cluster::Failure;
use crate::cmd::table::Table;
use crate::cmd::time::spoken;

/// How long to wait for the ends of partitions: what else there is to say does not depend on them.
const ENDS: Duration = Duration::from_secs(5);

/// Describe groups: what each has read of which partition, how far it is behind, who reads.
///
/// COMMITTED is the offset of the next record that the group will read, END the offset after the
/// last record. LAG is the difference, in records. BEHIND is the lag in time: the age of the oldest
/// record that the group has not read yet, which is its timestamp held against the clock of this
/// machine. It is 0 when everything is read, and `?` when that record cannot be read now or carries
/// no timestamp. Timestamps are mostly set by producers, so their clocks matter.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    groups: Groups,
    /// Describe every group.
    #[arg(long, conflicts_with_all = ["names", "more"])]
    all: bool,
    /// Show the members and what they read, instead of offsets.
    #[arg(long, conflicts_with = "state")]
    members: bool,
    /// Show only what the group is doing.
    #[arg(long)]
    state: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn describe(args: Args) -> Result<(), Failure> {
    let groups = if args.all { Vec::new() } else { args.groups.some()? };
    let client = Client::new(&args.common).await?;
    let groups = if args.all { every_group(&client).await? } else { groups };
    let found = client.or_failed(client.admin.describe_groups(groups).await)?;
    let mut problems = Vec::new();
    for (id, group) in &found {
        let group = match group {
            Ok(group) => group,
            Err(error) => {
                problems.push(about_group(id, error));
                continue;
            }
        };
        let parts = if args.members || args.state {
            None
        } else {
            Some(partitions(&client, id, group).await?)
        };
        let shown = Shown { id, group, members: !args.state, partitions: parts };
        let mut out = io::stdout().lock();
        if args.common.json {
            writeln!(out, "{}", shown.object())?;
        } else {
            shown.print(&mut out)?;
        }
    }
    none_of(&problems)
}

async fn every_group(client: &Client) -> Result<Vec<Arc<str>>, Failure> {
    let listing = client.or_failed(client.admin.list_groups(GroupFilter::default()).await)?;
    let problem = |(broker, error)| format!("the groups of broker {broker} are missing: {error}");
    none_of(&listing.failed.iter().map(problem).collect::<Vec<_>>())?;
    Ok(listing.groups.into_keys().collect())
}

/// One partition, as far as the group is concerned.
struct Partition<'a> {
    at: TopicPartition,
    committed: Option<i64>,
    end: Option<i64>,
    /// Age of the oldest record that is not read.
    behind_ms: Option<i64>,
    member: Option<&'a GroupMember>,
}

impl Partition<'_> {
    fn lag(&self) -> Option<i64> {
        Some((self.end? - self.committed?).max(0))
    }
}

/// What the group has read or is reading, in order.
async fn partitions<'a>(
    client: &Client,
    id: &Arc<str>,
    group: &'a GroupDescription,
) -> Result<Vec<Partition<'a>>, Failure> {
    let committed = offsets::committed(client, id).await?;
    let mut all: BTreeMap<TopicPartition, Option<&GroupMember>> =
        has_offset(&committed).map(|(at, _)| (at.clone(), None)).collect();
    for member in &group.members {
        all.extend(member.assignment.iter().map(|at| (at.clone(), Some(member))));
    }
    let ends = client.cluster.admin_within(ENDS)?;
    let wanted = all.keys().map(|at| (at.clone(), OffsetSpec::Latest)).collect();
    let ends = ends.list_offsets(wanted).await.unwrap_or_default();
    let mut partitions: Vec<Partition<'_>> = all
        .into_iter()
        .map(|(at, member)| Partition {
            committed: committed.get(&at).and_then(offset),
            end: ends.get(&at).and_then(|found| Some(found.as_ref().ok()?.offset.0)),
            behind_ms: None,
            member,
            at,
        })
        .collect();
    let unread = partitions.iter().filter(|part| part.lag().is_some_and(|lag| lag > 0));
    let unread = unread.filter_map(|part| Some((part.at.clone(), part.committed?))).collect();
    let oldest = lag::timestamps(&client.cluster, unread).await?;
    let now = lag::now_ms();
    for part in &mut partitions {
        part.behind_ms = match (part.lag(), oldest.get(&part.at)) {
            (Some(0), _) => Some(0),
            (_, Some(timestamp @ 0..)) => Some((now - timestamp).max(0)),
            _ => None,
        };
    }
    Ok(partitions)
}

fn has_offset(committed: &GroupOffsets) -> impl Iterator<Item = (&TopicPartition, i64)> {
    committed.iter().filter_map(|(at, found)| Some((at, offset(found)?)))
}

fn offset<E>(
    found: &Result<Option<dohle_client::machine::admin::CommittedOffset>, E>,
) -> Option<i64> {
    found.as_ref().ok()?.as_ref().map(|committed| committed.offset.0)
}

/// What is shown of one group.
struct Shown<'a> {
    id: &'a str,
    group: &'a GroupDescription,
    members: bool,
    partitions: Option<Vec<Partition<'a>>>,
}

fn or(text: &str, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text.to_owned() }
}

fn number(value: Option<i64>, none: &str) -> String {
    value.map_or_else(|| none.to_owned(), |value| value.to_string())
}

impl Shown<'_> {
    fn lag(&self) -> Option<i64> {
        Some(self.partitions.as_ref()?.iter().filter_map(Partition::lag).sum())
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { id, group, .. } = self;
        let epochs = group.epochs.map_or_else(String::new, |(epoch, assigned)| {
            format!(", epoch {epoch}, assignment of epoch {assigned}")
        });
        writeln!(
            out,
            "{id} ({}, {}, {}, assignor {}, coordinator {}{epochs})",
            group.group_type,
            group.state,
            members(group.members.len()),
            or(&group.assignor, "none"),
            group.coordinator,
        )?;
        match &self.partitions {
            Some(partitions) if partitions.is_empty() => writeln!(out, "no committed offsets"),
            Some(partitions) => print_partitions(out, partitions),
            None if self.members && group.members.is_empty() => writeln!(out, "no members"),
            None if self.members => print_members(out, &group.members),
            None => Ok(()),
        }
    }

    fn object(&self) -> Value {
        let group = self.group;
        let mut object = json!({
            "group": self.id, "type": group.group_type.name(), "state": group.state.name(),
            "protocol": group.protocol_type, "assignor": group.assignor,
            "coordinator": group.coordinator.0,
            "epoch": group.epochs.map(|(epoch, _)| epoch),
            "assignment_epoch": group.epochs.map(|(_, assigned)| assigned),
            "member_count": group.members.len(),
        });
        if self.members {
            object["members"] = group.members.iter().map(member_object).collect();
        }
        if let Some(partitions) = &self.partitions {
            object["lag"] = json!(self.lag());
            object["partitions"] = partitions.iter().map(partition_object).collect();
        }
        object
    }
}

fn print_partitions(out: &mut impl Write, partitions: &[Partition<'_>]) -> io::Result<()> {
    let columns =
        ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "BEHIND", "MEMBER", "HOST", "CLIENT"];
    let mut table = Table::new(&columns);
    for part in partitions {
        let of = |field: fn(&GroupMember) -> &str| part.member.map_or("-", field).to_owned();
        let behind = match part.committed {
            None => "-".to_owned(),
            Some(_) => part.behind_ms.map_or_else(|| "?".to_owned(), spoken),
        };
        table.row([
            part.at.topic.to_string(),
            part.at.partition.to_string(),
            number(part.committed, "-"),
            number(part.end, "?"),
            number(part.lag(), if part.committed.is_some() { "?" } else { "-" }),
            behind,
            of(|member| &member.id),
            of(|member| &member.host),
            of(|member| &member.client_id),
        ]);
    }
    table.print(out)
}

fn print_members(out: &mut impl Write, members: &[GroupMember]) -> io::Result<()> {
    let mut table =
        Table::new(&["MEMBER", "INSTANCE", "HOST", "CLIENT", "EPOCH", "COUNT", "PARTITIONS"]);
    for member in members {
        table.row([
            member.id.clone(),
            member.instance_id.clone().unwrap_or_else(|| "-".to_owned()),
            member.host.clone(),
            or(&member.client_id, "-"),
            member.epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
            member.assignment.len().to_string(),
            or(&by_topic(&member.assignment), "-"),
        ]);
    }
    table.print(out)
}

/// Partitions in short: `a:0,1 b:2`.
fn by_topic(partitions: &[TopicPartition]) -> String {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for at in partitions {
        topics.entry(&*at.topic).or_default().push(at.partition.to_string());
    }
    let of = |(topic, numbers): (&str, Vec<String>)| format!("{topic}:{}", numbers.join(","));
    topics.into_iter().map(of).collect::<Vec<_>>().join(" ")
}

fn member_object(member: &GroupMember) -> Value {
    let named = |at: &TopicPartition| json!({"topic": *at.topic, "partition": at.partition});
    let all = |list: &Vec<TopicPartition>| list.iter().map(named).collect::<Vec<_>>();
    json!({
        "member": member.id, "instance": member.instance_id, "host": member.host,
        "client_id": member.client_id, "epoch": member.epoch,
        "partitions": all(&member.assignment), "target": member.target.as_ref().map(all),
    })
}

fn partition_object(part: &Partition<'_>) -> Value {
    json!({
        "topic": *part.at.topic, "partition": part.at.partition, "committed": part.committed,
        "end": part.end, "lag": part.lag(), "behind_ms": part.behind_ms,
        "member": part.member.map(|member| &member.id),
        "host": part.member.map(|member| &member.host),
        "client_id": part.member.map(|member| &member.client_id),
    })
}
