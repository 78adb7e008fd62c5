//! `dohle group list`.

use std::io::{self, Write as _};

use dohle_client::machine::admin::{GroupFilter, GroupState, GroupType};
use serde_json::{Value, json};

use crate::cmd::client::{Client, Common, none_of};
use crate::cmd::cluster::Failure;
use crate::cmd::table::Table;

/// List the groups of all brokers.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only groups in this state, for example Stable or Empty; may be repeated.
    #[arg(long, value_name = "STATE")]
    state: Vec<GroupState>,
    /// Only groups of this type: Classic, Consumer, Share or Streams; may be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Vec<GroupType>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn list(args: Args) -> Result<(), Failure> {
    let client = Client::new(&args.common).await?;
    let filter = GroupFilter { states: args.state, types: args.kind };
    let listing = client.or_failed(client.admin.list_groups(filter).await)?;
    let mut table = Table::new(&["GROUP", "TYPE", "STATE", "PROTOCOL", "COORDINATOR"]);
    let mut rows = Vec::new();
    for (id, group) in &listing.groups {
        table.row([
            id.to_string(),
            group.group_type.to_string(),
            group.state.to_string(),
            if group.protocol_type.is_empty() { "-" } else { &group.protocol_type }.to_owned(),
            group.coordinator.to_string(),
        ]);
        rows.push(json!({
            "group": **id, "type": group.group_type.name(), "state": group.state.name(),
            "protocol": group.protocol_type, "coordinator": group.coordinator.0,
        }));
    }
    let mut out = io::stdout().lock();
    if args.common.json {
        writeln!(out, "{}", Value::Array(rows))?;
    } else {
        table.print(&mut out)?;
    }
    let problem = |(broker, error)| format!("the groups of broker {broker} are missing: {error}");
    none_of(&listing.failed.iter().map(problem).collect::<Vec<_>>())
}
