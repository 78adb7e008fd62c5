//! Failing runs made smaller: what is left is little, fails of the same, and is the same each time.

use dohle_core::mutant::{Mutant, Mutants};
use dohle_sim::choice::Script;
use dohle_sim::run::{Failure, Plan, run};
use dohle_sim::scenario::Scenario;
use dohle_sim::shrink::{Progress, ShrinkError, Shrunk, shrink};

/// A run in which enough has happened that there is something to leave out.
const EVENTS_LEAST: u64 = 1_000;

/// The first seed that shows a planted bug to the oracles, and not soon.
fn failing(mutant: Mutant, scenario: Scenario) -> Plan {
    let mutants = Mutants::only(mutant);
    let plan = |seed| Plan { mutants, assertions: false, ..Plan::new(scenario, seed) };
    let counts = |it: &Failure| it.event >= EVENTS_LEAST && it.violation.oracle != "gate";
    let fails = |plan: &Plan| run(plan).failure.as_ref().is_some_and(counts);
    (1..=500).map(plan).find(fails).expect("a seed that shows it")
}

fn within(plan: &Plan, attempts: u64) -> Shrunk {
    let mut told = 0;
    let mut goes_on = |progress: &Progress| {
        assert!(progress.attempts > told, "{progress:?}");
        told = progress.attempts;
        told < attempts
    };
    shrink(plan, &mut goes_on).expect("it fails")
}

/// What was shrunk, played from its choices.
fn again(plan: &Plan, shrunk: &Shrunk) {
    let script = Some(Script::new(shrunk.outcome.choices.clone()).limited());
    let played = run(&Plan { script, ..plan.clone() });
    assert_eq!(played.failure, shrunk.outcome.failure);
    assert_eq!(played.digest, shrunk.outcome.digest);
}

/// Shrinks twice; what is left of how many operations, and of faults.
fn check(mutant: Mutant, scenario: Scenario, attempts: u64) -> Progress {
    let plan = failing(mutant, scenario);
    let whole = run(&plan).failure.expect("it fails");
    let shrunk = within(&plan, attempts);
    let failure = shrunk.outcome.failure.as_ref().expect("it fails");
    println!("{}: {:?}, {failure:?}", mutant.name(), shrunk.progress);
    assert_eq!(failure.violation.oracle, whole.violation.oracle);
    again(&plan, &shrunk);
    let same = within(&plan, attempts);
    assert_eq!(same.outcome.choices, shrunk.outcome.choices);
    assert_eq!(same.progress, shrunk.progress);
    shrunk.progress
}

#[test]
fn a_bug_that_needs_no_fault_is_left_without_one() {
    let Progress { faults, operations, .. } =
        check(Mutant::ProducersOutliveTruncation, Scenario::Log, 400);
    assert!(faults.left == 0 && faults.of > 2, "{faults:?}");
    assert!(operations.left <= 12 && operations.of > 40, "{operations:?}");
}

#[test]
fn a_bug_that_needs_a_crash_is_left_with_few_and_little_around_them() {
    let Progress { faults, operations, .. } = check(Mutant::DeletedAtOnce, Scenario::Log, 400);
    assert!((1..=faults.of / 2).contains(&faults.left), "{faults:?}");
    assert!(operations.left * 5 <= operations.of && operations.of > 40, "{operations:?}");
}

#[test]
fn a_bug_of_a_node_is_left_with_less_around_it() {
    let progress = check(Mutant::AckBeforeCompletion, Scenario::Single, 20);
    let Progress { faults, operations, .. } = progress;
    assert!(faults.left < faults.of && operations.left <= operations.of, "{progress:?}");
}

#[test]
fn a_seed_that_does_not_fail_is_refused() {
    let refused = shrink(&Plan::new(Scenario::Log, 5), &mut |_| true).err();
    assert_eq!(refused, Some(ShrinkError::Passes(5)));
    assert!(ShrinkError::Passes(5).to_string().contains("seed 5 does not fail"));
}
