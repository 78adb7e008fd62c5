//! A run is a pure function of its choices.

use std::process::Command;

use dohle_sim::choice::Script;
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

const SEEDS: [u64; 3] = [3, 5, 8];

fn digests() -> Vec<u64> {
    SEEDS.iter().map(|seed| run(&Plan::new(Scenario::Single, *seed)).digest).collect()
}

/// What a process of its own gives; also run by itself, where it compares two runs in one.
#[test]
fn the_same_seed_twice_in_one_process_gives_the_same_digest() {
    let first = digests();
    println!("digests {first:?}");
    assert_eq!(digests(), first);
}

#[test]
fn the_same_seed_in_two_processes_gives_the_same_digest() {
    let elsewhere = || {
        let output = Command::new(std::env::current_exe().expect("this test's own file"))
            .args(["--exact", "--nocapture"])
            .arg("the_same_seed_twice_in_one_process_gives_the_same_digest")
            .output()
            .expect("this test runs again");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line =
            text.lines().find_map(|line| line.split_once("digests ")).map(|(_, d)| d.to_owned());
        line.unwrap_or_else(|| panic!("no digests in {text}"))
    };
    assert_eq!(elsewhere(), elsewhere());
}

#[test]
fn seeds_give_different_runs() {
    let digests = digests();
    assert!(digests[0] != digests[1] && digests[1] != digests[2]);
}

#[test]
fn a_trace_changes_nothing() {
    let plain = run(&Plan::new(Scenario::Single, SEEDS[0]));
    let traced = run(&Plan { trace: true, ..Plan::new(Scenario::Single, SEEDS[0]) });
    assert_eq!(traced.digest, plain.digest);
    assert!(traced.lines.len() as u64 > plain.events / 2);
}

#[test]
fn a_choice_log_stands_in_for_its_seed() {
    let kept = run(&Plan { keep_choices: true, ..Plan::new(Scenario::Single, SEEDS[0]) });
    let script = Some(Script::new(kept.choices));
    let played = run(&Plan { script, ..Plan::new(Scenario::Single, SEEDS[1]) });
    assert_eq!(played.digest, kept.digest);
}

#[test]
fn a_replay_stops_after_its_event_and_shows_the_world() {
    let plan = Plan { until: Some(2_000), ..Plan::new(Scenario::Single, SEEDS[0]) };
    let outcome = run(&plan);
    assert_eq!((outcome.events, outcome.failure), (2_000, None));
    assert!(outcome.state.contains("node 0: "), "{}", outcome.state);
}

#[test]
fn a_paranoid_replay_finds_the_same_and_nothing_more() {
    let plan = Plan { paranoid: true, until: Some(6_000), ..Plan::new(Scenario::Single, SEEDS[0]) };
    assert_eq!(run(&plan).failure, None);
}
