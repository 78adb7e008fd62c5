//! Seeds that must pass with every change.

use dohle_sim::fault::Fault;
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

#[test]
fn the_first_seeds_pass() {
    let (mut fsync, mut lossy) = (0, 0);
    for seed in 1..=40 {
        let outcome = run(&Plan::new(Scenario::Single, seed));
        assert_eq!(outcome.failure, None, "seed {seed}");
        assert!(outcome.simulated >= 60_000_000_000 && outcome.committed >= 200, "seed {seed}");
        assert!(!outcome.swarm.fsync || outcome.allowed_losses == 0, "seed {seed} lost records");
        fsync += usize::from(outcome.swarm.fsync);
        lossy += usize::from(outcome.allowed_losses > 0 && outcome.swarm.has(Fault::Power));
    }
    assert!(fsync >= 10, "{fsync} of 40 seeds sync before they acknowledge");
    assert!(lossy >= 5, "in {lossy} of 40 seeds power took what it may take");
}

/// A longer run than drawn, and not measured by its gates.
#[test]
fn a_seed_can_run_for_longer() {
    let plan = Plan { length: Some(200_000_000_000), ..Plan::new(Scenario::Single, 1) };
    let outcome = run(&plan);
    assert_eq!(outcome.failure, None);
    assert!(outcome.simulated > 200_000_000_000);
}
