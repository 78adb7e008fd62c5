//! snappy: written in the framing of the xerial library, read in that framing or bare.
//!
//! The framing is a magic of 8 bytes, a version and the lowest compatible version (both `i32`), and
//! then blocks, each of an `i32` length and that many bytes of bare snappy. A stream made of several
//! streams has the magic again where a length would be.

use std::io;

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use crate::{Failure, invalid};

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";

/// Magic, version 1, compatible with version 1.
const HEADER: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

/// Bytes that go into one block.
const BLOCK: usize = 32 * 1024;

/// No input yields more than this many times its length: the densest element has 3 bytes and yields
/// 64.
const MAX_GAIN: usize = 22;

pub(crate) fn compress(src: &[u8], dst: &mut Vec<u8>) -> io::Result<()> {
    dst.extend_from_slice(&HEADER);
    let mut encoder = Encoder::new();
    for block in src.chunks(BLOCK) {
        let start = dst.len();
        dst.resize(start + 4 + max_compress_len(block.len()), 0);
        let len = encoder.compress(block, &mut dst[start + 4..])?;
        dst[start..start + 4].copy_from_slice(&(len as u32).to_be_bytes());
        dst.truncate(start + 4 + len);
    }
    Ok(())
}

pub(crate) fn decompress(src: &[u8], limit: usize) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    if !src.starts_with(&MAGIC) {
        block(src, limit, &mut out)?;
        return Ok(out);
    }
    let mut rest = src;
    while !rest.is_empty() {
        if rest.starts_with(&MAGIC) {
            rest = rest.get(HEADER.len()..).ok_or_else(|| invalid("stream header is cut off"))?;
        } else {
            let (compressed, after) = split_block(rest)?;
            block(compressed, limit, &mut out)?;
            rest = after;
        }
    }
    Ok(out)
}

/// The first block of a framed stream, and what follows it.
fn split_block(stream: &[u8]) -> Result<(&[u8], &[u8]), Failure> {
    let (len, rest) =
        stream.split_first_chunk().ok_or_else(|| invalid("block length is cut off"))?;
    let len = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
    rest.split_at_checked(len).ok_or_else(|| invalid("block is cut off"))
}

/// Appends what one bare block yields to `out`, which shall not exceed `limit` bytes.
fn block(compressed: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    let len = decompress_len(compressed)?;
    if len > limit - out.len() {
        return Err(Failure::TooLarge);
    }
    if len > compressed.len().saturating_mul(MAX_GAIN) {
        return Err(invalid("block cannot yield what it announces"));
    }
    let start = out.len();
    let size = (start + len).max(out.capacity().saturating_mul(2).min(limit));
    out.reserve_exact(size - start);
    out.resize(start + len, 0);
    let written = Decoder::new().decompress(compressed, &mut out[start..])?;
    out.truncate(start + written);
    Ok(())
}
