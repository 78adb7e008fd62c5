//! The header of a batch.

use bytes::{Buf, BufMut};
use thiserror::Error;

use super::{Attributes, Compression, TimestampType};
use crate::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};

/// Bytes of the header of a batch.
pub const BATCH_HEADER_LEN: usize = 61;

/// Bytes of the base offset and the length, which that length does not count.
pub const LOG_OVERHEAD: usize = 12;

/// Number of the batch format.
pub const MAGIC: i8 = 2;

const LEADER_EPOCH_AT: usize = 12;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const MAX_TIMESTAMP_AT: usize = 35;

/// Bytes that are not a batch of format version 2.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    /// The bytes end before the batch does.
    #[error("{needed} bytes needed, {left} left")]
    Truncated {
        /// Bytes the batch or its header needs.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// Bytes follow a single batch.
    #[error("{0} bytes left after the batch")]
    Trailing(
        /// How many.
        usize,
    ),
    /// The length is less than that of a header.
    #[error("batch length {0} is too small")]
    Length(
        /// The length field.
        i32,
    ),
    /// Another format version.
    #[error("batch format {0} is not supported")]
    Magic(
        /// The version.
        i8,
    ),
    /// A kind of compression that does not exist.
    #[error("compression {0} does not exist")]
    Compression(
        /// Its number.
        u8,
    ),
    /// A negative number of records.
    #[error("record count {0} is negative")]
    Count(
        /// The number.
        i32,
    ),
    /// The last offset is before the first.
    #[error("last offset delta {0} is negative")]
    LastOffsetDelta(
        /// The difference.
        i32,
    ),
}

