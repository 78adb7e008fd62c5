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

    /// The last entry that is older than `time`; none if it cannot be right beside the next one.
    #[must_use]
    pub fn last_older(&self, time: Timestamp) -> Option<TimeEntry> {
        let after = self.times.partition_point(|entry| entry.timestamp < time);
        let entry = *self.times.get(after.checked_sub(1)?)?;
        self.times.get(after).is_none_or(|next| next.relative >= entry.relative).then_some(entry)
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

/// A search ends with one read of at most this many bytes.
const PIECE: u64 = 4096;

/// The last entry of an index file that lies `below` a target, where those before it do so too.
/// `read` gives up to so many bytes of the file at a position; `below` is told which entry it is
/// asked for.
fn last_below<E, R: FnMut(u64, u32) -> Result<Bytes, E>>(
    size: u64,
    entry_len: usize,
    below: impl Fn(u64, &[u8]) -> bool,
    read: &mut R,
) -> Result<Option<(u64, Bytes)>, E> {
    let len = entry_len as u64;
    let (mut low, mut high) = (0, size / len);
    while (high - low) * len > PIECE {
        let middle = low + (high - low) / 2;
        let raw = read(middle * len, u32::try_from(len).unwrap_or(u32::MAX))?;
        if raw.len() == entry_len && below(middle, &raw) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let piece = read(low * len, u32::try_from((high - low) * len).unwrap_or(u32::MAX))?;
    let entries = (low..).zip(piece.chunks_exact(entry_len));
    let last = entries.take_while(|(at, raw)| below(*at, raw)).last();
    Ok(last.map(|(at, raw)| (at, piece.slice_ref(raw))))
}

/// The file position from which to scan for `target` in a segment based at `base`, by its offset
/// index file of `size` bytes, of which `read` gives pieces. 0 when the index does not help.
///
/// # Errors
/// What `read` said.
pub fn search<E>(
    size: u64,
    base: Offset,
    target: Offset,
    mut read: impl FnMut(u64, u32) -> Result<Bytes, E>,
) -> Result<u64, E> {
    let below = |at: u64, raw: &[u8]| {
        let live = |e: &OffsetEntry| at == 0 || e.relative > 0 || e.position > 0;
        let near = |e: &OffsetEntry| i64::from(e.relative) <= target.minus(base);
        offset_entry(raw, 0).is_some_and(|entry| live(&entry) && near(&entry))
    };
    let found = last_below(size, OFFSET_ENTRY, below, &mut read)?;
    Ok(found.and_then(|(_, raw)| offset_entry(&raw, 0)).map_or(0, |entry| entry.position.into()))
}

/// The last entry of a time index file of `size` bytes that is older than `time`; none if it
/// cannot be right beside the next one.
///
/// # Errors
/// What `read` said.
pub fn search_times<E>(
    size: u64,
    time: Timestamp,
    mut read: impl FnMut(u64, u32) -> Result<Bytes, E>,
) -> Result<Option<TimeEntry>, E> {
    let live = |at: u64, e: &TimeEntry| at == 0 || e.relative > 0 || e.timestamp.0 > 0;
    let below = |at: u64, raw: &[u8]| {
        time_entry(raw).is_some_and(|entry| live(at, &entry) && entry.timestamp < time)
    };
    let found = last_below(size, TIME_ENTRY, below, &mut read)?;
    let Some((at, entry)) = found.and_then(|(at, raw)| Some((at, time_entry(&raw)?))) else {
        return Ok(None);
    };
    let len = TIME_ENTRY as u64;
    let next = match (at + 2) * len <= size {
        true => time_entry(&read((at + 1) * len, u32::try_from(len).unwrap_or(u32::MAX))?),
        false => None,
    };
    let rises = next.filter(|next| live(at + 1, next)).is_none_or(|n| n.relative >= entry.relative);
    Ok(rises.then_some(entry))
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

    fn sample(entries: u32) -> Indexes {
        let mut indexes = Indexes::default();
        for at in 1..=entries {
            indexes.offsets.push(OffsetEntry { relative: at * 10, position: at * 5000 });
            indexes.push_time(TimeEntry {
                timestamp: Timestamp(i64::from(at) * 7),
                relative: at * 10,
            });
        }
        indexes
    }

    /// Runs a search over `file`, and checks that it reads little of it.
    fn over<T>(
        file: &[u8],
        search: impl FnOnce(u64, &mut dyn FnMut(u64, u32) -> Result<Bytes, ()>) -> Result<T, ()>,
    ) -> T {
        let mut bytes_read = 0;
        let mut read = |position: u64, len: u32| {
            let from = file.len().min(usize::try_from(position).unwrap());
            let upto = file.len().min(from + len as usize);
            bytes_read += upto - from;
            Ok(Bytes::copy_from_slice(&file[from..upto]))
        };
        let found = search(file.len() as u64, &mut read).unwrap();
        assert!(bytes_read < 4_500, "{bytes_read} bytes read");
        found
    }

    #[test]
    fn file_and_memory_agree() {
        for entries in [1, 99, 341, 342, 512, 513, 5_000] {
            let indexes = sample(entries);
            let (mut offsets, mut times) =
                (indexes.encode_offsets().to_vec(), indexes.encode_times().to_vec());
            for zeros in [0, 5, 7_200] {
                offsets.resize(offsets.len() + zeros, 0);
                times.resize(times.len() + zeros, 0);
                for at in (0..=entries + 1).step_by(1 + entries as usize / 300) {
                    let target = at * 10 + 3;
                    let found = over(&offsets, |size, read| {
                        search(size, Offset(1000), Offset(1000 + i64::from(target)), read)
                    });
                    assert_eq!(found, u64::from(indexes.position_for(target)), "{at} of {entries}");
                    let time = Timestamp(i64::from(at) * 7 + 1);
                    let found = over(&times, |size, read| search_times(size, time, read));
                    let before = at.min(entries).checked_sub(1).map(|at| at as usize);
                    let expected = before.map(|at| indexes.times[at]);
                    assert_eq!(found, expected, "{at} of {entries}");
                }
            }
        }
    }

    #[test]
    fn what_is_too_short_does_not_help() {
        for file in [&[][..], &[1, 2, 3]] {
            assert_eq!(over(file, |size, read| search(size, Offset(0), Offset(5), read)), 0);
            assert_eq!(over(file, |size, read| search_times(size, Timestamp(5), read)), None);
        }
        let short: Result<u64, ()> = search(80_000, Offset(0), Offset(5), |_, _| Ok(Bytes::new()));
        assert_eq!(short, Ok(0), "the file was cut since its size was asked for");
    }

    #[test]
    fn times_lead_to_positions_before_them() {
        let indexes = sample(99);
        assert_eq!(indexes.last_older(Timestamp(1)), None);
        assert_eq!(indexes.last_older(Timestamp(8)), Some(indexes.times[0]));
        let mut damaged = indexes.clone();
        damaged.times[0].relative = 21;
        assert_eq!(damaged.last_older(Timestamp(8)), None);
        assert_eq!(parse_times(&indexes.encode_times()).unwrap(), indexes.times);
    }

    #[test]
    fn damage_is_noticed() {
        let file = sample(99).encode_offsets();
        assert!(parse_offsets(&file, 1 << 20).is_some());
        assert!(parse_offsets(&file, 100).is_none());
        let mut swapped = file.to_vec();
        swapped[8..16].fill(0xff);
        assert!(parse_offsets(&swapped, u64::MAX).is_none());
    }
}
