//! The client on a real broker: every kind of call of its producer, consumer and admin client.
//!
//! The broker is a Dohle of this process, one for each test, or the one that `DOHLE_TEST_BOOTSTRAP`
//! (`host:port`) names: `tests/interop/client-on-kafka` runs the same tests on Apache Kafka. Whatever
//! a test makes there has a name that no other run uses.

mod admin;
mod cluster;
mod consume;
mod groups;
mod member;
mod produce;
