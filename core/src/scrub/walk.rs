//! Batches of a closed segment, as its bytes pass: framing, order of offsets, leader epochs,
//! checksums.
//!
//! State: where in which batch the walk is, and at most one header; records are never held. Where
//! the next batch begins is not known any more once a header cannot be right: the walk has then
//! *lost its way*, and says nothing of what follows but that.
//!
//! Gaps between offsets are sound: compaction leaves them.

use dohle_wire::id::{LeaderEpoch, Offset};
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use super::damage::Damage;
use crate::log::epoch::EpochCache;
use crate::log::names::FileKind;

/// Attributes and everything behind them lie under a batch's checksum.
const CRC_FROM: usize = 21;

/// What is known of the log around the segment.
#[derive(Copy, Clone, Debug)]
pub struct Around<'a> {
    /// Leader epochs, right from the log start on.
    pub epochs: &'a EpochCache,
    /// First offset of the log.
    pub start: Offset,
}

/// A walk through one segment.
#[derive(Clone, Debug)]
pub struct Walk {
    size: u64,
    /// Where the segment ends: every offset in it lies below.
    upper: Offset,
    /// Where the batch that the walk is in begins.
    batch_at: u64,
    /// Where the one before it begins, and its first offset.
    before: (u64, Offset),
    head: [u8; BATCH_HEADER_LEN],
    /// Bytes of the batch that have passed.
    passed: u64,
    /// Its header, once that is complete.
    header: Option<BatchHeader>,
    crc: u32,
    /// No offset below may follow.
    next: Offset,
    epoch: LeaderEpoch,
    lost: bool,
}

impl Walk {
    /// A walk through a segment of `size` bytes with offsets from `base` on and below `upper`.
    #[must_use]
    pub fn new(base: Offset, upper: Offset, size: u64) -> Self {
        Self {
            size,
            upper,
            batch_at: 0,
            before: (0, base),
            head: [0; BATCH_HEADER_LEN],
            passed: 0,
            header: None,
            crc: 0,
            next: base,
            epoch: LeaderEpoch(-1),
            lost: false,
        }
    }

    /// The first offset that the next byte may be about.
    #[must_use]
    pub fn here(&self) -> Offset {
        self.header.map_or(self.next, |header| header.base_offset.min(self.next))
    }

    /// One past the last offset that the bytes passed so far may be about.
    #[must_use]
    pub fn reached(&self) -> Offset {
        match (self.lost, self.header) {
            (true, _) => self.upper,
            (false, Some(header)) => header.next_offset(),
            (false, None) => self.next,
        }
    }

    /// What comes next cannot be read: it is not known where batches begin.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8], around: &Around<'_>, found: &mut impl FnMut(Damage)) {
        while !bytes.is_empty() && !self.lost {
            let wanted = match self.header {
                None => BATCH_HEADER_LEN as u64 - self.passed,
                Some(header) => header.total_len() as u64 - self.passed,
            };
            let now = usize::try_from(wanted).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(now);
            bytes = later;
            match self.header {
                None => self.on_head(now, around, found),
                Some(_) => self.on_content(now),
            }
            if let Some(header) = self.header
                && self.passed == header.total_len() as u64
            {
                self.end_batch(&header, found);
            }
        }
    }

    fn on_head(&mut self, bytes: &[u8], around: &Around<'_>, found: &mut impl FnMut(Damage)) {
        let at = usize::try_from(self.passed).unwrap_or(BATCH_HEADER_LEN);
        self.head[at..at + bytes.len()].copy_from_slice(bytes);
        self.passed += bytes.len() as u64;
        if self.passed < BATCH_HEADER_LEN as u64 {
            return;
        }
        let room = self.size - self.batch_at;
        match BatchHeader::parse(&self.head) {
            Err(error) => self.get_lost(error.to_string(), found),
            Ok(header) if header.total_len() as u64 > room => {
                let len = header.total_len();
                let why = format!("a batch of {len} bytes, and {room} to the end of the segment");
                self.get_lost(why, found);
            }
            Ok(header) => self.on_header(header, around, found),
        }
    }

    fn get_lost(&mut self, why: String, found: &mut impl FnMut(Damage)) {
        self.lost = true;
        let why = format!("{why}; where batches go on is not known");
        found(self.damage(self.batch_at, self.size, self.next, self.upper, why));
    }

    fn on_header(
        &mut self,
        header: BatchHeader,
        around: &Around<'_>,
        found: &mut impl FnMut(Damage),
    ) {
        self.header = Some(header);
        self.crc = crc32c::crc32c(&self.head[CRC_FROM..]);
        let base = header.base_offset;
        let end = self.batch_at + header.total_len() as u64;
        if base < self.next || header.next_offset() > self.upper {
            // Which of two batches has the wrong offset is not known.
            let (from, first) = self.before;
            let why = format!(
                "a batch with the offsets {base} to {} follows on {}, in a segment that ends at {}",
                header.last_offset(),
                self.next,
                self.upper
            );
            let next = self.next.max(header.next_offset()).min(self.upper);
            found(self.damage(from, end, first, next, why));
        }
        let epoch = header.partition_leader_epoch;
        let known = around.epochs.epoch_at(base).filter(|_| base >= around.start);
        if epoch < self.epoch || known.is_some_and(|known| known != epoch) {
            let expected = known.unwrap_or(self.epoch);
            let why = format!("leader epoch {epoch}, not {expected}");
            found(self.damage(self.batch_at, end, base, header.next_offset(), why));
        }
        self.epoch = epoch;
    }

    fn on_content(&mut self, bytes: &[u8]) {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.passed += bytes.len() as u64;
    }

    fn end_batch(&mut self, header: &BatchHeader, found: &mut impl FnMut(Damage)) {
        let end = self.batch_at + self.passed;
        if self.crc != header.crc {
            let why = "the checksum of a batch is wrong".to_owned();
            let (base, next) = (header.base_offset, header.next_offset());
            found(self.damage(self.batch_at, end, base, next, why));
        }
        self.before = (self.batch_at, header.base_offset);
        self.next = header.next_offset();
        self.batch_at = end;
        self.passed = 0;
        self.header = None;
    }

    /// The segment ends here.
    pub fn finish(&mut self, found: &mut impl FnMut(Damage)) {
        if !self.lost && self.passed > 0 {
            let why = format!("half a batch of {} bytes", self.passed);
            self.get_lost(why, found);
        }
    }

    fn damage(&self, from: u64, upto: u64, first: Offset, next: Offset, why: String) -> Damage {
        Damage { kind: FileKind::Log, from, upto, first, next, why }
    }
}

