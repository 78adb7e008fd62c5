//! Bugs planted on purpose are found, each within two hundred seeds (those of a log within two
//! thousand, which are faster): with the broker's assertions,
//! and by the oracles alone; those of a log also by a checker that sees it from outside, where they
//! can be seen from there.

use dohle_core::mutant::Mutant;
use dohle_sim::detect::{Watch, scenario, search};
use dohle_sim::scenario::Scenario;

/// A bug is found by what it breaks, not by doing too little.
fn check(mutant: Mutant, watch: Watch) {
    let place = scenario(mutant);
    let most = if place == Scenario::Log { 2_000 } else { 200 };
    let found = search(mutant, place, watch, most);
    let (name, seeds) = (mutant.name(), found.seeds);
    let Some(violation) = found.violation else {
        panic!("{name} went unnoticed for {seeds} seeds");
    };
    println!("{name}: {watch:?}, seed {seeds}, event {}, {violation}", found.at);
}

/// Planted, and too rare for these tests' seeds: tests of the core find them.
const SELDOM: [Mutant; 13] = [
    Mutant::OffsetsNotChecked,
    Mutant::StarvedForgotten,
    Mutant::GapBelieved,
    Mutant::CoordinatorEndsInMove,
    Mutant::RollBelieved,
    Mutant::EmptyForgetsProducers,
    Mutant::ClosedBeforeDeleted,
    Mutant::AbortedFileBelieved,
    Mutant::RollBeforeStart,
    Mutant::RecordsBeforeOwner,
    Mutant::CurrentRemovedFirst,
    Mutant::SealedAtOnce,
    Mutant::LaterSegmentsCut,
];

macro_rules! found {
    ($($name:ident: $mutant:ident,)*) => {
        mod with_assertions {
            use super::*;
            $(#[test] fn $name() { check(Mutant::$mutant, Watch::All); })*
        }
        mod by_the_oracles_alone {
            use super::*;
            $(#[test] fn $name() { check(Mutant::$mutant, Watch::Oracles); })*
        }
        #[test]
        fn every_planted_bug_has_its_test() {
            let mut planted = Mutant::ALL.to_vec();
            planted.retain(|mutant| !SELDOM.contains(mutant));
            assert_eq!([$(Mutant::$mutant),*], planted[..]);
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
    an_epoch_that_nobody_wrote_in: EpochsOutliveTruncation,
    an_emptied_log_that_is_as_before: EmptiedLogForgetsStart,
    a_bound_that_is_lost_at_a_roll: BoundLostAtRoll,
    records_that_count_before_they_are_written: WrittenAtAppend,
    an_index_of_what_was_cut: IndexOutlivesTruncation,
    producers_of_what_was_cut: ProducersOutliveTruncation,
    a_snapshot_of_what_is_not_there: SnapshotBeyondScan,
    a_clean_stop_that_was_none: ClosedBeforeSealed,
    epochs_torn_by_a_loss_of_power: EpochsNotSynced,
    segments_removed_by_mistake: WrongSegmentsRemoved,
    epochs_that_are_not_on_disk_yet: EpochsNotAwaited,
    an_index_that_is_missing: MissingIndexIgnored,
    a_snapshot_of_long_ago: SnapshotBelowStart,
    a_start_that_counts_too_soon: DeletedAtOnce,
    damage_in_what_is_deleted: DeletedHasToBeSound,
    an_epoch_that_the_log_contradicts: EpochsNotCorrected,
    a_short_read_taken_for_the_end: ShortReadIsEnd,
    a_log_cut_for_a_wrong_read: DamageCutOnSight,
    damage_cut_where_it_was_durable: DamageCutAnywhere,
    a_start_that_cannot_be: StartBelieved,
    a_snapshot_that_contradicts_the_log: SnapshotBelieved,
    aborted_transactions_that_nobody_learns: AbortedNotReplayed,
    aborted_transactions_of_what_was_cut: AbortedOutliveTruncation,
    what_the_cleaner_made_thrown_away: SwapThrownAway,
    what_the_cleaner_did_not_finish_kept: SwapNotComplete,
    sums_of_what_still_changes: SettledTooSoon,
    aborted_transactions_of_a_file: AbortedFileIgnored,
    a_full_disk_that_lost_nothing: ReopenedAsWritten,
    a_batch_that_lies_elsewhere: MisplacedBatchKept,
    a_copy_that_is_not_durable: FutureNotSealed,
    records_behind_the_copy: WritesDuringSwap,
    a_folder_in_the_way_of_a_stray: StrayNamedTwice,
    a_cleaning_that_is_marked_too_soon: SwapMarkFirst,
    bytes_that_count_as_synced_when_that_is_asked_for: SyncedWhenAsked,
    bytes_of_copies_that_are_not_counted: CopiesNotCounted,
}

mod from_outside {
    use super::*;

    macro_rules! seen {
        ($($name:ident: $mutant:ident,)*) => {
            $(#[test] fn $name() { check(Mutant::$mutant, Watch::BlackBox); })*
        };
    }

    seen! {
        an_epoch_that_nobody_wrote_in: EpochsOutliveTruncation,
        an_emptied_log_that_is_as_before: EmptiedLogForgetsStart,
        a_bound_that_is_lost_at_a_roll: BoundLostAtRoll,
        records_that_count_before_they_are_written: WrittenAtAppend,
        a_clean_stop_that_was_none: ClosedBeforeSealed,
        segments_removed_by_mistake: WrongSegmentsRemoved,
    }
}
