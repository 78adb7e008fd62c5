//! Whole batches in memory.

use bytes::Bytes;

use super::header::checksum;
use super::{BATCH_HEADER_LEN, BatchError, BatchHeader, CodecError, Codecs, Compression};

/// One batch: its header, parsed, and all of its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawBatch {
    /// The header.
    pub header: BatchHeader,
    /// The whole batch, header included.
    pub bytes: Bytes,
}

impl RawBatch {
    /// Takes `bytes` as exactly one batch; see [`BatchHeader::parse`] for what is checked.
    pub fn parse(bytes: Bytes) -> Result<Self, BatchError> {
        let batch = Self::first(bytes.clone())?;
        match bytes.len() - batch.bytes.len() {
            0 => Ok(batch),
            left => Err(BatchError::Trailing(left)),
        }
    }

    fn first(mut bytes: Bytes) -> Result<Self, BatchError> {
        let header = BatchHeader::parse(&bytes)?;
        let (needed, left) = (header.total_len(), bytes.len());
        if needed > left {
            return Err(BatchError::Truncated { needed, left });
        }
        bytes.truncate(needed);
        Ok(Self { header, bytes })
    }

    /// Whether the checksum is right.
    pub fn crc_ok(&self) -> bool {
        checksum(&self.bytes) == self.header.crc
    }

    /// The records as they are stored, maybe compressed.
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(BATCH_HEADER_LEN.min(self.bytes.len())..)
    }

    /// The records, decompressed into at most `limit` bytes; not copied if they are not compressed.
    pub fn records(&self, codecs: &dyn Codecs, limit: usize) -> Result<Bytes, CodecError> {
        match self.header.compression() {
            Compression::None => Ok(self.payload()),
            compression => codecs.decompress(compression, &self.payload(), limit).map(Bytes::from),
        }
    }
}

/// The batches that `bytes` holds one after the other.
///
/// After an error, for example for an incomplete last batch, the iterator ends.
pub const fn split_batches(bytes: Bytes) -> Batches {
    Batches { rest: bytes }
}

/// See [`split_batches`].
#[derive(Clone, Debug)]
pub struct Batches {
    rest: Bytes,
}

impl Iterator for Batches {
    type Item = Result<RawBatch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let batch = RawBatch::first(self.rest.clone());
        self.rest = match &batch {
            Ok(batch) => self.rest.slice(batch.bytes.len()..),
            Err(_) => Bytes::new(),
        };
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BatchBuilder, NoCodecs};
    use super::*;
    use crate::id::{LeaderEpoch, Offset, Timestamp};

    fn batch(base_offset: i64, value: &[u8]) -> Bytes {
        let mut builder = BatchBuilder::new(Offset(base_offset)).leader_epoch(LeaderEpoch(3));
        builder.push(Timestamp(1), None, Some(value), &[]).unwrap();
        builder.build(&NoCodecs).unwrap()
    }

    fn offsets(bytes: Bytes) -> Vec<Result<i64, BatchError>> {
        split_batches(bytes).map(|batch| batch.map(|batch| batch.header.base_offset.0)).collect()
    }

    #[test]
    fn batches_are_split_at_their_lengths() {
        let both = Bytes::from([batch(4, b"a"), batch(5, b"bc")].concat());
        assert_eq!(offsets(both), [Ok(4), Ok(5)]);
        assert_eq!(offsets(Bytes::new()), []);
    }

    #[test]
    fn an_incomplete_batch_ends_the_split_with_an_error() {
        let (first, second) = (batch(4, b"a"), batch(5, b"bc"));
        for left in 1..second.len() {
            let bytes = Bytes::from([&first[..], &second[..left]].concat());
            let found = offsets(bytes);
            assert_eq!(found[0], Ok(4));
            assert!(matches!(found[1..], [Err(BatchError::Truncated { .. })]), "{found:?}");
        }
    }

    #[test]
    fn a_single_batch_must_fill_its_bytes() {
        let one = batch(0, b"a");
        assert_eq!(RawBatch::parse(one.clone()).unwrap().bytes, one);
        let longer = Bytes::from([&one[..], b"xy"].concat());
        assert_eq!(RawBatch::parse(longer), Err(BatchError::Trailing(2)));
        let needed = one.len();
        let shorter = one.slice(..needed - 1);
        let truncated = BatchError::Truncated { needed, left: needed - 1 };
        assert_eq!(RawBatch::parse(shorter), Err(truncated));
    }

    #[test]
    fn the_checksum_covers_everything_from_the_attributes_on() {
        let good = batch(0, b"value");
        for at in (0..good.len()).filter(|at| !(8..12).contains(at) && *at != 16) {
            let mut bytes = good.to_vec();
            bytes[at] ^= 0x80;
            let Ok(damaged) = RawBatch::parse(Bytes::from(bytes)) else { continue };
            // The base offset and the leader epoch may change.
            assert_eq!(damaged.crc_ok(), at < 16, "byte {at}");
        }
        assert!(RawBatch::parse(good).unwrap().crc_ok());
    }
}
