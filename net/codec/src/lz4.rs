//! LZ4 frames.
//!
//! Frames are written as the Java client does: independent blocks of 64 KiB without checksums,
//! because its reader knows no dependent blocks. Frames with dependent blocks, checksums, a content
//! size and blocks of up to 4 MiB are read too; checksums are verified.

use std::io::{self, Write};

use lz4::liblz4::BlockChecksum;
use lz4::{BlockMode, BlockSize, ContentChecksum, Decoder, EncoderBuilder};

use crate::{Failure, bounded};

/// Levels 1 (fast) to 17 (small).
pub(crate) fn compress(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = EncoderBuilder::new()
        .block_mode(BlockMode::Independent)
        .block_size(BlockSize::Max64KB)
        .block_checksum(BlockChecksum::NoBlockChecksum)
        .checksum(ContentChecksum::NoChecksum)
        .level(level.map_or(0, |level| level.clamp(1, 17).unsigned_abs()))
        .build(dst)?;
    encoder.write_all(src)?;
    encoder.finish().1
}

pub(crate) fn decompress(src: &[u8], limit: usize) -> Result<Vec<u8>, Failure> {
    let mut decoder = Decoder::new(src)?;
    let out = bounded::read_all(&mut decoder, limit)?;
    decoder.finish().1.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok(out)
}
