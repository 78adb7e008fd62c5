//! A client of Kafka-compatible clusters.
//!
//! [`machine`] has the producer, the consumer and the admin client as state machines without IO,
//! clock or threads. [`api`] puts an async interface on top that works on any runtime. [`config`] has
//! the settings, under Kafka's names and with Kafka's defaults; [`serde`] turns values into bytes and
//! back as Kafka's serializers do.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod config;
pub mod machine;
pub mod serde;

#[cfg(test)]
mod tests;
