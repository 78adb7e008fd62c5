//! The broker as state machines: no IO, no clock, no threads, no async, no randomness of its own.
//!
//! A driver (the real one in `dohle-net`, the seeded one in `dohle-sim`) holds three kinds of
//! units: a [`session::Session`] for each connection, a few [`shard::Shard`]s that own the
//! partitions, and one [`control::Control`] that owns the metadata quorum, the controller and the
//! broker's lifecycle. Each is driven through
//!
//! * `step(now, input, &mut fx)`: total, runs to completion, never blocks; what shall happen
//!   outside comes out as effects, in order;
//! * `deadline()`: when it next wants `Input::Tick`, and why; spurious ticks are harmless;
//! * `invariants()`: cheap assertions, checked at the end of every step in production too.
//!
//! Units talk by [`mail`]; the disk is a list of operations ([`disk`]) whose completions come
//! back as inputs: an effect that depends on durability is emitted only in the step that
//! receives the completion.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

// First, so that all other modules see its macros.
#[cfg(feature = "mutants")]
#[macro_use]
mod assertions;

pub mod api;
pub mod batch;
pub mod config;
pub mod control;
pub mod controller;
pub mod count;
pub mod disk;
pub mod fx;
pub mod group;
pub mod image;
pub mod log;
pub mod mail;
pub mod memory_disk;
pub mod mutant;
pub mod node;
pub mod partition;
pub mod quorum;
pub mod scrub;
pub mod session;
pub mod shard;
#[cfg(test)]
mod tests;
pub mod time;
pub mod verify;
