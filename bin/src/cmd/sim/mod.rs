//! `dohle sim`: a node, its clients and its bad luck, from a seed.

mod file;
mod hunt;
mod mutants;
mod shrink;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Subcommand};
use dohle_sim::run::{Outcome, Plan, run as play};
use dohle_sim::scenario::Scenario;
use serde_json::{Map, Value, json};

/// Exit code for a violation.
const VIOLATION: u8 = 1;
/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;

/// Run the broker's own state machines in a seeded world that crashes them.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Play one seed. Exit code 0 when all went well, 1 on a violation.
    Run(RunArgs),
    /// Play many seeds; those that fail are kept as files.
    Hunt(hunt::HuntArgs),
    /// Play a seed or a kept failure again, perhaps only up to an event.
    Replay(ReplayArgs),
    /// Leave faults and operations out of a failing run as long as it still fails. Exit code 2 when
    /// it does not fail.
    Shrink(shrink::ShrinkArgs),
    /// Plant known bugs, one after the other, and see how soon each is found.
    Mutants(mutants::MutantsArgs),
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    /// The seed.
    #[arg(long, value_name = "N")]
    seed: u64,
    /// The scenario.
    #[arg(long, default_value = "single")]
    scenario: ScenarioName,
    /// How long faults go on, in simulated time (90s, 10m, 1h); drawn from the seed otherwise.
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Span>,
    /// Write a line for each thing that happens.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print the configuration that the seed stands for first.
    #[arg(long)]
    verbose: bool,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "seed"]))]
struct ReplayArgs {
    /// A file that a hunt kept.
    file: Option<PathBuf>,
    /// A seed instead of a file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The scenario of the seed.
    #[arg(long, default_value = "single")]
    scenario: ScenarioName,
    /// The last event to handle.
    #[arg(long, value_name = "EVENT")]
    until: Option<u64>,
    /// Print the world as it is at the end.
    #[arg(long)]
    state: bool,
    /// Run every check at every event.
    #[arg(long)]
    paranoid: bool,
    /// Write a line for each thing that happens.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print the configuration that the seed stands for first.
    #[arg(long)]
    verbose: bool,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// A scenario as named on the command line.
#[derive(Copy, Clone, Debug)]
struct ScenarioName(Scenario);

impl FromStr for ScenarioName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Scenario::ALL.map(Scenario::name).join(", ");
        let found = Scenario::named(name).map(Self);
        found.ok_or_else(|| format!("no scenario {name:?}; there are: {known}"))
    }
}

/// A span of simulated time.
#[derive(Copy, Clone, Debug)]
struct Span(u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a time like 90s, 10m or 1h, found {text:?}");
        let digits = text.trim_end_matches(char::is_alphabetic);
        let count: u64 = digits.parse().map_err(|_| wrong())?;
        let unit = match &text[digits.len()..] {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            _ => return Err(wrong()),
        };
        let seconds =
            count.checked_mul(unit).filter(|s| *s > 0 && *s <= 86_400).ok_or_else(wrong)?;
        Ok(Self(seconds * 1_000_000_000))
    }
}

pub(crate) fn run(args: Args) -> ExitCode {
    let done = match args.command {
        Command::Run(args) => run_seed(&args),
        Command::Hunt(args) => hunt::hunt(&args),
        Command::Replay(args) => replay(&args),
        Command::Shrink(args) => shrink::shrink(&args),
        Command::Mutants(args) => mutants::mutants(&args),
    };
    match done {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("dohle sim: {problem}");
            ExitCode::from(USAGE)
        }
    }
}

fn run_seed(args: &RunArgs) -> Result<ExitCode, String> {
    let mut plan = Plan::new(args.scenario.0, args.seed);
    plan.length = args.length.map(|span| span.0);
    plan.trace = args.trace.is_some();
    announce(&plan, args.verbose || args.json);
    let started = Instant::now();
    let outcome = play(&plan);
    write_trace(args.trace.as_ref(), &outcome)?;
    Ok(report(&plan, &outcome, started.elapsed(), args.json, false))
}

