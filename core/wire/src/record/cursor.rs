//! Reading record fields from borrowed bytes.

use super::RecordError;
use crate::codec::varint;

/// The bytes of records that are left to read.
#[derive(Copy, Clone, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn i8(&mut self) -> Result<i8, RecordError> {
        self.take(1).map(|bytes| bytes[0].cast_signed())
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], RecordError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(RecordError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<i32, RecordError> {
        let value = self.varint_bits(varint::MAX_LEN_32)?;
        let value = u32::try_from(value).map_err(|_| RecordError::VarintTooLong)?;
        Ok(varint::unzigzag(value.into()) as i32)
    }

    #[inline]
    pub(super) fn varlong(&mut self) -> Result<i64, RecordError> {
        self.varint_bits(varint::MAX_LEN_64).map(varint::unzigzag)
    }

    #[inline]
    fn varint_bits(&mut self, max_len: u32) -> Result<u64, RecordError> {
        let (value, len) = varint::read(self.rest, max_len).map_err(|error| match error {
            varint::Error::Short => RecordError::Short,
            varint::Error::TooLong => RecordError::VarintTooLong,
        })?;
        self.rest = &self.rest[len..];
        Ok(value)
    }

    /// A length and as many bytes; `None` for the length -1.
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, RecordError> {
        match self.varint()? {
            -1 => Ok(None),
            len => self.take(length(len)?).map(Some),
        }
    }

    /// A length and as many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], RecordError> {
        let len = self.varint()?;
        self.take(length(len)?)
    }

    /// A number of things, each of which takes at least a byte.
    #[inline]
    pub(super) fn count(&mut self) -> Result<usize, RecordError> {
        let count = length(self.varint()?)?;
        if count > self.remaining() { Err(RecordError::Short) } else { Ok(count) }
    }
}

#[inline]
fn length(len: i32) -> Result<usize, RecordError> {
    usize::try_from(len).map_err(|_| RecordError::NegativeLength(len))
}
