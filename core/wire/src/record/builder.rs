//! Making batches.

use bytes::Bytes;
use thiserror::Error;

use super::header::seal;
use super::{
    Attributes, BATCH_HEADER_LEN, BatchHeader, CodecError, Codecs, Compression, Header,
    LOG_OVERHEAD, MAGIC, TimestampType,
};
use crate::codec::varint;
use crate::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};

/// Why a batch could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// There is no record in it.
    #[error("batch without records")]
    Empty,
    /// The batch or a record is too large for its length field.
    #[error("batch too large")]
    TooLarge,
    /// An offset that is not after the previous one, or too far from the base offset.
    #[error("offset {0} does not fit the batch")]
    Offset(
        /// The offset.
        Offset,
    ),
    /// The records could not be compressed.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// Collects records and makes a batch of them.
///
/// ```
/// use dohle_wire::id::{Offset, Timestamp};
/// use dohle_wire::record::{BatchBuilder, NoCodecs, RawBatch};
///
/// let mut builder = BatchBuilder::new(Offset(7));
/// builder.push(Timestamp(1_000), Some(b"key"), Some(b"value"), &[])?;
/// let batch = RawBatch::parse(builder.build(&NoCodecs)?)?;
/// assert_eq!(batch.header.next_offset(), Offset(8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    header: BatchHeader,
    level: Option<i32>,
    /// Room for the header, then the records; empty before the first of them.
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// A batch whose first record gets `base_offset`.
    pub const fn new(base_offset: Offset) -> Self {
        let header = BatchHeader {
            base_offset,
            batch_length: 0,
            partition_leader_epoch: LeaderEpoch(-1),
            magic: MAGIC,
            crc: 0,
            attributes: Attributes(0),
            last_offset_delta: -1,
            base_timestamp: Timestamp(-1),
            max_timestamp: Timestamp(-1),
            producer_id: ProducerId(-1),
            producer_epoch: ProducerEpoch(-1),
            base_sequence: Sequence(-1),
            records_count: 0,
        };
        Self { header, level: None, bytes: Vec::new() }
    }

    /// Sets the epoch of the leader, otherwise -1.
    #[must_use]
    pub const fn leader_epoch(mut self, epoch: LeaderEpoch) -> Self {
        self.header.partition_leader_epoch = epoch;
        self
    }

    /// Sets the producer and the sequence of the first record, otherwise all -1.
    #[must_use]
    pub const fn producer(
        mut self,
        id: ProducerId,
        epoch: ProducerEpoch,
        base_sequence: Sequence,
    ) -> Self {
        self.header.producer_id = id;
        self.header.producer_epoch = epoch;
        self.header.base_sequence = base_sequence;
        self
    }

    /// Makes the batch a part of a transaction.
    #[must_use]
    pub const fn transactional(mut self) -> Self {
        self.header.attributes = self.header.attributes.with_transactional(true);
        self
    }

    /// Makes the batch a control batch.
    #[must_use]
    pub const fn control(mut self) -> Self {
        self.header.attributes = self.header.attributes.with_control(true);
        self
    }

    /// Compresses the records, at `level` or the codec's default level.
    #[must_use]
    pub const fn compression(mut self, compression: Compression, level: Option<i32>) -> Self {
        self.header.attributes = self.header.attributes.with_compression(compression);
        self.level = level;
        self
    }

    /// Stamps all records with the time of the append.
    #[must_use]
    pub const fn append_time(mut self, now: Timestamp) -> Self {
        self.header.attributes =
            self.header.attributes.with_timestamp_type(TimestampType::LogAppendTime);
        self.header.max_timestamp = now;
        self
    }

    /// Number of records so far.
    pub const fn count(&self) -> i32 {
        self.header.records_count
    }

    /// Whether there is no record yet.
    pub const fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Bytes of the batch so far, header included, before compression.
    pub const fn uncompressed_len(&self) -> usize {
        if self.bytes.is_empty() { BATCH_HEADER_LEN } else { self.bytes.len() }
    }

    /// Adds a record at the next offset.
    pub fn push(
        &mut self,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<(), BuildError> {
        self.push_at(self.header.next_offset(), timestamp, key, value, headers)
    }

    /// Adds a record at `offset`, which may leave a gap after the previous record.
    pub fn push_at(
        &mut self,
        offset: Offset,
        timestamp: Timestamp,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<(), BuildError> {
        let delta = offset.minus(self.header.base_offset);
        let delta = i32::try_from(delta).map_err(|_| BuildError::Offset(offset))?;
        if delta <= self.header.last_offset_delta {
            return Err(BuildError::Offset(offset));
        }
        if self.is_empty() {
            self.header.base_timestamp = timestamp;
        }
        let age = timestamp.0.wrapping_sub(self.header.base_timestamp.0);
        if self.bytes.is_empty() {
            self.bytes.resize(BATCH_HEADER_LEN, 0);
        }
        write_record(&mut self.bytes, age, delta, key, value, headers)?;
        self.header.last_offset_delta = delta;
        self.header.records_count += 1;
        if self.header.timestamp_type() == TimestampType::CreateTime {
            self.header.max_timestamp = self.header.max_timestamp.max(timestamp);
        }
        Ok(())
    }

    /// The batch. `codecs` is asked only if the records are to be compressed.
    pub fn build(self, codecs: &dyn Codecs) -> Result<Bytes, BuildError> {
        if self.is_empty() {
            return Err(BuildError::Empty);
        }
        let mut batch = match self.header.compression() {
            Compression::None => self.bytes,
            compression => {
                let mut batch = Vec::with_capacity(self.bytes.len());
                batch.resize(BATCH_HEADER_LEN, 0);
                let records = &self.bytes[BATCH_HEADER_LEN..];
                codecs.compress(compression, self.level, records, &mut batch)?;
                batch
            }
        };
        self.header.write(&mut &mut batch[..BATCH_HEADER_LEN]);
        let length = i32::try_from(batch.len() - LOG_OVERHEAD).map_err(|_| BuildError::TooLarge)?;
        batch[8..LOG_OVERHEAD].copy_from_slice(&length.to_be_bytes());
        seal(&mut batch);
        Ok(Bytes::from(batch))
    }
}

/// Appends one record to `out`.
fn write_record(
    out: &mut Vec<u8>,
    timestamp_delta: i64,
    offset_delta: i32,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[Header<'_>],
) -> Result<(), BuildError> {
    let header_lens = headers.iter().map(|each| data_len(Some(each.key)) + data_len(each.value));
    let len = 1
        + varint::signed_len(timestamp_delta)
        + varint::signed_len(offset_delta.into())
        + data_len(key)
        + data_len(value)
        + varint::signed_len(headers.len() as i64)
        + header_lens.sum::<usize>();
    // Every inner length is below the length of the record, so this check is enough.
    let len = i32::try_from(len).map_err(|_| BuildError::TooLarge)?;
    let mut start = Start { bytes: [0; START_MAX], len: 0 };
    start.put(len.into());
    // Attributes: none are in use.
    start.put(0);
    start.put(timestamp_delta);
    start.put(offset_delta.into());
    out.extend_from_slice(&start.bytes[..start.len]);
    put_data(out, key);
    put_data(out, value);
    put_signed(out, headers.len() as i64);
    for header in headers {
        put_data(out, Some(header.key));
        put_data(out, header.value);
    }
    Ok(())
}

/// Most bytes in front of the key of a record: its length, attributes and two deltas.
const START_MAX: usize = 4 * varint::MAX_LEN_64 as usize;

/// What comes before the key. Put together here, so that the batch grows once for all of it.
struct Start {
    bytes: [u8; START_MAX],
    len: usize,
}

impl Start {
    fn put(&mut self, value: i64) {
        varint::write(varint::zigzag(value), |byte| {
            self.bytes[self.len] = byte;
            self.len += 1;
        });
    }
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    varint::write(varint::zigzag(value), |byte| out.push(byte));
}

fn put_data(out: &mut Vec<u8>, data: Option<&[u8]>) {
    put_signed(out, data.map_or(-1, |bytes| bytes.len() as i64));
    out.extend_from_slice(data.unwrap_or_default());
}

fn data_len(data: Option<&[u8]>) -> usize {
    match data {
        None => varint::signed_len(-1),
        Some(bytes) => varint::signed_len(bytes.len() as i64) + bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NoCodecs, RawBatch, RecordIter, check_records};
    use super::*;

    fn build(builder: &BatchBuilder) -> RawBatch {
        let batch = RawBatch::parse(builder.clone().build(&NoCodecs).unwrap()).unwrap();
        assert!(batch.crc_ok());
        assert_eq!(batch.bytes.len(), builder.uncompressed_len());
        check_records(&batch.payload(), batch.header.records_count).unwrap();
        batch
    }

    fn push(builder: &mut BatchBuilder, timestamps: &[i64]) {
        for timestamp in timestamps {
            builder.push(Timestamp(*timestamp), None, Some(b"value"), &[]).unwrap();
        }
    }

    #[test]
    fn header_tells_what_the_records_are() {
        let producer = (ProducerId(5), ProducerEpoch(6), Sequence(7));
        let mut builder = BatchBuilder::new(Offset(100))
            .leader_epoch(LeaderEpoch(4))
            .producer(producer.0, producer.1, producer.2)
            .transactional();
        push(&mut builder, &[50, 70, 60]);
        let header = build(&builder).header;
        assert_eq!(header.base_offset, Offset(100));
        assert_eq!(header.last_offset_delta, 2);
        assert_eq!(header.records_count, 3);
        assert_eq!((header.base_timestamp, header.max_timestamp), (Timestamp(50), Timestamp(70)));
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), producer);
        assert_eq!(header.partition_leader_epoch, LeaderEpoch(4));
        assert!(header.is_transactional() && !header.is_control());
    }

    #[test]
    fn records_come_back_with_offsets_timestamps_and_headers() {
        let mut builder = BatchBuilder::new(Offset(10));
        let header = Header { key: b"name", value: Some(b"x") };
        builder.push(Timestamp(5), Some(b"key"), None, &[header]).unwrap();
        builder.push_at(Offset(15), Timestamp(3), None, Some(b""), &[]).unwrap();
        let batch = build(&builder);
        let payload = batch.payload();
        let records: Vec<_> = RecordIter::new(&payload, 2).collect::<Result<_, _>>().unwrap();
        let [first, second] = &records[..] else { panic!("{records:?}") };
        assert_eq!((first.key, first.value), (Some(&b"key"[..]), None));
        assert_eq!(first.headers.collect::<Vec<_>>(), [header]);
        assert_eq!(first.timestamp(&batch.header), Timestamp(5));
        assert_eq!((second.key, second.value), (None, Some(&b""[..])));
        assert_eq!(second.offset(&batch.header), Offset(15));
        assert_eq!(second.timestamp(&batch.header), Timestamp(3));
    }

    #[test]
    fn append_time_holds_for_every_record() {
        let mut builder = BatchBuilder::new(Offset(0)).append_time(Timestamp(9));
        push(&mut builder, &[50, 70]);
        let batch = build(&builder);
        assert_eq!(batch.header.max_timestamp, Timestamp(9));
        let payload = batch.payload();
        for record in RecordIter::new(&payload, 2) {
            assert_eq!(record.unwrap().timestamp(&batch.header), Timestamp(9));
        }
    }

    #[test]
    fn offsets_must_grow_within_the_range_of_a_batch() {
        let mut builder = BatchBuilder::new(Offset(10));
        let mut check =
            |offset: i64| builder.push_at(Offset(offset), Timestamp(0), None, None, &[]).is_ok();
        assert!(!check(9));
        assert!(check(12));
        assert!(!check(12));
        assert!(!check(11 + i64::from(i32::MAX)));
        assert!(check(10 + i64::from(i32::MAX)));
    }

    #[test]
    fn a_batch_needs_a_record_and_its_codec() {
        let empty = BatchBuilder::new(Offset(0));
        assert_eq!(empty.build(&NoCodecs), Err(BuildError::Empty));
        let mut compressed = BatchBuilder::new(Offset(0)).compression(Compression::Zstd, None);
        push(&mut compressed, &[0]);
        let missing = CodecError::Unsupported(Compression::Zstd);
        assert_eq!(compressed.build(&NoCodecs), Err(BuildError::Codec(missing)));
    }
}
