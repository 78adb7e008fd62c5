//! The oracles: what must hold whatever happens, checked from outside the machines.
//!
//! * On the wire ([`tap`]): what nodes tell clients, batch by batch (L1, L2, R3, R14, R17).
//! * At crashes and recoveries ([`recovery`]): the promise table. A kill loses nothing that was
//!   written; a loss of power leaves a prefix at or above what was synced; with fsync before the
//!   acknowledgement nothing acknowledged is lost.
//! * Against the disk ([`replay`]): derived state equals a full replay (L3, L6, P1 to P4).
//! * As clients see it: the history checker of `dohle-jepsen`.
//!
//! A violation names the property of the project's list of invariants, or the anomaly.

mod disk_log;
mod owners;
mod recovery;
mod replay;
mod search;
mod tap;
mod truth;
mod unsynced;

use std::collections::BTreeMap;

use dohle_core::disk::FilePath;
use dohle_jepsen::{Checker, Counts, Op};
use serde::{Deserialize, Serialize};

pub use self::owners::Owners;
pub use self::recovery::Loss;
pub use self::tap::Tap;

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{oracle}: {text}")]
pub struct Violation {
    /// The property's name.
    pub oracle: String,
    /// What was seen.
    pub text: String,
}

impl Violation {
    /// The violation of a named property.
    #[must_use]
    pub fn new(oracle: impl Into<String>, text: impl Into<String>) -> Self {
        Self { oracle: oracle.into(), text: text.into() }
    }
}

/// How often each oracle had something to look at.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Armed {
    /// Batches compared on the wire.
    pub batches: u64,
    /// Logs compared with what was there before a crash.
    pub recoveries: u64,
    /// Logs folded anew.
    pub replays: u64,
    /// Batches that were lost with power, as the promise allows.
    pub allowed_losses: u64,
    /// Closed segments that were searched for damage, by one shard in one life.
    pub searched: u64,
    /// Those among them that got sums.
    pub sealed: u64,
}

/// All oracles of a run with one node.
pub struct Oracles {
    /// On the wire.
    pub tap: Tap,
    /// On what coordinators write.
    pub owners: Owners,
    /// How much was looked at.
    pub armed: Armed,
    history: Checker,
    before: Option<recovery::Before>,
    /// Where the logs of the last process that served began.
    starts: BTreeMap<FilePath, i64>,
    /// What of the logs was not on the disks when it was looked at last.
    unsynced: BTreeMap<FilePath, unsynced::Unsynced>,
    /// Nothing acknowledged may be lost with power.
    fsync: bool,
}

impl Oracles {
    /// Oracles that have seen nothing.
    #[must_use]
    pub fn new(fsync: bool) -> Self {
        Self {
            tap: Tap::default(),
            owners: Owners::default(),
            armed: Armed::default(),
            history: Checker::new(),
            before: None,
            starts: BTreeMap::new(),
            unsynced: BTreeMap::new(),
            fsync,
        }
    }

    /// Takes in what a client did or saw.
    ///
    /// # Errors
    /// The first anomaly.
    pub fn observe(&mut self, op: &Op) -> Result<(), Violation> {
        self.history.observe(op);
        match self.history.anomalies().first() {
            None => Ok(()),
            Some(anomaly) => Err(Self::anomaly(anomaly)),
        }
    }

    /// How much clients did.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.history.counts()
    }

    /// The history is over and everything was read to its end.
    ///
    /// # Errors
    /// The first anomaly.
    pub fn finish(&mut self) -> Result<(), Violation> {
        let report = self.history.clone().finish();
        match report.anomalies.first() {
            None => Ok(()),
            Some(anomaly) => Err(Self::anomaly(anomaly)),
        }
    }

    fn anomaly(anomaly: &dohle_jepsen::Anomaly) -> Violation {
        let text = anomaly.to_string();
        match text.split_once(": ") {
            Some((name, rest)) => Violation::new(name, rest),
            None => Violation::new("history", text),
        }
    }
}
