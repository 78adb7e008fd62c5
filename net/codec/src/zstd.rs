//! zstd: one frame is written, any number is read.

use std::io::{self, Write};

use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use crate::{Failure, bounded};

/// Level that the protocol's settings default to.
const DEFAULT_LEVEL: i32 = 3;

/// Binary logarithm of the window in bytes that every reader should support (8 MiB).
const USUAL_WINDOW_LOG: u32 = 23;

/// Binary logarithm of the largest window in bytes that is accepted (128 MiB).
const MAX_WINDOW_LOG: u32 = 27;

/// Levels -131072 (fast) to 22 (small).
pub(crate) fn compress(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> io::Result<()> {
    let levels = zstd::compression_level_range();
    let level = level.unwrap_or(DEFAULT_LEVEL).clamp(*levels.start(), *levels.end());
    let mut encoder = Encoder::new(dst, level)?;
    encoder.write_all(src)?;
    encoder.finish().map(drop)
}

pub(crate) fn decompress(src: &[u8], limit: usize) -> Result<Vec<u8>, Failure> {
    let mut decoder = Decoder::with_buffer(src)?;
    decoder.window_log_max(window_log(limit))?;
    bounded::read_all(&mut decoder, limit)
}

/// The largest window to accept. The library allocates the window that a frame asks for; a window
/// beyond the output is of no use, except that encoders which do not know their input's size ask for
/// the usual one.
fn window_log(limit: usize) -> u32 {
    limit
        .checked_next_power_of_two()
        .map_or(MAX_WINDOW_LOG, usize::ilog2)
        .clamp(USUAL_WINDOW_LOG, MAX_WINDOW_LOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_follows_the_limit_between_8_and_128_mib() {
        assert_eq!(window_log(0), 23);
        assert_eq!(window_log(8 << 20), 23);
        assert_eq!(window_log((8 << 20) + 1), 24);
        assert_eq!(window_log(100 << 20), 27);
        assert_eq!(window_log(usize::MAX), 27);
    }
}
