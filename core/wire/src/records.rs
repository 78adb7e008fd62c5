//! The schema type `records`: record batches as an opaque, length-prefixed payload.

use bytes::Bytes;

use crate::codec::Hole;

/// Whole record batches, either in memory or as ranges of files.
///
/// Decoding always gives [`Records::Bytes`]; holes let a broker answer a fetch without reading the
/// batches: they travel through [`crate::codec::Writer`] to the driver, which sends the ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Records {
    /// The batches themselves.
    Bytes(Bytes),
    /// Where the batches are, in the order in which to send them.
    Holes(Vec<Hole>),
}

impl Records {
    /// Size of all batches in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Holes(holes) => {
                holes.iter().fold(0, |sum, hole| sum.saturating_add(hole.len as usize))
            }
        }
    }

    /// Whether there is no byte of any batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::Bytes(Bytes::new())
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}
