//! `dohle sim hunt`: many seeds, on several threads.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dohle_sim::run::{Outcome, Plan, run as play};
use dohle_sim::scenario::Scenario;
use indicatif::ProgressBar;
use serde_json::Value;

use super::{ScenarioName, VIOLATION, file, summary};
use crate::cmd::bar::bar;

#[derive(clap::Args, Debug)]
pub(super) struct HuntArgs {
    /// The seeds, both ends included.
    #[arg(long, value_name = "A..B")]
    seeds: Seeds,
    /// The scenario.
    #[arg(long, default_value = "single")]
    scenario: ScenarioName,
    /// How many seeds are played at a time; as many as there are cores otherwise.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Where failing seeds are kept as files.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// End with one JSON object.
    #[arg(long)]
    json: bool,
}

/// A range of seeds.
#[derive(Clone, Debug)]
struct Seeds(RangeInclusive<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected A..B with A at most B, found {text:?}");
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.trim_start_matches('=').parse().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last { Err(wrong()) } else { Ok(Self(first..=last)) }
    }
}

/// Seeds from one line of progress to the next.
const LINE_EVERY: u64 = 100;

pub(super) fn hunt(args: &HuntArgs) -> Result<ExitCode, String> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).map_err(|why| format!("--out {}: {why}", dir.display()))?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = args.seeds.0.end() - args.seeds.0.start() + 1;
    let hunt = Hunt {
        scenario: args.scenario.0,
        next: AtomicU64::new(*args.seeds.0.start()),
        last: *args.seeds.0.end(),
        out: args.out.as_deref(),
        progress: progress(count),
        outcomes: Mutex::default(),
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.unwrap_or(cores).max(1) {
            scope.spawn(|| hunt.work());
        }
    });
    hunt.progress.finish_and_clear();
    let mut outcomes = hunt.outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|outcome| outcome.seed);
    let summary = summary(args.scenario.0, count, &outcomes, started.elapsed());
    let failures = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    if args.json {
        println!("{}", Value::Object(summary));
    } else {
        println!("{count} seeds, {failures} failed");
        for (key, value) in &summary {
            println!("  {key:<12} {value}");
        }
    }
    Ok(ExitCode::from(if failures > 0 { VIOLATION } else { 0 }))
}

fn progress(count: u64) -> ProgressBar {
    bar(count, "{wide_bar} {pos}/{len} seeds, {per_sec}, {eta} left {msg}")
}

struct Hunt<'a> {
    scenario: Scenario,
    next: AtomicU64,
    last: u64,
    out: Option<&'a Path>,
    progress: ProgressBar,
    outcomes: Mutex<Vec<Outcome>>,
}

impl Hunt<'_> {
    fn work(&self) {
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed > self.last {
                return;
            }
            let outcome = play(&Plan::new(self.scenario, seed));
            if let Some(failure) = &outcome.failure {
                let text = format!("seed {seed} event {}: {}", failure.event, failure.violation);
                self.progress.suspend(|| eprintln!("{text}"));
                self.keep(seed);
            }
            self.progress.inc(1);
            self.tell();
            if let Ok(mut outcomes) = self.outcomes.lock() {
                outcomes.push(slim(outcome));
            }
        }
    }

    /// Where there is no terminal for a bar, a line now and then says how far the hunt is.
    fn tell(&self) {
        let (done, all) = (self.progress.position(), self.progress.length().unwrap_or(0));
        if self.progress.is_hidden() && done % LINE_EVERY == 0 && done < all {
            eprintln!("{done} of {all} seeds");
        }
    }

    /// Plays a failing seed again, with its choices kept, and writes the file.
    fn keep(&self, seed: u64) {
        let Some(dir) = self.out else { return };
        let mut plan = Plan::new(self.scenario, seed);
        plan.keep_choices = true;
        let path = dir.join(format!("{}-{seed}.json", self.scenario.name()));
        if let Err(why) = std::fs::write(&path, file::text(self.scenario, &play(&plan))) {
            self.progress.suspend(|| eprintln!("{}: {why}", path.display()));
        }
    }
}

/// What the summary needs; a thousand whole outcomes would be a lot.
fn slim(outcome: Outcome) -> Outcome {
    Outcome { lines: Vec::new(), choices: Vec::new(), state: String::new(), ..outcome }
}
