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
