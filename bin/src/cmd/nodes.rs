//! `dohle cluster`: which nodes form a cluster, and how its metadata quorum fares.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Subcommand;
use dohle_client::machine::admin::{QuorumDescription, QuorumReplica};
use dohle_wire::id::{NodeId, Timestamp};
use serde_json::{Value, json};

use super::client::{Client, Common};
use super::cluster::{Failure, run as run_to_end};
use super::table::Table;

/// Describe the cluster: its nodes, and the quorum that keeps its metadata.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// The id of the cluster, its controller and its brokers.
    Describe(Common),
    /// The leader of the metadata quorum, and how far each of its members has come.
    Quorum(Common),
}

/// Runs `dohle cluster`.
pub(crate) fn run(args: Args) -> ExitCode {
    run_to_end(async move {
        match args.command {
            Command::Describe(args) => describe(&args).await,
            Command::Quorum(args) => quorum(&args).await,
        }
    })
}

async fn describe(args: &Common) -> Result<(), Failure> {
    let client = Client::new(args).await?;
    let found = client.or_failed(client.admin.describe_cluster().await)?;
    let mut out = io::stdout().lock();
    if args.json {
        let brokers = found.brokers.iter().map(|broker| {
            json!({ "id": broker.id.0, "host": &*broker.host, "port": broker.port, "rack": broker.rack.as_deref() })
        });
        let brokers: Vec<Value> = brokers.collect();
        let controller = found.controller.map(|node| node.0);
        writeln!(
            out,
            "{}",
            json!({ "id": found.id, "controller": controller, "brokers": brokers })
        )?;
        return Ok(());
    }
    let id = found.id.as_deref().unwrap_or("unknown");
    writeln!(out, "cluster {id}, controller {}", node(found.controller))?;
    let mut table = Table::new(&["BROKER", "HOST", "PORT", "RACK"]);
    for broker in &found.brokers {
        let rack = broker.rack.as_deref().unwrap_or("-");
        let (id, port) = (broker.id.to_string(), broker.port.to_string());
        table.row([id, broker.host.to_string(), port, rack.to_owned()]);
    }
    Ok(table.print(&mut out)?)
}

async fn quorum(args: &Common) -> Result<(), Failure> {
    let client = Client::new(args).await?;
    let found = client.or_failed(client.admin.describe_quorum().await)?;
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", object(&found))?;
        return Ok(());
    }
    let (leader, high) = (node(found.leader), found.high_watermark);
    writeln!(out, "leader {leader}, epoch {}, high watermark {high}", found.epoch)?;
    let mut table = Table::new(&["NODE", "ROLE", "LOG-END", "LAG", "CAUGHT-UP", "DIRECTORY"]);
    for (role, replica) in members(&found) {
        let behind = lag(&found, replica).map_or("-".to_owned(), |lag| lag.to_string());
        let (id, end) = (replica.node.to_string(), replica.log_end.to_string());
        let caught_up = since(&found, replica).map_or("-".to_owned(), |ms| format!("{ms} ms"));
        table.row([id, role.to_owned(), end, behind, caught_up, replica.directory.to_string()]);
    }
    Ok(table.print(&mut out)?)
}

fn node(id: Option<NodeId>) -> String {
    id.map_or("unknown".to_owned(), |id| id.to_string())
}

/// All of them, and what they are.
fn members(found: &QuorumDescription) -> impl Iterator<Item = (&'static str, &QuorumReplica)> {
    let voters = found
        .voters
        .iter()
        .map(|voter| (if found.leader == Some(voter.node) { "leader" } else { "voter" }, voter));
    voters.chain(found.observers.iter().map(|observer| ("observer", observer)))
}

fn leader(found: &QuorumDescription) -> Option<&QuorumReplica> {
    found.voters.iter().find(|voter| Some(voter.node) == found.leader)
}

/// Records that the leader has and this one, as far as the leader knows, has not.
fn lag(found: &QuorumDescription, replica: &QuorumReplica) -> Option<i64> {
    let ends = (leader(found)?.log_end.0, replica.log_end.0);
    (ends.1 >= 0).then_some(ends.0 - ends.1)
}

/// How long ago it had all that the leader has, by the leader's clock.
fn since(found: &QuorumDescription, replica: &QuorumReplica) -> Option<i64> {
    let (now, then) = (leader(found)?.last_caught_up, replica.last_caught_up);
    (then.0 >= 0).then_some(now.0 - then.0)
}

fn object(found: &QuorumDescription) -> Value {
    let known = |time: Timestamp| (time.0 >= 0).then_some(time.0);
    let all = members(found).map(|(role, replica)| {
        json!({
            "node": replica.node.0,
            "role": role,
            "log_end": replica.log_end.0,
            "lag": lag(found, replica),
            "last_fetch_ms": known(replica.last_fetch),
            "last_caught_up_ms": known(replica.last_caught_up),
            "directory": replica.directory.to_string(),
        })
    });
    json!({
        "leader": found.leader.map(|node| node.0),
        "epoch": found.epoch.0,
        "high_watermark": found.high_watermark.0,
        "members": all.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use dohle_wire::id::{LeaderEpoch, Offset, Uuid};

    use super::*;

    fn replica(node: i32, end: i64, caught_up: i64) -> QuorumReplica {
        QuorumReplica {
            node: NodeId(node),
            directory: Uuid::default(),
            log_end: Offset(end),
            last_fetch: Timestamp(caught_up),
            last_caught_up: Timestamp(caught_up),
        }
    }

    #[test]
    fn how_far_behind_a_member_is_goes_by_the_leader() {
        let mut found = QuorumDescription {
            leader: Some(NodeId(2)),
            epoch: LeaderEpoch(7),
            high_watermark: Offset(90),
            voters: vec![replica(1, 90, 940), replica(2, 100, 1000), replica(3, -1, -1)],
            observers: vec![replica(4, 60, 500)],
        };
        let told = |found: &QuorumDescription| -> Vec<_> {
            let of = |(role, one)| (role, lag(found, one), since(found, one));
            members(found).map(of).collect()
        };
        let expected = [
            ("voter", Some(10), Some(60)),
            ("leader", Some(0), Some(0)),
            ("voter", None, None),
            ("observer", Some(40), Some(500)),
        ];
        assert_eq!(told(&found), expected);
        found.leader = None;
        assert!(told(&found).iter().all(|(_, lag, since)| lag.is_none() && since.is_none()));
    }
}
