//! Clients of a Kafka cluster: producer, consumer and admin client.
//!
//! Two layers: [`machine`] holds the clients as state machines without IO, clock or threads;
//! [`config`] their settings, under Kafka's names.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod config;
pub mod machine;
