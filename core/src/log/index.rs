//! Offset and time indexes: Kafka's entry layouts and the search in them, as pure functions.
//!
//! A segment's offset index maps some of its offsets to file positions, relative to the
//! segment's base; its time index maps times to offsets. Entries are made every
//! `index.interval.bytes`; a look-up takes the greatest entry not above the target and scans on
//! from there.

use bytes::{BufMut, Bytes, BytesMut};
use dohle_wire::id::{Offset, Timestamp};

/// Bytes of an offset index entry.
pub const OFFSET_ENTRY: usize = 8;
/// Bytes of a time index entry.
pub const TIME_ENTRY: usize = 12;

/// A batch's last offset relative to the segment's base, and where the batch starts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// Last offset of the batch, minus the base.
    pub relative: u32,
    /// File position of the batch.
    pub position: u32,
}

/// The greatest timestamp so far and the last offset of the batch that brought it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    /// Greatest timestamp up to here.
    pub timestamp: Timestamp,
    /// Offset, minus the base.
    pub relative: u32,
}

/// Both indexes of a segment that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// By offset.
    pub offsets: Vec<OffsetEntry>,
    /// By time.
    pub times: Vec<TimeEntry>,
}

impl Indexes {
    /// Adds a time entry if it rises over the last one.
    pub fn push_time(&mut self, entry: TimeEntry) {
        if self.times.last().is_none_or(|last| entry.timestamp > last.timestamp) {
            self.times.push(entry);
        }
    }

    /// Where to start scanning for `relative`.
    #[must_use]
    pub fn position_for(&self, relative: u32) -> u32 {
        let after = self.offsets.partition_point(|entry| entry.relative <= relative);
        after.checked_sub(1).map_or(0, |at| self.offsets[at].position)
    }

    /// Where to start scanning for the first record at or after `time`.
    #[must_use]
    pub fn position_for_time(&self, time: Timestamp) -> u32 {
        let after = self.times.partition_point(|entry| entry.timestamp < time);
        after.checked_sub(1).map_or(0, |at| self.position_for(self.times[at].relative))
    }

    /// The offset index file.
    #[must_use]
    pub fn encode_offsets(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.offsets.len() * OFFSET_ENTRY);
        for entry in &self.offsets {
            out.put_u32(entry.relative);
            out.put_u32(entry.position);
        }
        out.freeze()
    }

    /// The time index file.
    #[must_use]
    pub fn encode_times(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.times.len() * TIME_ENTRY);
        for entry in &self.times {
            out.put_i64(entry.timestamp.0);
            out.put_u32(entry.relative);
        }
        out.freeze()
    }
}

fn offset_entry(bytes: &[u8], at: usize) -> Option<OffsetEntry> {
    let raw = bytes.get(at * OFFSET_ENTRY..(at + 1) * OFFSET_ENTRY)?;
    Some(OffsetEntry {
        relative: u32::from_be_bytes(raw[..4].try_into().ok()?),
        position: u32::from_be_bytes(raw[4..].try_into().ok()?),
    })
}

/// The time entry in 12 bytes.
#[must_use]
pub fn time_entry(raw: &[u8]) -> Option<TimeEntry> {
    Some(TimeEntry {
        timestamp: Timestamp(i64::from_be_bytes(raw.get(..8)?.try_into().ok()?)),
        relative: u32::from_be_bytes(raw.get(8..12)?.try_into().ok()?),
    })
}

/// How many entries an offset index file holds; a preallocated file ends in zeros.
fn live_entries(bytes: &[u8]) -> usize {
    let all = bytes.len() / OFFSET_ENTRY;
    let mut low = 0;
    let mut high = all;
    while low < high {
        let middle = low + (high - low) / 2;
        let zero = offset_entry(bytes, middle).is_none_or(|e| e.relative == 0 && e.position == 0);
        if zero && middle > 0 {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The file position from which to scan for `target` in a segment based at `base`, by the bytes
/// of its offset index file. 0 when the index does not help.
#[must_use]
pub fn search(bytes: &[u8], base: Offset, target: Offset) -> u64 {
    let relative = u32::try_from(target.minus(base)).unwrap_or(u32::MAX);
    let mut low = 0;
    let mut high = live_entries(bytes);
    while low < high {
        let middle = low + (high - low) / 2;
        match offset_entry(bytes, middle) {
            Some(entry) if entry.relative <= relative => low = middle + 1,
            _ => high = middle,
        }
    }
    low.checked_sub(1).and_then(|at| offset_entry(bytes, at)).map_or(0, |e| u64::from(e.position))
}

/// Reads a whole offset index of a segment of `size` bytes; `None` if it cannot be trusted.
#[must_use]
pub fn parse_offsets(bytes: &[u8], size: u64) -> Option<Vec<OffsetEntry>> {
    let entries: Vec<_> =
        (0..live_entries(bytes)).filter_map(|at| offset_entry(bytes, at)).collect();
    let rising =
        entries.windows(2).all(|w| w[0].relative < w[1].relative && w[0].position < w[1].position);
    let inside = entries.last().is_none_or(|last| u64::from(last.position) < size);
    (rising && inside && bytes.len().is_multiple_of(OFFSET_ENTRY)).then_some(entries)
}

/// Reads a whole time index; `None` if it cannot be trusted.
#[must_use]
pub fn parse_times(bytes: &[u8]) -> Option<Vec<TimeEntry>> {
    let mut entries: Vec<TimeEntry> =
        bytes.chunks_exact(TIME_ENTRY).filter_map(time_entry).collect();
    while entries.len() > 1 && entries.last().is_some_and(|e| e.timestamp.0 == 0 && e.relative == 0)
    {
        entries.pop();
    }
    let rising = entries.windows(2).all(|w| w[0].timestamp <= w[1].timestamp);
    (rising && bytes.len().is_multiple_of(TIME_ENTRY)).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Indexes {
        let mut indexes = Indexes::default();
        for at in 1..100_u32 {
            indexes.offsets.push(OffsetEntry { relative: at * 10, position: at * 5000 });
            indexes.push_time(TimeEntry {
                timestamp: Timestamp(i64::from(at) * 7),
                relative: at * 10,
            });
        }
        indexes
    }

    #[test]
    fn file_and_memory_agree() {
        let indexes = sample();
        let mut file = indexes.encode_offsets().to_vec();
        for preallocated in [0, 800] {
            file.resize(99 * OFFSET_ENTRY + preallocated, 0);
            for relative in 0..1100 {
                let from_file = search(&file, Offset(1000), Offset(1000 + i64::from(relative)));
                assert_eq!(from_file, u64::from(indexes.position_for(relative)), "{relative}");
            }
        }
        assert_eq!(search(&[], Offset(0), Offset(5)), 0);
        assert_eq!(search(&[1, 2, 3], Offset(0), Offset(5)), 0);
    }

    #[test]
    fn times_lead_to_positions_before_them() {
        let indexes = sample();
        assert_eq!(indexes.position_for_time(Timestamp(1)), 0);
        assert_eq!(indexes.position_for_time(Timestamp(8)), 5000);
        assert_eq!(parse_times(&indexes.encode_times()).unwrap(), indexes.times);
    }

    #[test]
    fn damage_is_noticed() {
        let file = sample().encode_offsets();
        assert!(parse_offsets(&file, 1 << 20).is_some());
        assert!(parse_offsets(&file, 100).is_none());
        let mut swapped = file.to_vec();
        swapped[8..16].fill(0xff);
        assert!(parse_offsets(&swapped, u64::MAX).is_none());
    }
}
