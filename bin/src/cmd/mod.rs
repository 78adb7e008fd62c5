//! One module for each subcommand: arguments, and what is done with them.

pub(crate) mod start;
