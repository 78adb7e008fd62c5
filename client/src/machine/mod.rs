//! Clients as state machines: no IO, no clock, no threads, no async.
//!
//! Every machine has the same surface, [`Machine`]: `step` takes the time and one input and appends
//! effects to a buffer of the caller; `deadline` says when it next wants `Tick`. Connections are
//! inputs and effects too, see [`net`]. A driver that owns sockets (or simulates them) is all that is
//! needed to run one; [`crate::api`] holds such a driver for any async runtime.
//!
//! Equal machines that are given equal inputs emit equal effects: the only randomness is the seed
//! that each constructor takes.

pub mod admin;
mod cluster;
pub mod consumer;
mod fx;
pub mod group;
pub mod net;
pub mod producer;
mod rng;
mod time;
mod trouble;

pub use admin::Admin;
pub use cluster::{BrokerInfo, ClusterView, PartitionInfo, TopicInfo};
pub use consumer::Consumer;
pub use fx::Fx;
pub use net::{ConnId, Frame, NetEffect, NetInput};
pub use producer::Producer;
pub use time::{Deadline, Now};
pub use trouble::Trouble;

/// Ties an effect to the input that asked for it. Chosen by the caller.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// A partition by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// Name of the topic.
    pub topic: std::sync::Arc<str>,
    /// Number of the partition.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition `partition` of `topic`.
    pub fn new(topic: impl Into<std::sync::Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// What all machines have in common.
pub trait Machine {
    /// What the machine reacts to.
    type Input: From<NetInput>;
    /// What the machine wants done.
    type Effect;

    /// Reacts to one input. Total: whatever comes from outside gives effects, never a panic.
    fn step(&mut self, now: Now, input: Self::Input, fx: &mut Fx<Self::Effect>);

    /// The input that says that the deadline passed.
    fn tick() -> Self::Input;

    /// When the machine next wants [`Self::tick`], and why.
    fn deadline(&self) -> Deadline;

    /// Asserts what always holds between steps.
    fn invariants(&self);
}
