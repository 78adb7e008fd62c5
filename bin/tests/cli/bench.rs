//! What is measured against a broker is what it was asked to do.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Broker, DOHLE, with_files};

fn measured(broker: &Broker, args: &[&str]) -> Value {
    let found = broker.json(&[&["bench"], args, &["--json"]].concat());
    assert_eq!(found.len(), 1, "one object: {found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn records_are_written_and_read_and_the_topic_goes_again() {
    let broker = Broker::start("bench-records");
    broker.ok(&["topic", "create", "kept", "--partitions", "3"], "");
    let written =
        measured(&broker, &["produce", "--topic", "kept", "--records", "1000", "--warmup", "0s"]);
    assert_eq!(written["records"], 1000);
    let read = measured(&broker, &["consume", "kept"]);
    assert_eq!(read["records"], 1000);
    let open = measured(&broker, &["e2e", "--rate", "200", "--for", "1s", "--warmup", "0s"]);
    assert!(open["latency_ms"]["p50"].as_f64().unwrap() > 0.0, "{open}");
    let large =
        ["bench", "produce", "--record-size", "2000000", "--records", "1", "--warmup", "0s"];
    let said = broker.fails(&large, 1);
    assert!(said.contains("1 records were not acknowledged, the first because: "), "{said}");
    let left = broker.ok(&["topic", "list"], "");
    assert!(left.contains("kept") && !left.contains("bench-"), "{left}");
}

/// Starts a measurement that makes a topic, and waits for the topic.
fn begun(broker: &Broker, args: &[&str]) -> Child {
    let mut bench = Command::new(DOHLE);
    bench.arg("bench").args(args).args(["--bootstrap", &broker.address]);
    let bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let from = Instant::now();
    while !broker.ok(&["topic", "list"], "").contains("bench-") {
        assert!(from.elapsed() < Duration::from_secs(20), "no topic is made");
        std::thread::sleep(Duration::from_millis(20));
    }
    bench
}

fn signal(name: &str, process: &Child) {
    let sent = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
    assert!(sent.success(), "{name}");
}

/// What came of a measurement that ends by itself before long.
fn ended(bench: Child, code: i32) -> Output {
    let from = Instant::now();
    let output = bench.wait_with_output().unwrap();
    assert!(from.elapsed() < Duration::from_secs(30), "{:?}", from.elapsed());
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    output
}

#[test]
fn a_signal_takes_the_topic_along() {
    let broker = Broker::start("bench-signal");
    for (what, name, code) in [("produce", "-INT", 130), ("e2e", "-TERM", 143)] {
        let bench = begun(&broker, &[what, "--for", "10m"]);
        signal(name, &bench);
        let said = ended(bench, code);
        assert!(!String::from_utf8_lossy(&said.stderr).contains("is left"), "{said:?}");
        assert!(!broker.ok(&["topic", "list"], "").contains("bench-"), "{what}");
    }
}

#[test]
fn idle_connections_and_idle_consumers_are_counted() {
    let broker = Broker::start("bench-idle");
    broker.ok(&["topic", "create", "quiet", "--partitions", "2"], "");
    let asked = ["connections", "--count", "40", "--rate", "20", "--for", "1s"];
    let silent = measured(&broker, &asked);
    assert_eq!(silent["connections"], 40);
    let asked_for = silent["records"].as_u64().unwrap();
    assert!((1..=21).contains(&asked_for), "twenty a second: {silent}");
    let reading = measured(&broker, &[&asked[..], &["--topic", "quiet"]].concat());
    assert_eq!(reading["connections"], 40);
    let missing = [&["bench"], &asked[..], &["--topic", "nope"]].concat();
    assert!(broker.fails(&missing, 1).contains("topic create nope"));
}

#[test]
fn a_topic_that_is_written_to_has_no_idle_consumers() {
    let broker = Broker::start("bench-busy");
    broker.ok(&["topic", "create", "busy"], "");
    let mut bench = Command::new(DOHLE);
    bench.args(["bench", "connections", "--count", "3", "--topic", "busy", "--for", "3s"]);
    let bench = bench.args(["--bootstrap", &broker.address]).stderr(Stdio::piped()).spawn();
    std::thread::sleep(Duration::from_secs(1));
    broker.ok(&["produce", "busy"], "one\n");
    let said = bench.unwrap().wait_with_output().unwrap();
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("busy-0 is being written to"),
        "{said:?}"
    );
}

#[test]
fn more_connections_than_a_broker_takes_is_said_within_the_patience_of_one() {
    let broker = Broker::start_with("bench-many", with_files(96));
    let said = broker.fails(&["bench", "connections", "--count", "400"], 1);
    assert!(said.contains("of 400 connections, then: no answer within 30 s"), "{said}");
}
