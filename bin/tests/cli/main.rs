//! The commands against a broker of the same binary, over loopback.

mod bench;
mod groups;
mod members;
mod verify;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const DOHLE: &str = env!("CARGO_BIN_EXE_dohle");

/// A broker in a folder of its own; both go away with the test.
struct Broker {
    process: Child,
    folder: PathBuf,
    address: String,
}

impl Broker {
    fn start(name: &str) -> Self {
        Self::start_with(name, Command::new(DOHLE))
    }

    /// `command` is `dohle`, somehow.
    fn start_with(name: &str, mut command: Command) -> Self {
        let folder = std::env::temp_dir().join(format!("dohle-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut process = command
            .args(["start", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("ready on ")?.1.split(' ').next()?.to_owned())
        });
        // The broker goes on writing; somebody has to read it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, folder, address: address.expect("the broker says where it is") }
    }

    /// Runs a command with `input`.
    fn run(&self, args: &[&str], input: &str) -> Output {
        let mut command = Command::new(DOHLE);
        command.args(args).args(["--bootstrap", &self.address]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        // A command that takes no input may be over before it gets it.
        let _ = process.stdin.take().unwrap().write_all(input.as_bytes());
        process.wait_with_output().unwrap()
    }

    /// What a command prints that succeeds.
    fn ok(&self, args: &[&str], input: &str) -> String {
        let output = self.run(args, input);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that ends with `code`.
    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args, "");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn json(&self, args: &[&str]) -> Vec<Value> {
        let text = self.ok(args, "");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn topics_and_records() {
    let broker = Broker::start("topics");
    broker.ok(&["topic", "create", "t", "--partitions", "2", "--config", "retention.ms=-1"], "");
    assert!(broker.fails(&["topic", "create", "t"], 1).contains("exists already"));
    broker.ok(&["produce", "t", "--partition", "1"], "one\ntwo\n");
    broker.ok(&["produce", "t", "-p", "1", "-K", ":", "-H", "h=1", "-z", "zstd"], "k:three\n");
    let all = ["consume", "t", "--until-end", "-f", "%t %p %o %k %v %h\\n"];
    assert_eq!(broker.ok(&all, ""), "t 1 0  one \nt 1 1  two \nt 1 2 k three h=1\n");
    let some = ["consume", "t", "-p", "1", "--from", "1", "--count", "1"];
    assert_eq!(broker.ok(&some, ""), "two\n");
    let later = ["consume", "t", "--from", "2999-01-01", "--until-end"];
    assert_eq!(broker.ok(&later, ""), "");
    let objects = broker.json(&["consume", "t", "--until-end", "--json"]);
    assert_eq!(objects.len(), 3);
    assert_eq!(objects[2]["headers"], json!([{"key": "h", "value": "1"}]));
    let described = &broker.json(&["topic", "describe", "t", "--json"])[0];
    assert_eq!(described["partitions"][1]["end"], 3);
    assert_eq!(described["configs"]["retention.ms"], json!({"value": "-1", "own": true}));
    let alter = ["topic", "alter", "t", "--partitions", "3", "--delete-config", "retention.ms"];
    broker.ok(&alter, "");
    let described = &broker.json(&["topic", "describe", "t", "--json"])[0];
    assert_eq!(described["partitions"].as_array().unwrap().len(), 3);
    assert_eq!(described["configs"]["retention.ms"]["own"], false);
    broker.ok(&["topic", "delete", "t"], "");
    assert_eq!(broker.json(&["topic", "list", "--json"]), [json!([])]);
    assert!(broker.fails(&["consume", "t"], 1).contains("there is no topic t"));
}

#[test]
fn many_records_in_many_polls_come_back_whole() {
    let broker = Broker::start("many");
    let settings = ["--partitions", "4", "--config", "max.message.bytes=1500"];
    broker.ok(&[&["topic", "create", "t"], &settings[..]].concat(), "");
    let lines: Vec<String> = (0..30_000).map(|number| number.to_string()).collect();
    // Batches are too large for the topic at first.
    broker.ok(&["produce", "t"], &(lines.join("\n") + "\n"));
    let text = broker.ok(&["consume", "t", "--until-end"], "");
    let mut found: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq(0..30_000));
}

#[test]
fn records_that_nobody_acknowledges_all_arrive() {
    let broker = Broker::start("unacknowledged");
    let lines: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    for topic in ["a", "b", "c"] {
        broker.ok(&["topic", "create", topic], "");
        broker.ok(&["produce", topic, "--acks", "0"], &lines);
        // Without acknowledgement the last ones are written a moment later.
        let read = || broker.ok(&["consume", topic, "--until-end"], "");
        let from = Instant::now();
        while read() != lines {
            let count = read().lines().count();
            assert!(from.elapsed() < Duration::from_secs(10), "{count} records in {topic}");
        }
    }
}

#[test]
fn failures_say_what_to_do_and_have_codes() {
    let broker = Broker::start("failures");
    assert!(broker.fails(&["topic", "describe", "none"], 1).contains("dohle topic create none"));
    assert!(broker.fails(&["topic", "alter", "none"], 2).contains("nothing to change"));
    broker.fails(&["topic", "create", "x", "--config", "no"], 2);
    broker.fails(&["topic", "create", "bad name!"], 1);
    broker.fails(&["consume", "x", "--from", "soon"], 2);
    broker.fails(&["consume", "x", "-X", "fetch.min.bites=1"], 2);
    broker.fails(&["produce", "x", "-X", "linger.ms=-1"], 2);
    let servers = ["-X", "bootstrap.servers=127.0.0.1:1"];
    let two = broker.fails(&[&["consume", "x"], &servers[..]].concat(), 2);
    assert!(two.contains("contradicts"), "{two}");
    let replay = Command::new(DOHLE).args(["sim", "replay"]).output().unwrap();
    assert!(String::from_utf8_lossy(&replay.stderr).contains("--seed"), "{replay:?}");
    let shrink = ["sim", "shrink", "--scenario", "log", "--seed", "5", "-o", "nowhere/small.json"];
    let shrink = Command::new(DOHLE).args(shrink).output().unwrap();
    assert_eq!(shrink.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&shrink.stderr).contains("seed 5 does not fail"), "{shrink:?}");
    let nobody = Command::new(DOHLE).args(["topic", "list", "-b", "127.0.0.1:1"]).output().unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("dohle start"), "{nobody:?}");
}

#[test]
fn a_cluster_and_its_quorum_are_described() {
    let broker = Broker::start("cluster");
    let found = &broker.json(&["cluster", "describe", "--json"])[0];
    let port: u16 = broker.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let one = json!({ "id": 1, "host": "127.0.0.1", "port": port, "rack": null });
    assert_eq!((&found["controller"], &found["brokers"]), (&json!(1), &json!([one])));
    let before = broker.json(&["cluster", "quorum", "--json"]).remove(0);
    let role = (&before["leader"], &before["members"][0]["role"], &before["members"][0]["lag"]);
    assert_eq!(role, (&json!(1), &json!("leader"), &json!(0)));
    broker.ok(&["topic", "create", "t"], "");
    let after = broker.json(&["cluster", "quorum", "--json"]).remove(0);
    assert!(after["high_watermark"].as_i64() > before["high_watermark"].as_i64(), "{after}");
    let told = broker.ok(&["cluster", "quorum"], "");
    let high =
        format!("leader 1, epoch {}, high watermark {}", after["epoch"], after["high_watermark"]);
    assert!(told.starts_with(&high) && told.lines().count() == 3, "{told}");
    assert!(broker.ok(&["cluster", "describe"], "").contains("controller 1"));
}

#[test]
fn a_reader_ends_with_the_last_record_and_not_with_a_poll() {
    let broker = Broker::start("ends");
    broker.ok(&["topic", "create", "t", "--partitions", "3"], "");
    broker.ok(&["produce", "t", "-p", "1"], "a\nb\n");
    // Longer than the test may take.
    let wait = ["-X", "fetch.max.wait.ms=25000"];
    let begun = Instant::now();
    assert_eq!(broker.ok(&[&["consume", "t", "-e"], &wait[..]].concat(), ""), "a\nb\n");
    assert_eq!(broker.ok(&[&["consume", "t", "-c", "1"], &wait[..]].concat(), ""), "a\n");
    assert_eq!(broker.ok(&[&["consume", "t", "-e", "-p", "0"], &wait[..]].concat(), ""), "");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn what_cannot_be_written_is_named_at_once() {
    let broker = Broker::start("refused");
    broker.ok(&["topic", "create", "t", "--partitions", "3"], "");
    let missing = broker.fails(&["produce", "t", "-p", "3"], 1);
    assert!(missing.contains("t has 3 partitions, numbered from 0"), "{missing}");
    let long = ["produce", "t", "-X", "max.request.size=100", "--json"];
    let output = broker.run(&long, &format!("one\n{}\ntwo\n", "x".repeat(5_000_000)));
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("line 2 was not written"), "{told}");
    let summary = told.lines().find(|line| line.starts_with('{')).expect("a summary");
    let summary: Value = serde_json::from_str(summary).unwrap();
    assert_eq!((&summary["records"], &summary["bytes"]), (&json!(2), &json!(6)));
    assert_eq!(broker.ok(&["consume", "t", "-e"], ""), "one\ntwo\n");
}

#[test]
fn a_reader_hears_that_its_topic_is_gone() {
    let broker = Broker::start("gone");
    broker.ok(&["topic", "create", "t"], "");
    let mut reader = Command::new(DOHLE)
        .args(["consume", "t", "-X"])
        .arg(format!("bootstrap.servers={}", broker.address))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    broker.ok(&["produce", "t"], "a\n");
    broker.ok(&["topic", "delete", "t"], "");
    let mut told = String::new();
    BufReader::new(reader.stderr.take().unwrap()).read_line(&mut told).unwrap();
    reader.kill().unwrap();
    reader.wait().unwrap();
    // Deleted before the reader looked for it, the topic is missing from the start.
    assert!(told.contains("no topic t"), "{told}");
}

#[test]
fn the_files_of_a_broker_are_sound() {
    let broker = Broker::start("files");
    broker.ok(&["topic", "create", "t"], "");
    broker.ok(&["produce", "t"], "a\nb\n");
    let dump = || {
        let command = ["log", "dump", "--json", "--print-data"];
        Command::new(DOHLE).args(command).arg(broker.folder.join("data")).output().unwrap()
    };
    let sound = dump();
    assert!(sound.status.success(), "{sound:?}");
    let text = String::from_utf8(sound.stdout).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().any(|row| row["payload"] == "b"));
    assert!(rows.iter().any(|row| row["type"] == "TopicRecord" && row["data"]["name"] == "t"));
    let segment = broker.folder.join("data/t-0/00000000000000000000.log");
    let mut bytes = fs::read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&segment, bytes).unwrap();
    let damaged = dump();
    assert_eq!(damaged.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&damaged.stdout).contains(r#""kind":"damage""#));
}

