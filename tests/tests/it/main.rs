//! Tests across crates, in one binary.

mod admin;
mod broker;
mod churn;
mod dirs;
mod groups;
mod hostile;
mod layering;
mod runtimes;
mod tidy;
