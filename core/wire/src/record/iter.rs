//! Reading the records of a batch.

use thiserror::Error;

use super::cursor::Cursor;
use super::{BatchHeader, TimestampType};
use crate::id::{Offset, Timestamp};

/// Bytes that are not the announced records.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end inside a record, or before the announced number of records.
    #[error("bytes end inside a record")]
    Short,
    /// A varint that does not fit its type.
    #[error("varint too long")]
    VarintTooLong,
    /// A length that is negative, and not the -1 that stands for null.
    #[error("negative length {0}")]
    NegativeLength(
        /// The length.
        i32,
    ),
    /// A record is shorter than its length says.
    #[error("{0} bytes left at the end of a record")]
    RecordLength(
        /// Bytes too many.
        usize,
    ),
    /// Bytes follow the announced number of records.
    #[error("{0} bytes left after the last record")]
    Trailing(
        /// How many.
        usize,
    ),
}

/// One record, borrowed from the decompressed bytes of its batch.
#[derive(Copy, Clone, Debug)]
pub struct Record<'a> {
    /// Attribute bits; none is in use.
    pub attributes: i8,
    /// Timestamp minus the base timestamp of the batch, in milliseconds.
    pub timestamp_delta: i64,
    /// Offset minus the base offset of the batch.
    pub offset_delta: i32,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: HeaderIter<'a>,
}

impl Record<'_> {
    /// Offset of the record in a batch with this header.
    pub const fn offset(&self, batch: &BatchHeader) -> Offset {
        batch.base_offset.plus(self.offset_delta as i64)
    }

    /// Timestamp of the record in a batch with this header.
    pub const fn timestamp(&self, batch: &BatchHeader) -> Timestamp {
        match batch.timestamp_type() {
            TimestampType::LogAppendTime => batch.max_timestamp,
            TimestampType::CreateTime => self.create_time(batch),
        }
    }

    /// What its producer says when it was made, whether or not that counts.
    pub const fn create_time(&self, batch: &BatchHeader) -> Timestamp {
        Timestamp(batch.base_timestamp.0.wrapping_add(self.timestamp_delta))
    }
}

/// The records of a batch.
///
/// Every record is checked to its last byte before it is given out. The iterator ends after the
/// first error; bytes after the last record are one. A loop that stops at an error has therefore
/// checked that the bytes are exactly the announced records.
#[derive(Clone, Debug)]
pub struct RecordIter<'a> {
    rest: Cursor<'a>,
    left: i32,
}

impl<'a> RecordIter<'a> {
    /// Reads `count` records from `bytes`, which are not compressed.
    pub const fn new(bytes: &'a [u8], count: i32) -> Self {
        Self { rest: Cursor::new(bytes), left: count }
    }

    fn record(&mut self) -> Result<Record<'a>, RecordError> {
        let body = self.rest.bytes()?;
        let mut body = Cursor::new(body);
        let record = Record {
            attributes: body.i8()?,
            timestamp_delta: body.varlong()?,
            offset_delta: body.varint()?,
            key: body.nullable_bytes()?,
            value: body.nullable_bytes()?,
            headers: HeaderIter { left: body.count()?, rest: body },
        };
        record.headers.check()?;
        Ok(record)
    }

    fn end(&mut self) -> Option<Result<Record<'a>, RecordError>> {
        let left = self.rest.remaining();
        self.stop();
        (left > 0).then_some(Err(RecordError::Trailing(left)))
    }

    const fn stop(&mut self) {
        self.left = 0;
        self.rest = Cursor::new(&[]);
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 {
            return self.end();
        }
        self.left -= 1;
        let record = self.record();
        if record.is_err() {
            self.stop();
        }
        Some(record)
    }
}

/// Checks that `bytes`, which are not compressed, are exactly `count` records.
pub fn check_records(bytes: &[u8], count: i32) -> Result<(), RecordError> {
    RecordIter::new(bytes, count).try_for_each(|record| record.map(drop))
}