fn replay(args: &ReplayArgs) -> Result<ExitCode, String> {
    let mut plan = match (&args.file, args.seed) {
        (Some(path), _) => file::read(path)?,
        (None, Some(seed)) => Plan::new(args.scenario.0, seed),
        (None, None) => return Err("expected a FILE or --seed N".to_owned()),
    };
    plan.until = args.until;
    plan.paranoid = args.paranoid;
    plan.trace = args.trace.is_some();
    announce(&plan, args.verbose || args.json);
    let started = Instant::now();
    let outcome = play(&plan);
    write_trace(args.trace.as_ref(), &outcome)?;
    Ok(report(&plan, &outcome, started.elapsed(), args.json, args.state))
}

/// Prints the run's configuration, before anything can go wrong with it.
fn announce(plan: &Plan, wanted: bool) {
    if wanted {
        println!("{}", json!({ "seed": plan.seed, "swarm": plan.swarm() }));
    }
}

fn write_trace(path: Option<&PathBuf>, outcome: &Outcome) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let mut text = outcome.lines.join("\n");
    text.push('\n');
    std::fs::write(path, text).map_err(|why| format!("--trace {}: {why}", path.display()))
}

fn report(plan: &Plan, outcome: &Outcome, wall: Duration, json: bool, state: bool) -> ExitCode {
    if json {
        let mut object = summary(plan.scenario, 1, std::slice::from_ref(outcome), wall);
        object.insert("seed".into(), outcome.seed.into());
        if let Some(failure) = &outcome.failure {
            object.insert("failure".into(), json!(failure));
        }
        println!("{}", Value::Object(object));
    } else {
        print_text(outcome, wall);
    }
    if state {
        print!("{}", outcome.state);
    }
    ExitCode::from(if outcome.failure.is_some() { VIOLATION } else { 0 })
}

fn print_text(outcome: &Outcome, wall: Duration) {
    let seconds = outcome.simulated / 1_000_000_000;
    println!(
        "seed {}: {} events, {} acknowledged, {seconds} simulated seconds in {:.2} s, digest {:016x}",
        outcome.seed,
        outcome.events,
        outcome.committed,
        wall.as_secs_f64(),
        outcome.digest
    );
    for (name, (least, got)) in &outcome.gates.counts {
        println!("  {name:<20} {got} (at least {least})");
    }
    match &outcome.failure {
        None => println!("no violation"),
        Some(failure) => println!(
            "VIOLATION at event {} ({} ms): {}\nagain: dohle sim replay --seed {} --until {} --state",
            failure.event,
            failure.time / 1_000_000,
            failure.violation,
            outcome.seed,
            failure.event
        ),
    }
}

/// The object that every `--json` ends with. `minima` are the smallest gate counts over the
/// seeds.
fn summary(
    scenario: Scenario,
    seeds: u64,
    outcomes: &[Outcome],
    wall: Duration,
) -> Map<String, Value> {
    let mut minima: std::collections::BTreeMap<&str, u64> = Default::default();
    for (name, (_, got)) in outcomes.iter().flat_map(|outcome| &outcome.gates.counts) {
        minima.entry(name).and_modify(|least| *least = (*least).min(*got)).or_insert(*got);
    }
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let digest = outcomes.iter().fold(0_u64, |all, outcome| {
        all.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ outcome.digest
    });
    let digest = if outcomes.len() == 1 { outcomes[0].digest } else { digest };
    let failures = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    let object = json!({
        "scenario": scenario.name(),
        "seeds": seeds,
        "failures": failures,
        "events": sum(|outcome| outcome.events),
        "committed": sum(|outcome| outcome.committed),
        "simulated_s": sum(|outcome| outcome.simulated / 1_000_000_000),
        "wall_s": wall.as_secs_f64(),
        "digest": format!("{digest:016x}"),
        "minima": minima,
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
