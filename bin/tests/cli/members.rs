//! `dohle consume --group` whose output cannot be written, or not at once.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Broker, DOHLE};

/// A broker that misses a member soon, with a topic that holds more than a pipe.
fn broker(name: &str) -> Broker {
    let mut command = Command::new(DOHLE);
    command.env("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0");
    command.env("KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS", "100");
    let broker = Broker::start_with(name, command);
    broker.ok(&["topic", "create", "t"], "");
    broker.ok(&["produce", "t"], &format!("{}\n", "x".repeat(999)).repeat(1000));
    broker
}

fn member(broker: &Broker, out: impl Into<Stdio>) -> Child {
    let settings = ["-X", "session.timeout.ms=1000", "-X", "heartbeat.interval.ms=200"];
    let mut command = Command::new(DOHLE);
    command.args(["consume", "t", "--group", "g", "--bootstrap", &broker.address]).args(settings);
    command.stdout(out).stderr(Stdio::null()).spawn().unwrap()
}

/// Its exit code, once it ends.
fn ended(member: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = member.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(20) {
            member.kill().unwrap();
            panic!("the member does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_cannot_be_printed_is_not_committed() {
    let broker = broker("full");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(ended(&mut member(&broker, full)), Some(1));
    let described = &broker.json(&["group", "describe", "g", "--json"])[0];
    assert_eq!(described["partitions"], json!([]));
}

#[test]
fn a_member_whose_output_nobody_reads_stays_and_can_leave() {
    let broker = broker("blocked");
    let mut member = member(&broker, Stdio::piped());
    let mut pipe = member.stdout.take().unwrap();
    pipe.read_exact(&mut [0]).unwrap();
    // Longer than its session.
    std::thread::sleep(Duration::from_millis(2500));
    let members = || broker.json(&["group", "describe", "g", "--json"])[0]["member_count"].clone();
    assert_eq!(members(), 1);
    let signal = Command::new("kill").args(["-INT", &member.id().to_string()]).status().unwrap();
    assert!(signal.success());
    assert_eq!(ended(&mut member), Some(0));
    assert_eq!(members(), 0);
    let described = &broker.json(&["group", "describe", "g", "--json"])[0];
    assert_eq!(described["partitions"], json!([]), "nothing was printed as a whole");
}
