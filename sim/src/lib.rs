//! The seeded driver: a world in which the broker's own state machines live and die.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod actor;
pub mod choice;
pub mod clock;
pub mod digest;
pub mod disk;
pub mod fault;
pub mod kernel;
pub mod net;
pub mod node;
pub mod oracle;
pub mod run;
pub mod scenario;
pub mod swarm;
pub mod workload;
pub mod world;
