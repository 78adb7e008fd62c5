//! `dohle sim shrink`: a failing run made smaller.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ArgGroup;
use dohle_sim::run::Plan;
use dohle_sim::shrink::{Progress, Shrunk, shrink as fewer};
use indicatif::ProgressBar;
use serde_json::json;

use super::{ScenarioName, Span, file};
use crate::cmd::bar::bar;

#[derive(clap::Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "seed"]))]
pub(super) struct ShrinkArgs {
    /// A file that a hunt kept, or an earlier shrink.
    file: Option<PathBuf>,
    /// A seed instead of a file.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The scenario of the seed.
    #[arg(long, default_value = "single")]
    scenario: ScenarioName,
    /// Where the smaller run is written, for `dohle sim replay`.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// How long it goes on at most (90s, 10m, 1h). The same file comes out only without that.
    #[arg(long = "for", value_name = "TIME")]
    time: Option<Span>,
    /// How many runs it tries at most.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    attempts: u64,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

pub(super) fn shrink(args: &ShrinkArgs) -> Result<ExitCode, String> {
    let plan = match (&args.file, args.seed) {
        (Some(path), _) => file::read(path)?,
        (None, Some(seed)) => Plan::new(args.scenario.0, seed),
        (None, None) => return Err("expected a FILE or --seed N".to_owned()),
    };
    let started = Instant::now();
    let bar = progress(args.attempts);
    let mut goes_on = |progress: &Progress| {
        bar.set_position(progress.attempts);
        bar.set_message(describe(progress));
        let late = args.time.is_some_and(|time| started.elapsed() > Duration::from_nanos(time.0));
        progress.attempts < args.attempts && !late
    };
    let shrunk = fewer(&plan, &mut goes_on).map_err(|why| why.to_string())?;
    bar.finish_and_clear();
    let text = file::shrunk_text(plan.scenario, &shrunk);
    std::fs::write(&args.out, text).map_err(|why| format!("{}: {why}", args.out.display()))?;
    report(args, &shrunk, started.elapsed());
    Ok(ExitCode::SUCCESS)
}

fn progress(attempts: u64) -> ProgressBar {
    bar(attempts, "{wide_bar} {pos}/{len} attempts, {elapsed}, {msg}")
}

fn describe(progress: &Progress) -> String {
    let Progress { faults, operations, .. } = progress;
    format!(
        "{} of {} faults and {} of {} operations left",
        faults.left, faults.of, operations.left, operations.of
    )
}

fn report(args: &ShrinkArgs, shrunk: &Shrunk, wall: Duration) {
    let (progress, out) = (&shrunk.progress, args.out.display());
    let failure = shrunk.outcome.failure.as_ref();
    if args.json {
        let object = json!({
            "seed": shrunk.outcome.seed,
            "attempts": progress.attempts,
            "faults": progress.faults,
            "operations": progress.operations,
            "finished": shrunk.finished,
            "failure": failure,
            "events": shrunk.outcome.events,
            "file": out.to_string(),
            "wall_ms": u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        });
        return println!("{object}");
    }
    let end = if shrunk.finished { "" } else { ", and more could be tried" };
    println!(
        "{}, after {} attempts in {:.1} s{end}",
        describe(progress),
        progress.attempts,
        wall.as_secs_f64()
    );
    if let Some(failure) = failure {
        println!("VIOLATION at event {}: {}", failure.event, failure.violation);
    }
    println!("again: dohle sim replay {out} --state");
}
