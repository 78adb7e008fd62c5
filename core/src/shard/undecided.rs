//! Records of transactions whose end a coordinator has not come to in its log.
//!
//! State: for each producer the records of its open transaction, in log order. They take effect
//! when it is committed, unless a later record of the same key has by then; and never, if it is
//! aborted (OffsetMetadataManager.replayEndTransactionMarker).

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_wire::id::{Offset, ProducerId};

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) offset: Offset,
    pub(super) key: Bytes,
    pub(super) value: Option<Bytes>,
}

/// Records that wait for the end of their transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct Undecided {
    open: BTreeMap<ProducerId, Vec<Found>>,
}

impl Undecided {
    /// Adds records of a producer's transaction.
    pub(super) fn hold(&mut self, producer: ProducerId, records: Vec<Found>) {
        self.open.entry(producer).or_default().extend(records);
    }

    /// A record takes effect: earlier ones of its key no longer will.
    pub(super) fn overtake(&mut self, by: &Found) {
        for records in self.open.values_mut() {
            records.retain(|held| held.key != by.key || held.offset > by.offset);
        }
    }

    /// A producer's transaction ends: the records that take effect now.
    pub(super) fn end(&mut self, producer: ProducerId, commits: bool) -> Vec<Found> {
        let held = self.open.remove(&producer).unwrap_or_default();
        if commits { held } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(offset: i64, key: &'static str) -> Found {
        Found { offset: Offset(offset), key: Bytes::from_static(key.as_bytes()), value: None }
    }

    fn check_end(commits: bool, overtaken_at: i64, expect: &[i64]) {
        let mut undecided = Undecided::default();
        undecided.hold(ProducerId(1), vec![found(10, "a"), found(11, "b")]);
        undecided.hold(ProducerId(2), vec![found(12, "a")]);
        undecided.hold(ProducerId(1), vec![found(20, "a")]);
        undecided.overtake(&found(overtaken_at, "a"));
        let offsets: Vec<_> =
            undecided.end(ProducerId(1), commits).iter().map(|found| found.offset.0).collect();
        assert_eq!(offsets, expect);
        assert_eq!(undecided.end(ProducerId(1), commits), []);
    }

    #[test]
    fn what_is_committed_takes_effect_unless_something_later_has() {
        check_end(true, 5, &[10, 11, 20]);
        check_end(true, 15, &[11, 20]);
        check_end(true, 25, &[11]);
        check_end(false, 5, &[]);
    }
}
