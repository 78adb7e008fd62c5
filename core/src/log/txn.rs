//! Aborted transactions of a log: what a reader of committed records is told to leave out.
//!
//! State: an entry for each abort marker that ended an open transaction, in the order of the
//! markers. A marker's entry belongs to the segment that holds the marker, and to its file
//! `.txnindex`: 34 bytes for each, version i16 (0), producer id i64, first offset i64, offset of
//! the marker i64, last stable offset after it i64 (Kafka's TransactionIndex). The file is
//! written when the segment is rolled or closed; a crash has it made anew from the records.
//!
//! Invariant: markers rise; the entries are those that a replay of the log would make.
//!
//! Must never know: files, readers, who aborted.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dohle_wire::id::{Offset, ProducerId};
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader, RawBatch, RecordIter};

use super::producer::ProducerTable;

const VERSION: i16 = 0;
const ENTRY: usize = 34;

/// Transactions that a reader is told of at once, apart from those that were open where it
/// begins.
const MOST: usize = 1024;

/// A transaction that was aborted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Whose it was.
    pub producer: ProducerId,
    /// Its first record.
    pub first: Offset,
    /// Its marker.
    pub marker: Offset,
    /// The last stable offset once the marker was there: no transaction that was aborted later
    /// began below.
    pub last_stable: Offset,
}

/// The aborted transactions of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnIndex {
    entries: Vec<Aborted>,
}

/// What a reader of committed records may read, and what it leaves out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Producers and where their aborted transactions begin, by that offset.
    pub aborted: Vec<(ProducerId, Offset)>,
    /// Where it ends: before the first transaction that is not in the list.
    pub upper: Offset,
}

impl TxnIndex {
    /// What it says, in the order of the markers.
    #[must_use]
    pub fn entries(&self) -> &[Aborted] {
        &self.entries
    }

    /// Adds what was aborted next.
    pub(super) fn extend(&mut self, entries: impl IntoIterator<Item = Aborted>) {
        self.entries.extend(entries);
    }

    /// Keeps what belongs to offsets in `[from, upto)`.
    pub(super) fn keep(&mut self, from: Offset, upto: Offset) {
        self.entries.truncate(self.below(upto));
        self.entries.drain(..self.below(from));
    }

