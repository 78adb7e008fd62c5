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
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Start(args) => cmd::start::run(&args),
    }
}
