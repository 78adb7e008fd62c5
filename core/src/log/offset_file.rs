//! The small files that hold one offset ([`super::names::LOG_START`], [`super::names::TRUNCATED_TO`]):
//! the number, and in a second line a CRC-32C of the first, in eight hexadecimal digits.
//!
//! By these numbers records are removed: one that decayed must not be taken for another. A file
//! without a second line was written by hand and counts too.

use bytes::Bytes;
use dohle_wire::id::Offset;

/// The file that holds `offset`.
pub(crate) fn encode(offset: Offset) -> Bytes {
    let line = format!("{offset}\n");
    let sum = crc32c::crc32c(line.as_bytes());
    Bytes::from(format!("{line}{sum:08x}\n"))
}

/// The offset in a file; `None` if it is damaged.
pub(crate) fn parse(file: &[u8]) -> Option<Offset> {
    let text = std::str::from_utf8(file).ok()?;
    let (line, sum) = match text.find('\n') {
        Some(end) => text.split_at(end + 1),
        None => (text, ""),
    };
    let offset = line.trim().parse().ok().filter(|offset| *offset >= 0).map(Offset)?;
    let sound = sum.is_empty() || sum == format!("{:08x}\n", crc32c::crc32c(line.as_bytes()));
    sound.then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_decayed_is_not() {
        for offset in [0, 7, 4711, i64::MAX] {
            let file = encode(Offset(offset));
            assert_eq!(parse(&file), Some(Offset(offset)));
            for at in 0..file.len() {
                for bit in 0..8 {
                    let mut bad = file.to_vec();
                    bad[at] ^= 1 << bit;
                    assert_eq!(parse(&bad), None, "bit {bit} of byte {at} of {offset}");
                }
            }
        }
    }

    #[test]
    fn a_number_alone_counts() {
        for (text, offset) in [("12\n", Some(12)), ("12", Some(12)), ("-1\n", None), ("x\n", None)]
        {
            assert_eq!(parse(text.as_bytes()), offset.map(Offset), "{text:?}");
        }
    }
}
