//! What the record code needs of a compression library.

use thiserror::Error;

use super::Compression;

/// Why records could not be compressed or decompressed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// This implementation does not have the compression.
    #[error("{0} is not supported")]
    Unsupported(
        /// The compression.
        Compression,
    ),
    /// The decompressed bytes would be more than the limit.
    #[error("more than {limit} bytes when decompressed")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The compressed bytes are not valid, or the library failed.
    #[error("{compression}: {problem}")]
    Corrupt {
        /// The compression.
        compression: Compression,
        /// What the library says.
        problem: String,
    },
}

/// Compresses and decompresses the records of batches.
pub trait Codecs: Send + Sync {
    /// Appends the compressed form of `src` to `dst`. Without a `level` the codec's default holds;
    /// a level it does not have is brought into range.
    fn compress(
        &self,
        compression: Compression,
        level: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError>;

    /// The decompressed form of `src`, which must not exceed `limit` bytes: beyond it the call fails
    /// with [`CodecError::TooLarge`], and no more than that is ever allocated for the output.
    fn decompress(
        &self,
        compression: Compression,
        src: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, CodecError>;
}

/// Knows no compression but [`Compression::None`].
#[derive(Copy, Clone, Debug, Default)]
pub struct NoCodecs;

impl Codecs for NoCodecs {
    fn compress(
        &self,
        compression: Compression,
        _level: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match compression {
            Compression::None => dst.extend_from_slice(src),
            other => return Err(CodecError::Unsupported(other)),
        }
        Ok(())
    }

    fn decompress(
        &self,
        compression: Compression,
        src: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, CodecError> {
        match compression {
            Compression::None if src.len() <= limit => Ok(src.to_vec()),
            Compression::None => Err(CodecError::TooLarge { limit }),
            other => Err(CodecError::Unsupported(other)),
        }
    }
}
