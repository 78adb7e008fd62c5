//! Machines driven by hand against a broker made of the wire crate's types.

mod admin;
mod api;
mod api_group;
mod broker;
mod consumer;
mod coordinator;
mod crowd;
mod group;
mod group_broker;
mod groups;
mod partitioning;
mod producer;
mod random;
mod world;
