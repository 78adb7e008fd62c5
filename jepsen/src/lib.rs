//! Histories of what clients did and saw, and the checker that finds what no broker may do.
//!
//! A history is a list of [`Op`]s: each operation is invoked and later ends, well, badly or in an
//! unknown way. The [`Checker`] takes them one by one as they happen, so that it serves a seeded
//! simulation and a run of real processes alike, and knows nothing of the broker but what its
//! clients were told. The anomalies are those of Jepsen's Kafka workload as far as they make
//! sense without transactions, two of our own ([`Anomaly::Phantom`], [`Anomaly::Unseen`]), and those
//! of consumer groups ([`GroupAction`]): what they committed, and who owned what in which generation.
//!
//! Records are told apart by a value that is unique within its key, a key is one partition of one
//! topic, and a process is one instance of one client.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod checker;
mod groups;
mod op;

pub use checker::{Anomaly, Checker, Counts, Report};
pub use groups::GroupAction;
pub use op::{Action, End, Key, Op, Polled};
