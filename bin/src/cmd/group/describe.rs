//! `dohle group describe`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{
    CommittedOffset, GroupDescription, GroupFilter, GroupMember, OffsetSpec,
};
use serde_json::{Value, json};

use super::{Groups, about_group, lag, members, offsets, quoted};
use crate::cmd::client::{Client, Common, none_of};
use crate::cmd::cluster::Failure;
use crate::cmd::table::{Table, shown};
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
///
/// A negative LAG says that the committed offset is beyond the end of the log: records were lost, or
/// the offset is of another log; nothing is behind then. A negative committed offset counts as none.
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
        Some(self.end?.saturating_sub(self.committed?))
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
        committed.keys().map(|at| (at.clone(), None)).collect();
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
            (Some(1..), Some(timestamp @ 0..)) => Some((now - timestamp).max(0)),
            _ => None,
        };
    }
    Ok(partitions)
}

fn offset<E>(found: &Result<Option<CommittedOffset>, E>) -> Option<i64> {
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
    /// What is left to read. A partition that is read beyond its end makes up for no other.
    fn lag(&self) -> Option<i64> {
        let lags = self.partitions.as_ref()?.iter().filter_map(Partition::lag);
        Some(lags.map(|lag| lag.max(0)).fold(0, i64::saturating_add))
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { id, group, .. } = self;
        let epochs = group.epochs.map_or_else(String::new, |(epoch, assigned)| {
            format!(", epoch {epoch}, assignment of epoch {assigned}")
        });
        writeln!(
            out,
            "{} ({}, {}, {}, assignor {}, coordinator {}{epochs})",
            quoted(id),
            group.group_type,
            group.state,
            members(group.members.len()),
            or(&shown(&group.assignor), "none"),
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
        let behind = match (part.committed, part.lag()) {
            (None, _) | (_, Some(..0)) => "-".to_owned(),
            _ => part.behind_ms.map_or_else(|| "?".to_owned(), spoken),
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
        let cells = [
            member.id.clone(),
            member.instance_id.clone().unwrap_or_else(|| "-".to_owned()),
            member.host.clone(),
            or(&member.client_id, "-"),
            member.epoch.map_or_else(|| "-".to_owned(), |epoch| epoch.to_string()),
            member.assignment.len().to_string(),
        ];
        table.row_with_list(cells, &or(&by_topic(&member.assignment), "-"));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        committed: Option<i64>,
        end: Option<i64>,
        behind_ms: Option<i64>,
    ) -> Partition<'static> {
        Partition { at: TopicPartition::new("t", 0), committed, end, behind_ms, member: None }
    }

    #[test]
    fn each_partition_says_how_far_it_is_read() {
        let check = |part: Partition<'_>, expected: &str| {
            let mut out = Vec::new();
            print_partitions(&mut out, &[part]).unwrap();
            let out = String::from_utf8(out).unwrap();
            let cells: Vec<&str> = out.lines().nth(1).unwrap().split_whitespace().collect();
            assert_eq!(cells[2..6].join(" "), expected);
        };
        check(part(Some(3), Some(5), Some(2000)), "3 5 2 2s");
        check(part(Some(5), Some(5), Some(0)), "5 5 0 0ms");
        check(part(Some(9), Some(5), None), "9 5 -4 -");
        check(part(Some(i64::MAX), Some(0), None), "9223372036854775807 0 -9223372036854775807 -");
        check(part(None, Some(5), None), "- 5 - -");
        check(part(Some(3), None, None), "3 ? ? ?");
    }
}
