//! Fetched bytes on their way to records.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use dohle_wire::id::{Offset, ProducerId};
use dohle_wire::message::AbortedTransaction;
use dohle_wire::record::control::ControlType;
use dohle_wire::record::{
    BatchError, BatchHeader, Batches, Codecs, RawBatch, Record, RecordIter, split_batches,
};

use super::{ConsumeError, ConsumedRecord};

/// Most bytes that one batch may have when decompressed. A batch that is fetched has at most
/// `fetch.max.bytes` or is a single one of at most `max.message.bytes`; this bounds what a hostile
/// batch can make of it.
const DECOMPRESSED_MAX: usize = 256 * 1024 * 1024;

/// How batches are read.
pub(super) struct Reading<'a> {
    pub(super) codecs: &'a dyn Codecs,
    pub(super) check_crcs: bool,
}

/// What one fetch brought of one partition, from `position` on.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// Offset of the next record to be given out, or where to fetch on when nothing is left.
    position: Offset,
    ready: VecDeque<ConsumedRecord>,
    /// Offset after the batch that `ready` is from.
    batch_end: Offset,
    /// No batch may begin below: offset after the last one that was looked at.
    lowest: Offset,
    rest: Batches,
    aborted: Aborted,
    error: Option<ConsumeError>,
    is_first: bool,
}

impl Buffer {
    /// The batches in `bytes`. `aborted` lists aborted transactions among them, when only committed
    /// records are to be read.
    pub(super) fn new(
        position: Offset,
        bytes: Bytes,
        aborted: Option<Vec<AbortedTransaction>>,
        reading: &Reading<'_>,
    ) -> Self {
        let mut buffer = Self {
            position,
            ready: VecDeque::new(),
            batch_end: position,
            lowest: Offset(0),
            rest: split_batches(bytes),
            aborted: Aborted::new(aborted),
            error: None,
            is_first: true,
        };
        buffer.prime(reading);
        buffer
    }

    pub(super) const fn position(&self) -> Offset {
        self.position
    }

