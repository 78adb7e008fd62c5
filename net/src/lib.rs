//! The real driver: the core's units on threads, sockets and files.
//!
//! | module | what |
//! | --- | --- |
//! | [`start`] | a node out of a configuration, and its end |
//! | [`server`], [`limits`] | listening sockets, accepting, how many connections |
//! | [`connection`], [`desk`] | one connection: frames into a session, its frames out |
//! | [`frame`], [`budget`] | cutting a stream into requests, in bounded memory |
//! | [`transport`], [`send`] | what a connection needs of a stream; gathering what it sends |
//! | [`unit`], [`helper`] | a machine of the core, driven by whoever brings it work |
//! | [`handover`], [`alarm`] | the protocol under that, small enough for a model checker |
//! | [`hosts`], [`post`], [`mailbox`] | effects of shards and control; mail and metadata |
//! | [`disk`] | disk operations on files |
//! | [`admin`], [`books`], [`times`] | metrics and health over HTTP; what they tell of |
//! | [`descriptors`] | how many open files and connections there may be |
//! | [`clock`], [`entropy`], [`signal`], [`note`] | time, randomness, signals, log lines |
//! | [`rt`], [`sync`] | the runtime and the locks, named in one place |
//!
//! Invariants: no unit is locked while another one is; nothing on a runtime thread waits for a
//! device; whatever a client can make grow has a limit. Decisions are the core's: nothing here
//! knows what a request means.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub(crate) mod admin;
pub(crate) mod alarm;
pub mod books;
pub mod budget;
pub mod client;
pub mod clock;
pub mod connection;
pub(crate) mod descriptors;
pub mod desk;
pub mod disk;
pub(crate) mod entropy;
pub mod frame;
pub(crate) mod handover;
pub mod helper;
pub mod hosts;
pub mod limits;
pub mod mailbox;
pub(crate) mod note;
pub mod post;
pub(crate) mod rt;
pub mod send;
pub mod server;
pub(crate) mod signal;
pub mod start;
pub(crate) mod sync;
#[cfg(test)]
pub(crate) mod testing;
pub mod times;
pub mod transport;
pub mod unit;

pub use descriptors::TooFew;
pub use start::{Node, NodeError, StartOptions};
