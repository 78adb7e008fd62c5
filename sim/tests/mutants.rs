//! Bugs planted on purpose are found, each within two hundred seeds: with the broker's assertions,
//! and by the oracles alone.

use dohle_core::mutant::{Mutant, Mutants};
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

/// A bug that every seed shows at once says nothing about the simulator.
const EVENTS_LEAST: u64 = 100;

/// A bug is found by what it breaks, not by doing too little.
fn check(mutant: Mutant, assertions: bool) {
    for seed in 1..=200 {
        let mutants = Mutants::only(mutant);
        let plan = Plan { mutants, assertions, ..Plan::new(Scenario::Single, seed) };
        let Some(failure) = run(&plan).failure else { continue };
        let violation = failure.violation.to_string();
        let asserted = if assertions { "on" } else { "off" };
        println!("{}: assertions {asserted}, seed {seed}, {violation}", mutant.name());
        assert!(!violation.starts_with("gate"), "seed {seed}: {violation}");
        assert!(failure.event >= EVENTS_LEAST, "seed {seed} shows it after {}", failure.event);
        return;
    }
    panic!("{} went unnoticed for two hundred seeds", mutant.name());
}

macro_rules! found {
    ($($name:ident: $mutant:ident,)*) => {
        mod with_assertions {
            use super::*;
            $(#[test] fn $name() { check(Mutant::$mutant, true); })*
        }
        mod by_the_oracles_alone {
            use super::*;
            $(#[test] fn $name() { check(Mutant::$mutant, false); })*
        }
        #[test]
        fn every_planted_bug_has_its_test() {
            assert_eq!([$(Mutant::$mutant),*], Mutant::ALL);
        }
    };
}

found! {
    recovery_that_believes_a_torn_tail: NoTornTailCheck,
    appends_out_of_sequence: NoSequenceCheck,
    an_acknowledgement_before_the_write: AckBeforeCompletion,
    a_commit_answered_before_it_is_written: CommitBeforeCompletion,
    a_coordinator_that_forgets_its_last_record: LastGroupRecordForgotten,
    a_coordinator_that_reads_no_large_batch: LoadStopsAtLargeBatch,
    a_group_that_is_back_after_its_deletion: GroupTombstoneIgnored,
    commits_of_any_generation: NoGenerationCheck,
    two_members_for_one_instance: InstanceReplacedWhenStable,
    a_member_id_given_twice: MemberIdFromTime,
    members_that_never_sync: NoSyncTimeout,
    members_that_never_join: NoJoinTimeout,
    offsets_that_expire_in_a_rebalance: OffsetsExpireInRebalance,
    offsets_without_expiry_that_expire: MissingExpiryIsPast,
    an_epoch_taken_on_too_early: EpochBeforeRevocation,
    a_partition_given_twice: OwnedPartitionGiven,
    members_that_give_nothing_up: NoRevocationTimeout,
}
