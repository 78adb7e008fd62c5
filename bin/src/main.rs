//! `dohle`: the broker, its tools and its simulator in one binary.

mod cmd;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A Kafka-compatible replicated log.
#[derive(Parser)]
#[command(name = "dohle", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a broker.
    Start(cmd::start::Args),
    /// Create, list, describe, change and delete topics.
    Topic(cmd::topic::Args),
    /// List, describe and delete consumer groups, and change their offsets.
    Group(cmd::group::Args),
    Cluster(cmd::nodes::Args),
    Produce(cmd::produce::Args),
    Consume(cmd::consume::Args),
    /// Measure how fast records are written and read, and how fast this machine could at most.
    Bench(cmd::bench::Args),
    /// Look at the files of a data directory, offline.
    Log(cmd::log::Args),
    /// Simulate a node, its clients and its bad luck from a seed.
    Sim(cmd::sim::Args),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Start(args) => cmd::start::run(&args),
        Command::Topic(args) => cmd::topic::run(args),
        Command::Group(args) => cmd::group::run(args),
        Command::Cluster(args) => cmd::nodes::run(args),
        Command::Produce(args) => cmd::produce::run(args),
        Command::Consume(args) => cmd::consume::run(args),
        Command::Bench(args) => cmd::bench::run(args),
        Command::Log(args) => cmd::log::run(&args),
        Command::Sim(args) => cmd::sim::run(args),
    }
}
