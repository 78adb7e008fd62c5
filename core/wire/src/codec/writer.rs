//! Writing primitives into one frame.

use std::ops::Range;

use bytes::Bytes;

use super::EncodeError;
use super::varint::{self, zigzag};
use crate::id::Uuid;
use crate::records::Records;

/// Payloads of fewer bytes than this are copied into the frame rather than made a part of it.
const COPY_BELOW: usize = 512;

/// One piece of an outgoing frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes that the driver takes from a file.
    Hole(Hole),
}

/// A range of a file that belongs in a frame.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hole {
    /// The file, by a number that the driver understands.
    pub file: u64,
    /// Byte position in the file where the range starts.
    pub position: u64,
    /// Length of the range in bytes.
    pub len: u32,
}

impl Part {
    /// Length in bytes.
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Hole(hole) => hole.len as usize,
        }
    }

    /// Whether the part has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects the parts of one frame.
///
/// Small values are copied one behind the other; large payloads and holes become parts of their
/// own, so that they are not copied.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    copied: Vec<u8>,
    /// The parts between, each behind so many of the copied bytes.
    parts: Vec<(usize, Part)>,
    parts_len: usize,
}

/// Bytes of the length that a frame begins with.
const LEN_PREFIX: usize = 4;

/// Room that a frame begins with. Nearly all answers to single records fit.
const FRAME_CAPACITY: usize = 128;

impl Writer {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame that begins with its length, for [`Self::finish_frame`] to write.
    pub fn frame() -> Self {
        let mut copied = Vec::with_capacity(FRAME_CAPACITY);
        copied.extend([0; LEN_PREFIX]);
        Self { copied, ..Self::default() }
    }

