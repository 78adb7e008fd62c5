//! Detection power: how soon which planted bug is found, and by what.

use dohle_core::mutant::{Mutant, Mutants};

use crate::oracle::Violation;
use crate::run::{Plan, run};
use crate::scenario::Scenario;

/// A run is given up after so many events; most have a hundredth of that.
const EVENTS_MOST: u64 = 1_000_000;

/// A bug that shows itself earlier in a seed is not counted as found by it: one that every seed
/// shows at once says nothing about the simulator.
const EVENTS_LEAST: u64 = 100;

/// Who watches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The oracles, and the broker's own assertions.
    All,
    /// The oracles alone.
    Oracles,
    /// A checker that knows only what can be known from outside.
    BlackBox,
}

/// What came of the search for a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// How many seeds were played.
    pub seeds: u64,
    /// How many events there were.
    pub events: u64,
    /// The event of the seed at which it was found.
    pub at: u64,
    /// What found it.
    pub violation: Option<Violation>,
}

/// The scenario that has to find a bug.
#[must_use]
pub fn scenario(mutant: Mutant) -> Scenario {
    use Mutant::*;
    match mutant {
        EpochsOutliveTruncation
        | EmptiedLogForgetsStart
        | BoundLostAtRoll
        | WrittenAtAppend
        | IndexOutlivesTruncation
        | ProducersOutliveTruncation
        | SnapshotBeyondScan
        | ClosedBeforeSealed
        | EpochsNotSynced
        | WrongSegmentsRemoved
        | EpochsNotAwaited
        | MissingIndexIgnored
        | SnapshotBelowStart
        | DeletedAtOnce
        | DeletedHasToBeSound
        | EpochsNotCorrected
        | ShortReadIsEnd
        | DamageCutOnSight
        | OffsetsNotChecked
        | DamageCutAnywhere
        | StartBelieved
        | SnapshotBelieved
        | AbortedNotReplayed
        | AbortedOutliveTruncation
        | AbortedFileIgnored
        | AbortedFileBelieved
        | SwapThrownAway
        | SwapNotComplete
        | SettledTooSoon
        | ReopenedAsWritten
        | MisplacedBatchKept
        | GapBelieved
        | RollBelieved
        | EmptyForgetsProducers
        | ClosedBeforeDeleted
        | SwapMarkFirst
        | RollBeforeStart
        | SealedAtOnce
        | RecordsBeforeOwner
        | LaterSegmentsCut => Scenario::Log,
        _ => Scenario::Single,
    }
}

/// Whether a scenario can be watched that way.
#[must_use]
pub fn can(scenario: Scenario, watch: Watch) -> bool {
    watch != Watch::BlackBox || scenario == Scenario::Log
}

/// Plays seeds until one of them shows the bug, not at once. That a run did too little is not
/// counted as that.
#[must_use]
pub fn search(mutant: Mutant, scenario: Scenario, watch: Watch, seeds: u64) -> Search {
    let mut search = Search { seeds: 0, events: 0, at: 0, violation: None };
    for seed in 1..=seeds {
        let plan = Plan {
            mutants: Mutants::only(mutant),
            assertions: watch == Watch::All,
            black_box: watch == Watch::BlackBox,
            // A bug may make a run that does not end.
            until: Some(EVENTS_MOST),
            ..Plan::new(scenario, seed)
        };
        let outcome = run(&plan);
        search.seeds += 1;
        search.events += outcome.events;
        let counts = |event: u64, oracle: &str| event >= EVENTS_LEAST && oracle != "gate";
        let failure = outcome.failure.filter(|it| counts(it.event, &it.violation.oracle));
        if let Some(failure) = failure {
            (search.at, search.violation) = (failure.event, Some(failure.violation));
            break;
        }
    }
    search
}
