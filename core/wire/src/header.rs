//! The headers in front of request and response bodies.
//!
//! A request header has the key and version of the request, a correlation id and a client id; for a
//! flexible request tagged fields follow (header version 2 instead of 1). A response header has the
//! correlation id, and tagged fields if the request was flexible (version 1 instead of 0). The one
//! exception: the response to ApiVersions always has header version 0, because a client reads it
//! before it knows what the broker speaks.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};

/// What precedes the body of every request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestHeader {
    /// Number of the request type, see [`ApiKey`].
    pub api_key: i16,
    /// Version of the request and of its response.
    pub api_version: i16,
    /// Number that the response repeats.
    pub correlation_id: i32,
    /// Name that the client gives itself.
    pub client_id: Option<String>,
}

impl RequestHeader {
    /// The key and version of the request that starts at `reader`, which does not move.
    ///
    /// They come before everything whose form depends on them, so that a caller can treat a request
    /// it does not know before decoding its header.
    pub fn peek(reader: &Reader) -> Result<(i16, i16), DecodeError> {
        let mut ahead = reader.clone();
        Ok((ahead.i16()?, ahead.i16()?))
    }

    /// Reads a header of the version that its own key and version ask for.
    ///
    /// Fails with [`DecodeError::UnknownApiKey`] for a key that no request has; the version need not
    /// be a supported one.
    pub fn decode(reader: &mut Reader) -> Result<Self, DecodeError> {
        let (api_key, api_version) = (reader.i16()?, reader.i16()?);
        let key = ApiKey::from_code(api_key).ok_or(DecodeError::UnknownApiKey(api_key))?;
        let correlation_id = reader.i32()?;
        // The client id has the old form of length even in a flexible header.
        let client_id = reader.nullable_string(false)?;
        if key.is_flexible(api_version) {
            reader.skip_tagged_fields()?;
        }
        Ok(Self { api_key, api_version, correlation_id, client_id })
    }

    /// Writes the header in the version that its key and version ask for.
    ///
    /// Fails for a key that no request has and for a client id of more than `i16::MAX` bytes.
    pub fn encode(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        let key = ApiKey::from_code(self.api_key).ok_or(EncodeError::NoVersion {
            message: "RequestHeader",
            version: self.api_version,
        })?;
        writer.i16(self.api_key);
        writer.i16(self.api_version);
        writer.i32(self.correlation_id);
        writer.nullable_string(false, self.client_id.as_deref())?;
        if key.is_flexible(self.api_version) {
            writer.uvarint(0);
        }
        Ok(())
    }
}

/// Version of the header in front of the response to this version of this request: 0 or 1.
pub const fn response_header_version(key: ApiKey, version: i16) -> i16 {
    match key {
        ApiKey::ApiVersions => 0,
        _ => key.is_flexible(version) as i16,
    }
}

/// Writes the header of the response to this version of this request.
pub fn encode_response_header(writer: &mut Writer, key: ApiKey, version: i16, correlation_id: i32) {
    writer.i32(correlation_id);
    if response_header_version(key, version) > 0 {
        writer.uvarint(0);
    }
}

/// Reads the header of the response to this version of this request; gives its correlation id.
pub fn decode_response_header(
    reader: &mut Reader,
    key: ApiKey,
    version: i16,
) -> Result<i32, DecodeError> {
    let correlation_id = reader.i32()?;
    if response_header_version(key, version) > 0 {
        reader.skip_tagged_fields()?;
    }
    Ok(correlation_id)
}
