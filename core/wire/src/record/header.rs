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
