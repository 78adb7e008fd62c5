//! Tests that cross crates live in `tests/tests/it`; suites with foreign clients in
//! `tests/interop`, Apache Kafka as an oracle in `tests/oracle`.
