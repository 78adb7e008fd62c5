//! Reading primitives from one frame.

use bytes::Bytes;

use super::DecodeError;
use super::varint::{self, MAX_LEN_32, MAX_LEN_64, unzigzag};
use crate::id::Uuid;
use crate::records::Records;

/// A cursor over the bytes of one message.
///
/// Every read is total: it gives a value or a [`DecodeError`], and it checks every announced length
/// against the bytes that are left before it reserves memory. After an error the position is
/// unspecified.
///
/// The elements of all arrays of a message together take no more memory than a few times the bytes
/// of the message.
#[derive(Clone, Debug)]
pub struct Reader {
    data: Bytes,
    at: usize,
    /// Bytes that elements of arrays may still take.
    memory: usize,
}

/// Memory that elements may take for each byte of a message.
///
/// An empty name of one byte becomes 24; elements of real requests become less than five times what
/// they were.
const MEMORY_PER_BYTE: usize = 6;

/// Memory that elements of any message may take, in bytes.
const MEMORY_LEAST: usize = 1 << 20;

impl Reader {
    /// Starts at the first byte of `data`.
    pub const fn new(data: Bytes) -> Self {
        let memory = data.len().saturating_mul(MEMORY_PER_BYTE).saturating_add(MEMORY_LEAST);
        Self { data, at: 0, memory }
    }

