//! Seeds that must pass with every change.

use dohle_sim::fault::Fault;
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

/// `DOHLE_SIM_SEEDS` asks for more of them.
#[test]
fn the_first_seeds_pass() {
    let (mut fsync, mut lossy, mut failed) = (0, 0, 0);
    let asked = std::env::var("DOHLE_SIM_SEEDS").ok();
    let last = asked.map_or(40, |count| count.parse().expect("a number of seeds"));
    for seed in 1..=last {
        let outcome = run(&Plan::new(Scenario::Single, seed));
        if let Some(failure) = outcome.failure {
            println!("seed {seed}, event {}: {}", failure.event, failure.violation);
            failed += 1;
            continue;
        }
        assert!(outcome.simulated >= 60_000_000_000 && outcome.committed >= 200, "seed {seed}");
        assert!(!outcome.swarm.fsync() || outcome.allowed_losses == 0, "seed {seed} lost records");
        fsync += usize::from(outcome.swarm.fsync());
        lossy += usize::from(outcome.allowed_losses > 0 && outcome.swarm.has(Fault::Power));
    }
    assert_eq!(failed, 0, "of {last} seeds");
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
