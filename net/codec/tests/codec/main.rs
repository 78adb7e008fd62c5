//! Tests of the compressions, alone and in record batches.

mod batches;
mod formats;
mod hostile;
mod round_trip;

use dohle_codec::NativeCodecs;
use dohle_wire::record::{CodecError, Codecs, Compression};

/// Everything but [`Compression::None`].
const COMPRESSED: [Compression; 4] =
    [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn compress(compression: Compression, level: Option<i32>, src: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    NativeCodecs.compress(compression, level, src, &mut out).unwrap();
    out
}

fn decompress(compression: Compression, src: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let out = NativeCodecs.decompress(compression, src, limit)?;
    assert!(out.len() <= limit && out.capacity() <= limit, "{compression} exceeds {limit}");
    Ok(out)
}

/// Bytes with some repetition, as records have.
fn text(len: usize) -> Vec<u8> {
    let words = (0u32..).flat_map(|n| format!("record {} ", n.wrapping_mul(n) % 977).into_bytes());
    words.take(len).collect()
}
