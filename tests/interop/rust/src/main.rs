//! rdkafka (librdkafka as Rust programs use it) behind the line protocol of `drivers.py`: one JSON command a line on stdin, one
//! JSON answer a line on stdout; a member of a group answers no more and tells what it does, one event a line.

mod member;
mod produce;
mod records;

use std::error::Error;
use std::io::{BufRead, Write};

use rdkafka::ClientConfig;
use serde_json::{Value, json};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// One line on stdout.
pub fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever reads this is gone when it fails; stdin ends then too.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

pub fn text<'a>(command: &'a Value, name: &str) -> Outcome<&'a str> {
    command[name].as_str().ok_or_else(|| format!("the command has no '{name}'").into())
}

/// The settings every client has, and those that the command asks for.
pub fn config(bootstrap: &str, command: &Value) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("client.id", "interop-rdkafka");
    if let Some(settings) = command["config"].as_object() {
        for (name, value) in settings {
            config.set(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    config
}

fn run(bootstrap: &str, command: &Value) -> Outcome<Value> {
    match text(command, "do")? {
        "produce" => produce::produce(bootstrap, command),
        "consume" => produce::consume(bootstrap, command),
        other => Err(format!("no such command: {other}").into()),
    }
}

fn main() {
    let bootstrap = std::env::args().nth(1).expect("usage: driver HOST:PORT");
    while let Some(line) = next_line() {
        let command: Value = serde_json::from_str(&line).expect("a command in JSON");
        if command["do"] == "join" {
            return member::live(&bootstrap, &command);
        }
        let answer = run(&bootstrap, &command)
            .unwrap_or_else(|error| json!({"error": "KafkaError", "message": error.to_string()}));
        say(&answer);
    }
}

/// Stdin is locked for one line only: a member waits for its last one in another thread.
fn next_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

/// Set once the next line, or the end of stdin, has come.
pub fn leaving() -> std::sync::Arc<std::sync::atomic::AtomicBool> {
    let leaving = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = leaving.clone();
    std::thread::spawn(move || {
        next_line();
        told.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    leaving
}