    /// Bytes written so far, those in holes included.
    pub fn len(&self) -> usize {
        self.parts_len + self.copied.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts of what was written, in order.
    pub fn finish(self) -> Vec<Part> {
        let copied = Bytes::from(self.copied);
        let mut all = Vec::with_capacity(2 * self.parts.len() + 1);
        let mut from = 0;
        for (behind, part) in self.parts {
            push_copied(&mut all, &copied, from..behind);
            all.push(part);
            from = behind;
        }
        push_copied(&mut all, &copied, from..copied.len());
        all
    }

    /// The parts of a whole frame ([`Self::frame`]), in order, or [`EncodeError::TooLong`] if its
    /// length cannot be said.
    pub fn finish_frame(mut self) -> Result<Vec<Part>, EncodeError> {
        let len = self.len().checked_sub(LEN_PREFIX).expect("begun by Writer::frame");
        let said = i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?;
        self.copied[..LEN_PREFIX].copy_from_slice(&said.to_be_bytes());
        Ok(self.finish())
    }

    /// Everything as one buffer, or [`EncodeError::Hole`] if some of it is not in memory.
    pub fn into_bytes(self) -> Result<Bytes, EncodeError> {
        if self.parts.is_empty() {
            return Ok(self.copied.into());
        }
        let mut whole = Vec::with_capacity(self.len());
        for part in self.finish() {
            match part {
                Part::Bytes(bytes) => whole.extend_from_slice(&bytes),
                Part::Hole(_) => return Err(EncodeError::Hole),
            }
        }
        Ok(whole.into())
    }

    fn push(&mut self, part: Part) {
        self.parts_len += part.len();
        self.parts.push((self.copied.len(), part));
    }

    /// Writes `bytes` as they are, without a length.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    /// Writes `bytes` as they are, without a length and without copying many of them.
    pub fn payload(&mut self, bytes: &Bytes) {
        if bytes.len() < COPY_BELOW {
            self.raw(bytes);
        } else {
            self.push(Part::Bytes(bytes.clone()));
        }
    }

    /// Leaves room for a range of a file.
    pub fn hole(&mut self, hole: Hole) {
        self.push(Part::Hole(hole));
    }

    /// Writes everything that `other` holds.
    pub fn append(&mut self, other: Self) {
        for part in other.finish() {
            match part {
                Part::Bytes(bytes) => self.payload(&bytes),
                Part::Hole(hole) => self.hole(hole),
            }
        }
    }

    /// Writes one byte: 1 for true, 0 for false.
    pub fn bool(&mut self, value: bool) {
        self.copied.push(value.into());
    }

    /// Writes a one-byte number.
    pub fn i8(&mut self, value: i8) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes a two-byte number.
    pub fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes a four-byte number.
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes an eight-byte number.
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes a two-byte unsigned number.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes a four-byte unsigned number.
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes an eight-byte IEEE 754 number.
    pub fn f64(&mut self, value: f64) {
        self.raw(&value.to_be_bytes());
    }

    /// Writes a 16-byte id.
    pub fn uuid(&mut self, value: Uuid) {
        self.raw(&value.0);
    }

    /// Writes an unsigned varint.
    pub fn uvarint(&mut self, value: u32) {
        varint::write(value.into(), |byte| self.copied.push(byte));
    }

    /// Writes a zigzag varint.
    pub fn varint(&mut self, value: i32) {
        self.varlong(value.into());
    }

    /// Writes a zigzag varint.
    pub fn varlong(&mut self, value: i64) {
        varint::write(zigzag(value), |byte| self.copied.push(byte));
    }

    fn compact_len(&mut self, len: Option<usize>) -> Result<(), EncodeError> {
        let Some(len) = len else {
            self.uvarint(0);
            return Ok(());
        };
        let size = i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?;
        self.uvarint(size as u32 + 1);
        Ok(())
    }

    fn string_len(&mut self, flexible: bool, len: Option<usize>) -> Result<(), EncodeError> {
        if flexible {
            return self.compact_len(len);
        }
        let size =
            len.map_or(Ok(-1), |len| i16::try_from(len).map_err(|_| EncodeError::TooLong(len)));
        self.i16(size?);
        Ok(())
    }

    fn other_len(&mut self, flexible: bool, len: Option<usize>) -> Result<(), EncodeError> {
        if flexible {
            return self.compact_len(len);
        }
        let size =
            len.map_or(Ok(-1), |len| i32::try_from(len).map_err(|_| EncodeError::TooLong(len)));
        self.i32(size?);
        Ok(())
    }

    /// Writes a string or null.
    pub fn nullable_string(
        &mut self,
        flexible: bool,
        value: Option<&str>,
    ) -> Result<(), EncodeError> {
        self.string_len(flexible, value.map(str::len))?;
        self.raw(value.unwrap_or_default().as_bytes());
        Ok(())
    }

    /// Writes a string.
    pub fn string(&mut self, flexible: bool, value: &str) -> Result<(), EncodeError> {
        self.nullable_string(flexible, Some(value))
    }

    /// Writes bytes or null.
    pub fn nullable_bytes(
        &mut self,
        flexible: bool,
        value: Option<&Bytes>,
    ) -> Result<(), EncodeError> {
        self.other_len(flexible, value.map(Bytes::len))?;
        if let Some(bytes) = value {
            self.payload(bytes);
        }
        Ok(())
    }

    /// Writes bytes.
    pub fn bytes(&mut self, flexible: bool, value: &Bytes) -> Result<(), EncodeError> {
        self.nullable_bytes(flexible, Some(value))
    }

    /// Writes record batches or null.
    pub fn nullable_records(
        &mut self,
        flexible: bool,
        value: Option<&Records>,
    ) -> Result<(), EncodeError> {
        match value {
            None => self.other_len(flexible, None),
            Some(records) => self.records(flexible, records),
        }
    }

    /// Writes record batches.
    pub fn records(&mut self, flexible: bool, value: &Records) -> Result<(), EncodeError> {
        self.other_len(flexible, Some(value.len()))?;
        match value {
            Records::Bytes(bytes) => self.payload(bytes),
            Records::Holes(holes) => holes.iter().for_each(|hole| self.hole(*hole)),
        }
        Ok(())
    }

    /// Writes an array or null, calling `element` for each element.
    pub fn nullable_array<T>(
        &mut self,
        flexible: bool,
        value: Option<&[T]>,
        element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        match value {
            None => self.other_len(flexible, None),
            Some(elements) => self.array(flexible, elements, element),
        }
    }

    /// Writes an array, calling `element` for each element.
    pub fn array<T>(
        &mut self,
        flexible: bool,
        value: &[T],
        mut element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.other_len(flexible, Some(value.len()))?;
        value.iter().try_for_each(|item| element(self, item))
    }

    /// Writes the byte that says whether a struct follows, then calls `body` if one does.
    pub fn nullable_struct<T>(
        &mut self,
        value: Option<&T>,
        body: impl FnOnce(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.i8(if value.is_some() { 1 } else { -1 });
        value.map_or(Ok(()), |present| body(self, present))
    }
}

fn push_copied(parts: &mut Vec<Part>, copied: &Bytes, range: Range<usize>) {
    if !range.is_empty() {
        parts.push(Part::Bytes(copied.slice(range)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLE: Hole = Hole { file: 1, position: 2, len: 30 };

    #[test]
    fn large_payloads_are_parts_of_their_own_and_not_copied() {
        let large = Bytes::from(vec![7; COPY_BELOW]);
        let mut w = Writer::new();
        w.i8(1);
        w.payload(&large);
        w.i8(2);
        assert_eq!(w.len(), COPY_BELOW + 2);
        let parts = w.finish();
        let [Part::Bytes(before), Part::Bytes(payload), Part::Bytes(after)] = &parts[..] else {
            panic!("{parts:?}");
        };
        assert_eq!((&before[..], &after[..]), (&[1][..], &[2][..]));
        assert_eq!(payload.as_ptr(), large.as_ptr());
    }

    #[test]
    fn small_payloads_are_copied() {
        let mut w = Writer::new();
        w.i8(1);
        w.payload(&Bytes::from(vec![7; COPY_BELOW - 1]));
        assert_eq!(w.finish().len(), 1);
    }

    #[test]
    fn parts_are_joined_unless_one_is_not_in_memory() {
        let mut w = Writer::new();
        w.payload(&Bytes::from(vec![7; 600]));
        w.i8(1);
        let joined = w.clone().into_bytes().unwrap();
        assert_eq!((joined.len(), joined[599], joined[600]), (601, 7, 1));
        w.hole(HOLE);
        assert_eq!(w.len(), 631);
        assert_eq!(w.into_bytes(), Err(EncodeError::Hole));
        assert_eq!(Writer::new().into_bytes(), Ok(Bytes::new()));
    }

    #[test]
    fn a_frame_begins_with_its_length() {
        let mut w = Writer::frame();
        w.i8(1);
        w.hole(HOLE);
        w.i16(2);
        let parts = w.finish_frame().unwrap();
        let bytes = |bytes: &'static [u8]| Part::Bytes(Bytes::from_static(bytes));
        assert_eq!(parts, [bytes(&[0, 0, 0, 33, 1]), Part::Hole(HOLE), bytes(&[0, 2])]);
        let mut w = Writer::frame();
        w.hole(Hole { len: u32::MAX, ..HOLE });
        assert_eq!(w.finish_frame(), Err(EncodeError::TooLong(u32::MAX as usize)));
    }

    #[test]
    fn strings_too_long_for_their_length_are_refused() {
        let text = "x".repeat(0x8000);
        let mut w = Writer::new();
        assert_eq!(w.string(false, &text), Err(EncodeError::TooLong(0x8000)));
        assert_eq!(w.string(true, &text), Ok(()));
    }

    #[test]
    fn records_that_sum_up_beyond_their_length_are_refused() {
        let hole = Hole { len: u32::MAX, ..HOLE };
        let refused = Writer::new().records(true, &Records::Holes(vec![hole]));
        assert_eq!(refused, Err(EncodeError::TooLong(u32::MAX as usize)));
    }
}
