//! What the steps that every record takes cost, each alone and in its steady state.
//!
//! Sessions and shards are driven as a driver drives them, inputs in and effects out. A case makes
//! a few steps ready, takes them and checks what came out; only the taking is measured, so that
//! neither making inputs nor playing the disk counts.
//!
//! * `cargo bench -p dohle-core`: time for each step, by criterion. `-- append` for some of them.
//! * `hot --count CASE ROUNDS`: so many rounds, nothing else, for a tool that counts what happens
//!   in [`measured`] (`tests/perf/instructions`). Says how many steps that were.
//! * `hot --cases`: the names.

mod logs;
mod node;
mod sessions;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;

/// Steps in a round. One alone would be too short for a clock.
const STEPS: usize = 8;

/// Rounds before those that count: buffers have grown, the first segment is begun.
const WARM_UP: usize = 16;

/// One hot step in its steady state.
trait Case {
    /// Checks what the last round brought and makes the next [`STEPS`] steps ready.
    fn prepare(&mut self);

    /// Takes the steps.
    fn run(&mut self);
}

type Make = fn() -> Box<dyn Case>;

const CASES: &[(&str, Make)] = &[
    ("produce/decode-1000x1KB", || Box::new(sessions::Decode::new(1_000, 1_024))),
    ("produce/decode-145x100B", || Box::new(sessions::Decode::new(145, 100))),
    ("produce/decode-1x100B", || Box::new(sessions::Decode::new(1, 100))),
    ("produce/acknowledge", || Box::new(sessions::Acknowledge::new())),
    ("append/batch", || Box::new(logs::Append::new(logs::Phase::Batch))),
    ("append/written", || Box::new(logs::Append::new(logs::Phase::Written))),
    ("fetch/tail", || Box::new(logs::Fetch::new(logs::Place::Tail))),
    ("fetch/index-in-memory", || Box::new(logs::Fetch::new(logs::Place::Active))),
    ("fetch/index-in-file", || Box::new(logs::Fetch::new(logs::Place::Closed))),
    ("fetch/encode-1", || Box::new(sessions::Encode::new(1))),
    ("fetch/encode-50", || Box::new(sessions::Encode::new(50))),
];

/// Only what happens in here counts. Whoever counts knows it by its name.
#[inline(never)]
fn measured(case: &mut dyn Case) {
    case.run();
    // Something is left to do, so that this is not a jump that leaves the function for good.
    black_box(());
}

/// A case past its beginning.
fn warm(make: Make) -> Box<dyn Case> {
    let mut case = make();
    for _ in 0..WARM_UP {
        case.prepare();
        case.run();
    }
    case
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--cases", ..] => CASES.iter().for_each(|(name, _)| println!("{name}")),
        ["--count", name, rounds] => count(name, rounds.parse().expect("a number of rounds")),
        _ => clock(),
    }
}

fn count(name: &str, rounds: usize) {
    let (_, make) = CASES.iter().find(|(known, _)| *known == name).expect("a case of --cases");
    let mut case = warm(*make);
    for _ in 0..rounds {
        case.prepare();
        measured(&mut *case);
    }
    println!("{}", rounds * STEPS);
}

fn clock() {
    let mut criterion = Criterion::default().configure_from_args();
    for (name, make) in CASES {
        criterion.bench_function(name, |bencher| {
            let mut case = warm(*make);
            bencher.iter_custom(|steps| time(&mut *case, steps));
        });
    }
    criterion.final_summary();
}

/// How long `steps` steps take, by the whole rounds that hold them.
fn time(case: &mut dyn Case, steps: u64) -> Duration {
    let rounds = steps.div_ceil(STEPS as u64);
    let mut spent = Duration::ZERO;
    for _ in 0..rounds {
        case.prepare();
        let begun = Instant::now();
        measured(case);
        spent += begun.elapsed();
    }
    let taken = u128::from(rounds) * STEPS as u128;
    let share = spent.as_nanos() * u128::from(steps) / taken;
    Duration::from_nanos(u64::try_from(share).expect("nobody waits for centuries"))
}
