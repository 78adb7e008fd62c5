//! Tests of whole messages and record batches.

mod differential;
mod golden;
mod hostile;
mod records;
mod round_trip;
mod support;
