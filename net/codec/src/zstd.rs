//! zstd: one frame is written, any number is read.

use std::io::{self, Write};

use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use crate::{Failure, bounded};

/// Level that the protocol's settings default to.
const DEFAULT_LEVEL: i32 = 3;

/// Binary logarithm of the largest window in bytes that is accepted (128 MiB): the one of the highest
/// level. The library reserves the window that a frame asks for, but touches no more of it than there
/// is output.
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
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    bounded::read_all(&mut decoder, limit)
}
