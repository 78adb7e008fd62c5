//! Seeds of scenario `log` that must pass with every change.

use std::collections::BTreeMap;

use dohle_sim::choice::Script;
use dohle_sim::fault::Fault;
use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;

/// `DOHLE_SIM_SEEDS` asks for more of them.
#[test]
fn the_first_seeds_pass() {
    let (mut fsync, mut lossy, mut failed) = (0, 0, 0);
    let (mut opening, mut cutting) = (0, 0);
    let mut damage: BTreeMap<&str, u64> = BTreeMap::new();
    let asked = std::env::var("DOHLE_SIM_SEEDS").ok();
    let last = asked.map_or(100, |count| count.parse().expect("a number of seeds"));
    for seed in 1..=last {
        let outcome = run(&Plan::new(Scenario::Log, seed));
        if let Some(failure) = outcome.failure {
            println!("seed {seed}, event {}: {}", failure.event, failure.violation);
            failed += 1;
            continue;
        }
        assert!(!outcome.swarm.fsync() || outcome.allowed_losses == 0, "seed {seed} lost records");
        fsync += usize::from(outcome.swarm.fsync());
        lossy += usize::from(outcome.allowed_losses > 0 && outcome.swarm.has(Fault::Power));
        opening += outcome.gates.counts["struck_opening"].1;
        cutting += outcome.gates.counts["struck_cutting"].1;
        for name in ["refused", "damage_cut", "damage_told", "bad_crc", "sealed", "reopened"] {
            *damage.entry(name).or_default() += outcome.gates.counts[name].1;
        }
    }
    assert_eq!(failed, 0, "of {last} seeds");
    // Two in five do; a hundred seeds may be far from that.
    assert!(fsync >= 25, "{fsync} of {last} seeds sync before they acknowledge");
    assert!(lossy >= 10, "in {lossy} of {last} seeds power took what it may take");
    assert!(opening >= 20, "{opening} crashes while the log was opened");
    assert!(cutting >= 20, "{cutting} crashes while the log was cut");
    assert!(damage.values().all(|count| *count >= 3), "{damage:?}");
}

#[test]
fn a_run_is_a_function_of_its_choices() {
    let kept = run(&Plan { keep_choices: true, ..Plan::new(Scenario::Log, 5) });
    assert_eq!(run(&Plan::new(Scenario::Log, 5)).digest, kept.digest);
    assert_ne!(run(&Plan::new(Scenario::Log, 6)).digest, kept.digest);
    let script = Some(Script::new(kept.choices));
    let played = run(&Plan { script, ..Plan::new(Scenario::Log, 6) });
    assert_eq!(played.digest, kept.digest);
}

#[test]
fn a_replay_stops_after_its_event_and_looks_at_every_event_if_asked() {
    let plan = Plan { until: Some(2_000), paranoid: true, ..Plan::new(Scenario::Log, 5) };
    let outcome = run(&plan);
    assert_eq!((outcome.events, outcome.failure), (2_000, None));
    assert!(outcome.state.contains("model start"), "{}", outcome.state);
}

#[test]
fn a_third_of_all_seeds_syncs_before_it_acknowledges() {
    let syncs = |seed: &u64| Plan::new(Scenario::Log, *seed).swarm().fsync();
    let count = (1..=5_000).filter(syncs).count();
    assert!(count * 3 > 5_000, "{count} of 5000 seeds");
}
