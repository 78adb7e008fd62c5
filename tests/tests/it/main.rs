//! Tests across crates, in one binary.

mod hostile;
mod layering;
mod runtimes;
mod tidy;
