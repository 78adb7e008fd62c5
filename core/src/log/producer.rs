//! Producer state of a partition: what makes retries harmless (KIP-98, ProducerStateManager).
//!
//! For each producer id the last five batches are remembered: a batch that equals one of them is
//! a retry and is answered with the original offset; any other must continue the sequence.
//!
//! Invariants: P1 sequences of an epoch are contiguous modulo 2^31; P2 a batch is in the log
//! once; P3 nothing of an older epoch is accepted; P4 the table equals a fold over the log.

use std::collections::{BTreeMap, VecDeque};

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};
use dohle_wire::record::BatchHeader;

use crate::mutant::{Mutant, Mutants};

/// How many batches of a producer are remembered.
pub const REMEMBERED: usize = 5;

/// A batch that a producer appended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProducerBatch {
    /// Sequence of its last record.
    pub last_sequence: Sequence,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Records in it, less one.
    pub offset_delta: i32,
    /// Its greatest timestamp.
    pub timestamp: Timestamp,
}

impl ProducerBatch {
    fn of(header: &BatchHeader) -> Self {
        Self {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        }
    }

    /// Sequence of its first record.
    #[must_use]
    pub fn first_sequence(&self) -> Sequence {
        let first = i64::from(self.last_sequence.0) - i64::from(self.offset_delta);
        let wrapped = if first < 0 { first + (1 << 31) } else { first };
        Sequence(i32::try_from(wrapped).unwrap_or(0))
    }

    /// Offset of its first record.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        self.last_offset.plus(-i64::from(self.offset_delta))
    }
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Its latest epoch.
    pub epoch: ProducerEpoch,
    /// Epoch of the coordinator that wrote its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// Where its open transaction began.
    pub open_transaction: Option<Offset>,
    /// The greatest timestamp of its last batch or marker, whatever came before.
    pub last_timestamp: Timestamp,
    /// Its last batches in this epoch, the latest last.
    pub batches: VecDeque<ProducerBatch>,
}

/// What the table says of a batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It continues the sequence (or has none).
    New,
    /// It is in the log already, as this batch.
    Duplicate(ProducerBatch),
    /// It may not be appended.
    Refused(ErrorCode),
}

/// All producers of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerTable {
    pub(super) entries: BTreeMap<ProducerId, ProducerEntry>,
}

impl ProducerTable {
    /// Judges a batch that a client wants appended.
    #[must_use]
    pub fn judge(&self, header: &BatchHeader, mutants: Mutants) -> Verdict {
        if header.producer_id.0 < 0 {
            return Verdict::New;
        }
        let Some(entry) = self.entries.get(&header.producer_id) else {
            return Verdict::New;
        };
        if let Some(batch) = entry.find(header) {
            return Verdict::Duplicate(batch);
        }
        entry.judge(header, mutants)
    }

    /// Notes a batch that is in the log at its final offsets.
    pub fn note(&mut self, header: &BatchHeader) {
        if header.producer_id.0 < 0 {
            return;
        }
        let entry = self.entries.entry(header.producer_id).or_insert_with(ProducerEntry::unknown);
        entry.note(header);
    }

    /// Notes which coordinator wrote a producer's last marker.
    pub(super) fn mark(&mut self, id: ProducerId, coordinator_epoch: i32) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.coordinator_epoch = coordinator_epoch;
        }
    }

    /// Forgets producers that were silent since before `horizon` and have nothing open.
    pub fn expire(&mut self, horizon: Timestamp) {
        self.entries
            .retain(|_, entry| entry.open_transaction.is_some() || entry.last_timestamp > horizon);
    }

    /// Producers and what is known of them, in id order.
    pub fn iter(&self) -> impl Iterator<Item = (&ProducerId, &ProducerEntry)> {
        self.entries.iter()
    }

    /// Where the earliest open transaction began.
    #[must_use]
    pub fn first_open(&self) -> Option<Offset> {
        self.entries.values().filter_map(|entry| entry.open_transaction).min()
    }

    /// How many producers are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no producer is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl ProducerEntry {
    fn unknown() -> Self {
        Self {
            epoch: ProducerEpoch(-1),
            coordinator_epoch: -1,
            open_transaction: None,
            last_timestamp: Timestamp(-1),
            batches: VecDeque::new(),
        }
    }

    fn find(&self, header: &BatchHeader) -> Option<ProducerBatch> {
        if header.producer_epoch != self.epoch {
            return None;
        }
        let is_same = |batch: &&ProducerBatch| {
            batch.first_sequence() == header.base_sequence
                && batch.last_sequence == header.last_sequence()
        };
        self.batches.iter().find(is_same).copied()
    }

    fn judge(&self, header: &BatchHeader, mutants: Mutants) -> Verdict {
        let in_order = match header.producer_epoch.cmp(&self.epoch) {
            std::cmp::Ordering::Less => return Verdict::Refused(ErrorCode::InvalidProducerEpoch),
            std::cmp::Ordering::Greater => self.epoch.0 < 0 || header.base_sequence.0 == 0,
            std::cmp::Ordering::Equal => match self.batches.back() {
                Some(last) => header.base_sequence == last.last_sequence.plus(1),
                None => true,
            },
        };
        if in_order || mutants.has(Mutant::NoSequenceCheck) {
            Verdict::New
        } else {
            Verdict::Refused(ErrorCode::OutOfOrderSequenceNumber)
        }
    }

    fn note(&mut self, header: &BatchHeader) {
        if header.producer_epoch != self.epoch {
            self.batches.clear();
            self.epoch = header.producer_epoch;
        }
        self.last_timestamp = header.max_timestamp;
        if header.is_control() {
            self.open_transaction = None;
            return;
        }
        if header.is_transactional() && self.open_transaction.is_none() {
            self.open_transaction = Some(header.base_offset);
        }
        if self.batches.len() == REMEMBERED {
            self.batches.pop_front();
        }
        self.batches.push_back(ProducerBatch::of(header));
    }
}
