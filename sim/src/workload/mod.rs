//! The clients of a run: dohle's own client machines, each driven by a small script of what it
//! wants, drawn as it goes, and consumer groups that speak for themselves.
//!
//! Invariant: a record's value is unique in the run, and everything that a client promises or
//! returns goes into the history.

mod admin;
mod consumer;
mod groups;
mod producer;
mod shell;

use dohle_client::config::ConnectionConfig;
use dohle_jepsen::{Action, Op};
use std::time::Duration;

pub use self::admin::{Changes, Setup};
pub use self::consumer::{Reader, Task};
pub use self::groups::{Errand, Group};
pub use self::producer::{Kind, Writer};

use crate::actor::ActorEffect;

/// Topics that come and go; what is written to them is in no history.
pub const SCRATCH: [&str; 2] = ["scratch0", "scratch1"];

/// How clients reach the cluster: patient enough for a node that recovers, and quick to notice a
/// connection that went dead.
fn connection(name: &str) -> ConnectionConfig {
    ConnectionConfig {
        bootstrap_servers: vec![("node0".to_owned(), 9092)],
        client_id: name.to_owned(),
        request_timeout: Duration::from_secs(5),
        setup_timeout: Duration::from_secs(3),
        setup_timeout_max: Duration::from_secs(3),
        ..ConnectionConfig::default()
    }
}

/// Puts something into the history; the world knows the time.
fn did(process: u64, action: Action, fx: &mut Vec<ActorEffect>) {
    fx.push(ActorEffect::Did(Op { process, time: 0, action }));
}
