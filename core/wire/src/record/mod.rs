//! Record batches of format version 2: the unit of the log, of requests and of replication.
//!
//! A batch is a header of [`BATCH_HEADER_LEN`] bytes and its records, which may be compressed as a
//! whole. The base offset and the leader epoch can be changed in place, because the checksum does
//! not cover them.

mod attributes;
mod batch;
mod builder;
mod codecs;
pub mod control;
mod cursor;
mod header;
mod iter;
mod skim;

pub use attributes::{Attributes, Compression, TimestampType};
pub use batch::{Batches, RawBatch, split_batches};
pub use builder::{BatchBuilder, BuildError};
pub use codecs::{CodecError, Codecs, NoCodecs};
pub use header::{
    BATCH_HEADER_LEN, BatchError, BatchHeader, LOG_OVERHEAD, MAGIC, patch, set_max_timestamp,
};
pub use iter::{Header, HeaderIter, Record, RecordError, RecordIter, check_records};
pub use skim::{Skimmed, skim};
