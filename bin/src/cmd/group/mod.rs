//! `dohle group`: lists, describes and deletes groups, and changes their committed offsets.

mod delete;
mod describe;
mod lag;
mod list;
mod offsets;
mod reset;
mod scope;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use dohle_client::machine::admin::ItemError;
use dohle_wire::ErrorCode;

use super::cluster::{Failure, run as run_to_end};
use super::table::shown;

/// List, describe and delete consumer groups, and change their offsets.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    List(list::Args),
    Describe(describe::Args),
    Delete(delete::Args),
    ResetOffsets(reset::Args),
    DeleteOffsets(delete::OffsetArgs),
}

/// Runs `dohle group`.
pub(crate) fn run(args: Args) -> ExitCode {
    match args.command {
        Command::List(args) => run_to_end(list::list(args)),
        Command::Describe(args) => run_to_end(describe::describe(args)),
        Command::Delete(args) => run_to_end(delete::delete(args)),
        Command::ResetOffsets(args) => run_to_end(reset::reset(args)),
        Command::DeleteOffsets(args) => run_to_end(delete::delete_offsets(args)),
    }
}

/// The groups that are meant.
#[derive(clap::Args, Debug)]
struct Groups {
    /// Ids of groups.
    #[arg(value_name = "GROUP")]
    names: Vec<Arc<str>>,
    /// Id of a group, as with Kafka's tool; may be repeated.
    #[arg(long = "group", value_name = "GROUP")]
    more: Vec<Arc<str>>,
}

impl Groups {
    /// All of them, each once.
    fn all(&self) -> Vec<Arc<str>> {
        let mut groups: Vec<Arc<str>> = Vec::new();
        for group in self.names.iter().chain(&self.more) {
            if !groups.contains(group) {
                groups.push(Arc::clone(group));
            }
        }
        groups
    }

    fn some(&self) -> Result<Vec<Arc<str>>, Failure> {
        let all = self.all();
        if all.is_empty() {
            let problem = "expected the id of a group; `dohle group list` shows those that exist";
            return Err(Failure::Usage(problem.to_owned()));
        }
        Ok(all)
    }

    /// The one group that is meant.
    fn one(&self) -> Result<Arc<str>, Failure> {
        match &self.some()?[..] {
            [one] => Ok(Arc::clone(one)),
            several => Err(Failure::Usage(format!(
                "expected one group, found {}: {}",
                several.len(),
                several.iter().map(|group| quoted(group)).collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

/// A number of members, in words.
fn members(count: usize) -> String {
    format!("{count} member{}", if count == 1 { "" } else { "s" })
}

/// The id of a group within a sentence; the empty one can be seen.
fn quoted(group: &str) -> String {
    if group.is_empty() { "''".to_owned() } else { shown(group) }
}

/// What to say about a group that something could not be done with.
fn about_group(group: &str, error: &ItemError) -> String {
    let group = quoted(group);
    match error.code {
        ErrorCode::GroupIdNotFound => {
            format!("there is no group {group}; `dohle group list` shows those that exist")
        }
        ErrorCode::NonEmptyGroup => format!(
            "group {group} has members; stop them first (`dohle group describe {group} --members` \
             shows who they are)"
        ),
        _ => format!("group {group}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_can_be_seen_in_what_is_said_about_it() {
        let check = |group: &str, part: &str| {
            let error = ItemError { code: ErrorCode::GroupIdNotFound, message: None };
            let text = about_group(group, &error);
            assert!(text.starts_with(&format!("there is no group {part}; ")), "{text:?}");
        };
        check("g", "g");
        check("", "''");
        check("a\x1b[2J\nb", "a\\x1b[2J\\x0ab");
    }
}
