//! One segment of a log: a range of offsets in one file, and how much of it is durable.

use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::BatchHeader;

use super::index::{Indexes, OFFSET_ENTRY, OffsetEntry, TIME_ENTRY, TimeEntry};
use super::settings::LogSettings;
use crate::disk::FileId;
use crate::mutant::Mutant;

/// A segment. Only the last one of a log, the active one, is written to.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Offset that names its files; everything in it lies at or past it.
    pub base: Offset,
    /// Its records.
    pub file: FileId,
    /// Bytes appended (written or on their way).
    pub size: u64,
    /// The greatest timestamp in it, -1 for none, and the offset of the batch that has it.
    pub max_timestamp: (Timestamp, Offset),
    /// The first batch's greatest timestamp.
    pub first_timestamp: Option<Timestamp>,
    /// When it was begun, by the wall clock.
    pub created: Timestamp,
    /// Its indexes, while it is the active one.
    pub(super) indexes: Indexes,
    bytes_since_index: u64,
    /// Everything below is in the page cache.
    pub(super) written: Offset,
    /// Everything below is durable.
    pub(super) synced: Offset,
    /// Bytes of batches that are not known to be durable.
    pub(super) unsynced: u64,
    /// A sync under way would make durable what is below, and so many of those bytes.
    pub(super) syncing: Option<(Offset, u64)>,
    /// Side files (indexes, snapshot) of a roll that are still being written.
    pub(super) unsealed: u8,
    /// Its indexes found no space: nobody is writing them.
    pub(super) starved: bool,
}

impl Segment {
    /// An empty segment.
    #[must_use]
    pub fn new(base: Offset, file: FileId, created: Timestamp) -> Self {
        Self {
            base,
            file,
            size: 0,
            max_timestamp: (Timestamp(-1), base),
            first_timestamp: None,
            created,
            indexes: Indexes::default(),
            bytes_since_index: 0,
            written: base,
            synced: base,
            unsynced: 0,
            syncing: None,
            unsealed: 0,
            starved: false,
        }
    }

    /// Notes a batch of `len` bytes that lies at `position`, and indexes it when it is due.
    pub fn note(&mut self, header: &BatchHeader, position: u64, len: u64, interval: u64) {
        self.first_timestamp.get_or_insert(header.max_timestamp);
        if header.max_timestamp > self.max_timestamp.0 {
            self.max_timestamp = (header.max_timestamp, header.last_offset());
        }
        if self.bytes_since_index > interval {
            self.index(header, position);
            self.bytes_since_index = 0;
        }
        self.bytes_since_index += len;
        self.size = position + len;
        self.unsynced += if header.next_offset() > self.synced { len } else { 0 };
    }

    fn index(&mut self, header: &BatchHeader, position: u64) {
        let (Some(relative), Ok(position)) =
            (self.relative(header.last_offset()), u32::try_from(position))
        else {
            return;
        };
        self.indexes.offsets.push(OffsetEntry { relative, position });
        self.index_time();
    }

    fn index_time(&mut self) {
        let (timestamp, offset) = self.max_timestamp;
        if let (true, Some(relative)) = (timestamp.0 >= 0, self.relative(offset)) {
            self.indexes.push_time(TimeEntry { timestamp, relative });
        }
    }

    /// Takes indexes as read from files; returns where scanning goes on.
    pub(super) fn adopt(&mut self, indexes: Indexes) -> u64 {
        let position = indexes.offsets.last().map_or(0, |entry| u64::from(entry.position));
        if let Some(last) = indexes.times.last() {
            self.max_timestamp = (last.timestamp, self.base.plus(i64::from(last.relative)));
        }
        self.indexes = indexes;
        position
    }

    /// What was adopted was wrong.
    pub(super) fn forget_indexes(&mut self) {
        self.indexes = Indexes::default();
        self.max_timestamp = (Timestamp(-1), self.base);
        self.first_timestamp = None;
        self.bytes_since_index = 0;
    }

    /// Completes the time index, as at a roll or a clean stop.
    pub(super) fn seal(&mut self) {
        self.index_time();
    }

    /// `offset` minus the base, if indexes can hold it.
    #[must_use]
    pub fn relative(&self, offset: Offset) -> Option<u32> {
        i32::try_from(offset.minus(self.base)).ok().and_then(|r| u32::try_from(r).ok())
    }

    /// Whether a batch of `len` bytes has to go to a new segment (LogSegment.shouldRoll).
    #[must_use]
    pub fn must_roll(
        &self,
        last: Offset,
        batch: &BatchHeader,
        len: u64,
        settings: &LogSettings,
        wall: Timestamp,
    ) -> bool {
        let full = self.size + len > settings.segment_bytes || self.indexes_full(settings);
        // An empty segment takes its first batch, however tight the limits are.
        let forgot = settings.mutants.has(Mutant::IndexOutlivesTruncation);
        let filled = self.size > 0 || (forgot && !self.indexes.offsets.is_empty());
        let due = filled && (full || self.is_old(batch, settings, wall));
        due || self.relative(last).is_none()
    }

    fn is_old(&self, batch: &BatchHeader, settings: &LogSettings, wall: Timestamp) -> bool {
        let age = match self.first_timestamp {
            Some(first) if first.0 >= 0 && batch.max_timestamp.0 >= 0 => {
                batch.max_timestamp.0.saturating_sub(first.0)
            }
            _ => wall.0.saturating_sub(self.created.0),
        };
        age > settings.segment_ms
    }

    fn indexes_full(&self, settings: &LogSettings) -> bool {
        self.indexes.offsets.len() >= settings.index_bytes / OFFSET_ENTRY
            || self.indexes.times.len() >= (settings.index_bytes / TIME_ENTRY).saturating_sub(1)
    }
}