/// The fields of the header of a batch, in their order.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BatchHeader {
    /// Offset of the first record, kept when that record is compacted away.
    pub base_offset: Offset,
    /// Bytes of the batch after this field.
    pub batch_length: i32,
    /// Epoch of the leader that appended the batch; -1 from a client.
    pub partition_leader_epoch: LeaderEpoch,
    /// Format version, always [`MAGIC`].
    pub magic: i8,
    /// CRC-32C of everything after this field.
    pub crc: u32,
    /// Compression and flags.
    pub attributes: Attributes,
    /// Offset of the last record minus the base offset, kept when records are compacted away.
    pub last_offset_delta: i32,
    /// Timestamp that those of the records are relative to; or the delete horizon.
    pub base_timestamp: Timestamp,
    /// Largest timestamp; -1 if there is none.
    pub max_timestamp: Timestamp,
    /// Id of the producer; -1 for none.
    pub producer_id: ProducerId,
    /// Epoch of the producer; -1 for none.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of the first record; -1 for none.
    pub base_sequence: Sequence,
    /// Number of records; 0 is possible after compaction.
    pub records_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`, which may go on after it and need not hold the
    /// whole batch.
    ///
    /// Checks the length, the format version, the kind of compression and the signs of the counts;
    /// not the checksum.
    pub fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        let left = bytes.len();
        let truncated = BatchError::Truncated { needed: BATCH_HEADER_LEN, left };
        // Older formats have shorter headers, but the version at the same place.
        let magic = bytes.get(MAGIC_AT).ok_or(truncated)?.cast_signed();
        if magic != MAGIC {
            return Err(BatchError::Magic(magic));
        }
        let header = bytes.first_chunk::<BATCH_HEADER_LEN>().ok_or(truncated)?;
        let header = Self::read(header);
        header.check()?;
        Ok(header)
    }

    fn read(bytes: &[u8; BATCH_HEADER_LEN]) -> Self {
        let mut b = bytes.as_slice();
        Self {
            base_offset: Offset(b.get_i64()),
            batch_length: b.get_i32(),
            partition_leader_epoch: LeaderEpoch(b.get_i32()),
            magic: b.get_i8(),
            crc: b.get_u32(),
            attributes: Attributes(b.get_i16()),
            last_offset_delta: b.get_i32(),
            base_timestamp: Timestamp(b.get_i64()),
            max_timestamp: Timestamp(b.get_i64()),
            producer_id: ProducerId(b.get_i64()),
            producer_epoch: ProducerEpoch(b.get_i16()),
            base_sequence: Sequence(b.get_i32()),
            records_count: b.get_i32(),
        }
    }

    fn check(&self) -> Result<(), BatchError> {
        let least = (BATCH_HEADER_LEN - LOG_OVERHEAD) as i32;
        let compression = self.attributes.compression_id();
        if self.batch_length < least {
            Err(BatchError::Length(self.batch_length))
        } else if Compression::from_id(compression).is_none() {
            Err(BatchError::Compression(compression))
        } else if self.records_count < 0 {
            Err(BatchError::Count(self.records_count))
        } else if self.last_offset_delta < 0 {
            Err(BatchError::LastOffsetDelta(self.last_offset_delta))
        } else {
            Ok(())
        }
    }

    /// Writes the 61 bytes of the header, checksum as it is.
    pub fn write(&self, out: &mut impl BufMut) {
        out.put_i64(self.base_offset.0);
        out.put_i32(self.batch_length);
        out.put_i32(self.partition_leader_epoch.0);
        out.put_i8(self.magic);
        out.put_u32(self.crc);
        out.put_i16(self.attributes.0);
        out.put_i32(self.last_offset_delta);
        out.put_i64(self.base_timestamp.0);
        out.put_i64(self.max_timestamp.0);
        out.put_i64(self.producer_id.0);
        out.put_i16(self.producer_epoch.0);
        out.put_i32(self.base_sequence.0);
        out.put_i32(self.records_count);
    }

    /// Offset of the last record.
    pub const fn last_offset(&self) -> Offset {
        self.base_offset.plus(self.last_offset_delta as i64)
    }

    /// Offset after the last record.
    pub const fn next_offset(&self) -> Offset {
        self.last_offset().plus(1)
    }

    /// Sequence of the last record; -1 if there are no sequences.
    pub const fn last_sequence(&self) -> Sequence {
        match self.base_sequence {
            Sequence(-1) => Sequence(-1),
            first => first.plus(self.last_offset_delta),
        }
    }

    /// Bytes of the whole batch.
    pub const fn total_len(&self) -> usize {
        (self.batch_length as usize).saturating_add(LOG_OVERHEAD)
    }

    /// How the records are compressed.
    pub const fn compression(&self) -> Compression {
        match Compression::from_id(self.attributes.compression_id()) {
            Some(compression) => compression,
            None => Compression::None,
        }
    }

    /// What the timestamps mean.
    pub const fn timestamp_type(&self) -> TimestampType {
        self.attributes.timestamp_type()
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(&self) -> bool {
        self.attributes.is_transactional()
    }

    /// Whether the records are for the brokers, not for consumers.
    pub const fn is_control(&self) -> bool {
        self.attributes.is_control()
    }

    /// Whether the base timestamp is a delete horizon.
    pub const fn has_delete_horizon(&self) -> bool {
        self.attributes.has_delete_horizon()
    }

    /// Whether the batch comes from an idempotent or transactional producer.
    pub const fn has_producer_id(&self) -> bool {
        self.producer_id.0 > -1
    }
}

fn need(bytes: &[u8]) -> Result<(), BatchError> {
    let left = bytes.len();
    let truncated = BatchError::Truncated { needed: BATCH_HEADER_LEN, left };
    if left < BATCH_HEADER_LEN { Err(truncated) } else { Ok(()) }
}

/// Gives the batch at the start of `bytes` its place in the log. The checksum stays right.
pub fn patch(
    bytes: &mut [u8],
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
) -> Result<(), BatchError> {
    need(bytes)?;
    bytes[..8].copy_from_slice(&base_offset.0.to_be_bytes());
    bytes[LEADER_EPOCH_AT..MAGIC_AT].copy_from_slice(&leader_epoch.0.to_be_bytes());
    Ok(())
}

/// Sets the largest timestamp of the whole batch that `batch` is, and what its timestamps mean; then
/// makes the checksum right again.
pub fn set_max_timestamp(
    batch: &mut [u8],
    timestamp_type: TimestampType,
    max_timestamp: Timestamp,
) -> Result<(), BatchError> {
    need(batch)?;
    let old = Attributes(i16::from_be_bytes([batch[ATTRIBUTES_AT], batch[ATTRIBUTES_AT + 1]]));
    let new = old.with_timestamp_type(timestamp_type);
    batch[ATTRIBUTES_AT..ATTRIBUTES_AT + 2].copy_from_slice(&new.0.to_be_bytes());
    batch[MAX_TIMESTAMP_AT..MAX_TIMESTAMP_AT + 8].copy_from_slice(&max_timestamp.0.to_be_bytes());
    seal(batch);
    Ok(())
}

/// The checksum that a batch should have; 0 if there is not even a header.
pub(super) fn checksum(batch: &[u8]) -> u32 {
    batch.get(ATTRIBUTES_AT..).map_or(0, crc32c::crc32c)
}

/// Writes the right checksum into a batch that has at least a header.
pub(super) fn seal(batch: &mut [u8]) {
    let crc = checksum(batch);
    batch[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header without records, whose fields all differ.
    fn sample() -> BatchHeader {
        BatchHeader {
            base_offset: Offset(0x0102),
            batch_length: 49,
            partition_leader_epoch: LeaderEpoch(7),
            magic: MAGIC,
            crc: 0xdead_beef,
            attributes: Attributes(0x13),
            last_offset_delta: 4,
            base_timestamp: Timestamp(1_000),
            max_timestamp: Timestamp(2_000),
            producer_id: ProducerId(9),
            producer_epoch: ProducerEpoch(3),
            base_sequence: Sequence(i32::MAX - 1),
            records_count: 5,
        }
    }

    fn bytes(header: &BatchHeader) -> Vec<u8> {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        bytes
    }

    fn check_refused(change: impl FnOnce(&mut BatchHeader), expected: BatchError) {
        let mut header = sample();
        change(&mut header);
        assert_eq!(BatchHeader::parse(&bytes(&header)), Err(expected));
    }

    #[test]
    fn fields_are_where_the_format_has_them() {
        let bytes = bytes(&sample());
        assert_eq!(bytes.len(), BATCH_HEADER_LEN);
        let expected: [&[u8]; 13] = [
            b"\0\0\0\0\0\0\x01\x02",
            b"\0\0\0\x31",
            b"\0\0\0\x07",
            b"\x02",
            b"\xde\xad\xbe\xef",
            b"\0\x13",
            b"\0\0\0\x04",
            b"\0\0\0\0\0\0\x03\xe8",
            b"\0\0\0\0\0\0\x07\xd0",
            b"\0\0\0\0\0\0\0\x09",
            b"\0\x03",
            b"\x7f\xff\xff\xfe",
            b"\0\0\0\x05",
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(BatchHeader::parse(&bytes), Ok(sample()));
    }

    #[test]
    fn derived_values() {
        let header = sample();
        assert_eq!(header.last_offset(), Offset(0x0106));
        assert_eq!(header.next_offset(), Offset(0x0107));
        assert_eq!(header.last_sequence(), Sequence(2), "wraps");
        assert_eq!(header.total_len(), 61);
        assert_eq!(header.compression(), Compression::Lz4);
        assert!(header.is_transactional() && !header.is_control() && !header.has_delete_horizon());
        assert!(header.has_producer_id());
        let anonymous = BatchHeader { base_sequence: Sequence(-1), ..header };
        assert_eq!(anonymous.last_sequence(), Sequence(-1));
    }

    #[test]
    fn headers_that_lie_are_refused() {
        check_refused(|h| h.batch_length = 48, BatchError::Length(48));
        check_refused(|h| h.batch_length = i32::MIN, BatchError::Length(i32::MIN));
        check_refused(|h| h.magic = 1, BatchError::Magic(1));
        check_refused(|h| h.attributes = Attributes(5), BatchError::Compression(5));
        check_refused(|h| h.records_count = -1, BatchError::Count(-1));
        check_refused(|h| h.last_offset_delta = -1, BatchError::LastOffsetDelta(-1));
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = bytes(&sample());
        for left in 0..BATCH_HEADER_LEN {
            let expected = BatchError::Truncated { needed: BATCH_HEADER_LEN, left };
            assert_eq!(BatchHeader::parse(&bytes[..left]), Err(expected));
            let patched = patch(&mut bytes.clone()[..left], Offset(0), LeaderEpoch(0));
            assert_eq!(patched, Err(expected));
        }
    }

    #[test]
    fn an_older_format_is_told_even_when_short() {
        let mut old = [0; 20];
        old[MAGIC_AT] = 1;
        assert_eq!(BatchHeader::parse(&old), Err(BatchError::Magic(1)));
    }

    #[test]
    fn offsets_at_the_end_of_their_range_do_not_overflow() {
        let header = BatchHeader { base_offset: Offset(i64::MAX), ..sample() };
        assert_eq!(header.next_offset(), Offset(i64::MAX));
    }

    #[test]
    fn patching_changes_the_place_and_nothing_else() {
        let mut bytes = bytes(&sample());
        patch(&mut bytes, Offset(-2), LeaderEpoch(8)).unwrap();
        let expected = BatchHeader {
            base_offset: Offset(-2),
            partition_leader_epoch: LeaderEpoch(8),
            ..sample()
        };
        assert_eq!(BatchHeader::parse(&bytes), Ok(expected));
    }

    #[test]
    fn a_new_largest_timestamp_comes_with_a_new_checksum() {
        let mut batch = bytes(&sample());
        set_max_timestamp(&mut batch, TimestampType::LogAppendTime, Timestamp(5)).unwrap();
        let expected = BatchHeader {
            attributes: Attributes(0x1b),
            max_timestamp: Timestamp(5),
            crc: checksum(&batch),
            ..sample()
        };
        assert_eq!(BatchHeader::parse(&batch), Ok(expected));
    }
}
