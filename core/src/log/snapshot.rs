//! The producer snapshot file.
//!
//! Kafka's layout, version 1: version i16, CRC-32C u32 of all that follows, count i32, then 46
//! bytes for each producer with its *last* batch. That alone would forget four of five batches at
//! a restart, so the earlier ones follow behind the entries, where Kafka's reader does not look
//! (the checksum covers them): magic u32, then for each of them producer id i64, last sequence
//! i32, last offset i64, offset delta i32, timestamp i64, the oldest first.
//!
//! Kafka's entry has one timestamp, that of the last batch or marker. Where a marker came last,
//! the last batch is told like the earlier ones.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dohle_wire::id::{Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};

use super::producer::{ProducerBatch, ProducerEntry, ProducerTable, REMEMBERED};

const VERSION: i16 = 1;
const CRC_END: usize = 6;
const ENTRY: usize = 46;
const EARLIER_MAGIC: u32 = 0x646f_4835;
const EARLIER: usize = 32;

/// The file that holds `table`.
#[must_use]
pub fn encode(table: &ProducerTable) -> Bytes {
    let mut out = BytesMut::new();
    out.put_i16(VERSION);
    out.put_u32(0);
    out.put_i32(i32::try_from(table.len()).unwrap_or(i32::MAX));
    for (id, entry) in table.iter() {
        put_entry(&mut out, *id, entry);
    }
    out.put_u32(EARLIER_MAGIC);
    for (id, entry) in table.iter() {
        for batch in untold(entry) {
            put_earlier(&mut out, *id, batch);
        }
    }
    let crc = crc32c::crc32c(&out[CRC_END..]);
    out[2..CRC_END].copy_from_slice(&crc.to_be_bytes());
    out.freeze()
}

/// The batches that Kafka's entry does not tell, or not as a whole.
fn untold(entry: &ProducerEntry) -> impl Iterator<Item = &ProducerBatch> {
    let told = entry.batches.back().is_some_and(|last| last.timestamp == entry.last_timestamp);
    entry.batches.iter().take(entry.batches.len() - usize::from(told))
}

fn put_entry(out: &mut BytesMut, id: ProducerId, entry: &ProducerEntry) {
    let last = entry.batches.back();
    out.put_i64(id.0);
    out.put_i16(entry.epoch.0);
    out.put_i32(last.map_or(-1, |b| b.last_sequence.0));
    out.put_i64(last.map_or(-1, |b| b.last_offset.0));
    out.put_i32(last.map_or(0, |b| b.offset_delta));
    out.put_i64(entry.last_timestamp.0);
    out.put_i32(entry.coordinator_epoch);
    out.put_i64(entry.open_transaction.map_or(-1, |at| at.0));
}

fn put_earlier(out: &mut BytesMut, id: ProducerId, batch: &ProducerBatch) {
    out.put_i64(id.0);
    out.put_i32(batch.last_sequence.0);
    out.put_i64(batch.last_offset.0);
    out.put_i32(batch.offset_delta);
    out.put_i64(batch.timestamp.0);
}

/// Reads a snapshot; `None` if it is damaged.
#[must_use]
pub fn parse(file: &[u8]) -> Option<ProducerTable> {
    let crc = file.get(2..CRC_END)?.try_into().ok().map(u32::from_be_bytes)?;
    (crc == crc32c::crc32c(&file[CRC_END..])).then(|| parse_unchecked(file))?
}

/// Reads a snapshot of which it does not matter whether it is sound.
pub(crate) fn parse_unchecked(file: &[u8]) -> Option<ProducerTable> {
    let mut rest = file;
    if rest.len() < CRC_END + 4 || rest.get_i16() != VERSION {
        return None;
    }
    rest.advance(CRC_END - 2);
    let count = usize::try_from(rest.get_i32()).ok()?;
    if rest.len() < count.checked_mul(ENTRY)? {
        return None;
    }
    let mut table = ProducerTable::default();
    for _ in 0..count {
        let (id, entry) = get_entry(&mut rest);
        table.entries.insert(id, entry);
    }
    if rest.len() >= 4 && rest.get_u32() == EARLIER_MAGIC {
        add_earlier(&mut table, rest)?;
    }
    Some(table)
}

/// Checks the checksum of a file that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Check {
    head: Vec<u8>,
    crc: u32,
}

impl Check {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let (head, content) = bytes.split_at(bytes.len().min(CRC_END - self.head.len()));
        self.head.extend_from_slice(head);
        self.crc = crc32c::crc32c_append(self.crc, content);
    }

    /// Whether all that came is a sound file.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut head = self.head.as_slice();
        head.len() == CRC_END && head.get_i16() == VERSION && head.get_u32() == self.crc
    }
}

