//! The seeded driver: a world in which the broker's own state machines live and die.
//!
//! One thread holds one queue of events. Nodes are the core's control unit, shards and sessions
//! over a simulated disk; clients are dohle's client machines over a simulated network; a nemesis
//! strikes; oracles watch. Everything that could go one way or another is drawn from the seed, so
//! that a run is a pure function of seed and build.
//!
//! # Running
//!
//! ```
//! use dohle_sim::run::{Plan, run};
//! use dohle_sim::scenario::Scenario;
//!
//! let outcome = run(&Plan::new(Scenario::Single, 42));
//! assert_eq!(outcome.failure, None);
//! assert!(outcome.committed >= 200);
//! ```
//!
//! On the command line that is `dohle sim run --seed 42`, and `dohle sim hunt --seeds 1..1000` for
//! many. A [`run::Failure`] names the property or anomaly that did not hold and the number of the
//! event at which that was found. A run that did less than its [`scenario::Gates`] ask for is a
//! failure too: nothing was proved.
//!
//! # Replaying
//!
//! The same seed and build give the same run. [`run::Plan::until`] (`dohle sim replay --seed 42
//! --until 1234 --state`) stops after an event and shows what the world looks like;
//! [`run::Plan::paranoid`] runs every check at every event, which finds the event after which
//! something was wrong, not only the one at which it was noticed. A seed is valid for one build;
//! what lasts is the [choice log](choice), which a hunt stores for each failure. Played back
//! through a [`choice::Script`], edited or not, it takes the place of the seed as far as its
//! labels fit. [`shrink`](shrink::shrink) leaves faults and operations out of a failing run as
//! long as it still fails of the same: what led to it is then among a few of them.
//!
//! # Reading a trace
//!
//! [`run::Plan::trace`] (`--trace FILE`) gives a line for each thing that happens:
//!
//! ```text
//!   4409   11.365071 n0           Power
//!   4483   11.622097 n0.shard0    disk Get { .. path: "topic0-1/partition.metadata" }
//! ```
//!
//! The columns are the number of the event, true time in seconds, who it happened to or who did
//! it, and what. `n0` is a node, `n0.control`, `n0.shard1` and `n0.conn7` its units; everything
//! else is the name of an actor. Lines with the same number belong to one event: first the input,
//! then what came of it, in order. To follow a record, look for its value; to follow a partition,
//! for its folder.
//!
//! # Writing a scenario
//!
//! A scenario ([`scenario`]) draws a configuration ([`swarm`]), puts nodes and actors into a
//! [`world::World`], lets it run until a time or a condition, and says in the end what has to
//! hold. New clients implement [`actor::Actor`], or are async code on [`exec`]. New faults are
//! drawn in [`fault`], [`net`] or [`disk`], each from the stream of its own that [`choice`] keeps
//! for it. What must hold whatever happens is an oracle ([`oracle`]) and has a name.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod actor;
pub mod choice;
pub mod clock;
#[cfg(feature = "mutants")]
pub mod detect;
pub mod digest;
pub mod disk;
pub mod exec;
pub mod fault;
pub mod kernel;
pub mod log;
pub mod model;
pub mod net;
pub mod node;
pub mod oracle;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod stage;
pub mod swarm;
pub mod workload;
pub mod world;
