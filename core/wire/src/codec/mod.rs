//! Reading and writing the primitive types of the protocol.
//!
//! All numbers are big-endian. From its first *flexible* version on, a message writes lengths in
//! the compact form: an unsigned varint of the length plus one, with 0 for null. Before that, a
//! string has an `i16` length and everything else an `i32` length, with -1 for null. Methods that
//! read or write a length take `flexible` to choose the form.

mod error;
mod reader;
mod tagged;
pub(crate) mod varint;
mod writer;

pub use error::{DecodeError, EncodeError};
pub use reader::Reader;
pub use tagged::TaggedFields;
pub use writer::{Hole, Part, Writer};