#[cfg(test)]
mod tests {
    use dohle_wire::id::Timestamp;
    use dohle_wire::record::{BatchBuilder, NoCodecs};

    use super::*;

    fn batch(base: i64, records: i64, epoch: i32) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Offset(base)).leader_epoch(LeaderEpoch(epoch));
        for at in 0..records {
            builder.push(Timestamp(base + at), None, Some(b"value"), &[]).unwrap();
        }
        builder.build(&NoCodecs).unwrap().to_vec()
    }

    fn segment() -> Vec<u8> {
        [batch(10, 3, 1), batch(13, 1, 1), batch(14, 2, 4)].concat()
    }

    fn walk(bytes: &[u8], piece: usize) -> Vec<Damage> {
        let mut epochs = EpochCache::default();
        epochs.begin(LeaderEpoch(1), Offset(10));
        epochs.begin(LeaderEpoch(4), Offset(14));
        let around = Around { epochs: &epochs, start: Offset(10) };
        let mut walk = Walk::new(Offset(10), Offset(16), bytes.len() as u64);
        let mut damages = Vec::new();
        let mut found = |damage| damages.push(damage);
        bytes.chunks(piece).for_each(|piece| walk.feed(piece, &around, &mut found));
        walk.finish(&mut found);
        damages
    }

    #[test]
    fn a_sound_segment_passes_in_pieces_of_any_length() {
        for piece in [1, 7, 60, 61, 62, 1_000] {
            assert_eq!(walk(&segment(), piece), [], "in pieces of {piece}");
        }
    }

    #[test]
    fn every_flip_is_found() {
        let sound = segment();
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut bytes = sound.clone();
                bytes[at] ^= 1 << bit;
                let found = walk(&bytes, 50);
                assert!(!found.is_empty(), "flip of bit {bit} at {at}");
                assert!(found.iter().all(|d| d.upto <= bytes.len() as u64 && d.from < d.upto));
            }
        }
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let first = batch(10, 3, 1).len();
        let mut bytes = segment();
        bytes[first + 70] ^= 1;
        let found = &walk(&bytes, 50)[..];
        let [damage] = found else { panic!("{found:?}") };
        let second = first + batch(13, 1, 1).len();
        assert_eq!((damage.from, damage.upto), (first as u64, second as u64));
        assert_eq!((damage.first, damage.next), (Offset(13), Offset(14)));
        let cut = &segment()[..first + 30];
        let found = walk(cut, 1_000);
        assert_eq!((found[0].from, found[0].upto), (first as u64, cut.len() as u64));
        assert_eq!((found[0].first, found[0].next), (Offset(13), Offset(16)));
    }
}
