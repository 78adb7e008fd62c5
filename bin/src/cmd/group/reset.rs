//! `dohle group reset-offsets`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{CommittedOffset, GroupOffsets, GroupState, OffsetSpec};
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};
use serde_json::{Value, json};

use super::scope::Scope;
use super::{Groups, about_group, lag, members, offsets, quoted};
use crate::cmd::client::{Client, Common, none_of};
use crate::cmd::cluster::Failure;
use crate::cmd::table::Table;
use crate::cmd::time::{moment, span};

/// Let a group go on elsewhere: commit other offsets for it.
///
/// The group must have no members, or it need not exist at all. The plan is printed, then carried
/// out, unless it is a dry run. An offset outside of the log becomes its start or its end.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub(super) struct Args {
    #[command(flatten)]
    groups: Groups,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    to: To,
    /// Print the plan and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Carry the plan out; so it is without this, too.
    #[arg(long, conflicts_with = "dry_run")]
    execute: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Copy, Clone, Debug)]
#[group(required = true, multiple = false)]
struct To {
    /// To the first record.
    #[arg(long)]
    to_earliest: bool,
    /// After the last record.
    #[arg(long)]
    to_latest: bool,
    /// To the first record of this time or later, for example 2026-03-01T12:00:00Z, or @ and
    /// milliseconds since 1970. Without a zone it is UTC. After the last record if all are older.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to_datetime: Option<i64>,
    /// To this offset.
    #[arg(long, value_name = "OFFSET", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    to_offset: Option<i64>,
    /// To the first record that is at most so old, for example 1h, 2d or PT1H30M.
    #[arg(long, value_name = "SPAN", value_parser = duration)]
    by_duration: Option<i64>,
    /// So many records on, or back for a negative number.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    shift_by: Option<i64>,
    /// To where the group is now: commits anew what it has committed, or the end of the log.
    #[arg(long)]
    to_current: bool,
}

fn duration(text: &str) -> Result<i64, String> {
    span(text).ok_or_else(|| "expected a span such as 90s, 1h30m, 2d or PT1H".to_owned())
}

/// A partition and its new offset.
struct Move {
    at: TopicPartition,
    from: Option<i64>,
    to: i64,
    /// What was asked for, if the log does not reach there.
    asked: Option<i64>,
}

pub(super) async fn reset(args: Args) -> Result<(), Failure> {
    let group = args.groups.one()?;
    let client = Client::new(&args.common).await?;
    refuse_members(&client, &group).await?;
    let committed = offsets::committed(&client, &group).await?;
    let partitions = args.scope.partitions(&client, &group, &committed).await?;
    let plan = plan(&client, &group, &args.to, &committed, &partitions).await?;
    if !args.common.json {
        print(&group, &plan, args.dry_run)?;
    }
    if !args.dry_run {
        carry_out(&client, &group, &plan).await?;
    }
    let mut out = io::stdout().lock();
    if args.common.json {
        writeln!(out, "{}", object(&group, &plan, args.dry_run))?;
    } else if !args.dry_run {
        writeln!(out, "group {} goes on at these offsets", quoted(&group))?;
    }
    Ok(())
}

/// Offsets that members hold in their own memory cannot be changed under them.
async fn refuse_members(client: &Client, group: &Arc<str>) -> Result<(), Failure> {
    let mut found =
        client.or_failed(client.admin.describe_groups(vec![Arc::clone(group)]).await)?;
    let name = quoted(group);
    let problem = match found.remove(group) {
        Some(Err(error)) if error.code == ErrorCode::GroupIdNotFound => return Ok(()),
        Some(Err(error)) => about_group(group, &error),
        Some(Ok(found)) if matches!(found.state, GroupState::Empty | GroupState::Dead) => {
            return Ok(());
        }
        Some(Ok(found)) => format!(
            "group {name} is {} with {}; offsets can only be reset while it has none: \
             stop them first (`dohle group describe {name} --members` shows who they are)",
            found.state,
            members(found.members.len())
        ),
        None => format!("no broker describes group {name}"),
    };
    Err(Failure::Failed(problem))
}

async fn plan(
    client: &Client,
    group: &str,
    to: &To,
    committed: &GroupOffsets,
    partitions: &[TopicPartition],
) -> Result<Vec<Move>, Failure> {
    let current: BTreeMap<&TopicPartition, i64> = committed
        .iter()
        .filter_map(|(at, found)| Some((at, found.as_ref().ok()?.as_ref()?.offset.0)))
        .collect();
    if let Some(at) = partitions.iter().find(|at| !current.contains_key(at))
        && to.shift_by.is_some()
    {
        let group = quoted(group);
        return Err(Failure::Failed(format!(
            "group {group} has committed no offset of {at}, so there is nothing to shift; leave \
             the partition out, or use --to-offset"
        )));
    }
    let starts = offsets::of_each(client, partitions, OffsetSpec::Earliest).await?;
    let ends = offsets::of_each(client, partitions, OffsetSpec::Latest).await?;
    let since = to.to_datetime.or_else(|| Some((lag::now_ms() - to.by_duration?).max(0)));
    let timed = match since {
        Some(ms) => {
            let spec = OffsetSpec::Timestamp(Timestamp(ms));
            offsets::of_each(client, partitions, spec).await?
        }
        None => BTreeMap::new(),
    };
    Ok(partitions
        .iter()
        .map(|at| {
            let bounds = (starts[at], ends[at]);
            let from = current.get(at).copied();
            let wanted = to.offset(bounds, from, timed.get(at).copied());
            let reached = wanted.clamp(bounds.0, bounds.1);
            let asked = (reached != wanted).then_some(wanted);
            Move { at: at.clone(), from, to: reached, asked }
        })
        .collect())
}

