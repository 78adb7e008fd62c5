//! Reading request headers: which requests are served, and what to say of those that are not.

use bytes::Bytes;
use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::header::RequestHeader;

use crate::api::{Call, Outcome, Served, unsupported_api_versions};

use super::CloseReason;

/// So much of what a client calls itself gets into messages.
const NAME_MAX: usize = 100;

/// A frame whose header was read.
pub(super) enum Opened {
    /// A request that is served, and its body.
    Call(Call, Reader),
    /// One that is over already.
    Over(Outcome),
}

/// Reads the header of a frame; `number` counts the session's requests.
pub(super) fn open(frame: Bytes, number: u64) -> Opened {
    let mut reader = Reader::new(frame.clone());
    match header(&mut reader, number) {
        Ok(opened) => opened.unwrap_or_else(|header| serve(header, reader, number)),
        Err(error) => {
            let text = match foreign_protocol(&frame).filter(|_| number == 0) {
                Some(protocol) => format!("this is {protocol}, not Kafka's protocol"),
                None => format!("{} bytes without a request header: {error}", frame.len()),
            };
            close(text)
        }
    }
}

fn close(text: String) -> Opened {
    Opened::Over(Outcome::Close(CloseReason::BadRequest(text)))
}

/// The header, or what to do about a request that is not served.
fn header(reader: &mut Reader, number: u64) -> Result<Result<Opened, RequestHeader>, DecodeError> {
    let (code, version) = RequestHeader::peek(reader)?;
    let key = ApiKey::from_code(code);
    let known = key.and_then(Served::find);
    if known.is_some_and(|served| served.has(version)) {
        return RequestHeader::decode(reader).map(Err);
    }
    // The correlation id and the client id are in the same place in all headers.
    let mut rest = reader.clone();
    let (_, _, correlation_id) = (rest.i16()?, rest.i16()?, rest.i32()?);
    if key == Some(ApiKey::ApiVersions) {
        return Ok(Ok(Opened::Over(Outcome::Answer(unsupported_api_versions(correlation_id)))));
    }
    if number == 0 && key.is_none() {
        rest.nullable_string(false)?;
    }
    let client = rest.nullable_string(false).ok().flatten();
    Ok(Ok(close(not_served(client.as_deref(), code, version, known))))
}

fn not_served(client: Option<&str>, code: i16, version: i16, known: Option<&Served>) -> String {
    let name = ApiKey::from_code(code).map_or("an unknown request", ApiKey::name);
    let client = client_name(client);
    match known {
        Some(Served { min, max, .. }) => {
            format!("{client} sent {name} (key {code}) v{version}; supported are v{min} to v{max}")
        }
        None => format!("{client} sent {name} (key {code}) v{version}, which is not supported"),
    }
}

/// How messages call a client.
fn client_name(client: Option<&str>) -> String {
    let name: String = client.unwrap_or_default().chars().take(NAME_MAX).collect();
    format!("client {name:?}")
}

fn serve(header: RequestHeader, body: Reader, number: u64) -> Opened {
    let key = ApiKey::from_code(header.api_key).expect("only known keys are served");
    let RequestHeader { api_version, correlation_id, client_id, .. } = header;
    Opened::Call(Call { key, version: api_version, correlation_id, client_id, number }, body)
}

/// What is said of a body that cannot be read.
pub(super) fn malformed(call: &Call, error: DecodeError) -> CloseReason {
    let client = client_name(call.client_id.as_deref());
    let (key, version) = (call.key, call.version);
    CloseReason::BadRequest(format!("{client} sent {key} v{version} that cannot be read: {error}"))
}

/// The other protocol that a client speaks whose first frame starts with these bytes, if it is one
/// that people point at this port by mistake. Mostly drivers notice before: taken as a length,
/// such bytes are far too large.
pub(super) fn foreign_protocol(start: &[u8]) -> Option<&'static str> {
    const HTTP: [&[u8]; 9] =
        [b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"PRI "];
    match start {
        // A handshake record of SSL 3.0 to TLS 1.3.
        [0x16, 0x03, 0x00..=0x04, ..] => Some("TLS (the listener is not encrypted)"),
        [b'S', b'S', b'H', b'-', ..] => Some("SSH"),
        _ if HTTP.iter().any(|verb| start.starts_with(verb)) => Some("HTTP"),
        _ => None,
    }
}