    /// The file of a segment with the offsets `[base, next)`; `None` if nothing in it was aborted.
    pub(super) fn encode(&self, base: Offset, next: Offset) -> Option<Bytes> {
        let entries = &self.entries[self.below(base)..self.below(next)];
        let mut out = BytesMut::with_capacity(entries.len() * ENTRY);
        for entry in entries {
            out.put_i16(VERSION);
            out.put_i64(entry.producer.0);
            out.put_i64(entry.first.0);
            out.put_i64(entry.marker.0);
            out.put_i64(entry.last_stable.0);
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// What a reader from `from` up to `upper` leaves out. Where that is too much to tell, it
    /// reads less far.
    pub(super) fn committed(&self, from: Offset, mut upper: Offset) -> Committed {
        let mut found: Vec<(Offset, ProducerId)> = Vec::new();
        for entry in &self.entries[self.below(from)..] {
            if entry.first < upper {
                let at = found.partition_point(|known| known.0 <= entry.first);
                found.insert(at, (entry.first, entry.producer));
            }
            if found.len() > MOST
                && let Some(last) = found.pop_if(|last| last.0 > from)
            {
                upper = last.0;
            }
            if entry.last_stable >= upper {
                break;
            }
        }
        let aborted = found.into_iter().map(|(first, producer)| (producer, first)).collect();
        Committed { aborted, upper }
    }

    /// How many entries have a marker below `offset`.
    fn below(&self, offset: Offset) -> usize {
        self.entries.partition_point(|entry| entry.marker < offset)
    }
}

/// The entries in the file of a segment with the offsets `[base, next)`; `None` if it is damaged.
#[must_use]
pub fn parse(mut file: &[u8], base: Offset, next: Offset) -> Option<Vec<Aborted>> {
    let mut entries: Vec<Aborted> = Vec::new();
    while file.len() >= ENTRY {
        if file.get_i16() != VERSION {
            return None;
        }
        let entry = Aborted {
            producer: ProducerId(file.get_i64()),
            first: Offset(file.get_i64()),
            marker: Offset(file.get_i64()),
            last_stable: Offset(file.get_i64()),
        };
        let above = entries.last().map_or(base, |last| last.marker.plus(1));
        let sound = entry.producer.0 >= 0 && entry.first.0 >= 0 && entry.first <= entry.marker;
        if !sound || entry.marker < above || entry.marker >= next {
            return None;
        }
        entries.push(entry);
    }
    file.is_empty().then_some(entries)
}

/// Takes a batch of the log into the state of the producers. Returns the transaction that it
/// aborts: without a record of it (they may be deleted) there is nothing to leave out.
pub(super) fn note(
    header: &BatchHeader,
    batch: &[u8],
    producers: &mut ProducerTable,
) -> Option<Aborted> {
    let marker = header.is_control().then(|| control(header, batch)).flatten();
    let aborted = match marker {
        Some(ControlRecord::Abort(_)) => aborted_by(header, producers),
        _ => None,
    };
    producers.note(header);
    if let Some(ControlRecord::Abort(end) | ControlRecord::Commit(end)) = marker {
        producers.mark(header.producer_id, end.coordinator_epoch);
    }
    aborted
}

fn aborted_by(header: &BatchHeader, producers: &ProducerTable) -> Option<Aborted> {
    let producer = header.producer_id;
    let open = producers.iter().filter_map(|(id, entry)| Some((*id, entry.open_transaction?)));
    let (own, others): (Vec<_>, Vec<_>) = open.partition(|(id, _)| *id == producer);
    let last_stable = others.iter().map(|(_, first)| *first).min();
    Some(Aborted {
        producer,
        first: own.first()?.1,
        marker: header.base_offset,
        last_stable: last_stable.unwrap_or(header.next_offset()),
    })
}

/// The control record of a control batch.
pub(crate) fn marker(batch: &RawBatch) -> Option<ControlRecord> {
    control(&batch.header, &batch.bytes)
}

fn control(header: &BatchHeader, batch: &[u8]) -> Option<ControlRecord> {
    let records = batch.get(BATCH_HEADER_LEN..)?;
    let record = RecordIter::new(records, header.records_count).next()?.ok()?;
    ControlRecord::decode(record.key?, record.value?).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(producer: i64, first: i64, marker: i64, last_stable: i64) -> Aborted {
        let (first, marker) = (Offset(first), Offset(marker));
        Aborted { producer: ProducerId(producer), first, marker, last_stable: Offset(last_stable) }
    }

    /// Two transactions side by side, one that spans them, one behind.
    fn sample() -> TxnIndex {
        let entries = vec![
            entry(1, 10, 20, 5),
            entry(2, 12, 22, 5),
            entry(3, 5, 30, 31),
            entry(1, 40, 50, 51),
        ];
        TxnIndex { entries }
    }

    fn check_committed(from: i64, upper: i64, expect: &[(i64, i64)]) {
        let found = sample().committed(Offset(from), Offset(upper));
        let aborted: Vec<_> = found.aborted.iter().map(|(id, first)| (id.0, first.0)).collect();
        assert_eq!(aborted, expect, "from {from} up to {upper}");
        assert_eq!(found.upper, Offset(upper));
    }

    #[test]
    fn a_reader_is_told_of_what_overlaps_its_range() {
        check_committed(0, 60, &[(3, 5), (1, 10), (2, 12), (1, 40)]);
        check_committed(0, 11, &[(3, 5), (1, 10)]);
        check_committed(21, 60, &[(3, 5), (2, 12), (1, 40)]);
        check_committed(30, 40, &[(3, 5)]);
        check_committed(31, 41, &[(1, 40)]);
        check_committed(51, 60, &[]);
    }

    #[test]
    fn what_is_too_much_to_tell_ends_the_read_before_it() {
        let most = i64::try_from(MOST).unwrap();
        let entries = (0..most * 3).map(|n| entry(n % 7, n * 10, n * 10 + 9, n * 10 + 10));
        let index = TxnIndex { entries: entries.collect() };
        let mut from = Offset(0);
        let mut told = 0;
        while from < Offset(most * 30) {
            let found = index.committed(from, Offset(most * 30));
            assert!(found.aborted.len() <= MOST && found.upper > from);
            let expect = index.entries.iter().filter(|e| e.first >= from && e.first < found.upper);
            let expect: Vec<_> = expect.map(|entry| (entry.producer, entry.first)).collect();
            assert_eq!(found.aborted, expect);
            told += found.aborted.len();
            from = found.upper;
        }
        assert_eq!(told, MOST * 3);
    }

    #[test]
    fn however_many_were_open_where_it_begins_a_reader_gets_on() {
        let most = i64::try_from(MOST).unwrap();
        let entries = (0..most * 2).map(|n| entry(n, n, most * 2 + n, n + 1)).collect();
        let found = TxnIndex { entries }.committed(Offset(most * 2), Offset(most * 9));
        assert_eq!(found.aborted.len(), MOST * 2);
        assert_eq!(found.upper, Offset(most * 9));
    }

    #[test]
    fn a_segments_file_holds_its_own_markers() {
        let index = sample();
        let file = index.encode(Offset(21), Offset(50)).unwrap();
        assert_eq!(file.len(), 2 * ENTRY);
        assert_eq!(file[..10], [0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        let entries = parse(&file, Offset(21), Offset(50)).unwrap();
        assert_eq!(entries, index.entries[1..3]);
        assert_eq!(index.encode(Offset(31), Offset(50)), None);
        for len in 1..file.len() {
            assert_eq!(parse(&file[..len], Offset(21), Offset(50)).is_some(), len == ENTRY);
        }
        assert_eq!(parse(&file, Offset(23), Offset(50)), None);
        assert_eq!(parse(&file, Offset(21), Offset(30)), None);
        let mut later = file.to_vec();
        later[1] = 1;
        assert_eq!(parse(&later, Offset(21), Offset(50)), None);
    }

    #[test]
    fn what_is_cut_off_is_forgotten() {
        let mut index = sample();
        index.keep(Offset(21), Offset(50));
        assert_eq!(index.entries, sample().entries[1..3]);
        index.keep(Offset(0), Offset(22));
        assert_eq!(index, TxnIndex::default());
    }
}
