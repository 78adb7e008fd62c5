//! `dohle bench`: how fast records are written and read, and how fast they could be at most.
//!
//! A load is *closed* (as fast as acknowledgements allow) or *open* (so many records a second,
//! whatever comes back). In an open load a record's time runs from the moment it was due, not from
//! the moment it was sent: what a stall holds back counts, too (no coordinated omission).

mod connections;
mod consume;
mod e2e;
mod floor;
mod idle;
mod latency;
mod load;
mod produce;
mod progress;
mod summary;
mod topic;

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;

use super::cluster::run_in_parallel;

/// When nothing has come of a measurement for so long, it ends: what it found so far is told, and it
/// has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The arguments of `dohle bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Produce(produce::Args),
    Consume(consume::Args),
    E2e(e2e::Args),
    Connections(connections::Args),
    Floor(floor::Args),
}

/// Runs `dohle bench`.
pub(crate) fn run(args: Args) -> ExitCode {
    run_in_parallel(async move {
        match args.what {
            What::Produce(args) => produce::run(args).await,
            What::Consume(args) => consume::run(args).await,
            What::E2e(args) => e2e::run(args).await,
            What::Connections(args) => connections::run(args).await,
            What::Floor(args) => floor::run(&args),
        }
    })
}
