//! One module for each subcommand: arguments, and what is done with them.

mod cluster;
pub(crate) mod consume;
mod greeting;
pub(crate) mod log;
pub(crate) mod produce;
pub(crate) mod sim;
pub(crate) mod start;
mod table;
pub(crate) mod topic;
mod waiting;
