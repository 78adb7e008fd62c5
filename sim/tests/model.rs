//! Every order of events in small worlds, and some in larger ones.

use std::time::Duration;

use dohle_sim::model::quorum::{Bounds, Quorum};
use dohle_sim::model::{Counterexample, Limits, explore, wander};

const LIMITS: Limits = Limits { states: 1_000_000, time: Duration::from_secs(120) };

fn fail(found: &Counterexample) -> ! {
    panic!("{}\n{}", found.why, found.path.join("\n"))
}

/// Nothing may be left out.
fn check(bounds: Bounds) {
    match explore(Quorum::new(bounds), LIMITS) {
        Ok(explored) => assert!(explored.complete, "{explored:?}"),
        Err(found) => fail(&found),
    }
}

#[test]
fn a_sole_voter() {
    check(Bounds { voters: 1, crashes: 2, breaks: 0, timeouts: 9, epochs: 3, records: 3 });
}

#[test]
fn two_voters() {
    check(Bounds { voters: 2, crashes: 1, breaks: 1, timeouts: 2, epochs: 2, records: 2 });
}

#[test]
fn three_voters() {
    check(Bounds { voters: 3, crashes: 1, breaks: 0, timeouts: 1, epochs: 2, records: 1 });
}

#[test]
fn long_ways_of_three_and_five_voters() {
    let (mut committed, mut longest) = (0, 0);
    for seed in 0..2000 {
        let voters = if seed % 3 == 0 { 5 } else { 3 };
        let bounds =
            Bounds { voters, crashes: 4, breaks: 6, timeouts: 40, epochs: 12, records: 12 };
        match wander(Quorum::new(bounds), seed, 1000) {
            Ok((world, actions)) => {
                committed += world.committed();
                longest = longest.max(actions);
            }
            Err(found) => fail(&found),
        }
    }
    println!("{committed} records committed, the longest way took {longest} actions");
    assert!(committed > 2000 && longest > 200, "{committed} committed, {longest} actions");
}
