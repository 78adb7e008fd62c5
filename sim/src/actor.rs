//! What lives outside the nodes: anything that opens connections and reacts to what comes back.
//!
//! The workload's clients are actors, and so is an application that runs on [`crate::exec`].

use bytes::Bytes;
use dohle_core::time::{Deadline, Now};
use dohle_jepsen::Op;

use crate::choice::Choices;

/// What an actor reacts to. Connections go by tokens that the actor chose.
#[derive(Clone, Debug)]
pub enum ActorInput {
    /// Its life begins.
    Start,
    /// A connection stands.
    Opened(u64),
    /// A frame came, without its length prefix.
    Frame(u64, Bytes),
    /// A connection was refused, reset or closed.
    Closed(u64),
    /// The deadline passed.
    Tick,
    /// Records were lost with a node's power, as the promise allows: names of partitions. No real
    /// client is told so; a reader drops what it has fetched and not returned, so that the
    /// history does not tell of records that no longer exist.
    Lost(Vec<(String, i32)>),
    /// Faults are over: finish what is under way, begin nothing new.
    Finish,
}

/// What an actor wants.
#[derive(Clone, Debug)]
pub enum ActorEffect {
    /// Open a connection; the answer is [`ActorInput::Opened`] or [`ActorInput::Closed`].
    Open {
        /// The actor's name for it, never used before.
        token: u64,
        /// Host to dial.
        host: String,
        /// Port to dial.
        port: u16,
    },
    /// Send a frame, without its length prefix.
    Send(u64, Bytes),
    /// Give a connection up.
    Close(u64),
    /// Something for the history: it began or ended.
    Did(Op),
    /// A line for the trace.
    Note(String),
}

/// An inhabitant of the world outside the nodes.
pub trait Actor {
    /// Its name in traces.
    fn name(&self) -> String;
    /// Reacts. What it decides at random it draws from `choices`.
    fn on(&mut self, now: Now, input: ActorInput, choices: &mut Choices, fx: &mut Vec<ActorEffect>);
    /// When it wants a tick.
    fn deadline(&self) -> Deadline;
    /// Whether it has nothing left to do.
    fn is_done(&self) -> bool;
    /// What it waits for, for a person.
    fn status(&self) -> String;
}
