//! What the tests of messages share.

pub(crate) mod generator;
pub(crate) mod values;

use bytes::Bytes;
use dohle_wire::{DecodeError, Message, Reader, Writer};

/// Versions of a message.
pub(crate) fn versions<M: Message>() -> impl Iterator<Item = i16> {
    M::VERSIONS.0..=M::VERSIONS.1
}

/// The bytes of a message.
pub(crate) fn encode<M: Message>(message: &M, version: i16) -> Bytes {
    let mut w = Writer::new();
    let written = message.encode(&mut w, version).and_then(|()| w.into_bytes());
    written.unwrap_or_else(|error| panic!("{error}: {message:?}"))
}

/// The message that `bytes` are from their first to their last.
pub(crate) fn decode<M: Message>(bytes: Bytes, version: i16) -> Result<M, DecodeError> {
    let mut r = Reader::new(bytes);
    let message = M::decode(&mut r, version)?;
    r.expect_end()?;
    Ok(message)
}
