//! What all messages have in common.

use std::fmt::Debug;

use bytes::Bytes;

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};

/// A request, response or record of the protocol.
pub trait Message: Sized + Clone + PartialEq + Debug + Default {
    /// The protocol's name.
    const NAME: &'static str;
    /// Oldest and newest version.
    const VERSIONS: (i16, i16);
    /// First version with compact lengths and tagged fields; `None` when there is none.
    const FLEXIBLE_FROM: Option<i16>;

    /// Reads the message in `version`; fields that the version lacks get their defaults. Bytes
    /// after the message stay in `r`.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Writes the message in `version`.
    ///
    /// Fails if a field that the version lacks differs from its default, unless the schema lets
    /// that field be dropped. After an error `w` holds an unspecified part of the message.
    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError>;
}

/// A message that a client sends.
pub trait Request: Message {
    /// Type of the request.
    const KEY: ApiKey;
    /// What the broker answers, in the same version.
    type Response: Message;
}

const fn has_version<M: Message>(version: i16) -> bool {
    M::VERSIONS.0 <= version && version <= M::VERSIONS.1
}

/// Refuses a version that the message does not have.
pub(super) fn readable<M: Message>(version: i16) -> Result<(), DecodeError> {
    let refused = DecodeError::NoVersion { message: M::NAME, version };
    if has_version::<M>(version) { Ok(()) } else { Err(refused) }
}

/// Refuses a version that the message does not have.
pub(super) fn writable<M: Message>(version: i16) -> Result<(), EncodeError> {
    let refused = EncodeError::NoVersion { message: M::NAME, version };
    if has_version::<M>(version) { Ok(()) } else { Err(refused) }
}

/// The error for a set field that `version` lacks.
pub(super) const fn not_in_version(
    message: &'static str,
    field: &'static str,
    version: i16,
) -> EncodeError {
    EncodeError::NotInVersion { message, field, version }
}

/// The error for a null field that `version` requires.
pub(super) const fn unexpected_null(
    message: &'static str,
    field: &'static str,
    version: i16,
) -> EncodeError {
    EncodeError::Null { message, field, version }
}

/// Version of the frame around a metadata record.
const FRAME_VERSION: u32 = 1;

/// Writes what precedes a metadata record.
pub(super) fn write_frame(w: &mut Writer, key: u32, version: i16) {
    w.uvarint(FRAME_VERSION);
    w.uvarint(key);
    w.uvarint(version as u32);
}

/// Reads what precedes a metadata record: its type number and version.
pub(super) fn read_frame(r: &mut Reader) -> Result<(u32, i16), DecodeError> {
    match r.uvarint()? {
        FRAME_VERSION => {}
        other => return Err(DecodeError::FrameVersion(other)),
    }
    // A version beyond i16 becomes one that no record has.
    Ok((r.uvarint()?, r.uvarint()?.try_into().unwrap_or(i16::MAX)))
}

/// The bytes of a message behind a number.
pub(super) fn prefixed<M: Message>(
    prefix: i16,
    message: &M,
    version: i16,
) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i16(prefix);
    message.encode(&mut w, version)?;
    w.into_bytes()
}

/// `bytes` behind a number.
pub(super) fn with_prefix(prefix: i16, bytes: &[u8]) -> Bytes {
    Bytes::from([&prefix.to_be_bytes(), bytes].concat())
}

/// Reads a message behind its version.
pub(super) fn read_prefixed<M: Message>(bytes: Bytes) -> Result<(i16, M), DecodeError> {
    let mut r = Reader::new(bytes);
    let version = r.i16()?;
    Ok((version, M::decode(&mut r, version)?))
}
