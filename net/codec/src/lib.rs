//! The compressions of record batches, by native libraries.
//!
//! Output is what the Java client writes, and input may be what any client writes. Decompression
//! never produces more than the limit it is given; besides, the libraries take working memory of a
//! few MiB at most.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bounded;
mod gzip;
mod lz4;
mod snappy;
mod zstd;

use std::io;

use dohle_wire::record::{CodecError, Codecs, Compression, NoCodecs};

/// All compressions that the protocol has.
#[derive(Copy, Clone, Debug, Default)]
pub struct NativeCodecs;

impl Codecs for NativeCodecs {
    fn compress(
        &self,
        compression: Compression,
        level: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let written = match compression {
            Compression::None => return NoCodecs.compress(compression, level, src, dst),
            Compression::Gzip => gzip::compress(level, src, dst),
            Compression::Snappy => snappy::compress(src, dst),
            Compression::Lz4 => lz4::compress(level, src, dst),
            Compression::Zstd => zstd::compress(level, src, dst),
        };
        written.map_err(|error| corrupt(compression, &error))
    }

    fn decompress(
        &self,
        compression: Compression,
        src: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let read = match compression {
            Compression::None => return NoCodecs.decompress(compression, src, limit),
            Compression::Gzip => gzip::decompress(src, limit),
            Compression::Snappy => snappy::decompress(src, limit),
            Compression::Lz4 => lz4::decompress(src, limit),
            Compression::Zstd => zstd::decompress(src, limit),
        };
        read.map_err(|failure| match failure {
            Failure::TooLarge => CodecError::TooLarge { limit },
            Failure::Io(error) => corrupt(compression, &error),
        })
    }
}

fn corrupt(compression: Compression, error: &io::Error) -> CodecError {
    CodecError::Corrupt { compression, problem: error.to_string() }
}

/// Why a decompression failed.
#[derive(Debug)]
enum Failure {
    /// There is more output than the limit.
    TooLarge,
    /// The input is not valid.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<snap::Error> for Failure {
    fn from(error: snap::Error) -> Self {
        Self::Io(error.into())
    }
}

/// The failure for input that a library would not notice to be wrong.
fn invalid(problem: &'static str) -> Failure {
    Failure::Io(io::Error::new(io::ErrorKind::InvalidData, problem))
}
