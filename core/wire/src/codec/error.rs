//! What can be wrong with bytes to decode or with a message to encode.

use thiserror::Error;

/// Bytes that are not a valid message.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Fewer bytes are left than a value needs.
    #[error("{needed} bytes needed, {left} left")]
    Short {
        /// Bytes the value needs; a lower bound for arrays.
        needed: u64,
        /// Bytes that are left.
        left: usize,
    },
    /// Bytes are left after the last value.
    #[error("{0} bytes left after the end")]
    Trailing(
        /// How many.
        usize,
    ),
    /// A length below -1.
    #[error("negative length {0}")]
    NegativeLength(
        /// The length.
        i32,
    ),
    /// Arrays whose elements take far more memory than an honest message of that length.
    #[error("{needed} bytes of memory needed for elements, {left} granted")]
    Memory {
        /// Bytes that the elements of an array take.
        needed: u64,
        /// Bytes that are left of what is granted.
        left: usize,
    },
    /// A varint that does not fit its type.
    #[error("varint too long")]
    VarintTooLong,
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    NotUtf8,
    /// Null where this version of the message has none.
    #[error("null where none is allowed")]
    Null,
    /// A nullable struct that starts neither with 1 (present) nor with -1 (null).
    #[error("invalid presence mark {0}")]
    PresenceMark(
        /// The mark.
        i8,
    ),
    /// A version of a message that has no schema.
    #[error("{message} has no version {version}")]
    NoVersion {
        /// Name of the message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A request with a number that no request type has.
    #[error("no request type has key {0}")]
    UnknownApiKey(
        /// The number.
        i16,
    ),
    /// A metadata record in a frame of another version than 1.
    #[error("metadata record frame has version {0}")]
    FrameVersion(
        /// The version.
        u32,
    ),
    /// A metadata record of a type that does not exist.
    #[error("no metadata record has key {0}")]
    UnknownRecordKey(
        /// The type number.
        u32,
    ),
}

/// A message that the asked version cannot carry.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A version of a message that has no schema.
    #[error("{message} has no version {version}")]
    NoVersion {
        /// Name of the message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field that the version lacks and that must not be dropped is set.
    #[error("{message} version {version} cannot carry {field}")]
    NotInVersion {
        /// Name of the message.
        message: &'static str,
        /// Name of the field, after the name of its struct if that is a nested one.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field is null that the version requires.
    #[error("{message} version {version} requires {field}")]
    Null {
        /// Name of the message.
        message: &'static str,
        /// Name of the field, after the name of its struct if that is a nested one.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A string, array or payload longer than its length field can say.
    #[error("length {0} does not fit its field")]
    TooLong(
        /// The length.
        usize,
    ),
    /// Bytes were asked of a frame that has holes.
    #[error("frame has parts that are not in memory")]
    Hole,
}
