//! An admin client for a command, and how the command tells what became of its request.

use std::io::{self, Write as _};

use dohle_client::api::Admin;
use dohle_client::machine::admin::AdminError;
use dohle_net::client::Tokio;
use serde_json::Value;

use super::cluster::{Cluster, Failure};

/// What the commands that administer have in common.
#[derive(clap::Args, Debug)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An admin client, and what is needed to explain its failures.
pub(crate) struct Client {
    pub(crate) cluster: Cluster,
    pub(crate) admin: Admin<Tokio>,
}

impl Client {
    pub(crate) async fn new(common: &Common) -> Result<Self, Failure> {
        Ok(Self { cluster: common.cluster.clone(), admin: common.cluster.admin().await? })
    }

    pub(crate) fn or_failed<T>(&self, result: Result<T, AdminError>) -> Result<T, Failure> {
        result.map_err(|error| self.cluster.failed(&error, self.admin.last_connection_error()))
    }
}

/// Success if there are no problems; otherwise all of them.
pub(crate) fn none_of(problems: &[String]) -> Result<(), Failure> {
    if problems.is_empty() { Ok(()) } else { Err(Failure::Failed(problems.join("\n       "))) }
}

/// One line for a person, or an object for a program.
pub(crate) fn say(json: bool, text: &str, object: &Value) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{text}")?;
    }
    Ok(())
}
