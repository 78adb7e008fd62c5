//! LZ4 frames.
//!
//! Frames are written as the Java client does: independent blocks of 64 KiB without checksums.
//! Frames with checksums, a content size and blocks of up to 4 MiB are read too; checksums are
//! verified. Its reader knows no dependent blocks: what it could not read is refused
//! (`Lz4BlockOutputStream.FLG` and `BD`).

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
    check_header(src)?;
    let mut decoder = Decoder::new(src)?;
    let out = bounded::read_all(&mut decoder, limit)?;
    decoder.finish().1.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok(out)
}

/// Whether every client can read frames that begin like this.
fn check_header(src: &[u8]) -> io::Result<()> {
    let refuse = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let [0x04, 0x22, 0x4d, 0x18, flags, sizes, ..] = *src else {
        return refuse("no LZ4 frame begins like this");
    };
    match (flags >> 6, flags & 1 << 5 != 0, flags & 1 << 1 != 0, sizes) {
        (1, true, false, 0x40 | 0x50 | 0x60 | 0x70) => Ok(()),
        (1, true, _, _) => refuse("reserved bits or sizes of an LZ4 frame"),
        (1, false, _, _) => {
            refuse("LZ4 blocks that depend on one another, which no Java client reads")
        }
        _ => refuse("a version of LZ4 frames that nobody knows"),
    }
}