fn get_entry(rest: &mut &[u8]) -> (ProducerId, ProducerEntry) {
    let id = ProducerId(rest.get_i64());
    let epoch = ProducerEpoch(rest.get_i16());
    let batch = get_batch(rest);
    let coordinator_epoch = rest.get_i32();
    let open = rest.get_i64();
    let entry = ProducerEntry {
        epoch,
        coordinator_epoch,
        open_transaction: (open >= 0).then_some(Offset(open)),
        last_timestamp: batch.timestamp,
        batches: (batch.last_offset.0 >= 0).then_some(batch).into_iter().collect(),
    };
    (id, entry)
}

fn get_batch(rest: &mut &[u8]) -> ProducerBatch {
    ProducerBatch {
        last_sequence: Sequence(rest.get_i32()),
        last_offset: Offset(rest.get_i64()),
        offset_delta: rest.get_i32(),
        timestamp: Timestamp(rest.get_i64()),
    }
}

fn add_earlier(table: &mut ProducerTable, mut rest: &[u8]) -> Option<()> {
    let mut at_front: Vec<(ProducerId, ProducerBatch)> = Vec::new();
    while rest.len() >= EARLIER {
        at_front.push((ProducerId(rest.get_i64()), get_batch(&mut rest)));
    }
    for (id, batch) in at_front.into_iter().rev() {
        let entry = table.entries.get_mut(&id)?;
        if let [told] = entry.batches.make_contiguous()
            && told.last_offset == batch.last_offset
        {
            *told = batch;
            continue;
        }
        if entry.batches.len() == REMEMBERED {
            return None;
        }
        entry.batches.push_front(batch);
    }
    rest.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ProducerTable {
        let mut table = ProducerTable::default();
        for id in 0..3_i64 {
            let batches = (0..=id * 2)
                .map(|n| ProducerBatch {
                    last_sequence: Sequence(i32::try_from(n).unwrap() * 10 + 9),
                    last_offset: Offset(n * 100 + id),
                    offset_delta: 9,
                    timestamp: Timestamp(1000 + n),
                })
                .collect();
            let entry = ProducerEntry {
                epoch: ProducerEpoch(3),
                coordinator_epoch: -1,
                open_transaction: (id == 1).then_some(Offset(7)),
                last_timestamp: Timestamp(1000 + id * 2),
                batches,
            };
            table.entries.insert(ProducerId(id), entry);
        }
        table
    }

    #[test]
    fn all_five_batches_survive() {
        assert_eq!(parse(&encode(&sample())), Some(sample()));
        assert_eq!(parse(&encode(&ProducerTable::default())), Some(ProducerTable::default()));
    }

    #[test]
    fn a_marker_says_when_a_producer_was_last_heard_of() {
        let mut table = sample();
        table.entries.get_mut(&ProducerId(1)).unwrap().last_timestamp = Timestamp(5);
        let file = encode(&table);
        let time = CRC_END + 4 + ENTRY + 26;
        assert_eq!(file[time..time + 8], 5_i64.to_be_bytes(), "in Kafka's part");
        assert_eq!(parse(&file), Some(table), "that of the batch is kept, too");
    }

    #[test]
    fn kafkas_own_file_has_one_batch_each() {
        let full = encode(&sample());
        let mut short = full[..CRC_END + 4 + 3 * ENTRY].to_vec();
        let crc = crc32c::crc32c(&short[CRC_END..]);
        short[2..CRC_END].copy_from_slice(&crc.to_be_bytes());
        let table = parse(&short).unwrap();
        assert!(table.iter().all(|(_, entry)| entry.batches.len() == 1));
    }

    #[test]
    fn every_cut_and_flip_is_told() {
        let file = encode(&sample());
        let in_pieces = |file: &[u8]| {
            let mut check = Check::default();
            file.chunks(4).for_each(|piece| check.feed(piece));
            check.is_sound()
        };
        assert!(in_pieces(&file));
        for len in 0..file.len() {
            assert_eq!(parse(&file[..len]), None, "cut at {len}");
            assert!(!in_pieces(&file[..len]), "cut at {len}");
        }
        for at in 0..file.len() {
            let mut bad = file.to_vec();
            bad[at] ^= 0x10;
            assert_eq!(parse(&bad), None, "flip at {at}");
            assert!(!in_pieces(&bad), "flip at {at}");
        }
    }
}
