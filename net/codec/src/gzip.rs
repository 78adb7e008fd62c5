//! gzip: one member is written, any number is read.

use std::io::{self, Write};

use flate2::Compression as Level;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::{Failure, bounded};

/// Levels 1 (fast) to 9 (small); -1 is the default.
pub(crate) fn compress(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> io::Result<()> {
    let level = match level {
        None | Some(-1) => Level::default(),
        Some(level) => Level::new(level.clamp(1, 9).unsigned_abs()),
    };
    let mut encoder = GzEncoder::new(dst, level);
    encoder.write_all(src)?;
    encoder.finish().map(drop)
}

pub(crate) fn decompress(src: &[u8], limit: usize) -> Result<Vec<u8>, Failure> {
    bounded::read_all(&mut MultiGzDecoder::new(src), limit)
}