impl To {
    /// The wanted offset of a partition whose log goes from the first bound to the second.
    fn offset(&self, (start, end): (i64, i64), from: Option<i64>, timed: Option<i64>) -> i64 {
        if self.to_earliest {
            start
        } else if self.to_latest {
            end
        } else if let Some(offset) = self.to_offset {
            offset
        } else if let Some(by) = self.shift_by {
            from.unwrap_or(end).saturating_add(by)
        } else if self.to_current {
            from.unwrap_or(end)
        } else {
            timed.filter(|offset| *offset >= 0).unwrap_or(end)
        }
    }
}

fn print(group: &str, plan: &[Move], dry_run: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let group = quoted(group);
    if dry_run {
        writeln!(out, "DRY RUN: nothing is changed. Without --dry-run group {group} would get:")?;
    }
    let mut table = Table::new(&["TOPIC", "PARTITION", "FROM", "TO", "CHANGE", ""]);
    for Move { at, from, to, asked } in plan {
        let note = asked.map_or_else(String::new, |asked| {
            format!("{asked} is outside of the log, which {}", bound(asked, *to))
        });
        table.row([
            at.topic.to_string(),
            at.partition.to_string(),
            from.map_or_else(|| "-".to_owned(), |from| from.to_string()),
            to.to_string(),
            from.map_or_else(|| "-".to_owned(), |from| format!("{:+}", to - from)),
            note,
        ]);
    }
    table.print(&mut out)?;
    Ok(out.flush()?)
}

fn bound(asked: i64, reached: i64) -> String {
    let verb = if asked < reached { "starts" } else { "ends" };
    format!("{verb} at {reached}")
}

fn object(group: &str, plan: &[Move], dry_run: bool) -> Value {
    let row = |Move { at, from, to, asked }: &Move| {
        json!({
            "topic": *at.topic, "partition": at.partition, "from": from, "to": to, "asked": asked,
        })
    };
    json!({
        "group": group, "dry_run": dry_run, "partitions": plan.iter().map(row).collect::<Vec<_>>(),
    })
}

async fn carry_out(client: &Client, group: &Arc<str>, plan: &[Move]) -> Result<(), Failure> {
    let commit = |of: &Move| (of.at.clone(), CommittedOffset::new(Offset(of.to)));
    let offsets = plan.iter().map(commit).collect();
    let each = client.admin.alter_group_offsets(Arc::clone(group), offsets).await;
    let group = quoted(group);
    let problem = |(at, result): (_, Result<(), dohle_client::machine::admin::ItemError>)| {
        let error = result.err()?;
        Some(match error.code {
            // What a broker answers when somebody has joined in the meantime.
            ErrorCode::UnknownMemberId => {
                format!("{at}: group {group} got members in the meantime; stop them first")
            }
            _ => format!("{at}: {error}"),
        })
    };
    let problems: Vec<String> = client.or_failed(each)?.into_iter().filter_map(problem).collect();
    none_of(&problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_leads_somewhere() {
        let none = To {
            to_earliest: false,
            to_latest: false,
            to_datetime: None,
            to_offset: None,
            by_duration: None,
            shift_by: None,
            to_current: false,
        };
        let check = |to: To, from: Option<i64>, timed: Option<i64>, expected: i64| {
            assert_eq!(to.offset((10, 90), from, timed), expected, "{to:?}");
        };
        check(To { to_earliest: true, ..none }, Some(50), None, 10);
        check(To { to_latest: true, ..none }, Some(50), None, 90);
        check(To { to_offset: Some(33), ..none }, Some(50), None, 33);
        check(To { shift_by: Some(-7), ..none }, Some(50), None, 43);
        check(To { to_current: true, ..none }, Some(50), None, 50);
        check(To { to_current: true, ..none }, None, None, 90);
        check(To { to_datetime: Some(1), ..none }, None, Some(44), 44);
        check(To { by_duration: Some(1), ..none }, None, Some(-1), 90);
    }

    #[test]
    fn spans_are_checked() {
        assert_eq!(duration("PT1H"), Ok(3_600_000));
        assert!(duration("an hour").is_err());
    }
}
