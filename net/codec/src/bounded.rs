//! Reading a stream of unknown length into bounded memory.

use std::io::{ErrorKind, Read};

use crate::Failure;

/// First size of the output buffer in bytes.
const FIRST: usize = 8 * 1024;

/// Everything that `source` yields, if that is at most `limit` bytes. The buffer grows with the
/// output and never beyond the limit.
pub(crate) fn read_all(source: &mut impl Read, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut len = 0;
    loop {
        if len == out.len() {
            if len == limit {
                return end(source, out);
            }
            let size = len.saturating_mul(2).clamp(FIRST.min(limit), limit);
            out.reserve_exact(size - len);
            out.resize(size, 0);
        }
        match read(source, &mut out[len..])? {
            0 => break,
            count => len += count,
        }
    }
    out.truncate(len);
    Ok(out)
}

/// The full buffer, if the source has nothing more.
fn end(source: &mut impl Read, out: Vec<u8>) -> Result<Vec<u8>, Failure> {
    match read(source, &mut [0])? {
        0 => Ok(out),
        _ => Err(Failure::TooLarge),
    }
}

fn read(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Failure> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(len: usize, limit: usize) {
        let source = vec![7; len];
        match read_all(&mut source.as_slice(), limit) {
            Ok(out) => {
                assert!(len <= limit && out == source);
                assert!(out.capacity() <= limit);
            }
            Err(Failure::TooLarge) => assert!(len > limit, "{len} within {limit}"),
            Err(Failure::Io(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn output_up_to_the_limit_is_read_and_more_is_refused() {
        for limit in [0, 1, FIRST - 1, FIRST, FIRST + 1, 5 * FIRST] {
            for len in [0, 1, limit.saturating_sub(1), limit, limit + 1, 3 * limit] {
                check(len, limit);
            }
        }
    }
}