    /// Whether there is a record to be given out.
    pub(super) fn has_records(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What stopped the reading, once all records before it are given out.
    pub(super) fn take_error(&mut self) -> Option<ConsumeError> {
        if self.ready.is_empty() { self.error.take() } else { None }
    }

    /// Takes up to `max` records out.
    pub(super) fn take(&mut self, max: usize, reading: &Reading<'_>) -> Vec<ConsumedRecord> {
        let mut out = Vec::new();
        while out.len() < max && !self.ready.is_empty() {
            let now = self.ready.len().min(max - out.len());
            out.extend(self.ready.drain(..now));
            self.position = out.last().map_or(self.position, |last| last.offset.plus(1));
            self.prime(reading);
        }
        out
    }

    /// Reads batches until there is a record, an error, or nothing left.
    fn prime(&mut self, reading: &Reading<'_>) {
        while self.ready.is_empty() && self.error.is_none() {
            self.position = self.position.max(self.batch_end);
            let batch = match self.rest.next() {
                Some(Ok(batch)) => batch,
                // A broker cuts the last batch off when the limit of bytes is reached.
                Some(Err(BatchError::Truncated { .. })) if !self.is_first => return,
                Some(Err(error)) => return self.fail(error.to_string()),
                None => return,
            };
            self.is_first = false;
            if let Err(problem) = self.open(&batch, reading) {
                self.fail(problem);
            }
        }
    }

    fn fail(&mut self, problem: String) {
        self.error = Some(ConsumeError::Corrupt { offset: self.position, problem });
    }

    fn open(&mut self, batch: &RawBatch, reading: &Reading<'_>) -> Result<(), String> {
        let header = &batch.header;
        self.check_order(header)?;
        if header.last_offset() < self.position {
            return Ok(());
        }
        if reading.check_crcs && !batch.crc_ok() {
            return Err("checksum is wrong".to_owned());
        }
        let wanted = self.aborted.is_wanted(batch)?;
        if wanted {
            let records = batch
                .records(reading.codecs, DECOMPRESSED_MAX)
                .map_err(|error| error.to_string())?;
            let mut last_delta = -1;
            for record in RecordIter::new(&records, header.records_count) {
                let record = record.map_err(|error| error.to_string())?;
                check_delta(&record, last_delta, header)?;
                last_delta = record.offset_delta;
                if record.offset(header) >= self.position {
                    self.ready.push_back(owned(batch, &records, &record));
                }
            }
        }
        self.batch_end = header.next_offset();
        Ok(())
    }
}

impl Buffer {
    /// Offsets rise from batch to batch. Those of a batch lie outside its checksum: one that goes
    /// back has decayed, or the one before it, and its records would be passed over as old ones.
    fn check_order(&mut self, header: &BatchHeader) -> Result<(), String> {
        let (base, lowest) = (header.base_offset, self.lowest);
        if base < lowest {
            return Err(format!(
                "a batch begins at offset {base}, behind one that ends at {lowest}"
            ));
        }
        self.lowest = header.next_offset();
        Ok(())
    }
}

/// Offsets rise within their batch. A position that followed one that did not would pass over good
/// records of later batches.
fn check_delta(record: &Record<'_>, last: i32, header: &BatchHeader) -> Result<(), String> {
    let (delta, max) = (record.offset_delta, header.last_offset_delta);
    if delta > last && delta <= max {
        return Ok(());
    }
    Err(format!(
        "a record has the offset delta {delta}, which is not above {last} and at most {max}; the \
         batch ends before offset {}",
        header.next_offset()
    ))
}

fn owned(batch: &RawBatch, records: &Bytes, record: &Record<'_>) -> ConsumedRecord {
    let own = |data: Option<&[u8]>| data.map(|data| records.slice_ref(data));
    ConsumedRecord {
        offset: record.offset(&batch.header),
        timestamp: record.timestamp(&batch.header),
        timestamp_type: batch.header.timestamp_type(),
        key: own(record.key),
        value: own(record.value),
        headers: record
            .headers
            .map(|header| (records.slice_ref(header.key), own(header.value)))
            .collect(),
        leader_epoch: batch.header.partition_leader_epoch,
    }
}

/// Which transactions among the batches were aborted.
#[derive(Clone, Debug)]
struct Aborted {
    /// Transactions not yet begun, by first offset, the earliest last; `None` to read all.
    later: Option<Vec<AbortedTransaction>>,
    open: BTreeSet<ProducerId>,
}

impl Aborted {
    fn new(list: Option<Vec<AbortedTransaction>>) -> Self {
        let later = list.map(|mut list| {
            list.sort_by_key(|aborted| std::cmp::Reverse(aborted.first_offset));
            list
        });
        Self { later, open: BTreeSet::new() }
    }

    /// Whether the records of a batch are for the reader: not control records, and not of an
    /// aborted transaction.
    fn is_wanted(&mut self, batch: &RawBatch) -> Result<bool, String> {
        let header = &batch.header;
        if let Some(later) = &mut self.later {
            let last = header.last_offset().0;
            while let Some(next) = later.pop_if(|next| next.first_offset <= last) {
                self.open.insert(ProducerId(next.producer_id));
            }
        }
        if header.is_control() {
            if self.open.contains(&header.producer_id) && is_abort(batch)? {
                self.open.remove(&header.producer_id);
            }
            return Ok(false);
        }
        Ok(!(header.is_transactional() && self.open.contains(&header.producer_id)))
    }
}

/// Whether a control batch, which is never compressed, ends a transaction without effect.
fn is_abort(batch: &RawBatch) -> Result<bool, String> {
    let payload = batch.payload();
    let Some(first) = RecordIter::new(&payload, batch.header.records_count).next() else {
        // The marker was compacted away.
        return Ok(false);
    };
    let first = first.map_err(|error| error.to_string())?;
    let kind = ControlType::of_key(first.key.unwrap_or_default()).map_err(|e| e.to_string())?;
    Ok(kind == Some(ControlType::Abort))
}