    /// Bytes that are left.
    pub const fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    /// Fails with [`DecodeError::Trailing`] unless every byte has been read.
    pub const fn expect_end(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing(left)),
        }
    }

    fn need(&self, needed: u64) -> Result<(), DecodeError> {
        let left = self.remaining();
        if needed > left as u64 { Err(DecodeError::Short { needed, left }) } else { Ok(()) }
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let left = self.remaining();
        let bytes = self.data[self.at..].first_chunk::<N>().copied();
        self.at += N.min(left);
        bytes.ok_or(DecodeError::Short { needed: N as u64, left })
    }

    /// Takes the next `len` bytes without copying them.
    pub fn take(&mut self, len: usize) -> Result<Bytes, DecodeError> {
        self.need(len as u64)?;
        let bytes = self.data.slice(self.at..self.at + len);
        self.at += len;
        Ok(bytes)
    }

    /// Reads one byte; zero is false, anything else true.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.i8()? != 0)
    }

    /// Reads a one-byte number.
    pub fn i8(&mut self) -> Result<i8, DecodeError> {
        self.fixed().map(i8::from_be_bytes)
    }

    /// Reads a two-byte number.
    pub fn i16(&mut self) -> Result<i16, DecodeError> {
        self.fixed().map(i16::from_be_bytes)
    }

    /// Reads a four-byte number.
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.fixed().map(i32::from_be_bytes)
    }

    /// Reads an eight-byte number.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.fixed().map(i64::from_be_bytes)
    }

    /// Reads a two-byte unsigned number.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.fixed().map(u16::from_be_bytes)
    }

    /// Reads a four-byte unsigned number.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.fixed().map(u32::from_be_bytes)
    }

    /// Reads an eight-byte IEEE 754 number.
    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.fixed().map(f64::from_be_bytes)
    }

    /// Reads a 16-byte id.
    pub fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        self.fixed().map(Uuid)
    }

    /// Reads an unsigned varint of up to 32 bits.
    pub fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let value = self.varint_bits(MAX_LEN_32)?;
        u32::try_from(value).map_err(|_| DecodeError::VarintTooLong)
    }

    /// Reads a zigzag varint of up to 32 bits.
    pub fn varint(&mut self) -> Result<i32, DecodeError> {
        self.uvarint().map(|value| unzigzag(u64::from(value)) as i32)
    }

    /// Reads a zigzag varint of up to 64 bits.
    pub fn varlong(&mut self) -> Result<i64, DecodeError> {
        self.varint_bits(MAX_LEN_64).map(unzigzag)
    }

    fn varint_bits(&mut self, max_len: u32) -> Result<u64, DecodeError> {
        let left = self.remaining();
        let (value, len) =
            varint::read(&self.data[self.at..], max_len).map_err(|error| match error {
                varint::Error::Short => DecodeError::Short { needed: left as u64 + 1, left },
                varint::Error::TooLong => DecodeError::VarintTooLong,
            })?;
        self.at += len;
        Ok(value)
    }

    fn compact_len(&mut self) -> Result<Option<usize>, DecodeError> {
        Ok((self.uvarint()? as usize).checked_sub(1))
    }

    fn len_or_null(len: i32) -> Result<Option<usize>, DecodeError> {
        match len {
            -1 => Ok(None),
            _ => usize::try_from(len).map(Some).map_err(|_| DecodeError::NegativeLength(len)),
        }
    }

    fn string_len(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible { self.compact_len() } else { Self::len_or_null(self.i16()?.into()) }
    }

    fn other_len(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible { self.compact_len() } else { Self::len_or_null(self.i32()?) }
    }

    /// Reads a string or null.
    pub fn nullable_string(&mut self, flexible: bool) -> Result<Option<String>, DecodeError> {
        let Some(len) = self.string_len(flexible)? else { return Ok(None) };
        let bytes = self.take(len)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| DecodeError::NotUtf8)?;
        Ok(Some(text.to_owned()))
    }

    /// Reads a string.
    pub fn string(&mut self, flexible: bool) -> Result<String, DecodeError> {
        self.nullable_string(flexible)?.ok_or(DecodeError::Null)
    }

    /// Reads bytes or null, without copying them.
    pub fn nullable_bytes(&mut self, flexible: bool) -> Result<Option<Bytes>, DecodeError> {
        self.other_len(flexible)?.map(|len| self.take(len)).transpose()
    }

    /// Reads bytes, without copying them.
    pub fn bytes(&mut self, flexible: bool) -> Result<Bytes, DecodeError> {
        self.nullable_bytes(flexible)?.ok_or(DecodeError::Null)
    }

    /// Reads record batches or null, without copying them.
    pub fn nullable_records(&mut self, flexible: bool) -> Result<Option<Records>, DecodeError> {
        Ok(self.nullable_bytes(flexible)?.map(Records::Bytes))
    }

    /// Reads record batches, without copying them.
    pub fn records(&mut self, flexible: bool) -> Result<Records, DecodeError> {
        self.bytes(flexible).map(Records::Bytes)
    }

    /// Reads an array or null, calling `element` once for each announced element.
    ///
    /// `min_len` is the least number of bytes an element can have. An array that announces more
    /// elements than the bytes left can hold is refused at once, and so is one whose elements take
    /// more memory than is left for the message.
    pub fn nullable_array<T>(
        &mut self,
        flexible: bool,
        min_len: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(count) = self.other_len(flexible)? else { return Ok(None) };
        self.need((count as u64).saturating_mul(min_len.max(1) as u64))?;
        self.charge((count as u64).saturating_mul(size_of::<T>() as u64))?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(Some(elements))
    }

    fn charge(&mut self, needed: u64) -> Result<(), DecodeError> {
        let left = self.memory;
        let after = usize::try_from(needed).ok().and_then(|needed| left.checked_sub(needed));
        self.memory = after.ok_or(DecodeError::Memory { needed, left })?;
        Ok(())
    }

    /// Reads an array; see [`Self::nullable_array`].
    pub fn array<T>(
        &mut self,
        flexible: bool,
        min_len: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(flexible, min_len, element)?.ok_or(DecodeError::Null)
    }

    /// Reads a struct or null: one byte, 1 or -1, says which.
    pub fn nullable_struct<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        match self.i8()? {
            -1 => Ok(None),
            1 => body(self).map(Some),
            mark => Err(DecodeError::PresenceMark(mark)),
        }
    }

    /// Reads a section of tagged fields, calling `field` with each tag and a reader of just its
    /// value.
    ///
    /// `field` gives `false` for a tag it does not know; such a value is skipped. A known value
    /// must be read to its end.
    pub fn tagged_fields(
        &mut self,
        mut field: impl FnMut(u32, &mut Self) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let len = self.uvarint()? as usize;
            let mut value = Self { data: self.take(len)?, at: 0, memory: self.memory };
            if field(tag, &mut value)? {
                value.expect_end()?;
            }
            self.memory = value.memory;
        }
        Ok(())
    }

    /// Skips a section of tagged fields of which none is known.
    pub fn skip_tagged_fields(&mut self) -> Result<(), DecodeError> {
        self.tagged_fields(|_, _| Ok(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(bytes))
    }

    #[test]
    fn numbers_are_big_endian() {
        let mut r = reader(b"\x01\xff\0\x02\0\0\0\x03\0\0\0\0\0\0\0\x04\xff\xff\x80\0\0\0");
        assert_eq!((r.bool(), r.i8(), r.i16()), (Ok(true), Ok(-1), Ok(2)));
        assert_eq!((r.i32(), r.i64()), (Ok(3), Ok(4)));
        assert_eq!((r.u16(), r.u32()), (Ok(0xffff), Ok(0x8000_0000)));
        assert_eq!(r.expect_end(), Ok(()));
        assert_eq!(reader(b"\x3f\xf8\0\0\0\0\0\0").f64(), Ok(1.5));
    }

    #[test]
    fn a_value_cut_off_is_refused() {
        assert_eq!(reader(b"\0\0\0").i32(), Err(DecodeError::Short { needed: 4, left: 3 }));
        assert_eq!(reader(b"\x80").uvarint(), Err(DecodeError::Short { needed: 2, left: 1 }));
        assert_eq!(reader(b"").take(1), Err(DecodeError::Short { needed: 1, left: 0 }));
    }

    #[test]
    fn varints_of_all_widths() {
        assert_eq!(reader(b"\xac\x02").uvarint(), Ok(300));
        assert_eq!(reader(b"\xff\xff\xff\xff\x0f").uvarint(), Ok(u32::MAX));
        assert_eq!(reader(b"\xff\xff\xff\xff\x0f").varint(), Ok(i32::MIN));
        assert_eq!(reader(b"\x01").varlong(), Ok(-1));
        let least = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(reader(least).varlong(), Ok(i64::MIN));
        let wide = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
        assert_eq!(reader(wide).varlong(), Err(DecodeError::VarintTooLong));
    }

    #[test]
    fn bytes_are_not_copied() {
        let data = Bytes::from_static(b"\0\0\0\x03abc");
        let bytes = Reader::new(data.clone()).bytes(false).unwrap();
        assert_eq!(bytes.as_ptr(), data[4..].as_ptr());
    }

    /// An array of `count` one-byte numbers.
    fn ones(count: usize) -> Bytes {
        let announced = i32::try_from(count).unwrap().to_be_bytes();
        [&announced[..], &vec![1; count]].concat().into()
    }

    fn wide<const N: usize>(r: &mut Reader) -> Result<[u8; N], DecodeError> {
        r.i8().map(|value| [value.to_be_bytes()[0]; N])
    }

    #[test]
    fn elements_take_no_more_memory_than_the_message_grants() {
        let count = MEMORY_LEAST;
        let granted = MEMORY_LEAST + (4 + count) * MEMORY_PER_BYTE;
        let mut fits = Reader::new(ones(count));
        let array = fits.array(false, 1, wide::<{ MEMORY_PER_BYTE + 1 }>).unwrap();
        assert_eq!((array.len(), array.capacity()), (count, count), "nothing grows");
        let refused = Reader::new(ones(count)).array(false, 1, wide::<{ MEMORY_PER_BYTE + 2 }>);
        let needed = (count * (MEMORY_PER_BYTE + 2)) as u64;
        assert_eq!(refused, Err(DecodeError::Memory { needed, left: granted }));
    }

    #[test]
    fn arrays_of_a_message_share_its_memory() {
        let count = MEMORY_LEAST / 8;
        let half = ones(count);
        let tagged = |len: usize| [&[0], &varint_of(len)[..]].concat();
        let whole = [&half[..], &[1], &tagged(half.len()), &half].concat();
        let mut r = Reader::new(whole.into());
        // 20 bytes are granted for each pair of elements.
        let first = r.array(false, 1, wide::<12>).map(|array| array.len());
        assert_eq!(first, Ok(count));
        let inside = r.tagged_fields(|_, value| value.array(false, 1, wide::<12>).map(|_| true));
        assert!(matches!(inside, Err(DecodeError::Memory { .. })), "{inside:?}");
    }

    fn varint_of(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 128 {
            bytes.push(u8::try_from(value % 128).unwrap() | 128);
            value /= 128;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }

    #[test]
    fn structs_are_marked_as_present_or_null() {
        assert_eq!(reader(b"\xff").nullable_struct(Reader::i8), Ok(None));
        assert_eq!(reader(b"\x01\x07").nullable_struct(Reader::i8), Ok(Some(7)));
        let other = reader(b"\x02\x07").nullable_struct(Reader::i8);
        assert_eq!(other, Err(DecodeError::PresenceMark(2)));
    }
}
