//! Bugs planted on purpose are found, each within a hundred seeds.

use dohle_core::mutant::{Mutant, Mutants};
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

/// Which oracle finds the bug, and at which seed.
fn detect(mutant: Mutant) -> (u64, String) {
    for seed in 1..=100 {
        let plan = Plan { mutants: Mutants::only(mutant), ..Plan::new(Scenario::Single, seed) };
        if let Some(failure) = run(&plan).failure {
            let found = (seed, failure.violation.to_string());
            println!("{}: seed {}, {}", mutant.name(), found.0, found.1);
            return found;
        }
    }
    panic!("{} went unnoticed for a hundred seeds", mutant.name());
}

/// A bug is found by what it breaks, not by doing too little.
fn check(mutant: Mutant) {
    let (seed, violation) = detect(mutant);
    assert!(!violation.starts_with("gate"), "seed {seed}: {violation}");
}

#[test]
fn recovery_that_believes_a_torn_tail_is_found() {
    check(Mutant::NoTornTailCheck);
}

#[test]
fn appends_out_of_sequence_are_found() {
    check(Mutant::NoSequenceCheck);
}

#[test]
fn an_acknowledgement_before_the_write_is_found() {
    check(Mutant::AckBeforeCompletion);
}

#[test]
fn a_commit_that_is_answered_before_it_is_written_is_found() {
    check(Mutant::CommitBeforeCompletion);
}

#[test]
fn a_coordinator_that_forgets_its_last_record_is_found() {
    check(Mutant::LastGroupRecordForgotten);
}