/// `dohle` in a process that may have so many files open.
fn with_files(count: u32) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {count}; exec \"$0\" \"$@\""), DOHLE]);
    shell
}

#[test]
fn few_descriptors_are_enough() {
    let mut broker = Broker::start_with("descriptors", with_files(64));
    broker.ok(&["topic", "create", "t", "--partitions", "60"], "");
    let produce = |partition: i32| {
        broker.ok(&["produce", "t", "--partition", &partition.to_string()], "one\n");
    };
    (0..30).for_each(produce);
    // More than it may have, most of which wait to be accepted.
    let flood: Vec<_> = (0..100).map(|_| TcpStream::connect(&broker.address).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(200));
    drop(flood);
    (30..60).for_each(produce);
    let text = broker.ok(&["consume", "t", "--until-end"], "");
    assert_eq!(text.lines().count(), 60);
    assert!(broker.process.try_wait().unwrap().is_none(), "it runs");
}

#[test]
fn each_kind_of_stranger_is_logged() {
    let broker = Broker::start("strangers");
    let kinds: [(&[u8], &str); 3] = [
        (b"GET / HTTP/1.1\r\n\r\n", "an HTTP request"),
        (&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3], "a TLS handshake"),
        (&[0x9f; 100], "which no Kafka client sends"),
    ];
    for (bytes, line) in kinds {
        let mut stream = TcpStream::connect(&broker.address).unwrap();
        stream.write_all(bytes).unwrap();
        let from = Instant::now();
        while !fs::read_to_string(broker.folder.join("stderr")).unwrap().contains(line) {
            assert!(from.elapsed() < Duration::from_secs(20), "no line with {line:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_start_that_cannot_be_says_why() {
    let fails = |mut command: Command, args: &[&str], code: i32, part: &str| {
        let output = command.arg("start").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(part), "{args:?}: {text}");
    };
    let file = std::env::temp_dir().join(format!("dohle-cli-file-{}", std::process::id()));
    fs::write(&file, "").unwrap();
    let name = file.to_str().unwrap();
    let dohle = || Command::new(DOHLE);
    fails(dohle(), &["--data", name, "--listen", "127.0.0.1:0"], 1, "is not a directory");
    for listen in ["127.0.0.1", "PLAINTEXT://127.0.0.1:0", "a:1,b:2", "a:99999"] {
        fails(dohle(), &["--data", name, "--listen", listen], 2, "expected HOST:PORT");
    }
    fs::remove_file(&file).unwrap();
    fails(with_files(24), &["--data", name, "--listen", "127.0.0.1:0"], 1, "ulimit -n");
    fs::remove_dir_all(&file).unwrap();
}
