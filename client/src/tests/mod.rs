//! Machines driven by hand against a broker made of the wire crate's types.

mod admin;
mod api;
mod broker;
mod consumer;
mod group_broker;
mod groups;
mod partitioning;
mod producer;
mod random;
mod world;
