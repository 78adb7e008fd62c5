//! Tests of messages as a whole.

mod differential;
mod golden;
mod hostile;
mod round_trip;
mod support;
