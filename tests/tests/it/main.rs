//! Tests across crates, in one binary.

mod layering;
mod tidy;