/// A header of a record.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Header<'a> {
    /// The key: UTF-8, if the producer keeps to the protocol.
    pub key: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, which have been checked.
#[derive(Clone, Copy, Debug)]
pub struct HeaderIter<'a> {
    rest: Cursor<'a>,
    left: usize,
}

impl<'a> HeaderIter<'a> {
    fn header(&mut self) -> Result<Header<'a>, RecordError> {
        Ok(Header { key: self.rest.bytes()?, value: self.rest.nullable_bytes()? })
    }

    /// Checks that the announced headers are there and end where the record ends.
    fn check(mut self) -> Result<(), RecordError> {
        for _ in 0..self.left {
            self.header()?;
        }
        match self.rest.remaining() {
            0 => Ok(()),
            left => Err(RecordError::RecordLength(left)),
        }
    }
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.header().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for HeaderIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eleven bytes: attributes 0, timestamp delta 1, offset delta 0, key "k", value "v", and one
    /// header "h" without a value.
    const RECORD: [u8; 12] = [22, 0, 2, 0, 2, b'k', 2, b'v', 2, 2, b'h', 1];

    fn check(bytes: &[u8], count: i32, expected: Result<(), RecordError>) {
        assert_eq!(check_records(bytes, count), expected, "{bytes:?}");
    }

    /// [`RECORD`] with one byte replaced.
    fn with(at: usize, byte: u8) -> [u8; 12] {
        let mut record = RECORD;
        record[at] = byte;
        record
    }

    #[test]
    fn a_record_has_all_its_parts() {
        let record = RecordIter::new(&RECORD, 1).next().unwrap().unwrap();
        assert_eq!((record.attributes, record.timestamp_delta, record.offset_delta), (0, 1, 0));
        assert_eq!((record.key, record.value), (Some(&b"k"[..]), Some(&b"v"[..])));
        assert_eq!(record.headers.len(), 1);
        let headers: Vec<_> = record.headers.collect();
        assert_eq!(headers, [Header { key: b"h", value: None }]);
    }

    #[test]
    fn the_count_must_be_exact() {
        let two = [RECORD, RECORD].concat();
        check(&two, 2, Ok(()));
        check(&two, 1, Err(RecordError::Trailing(12)));
        check(&two, 3, Err(RecordError::Short));
        check(&[], 0, Ok(()));
        check(&RECORD, 0, Err(RecordError::Trailing(12)));
        check(&RECORD, -1, Err(RecordError::Trailing(12)));
    }

    #[test]
    fn lengths_must_fit_what_is_around_them() {
        check(&with(0, 24), 1, Err(RecordError::Short));
        check(&with(0, 1), 1, Err(RecordError::NegativeLength(-1)));
        check(&with(4, 3), 1, Err(RecordError::NegativeLength(-2)));
        check(&with(4, 40), 1, Err(RecordError::Short));
        check(&with(8, 0), 1, Err(RecordError::RecordLength(3)));
        check(&with(8, 8), 1, Err(RecordError::Short));
        check(&with(8, 1), 1, Err(RecordError::NegativeLength(-1)));
        check(&with(9, 1), 1, Err(RecordError::NegativeLength(-1)));
    }

    #[test]
    fn varints_must_fit_their_types() {
        check(&[0xff, 0xff, 0xff, 0xff, 0x1f], 1, Err(RecordError::VarintTooLong));
        check(&[0xff; 4], 1, Err(RecordError::Short));
        let endless = [&[38, 0], &[0x80; 18][..]].concat();
        check(&endless, 1, Err(RecordError::VarintTooLong));
    }

    #[test]
    fn every_truncation_is_refused() {
        for len in 0..RECORD.len() {
            check(&RECORD[..len], 1, Err(RecordError::Short));
        }
    }

    #[test]
    fn nothing_follows_an_error() {
        let mut records = RecordIter::new(&[1, 2, 3], 3);
        assert!(records.next().unwrap().is_err());
        assert!(records.next().is_none());
    }
}
