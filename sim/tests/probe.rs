use dohle_sim::run::{Plan, run};
use dohle_sim::scenario::Scenario;
#[test]
fn probe() {
    let a: u64 = std::env::var("A").unwrap_or("1".into()).parse().unwrap();
    let b: u64 = std::env::var("B").unwrap_or("1".into()).parse().unwrap();
    let t = std::time::Instant::now();
    let mut events = 0;
    let mut fails = 0;
    for seed in a..=b {
        let mut plan = Plan::new(Scenario::Single, seed);
        plan.trace = std::env::var("TRACE").is_ok();
        let o = run(&plan);
        if plan.trace {
            std::fs::write("/tmp/sim.trace", o.lines.join("\n")).unwrap();
        }
        events += o.events;
        if let Some(f) = &o.failure {
            fails += 1;
            println!("seed {seed} event {} t {}ms: {}", f.event, f.time / 1_000_000, f.violation);
        }
        if a == b {
            println!("{:?}\n{:?}\n{} {}", o.swarm, o.gates, o.state, o.allowed_losses);
        }
    }
    println!("fails {fails} events {events} wall {:?}", t.elapsed());
}
