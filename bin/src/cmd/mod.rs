//! One module for each subcommand: arguments, and what is done with them.

mod bar;
pub(crate) mod bench;
mod client;
mod cluster;
pub(crate) mod consume;
mod greeting;
pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod nodes;
pub(crate) mod produce;
mod signals;
pub(crate) mod sim;
pub(crate) mod start;
mod table;
mod time;
pub(crate) mod topic;
mod waiting;
