//! What is measured against a broker is what it was asked to do.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

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
    let refused = ["bench", "produce", "-C", "max.message.bytes=200", "--for", "60s"];
    let said = broker.fails(&refused, 1);
    assert!(said.contains(" records were not acknowledged, the first because: "), "{said}");
    let large = broker.fails(&["bench", "produce", "--record-size", "2000000"], 2);
    assert!(large.contains("--record-size 2000000 is more than max.request.size"), "{large}");
    let more = broker.run(&["bench", "consume", "kept", "--records", "5000"], "");
    assert!(more.status.success(), "{more:?}");
    let said = String::from_utf8_lossy(&more.stderr);
    assert!(said.contains("kept has no more than 1000 of 5000 records"), "{said}");
    let nothing = measured(&broker, &["produce", "--for", "0s", "--warmup", "0s"]);
    assert_eq!((&nothing["records"], &nothing["client_cpu_us"]), (&json!(0), &Value::Null));
    let left = broker.ok(&["topic", "list"], "");
    assert!(left.contains("kept") && !left.contains("bench-"), "{left}");
}

/// Starts a measurement that makes a topic, and waits for the topic.
fn begun(broker: &Broker, args: &[&str]) -> Child {
    let mut bench = Command::new(DOHLE);
    bench.arg("bench").args(args).args(["--bootstrap", &broker.address]);
    let bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (from, topic) = (Instant::now(), format!("bench-{}-", bench.id()));
    while !broker.ok(&["topic", "list"], "").contains(&topic) {
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
fn a_rate_out_of_reach_ends_in_time_and_is_told() {
    let broker = Broker::start("bench-rate");
    for what in ["produce", "e2e"] {
        let mut asked = vec!["bench", what, "--rate", "100000000", "--for", "1s"];
        asked.extend(["--warmup", "100ms", "--record-size", "20"]);
        let from = Instant::now();
        let text = broker.ok(&asked, "");
        assert!(from.elapsed() < Duration::from_secs(30), "{what}: {:?}", from.elapsed());
        assert!(text.contains("100000000 a second were not reached: "), "{text}");
    }
    let open = measured(&broker, &["produce", "--rate", "100", "--for", "1s", "--warmup", "0s"]);
    assert_eq!(open["rate"]["asked"], 100);
    let reached = open["rate"]["reached"].as_f64().unwrap();
    assert!((50.0..=102.0).contains(&reached), "{open}");
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
fn what_a_signal_cannot_take_along_is_named() {
    let broker = Broker::start("bench-left");
    let once = begun(&broker, &["produce", "--for", "10m"]);
    let twice = begun(&broker, &["produce", "--for", "10m"]);
    signal("-STOP", &broker.process);
    signal("-INT", &once);
    signal("-INT", &twice);
    std::thread::sleep(Duration::from_millis(300));
    signal("-INT", &twice);
    for (bench, why) in [(twice, "a signal came"), (once, "no answer")] {
        let said = String::from_utf8(ended(bench, 130).stderr).unwrap();
        assert!(said.contains("may be left") && said.contains(why), "{said}");
    }
    signal("-CONT", &broker.process);
}

#[test]
fn a_broker_that_says_nothing_more_ends_a_measurement_with_what_there_is() {
    let broker = Broker::start("bench-frozen");
    let begin = |what| begun(&broker, &[what, "--rate", "500", "--for", "3s", "--warmup", "0s"]);
    let both = ["produce", "e2e"].map(begin);
    std::thread::sleep(Duration::from_secs(1));
    signal("-STOP", &broker.process);
    for bench in both {
        let told = ended(bench, 1);
        let (out, said) = (String::from_utf8(told.stdout), String::from_utf8(told.stderr));
        let (out, said) = (out.unwrap(), said.unwrap());
        assert!(out.contains(" records in ") && out.contains("until acknowledged: "), "{out}");
        assert!(said.contains("nothing was acknowledged for 3 s"), "{said}");
        assert!(said.contains(" records were sent and none acknowledged for 10 s"), "{said}");
        assert!(said.contains("the topic bench-") && said.contains("may be left"), "{said}");
    }
    signal("-CONT", &broker.process);
}

#[test]
fn a_broker_that_says_nothing_more_ends_the_reading_with_what_there_is() {
    let broker = Broker::start("bench-unread");
    broker.ok(&["topic", "create", "t"], "");
    // A fetch for each record, so that reading takes a second or more.
    let many = ["produce", "--topic", "t", "--records", "10000", "-X", "batch.size=1"];
    measured(&broker, &[&many[..], &["--warmup", "0s"]].concat());
    let mut bench = Command::new(DOHLE);
    bench.args(["bench", "consume", "t", "-X", "max.partition.fetch.bytes=1", "--json"]);
    bench.args(["--bootstrap", &broker.address]);
    let bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal("-STOP", &broker.process);
    let told = ended(bench, 1);
    signal("-CONT", &broker.process);
    let found: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(found["records"].as_u64().unwrap() < 10_000, "{found}");
    assert!(found["error"].as_str().unwrap().starts_with("no record came for 10 s"), "{found}");
}

#[test]
fn records_that_never_arrive_are_missed() {
    let broker = Broker::start("bench-missing");
    let refused = ["-X", "acks=0", "-C", "max.message.bytes=200", "--records", "50"];
    let bench = begun(&broker, &[&["e2e", "--warmup", "0s"], &refused[..]].concat());
    let said = ended(bench, 1);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("50 of 50 records never arrived: none came for 10 s"), "{said}");
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
    bench.args(["bench", "connections", "--count", "3", "--topic", "busy", "--for", "60s"]);
    let bench = bench.args(["--bootstrap", &broker.address]).stderr(Stdio::piped()).spawn();
    std::thread::sleep(Duration::from_secs(1));
    broker.ok(&["produce", "busy"], "one\n");
    let said = String::from_utf8(ended(bench.unwrap(), 1).stderr).unwrap();
    assert!(
        said.contains("busy-0 is being written to, so that its consumers are not idle"),
        "{said}"
    );
}

#[test]
fn a_broker_that_says_nothing_more_ends_the_round_trips_with_what_there_is() {
    let broker = Broker::start("bench-mute");
    let mut bench = Command::new(DOHLE);
    bench.args(["bench", "connections", "--count", "3", "--for", "60s"]);
    bench.args(["--bootstrap", &broker.address, "--json"]);
    let bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    signal("-STOP", &broker.process);
    let told = ended(bench, 1);
    signal("-CONT", &broker.process);
    let found: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(found["records"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["error"], "no answer within 10 s");
}

#[test]
fn more_connections_than_a_broker_takes_is_said_within_the_patience_of_one() {
    let broker = Broker::start_with("bench-many", with_files(96));
    let said = broker.fails(&["bench", "connections", "--count", "400"], 1);
    assert!(said.contains("of 400 connections, then: no answer within 10 s"), "{said}");
}

#[test]
fn numbers_that_nothing_comes_of_are_refused() {
    let broker = Broker::start("bench-numbers");
    let most = u64::MAX.to_string();
    broker.fails(&["bench", "produce", "--rate", &most], 2);
    broker.fails(&["bench", "e2e", "--rate", &most], 2);
    broker.fails(&["bench", "connections", "--count", "100000000"], 2);
}
