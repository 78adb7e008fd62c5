//! Variable-length integers: seven bits a byte, least significant first, high bit = more follow.
//! Signed ones are zigzag-mapped first: 0, -1, 1, -2, … become 0, 1, 2, 3, …

/// Bytes of the longest 32-bit varint.
pub(crate) const MAX_LEN_32: u32 = 5;

/// Bytes of the longest 64-bit varint.
pub(crate) const MAX_LEN_64: u32 = 10;

/// Maps a signed number to an unsigned one, small for small magnitudes.
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Reverses [`zigzag`].
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Bytes that the unsigned varint of `value` takes: 1 to 10.
pub(crate) const fn unsigned_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Bytes that the zigzag varint of `value` takes: 1 to 10.
pub(crate) const fn signed_len(value: i64) -> usize {
    unsigned_len(zigzag(value))
}

/// Why a varint could not be read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Error {
    /// The bytes end inside it.
    Short,
    /// It has more bits than its type.
    TooLong,
}

/// The unsigned varint of at most `max_len` bytes at the start of `bytes`, and its length.
#[inline]
pub(crate) fn read(bytes: &[u8], max_len: u32) -> Result<(u64, usize), Error> {
    // Nearly all that a record has, and each record of each batch that comes in is read.
    match *bytes {
        [byte, ..] if byte < 0x80 => Ok((byte.into(), 1)),
        [low, high, ..] if high < 0x80 => Ok((u64::from(low & 0x7f) | u64::from(high) << 7, 2)),
        _ => read_long(bytes, max_len),
    }
}

fn read_long(bytes: &[u8], max_len: u32) -> Result<(u64, usize), Error> {
    let mut value = 0u64;
    for index in 0..max_len {
        let byte = *bytes.get(index as usize).ok_or(Error::Short)?;
        let bits = u64::from(byte & 0x7f);
        if bits.leading_zeros() < 7 * index {
            return Err(Error::TooLong);
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Ok((value, index as usize + 1));
        }
    }
    Err(Error::TooLong)
}

/// Calls `put` with each byte of the unsigned varint of `value`.
pub(crate) fn write(mut value: u64, mut put: impl FnMut(u8)) {
    while value >= 0x80 {
        put(value as u8 | 0x80);
        value >>= 7;
    }
    put(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: i64, mapped: u64) {
        assert_eq!(zigzag(value), mapped);
        assert_eq!(unzigzag(mapped), value);
    }

    fn check_bytes(value: u64, bytes: &[u8]) {
        let mut written = Vec::new();
        write(value, |byte| written.push(byte));
        assert_eq!(written, bytes);
        assert_eq!(unsigned_len(value), bytes.len());
        let max_len = u32::try_from(bytes.len()).unwrap();
        assert_eq!(read(bytes, max_len), Ok((value, bytes.len())));
        assert_eq!(read(&[bytes, &[0xff]].concat(), MAX_LEN_64), Ok((value, bytes.len())));
        assert_eq!(read(&bytes[..bytes.len() - 1], max_len), Err(Error::Short));
    }

    #[test]
    fn zigzag_keeps_small_magnitudes_small() {
        check(0, 0);
        check(-1, 1);
        check(1, 2);
        check(i64::MAX, u64::MAX - 1);
        check(i64::MIN, u64::MAX);
    }

    #[test]
    fn bytes_and_lengths() {
        check_bytes(0, &[0]);
        check_bytes(127, &[0x7f]);
        check_bytes(128, &[0x80, 1]);
        check_bytes(300, &[0xac, 2]);
        check_bytes(u64::from(u32::MAX), &[0xff, 0xff, 0xff, 0xff, 0x0f]);
        check_bytes(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(signed_len(-64), 1);
        assert_eq!(signed_len(64), 2);
    }
}
