//! How records are printed: a format of one's own, or JSON.

use std::io::{self, Write};

use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::ConsumedRecord;
use dohle_wire::record::TimestampType;
use serde_json::{Map, Value, json};

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Topic,
    Partition,
    Offset,
    Key,
    KeyLen,
    Value,
    ValueLen,
    Headers,
    Timestamp,
}

/// What to print of each record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format(Vec<Piece>);

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => literal.push(escape(&mut chars)?),
                '%' => match chars.next() {
                    Some('%') => literal.push(b'%'),
                    Some(letter) => {
                        if !literal.is_empty() {
                            pieces.push(Piece::Text(std::mem::take(&mut literal)));
                        }
                        pieces.push(piece(letter)?);
                    }
                    None => return Err(unknown("%")),
                },
                plain => literal.extend(plain.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self(pieces))
    }
}

fn piece(letter: char) -> Result<Piece, String> {
    Ok(match letter {
        't' => Piece::Topic,
        'p' => Piece::Partition,
        'o' => Piece::Offset,
        'k' => Piece::Key,
        'K' => Piece::KeyLen,
        'v' | 's' => Piece::Value,
        'V' | 'S' => Piece::ValueLen,
        'h' => Piece::Headers,
        'T' => Piece::Timestamp,
        other => return Err(unknown(&format!("%{other}"))),
    })
}

fn escape(chars: &mut std::str::Chars<'_>) -> Result<u8, String> {
    match chars.next() {
        Some('n') => Ok(b'\n'),
        Some('t') => Ok(b'\t'),
        Some('r') => Ok(b'\r'),
        Some('0') => Ok(0),
        Some('\\') => Ok(b'\\'),
        other => Err(unknown(&format!("\\{}", other.map_or(String::new(), String::from)))),
    }
}

fn unknown(found: &str) -> String {
    format!(
        "`{found}` is not known; expected %t topic, %p partition, %o offset, %k key, %v value, \
         %h headers, %T timestamp, %K and %V lengths, %%, \\n \\t \\r \\0 \\\\"
    )
}

impl Format {
    /// Prints a record. A null key or value prints nothing; its length is -1.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        at: &TopicPartition,
        record: &ConsumedRecord,
    ) -> io::Result<()> {
        let len = |data: Option<&bytes::Bytes>| data.map_or(-1, |data| data.len() as i64);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.write_all(text)?,
                Piece::Topic => out.write_all(at.topic.as_bytes())?,
                Piece::Partition => write!(out, "{}", at.partition)?,
                Piece::Offset => write!(out, "{}", record.offset)?,
                Piece::Key => out.write_all(record.key.as_deref().unwrap_or_default())?,
                Piece::KeyLen => write!(out, "{}", len(record.key.as_ref()))?,
                Piece::Value => out.write_all(record.value.as_deref().unwrap_or_default())?,
                Piece::ValueLen => write!(out, "{}", len(record.value.as_ref()))?,
                Piece::Headers => headers(out, record)?,
                Piece::Timestamp => write!(out, "{}", record.timestamp)?,
            }
        }
        Ok(())
    }
}

/// `name=value` pairs, separated by commas.
fn headers(out: &mut impl Write, record: &ConsumedRecord) -> io::Result<()> {
    for (at, (name, value)) in record.headers.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        out.write_all(name)?;
        out.write_all(b"=")?;
        out.write_all(value.as_deref().unwrap_or_default())?;
    }
    Ok(())
}

/// A record as one JSON object. Bytes that are no text come as `…_base64`.
pub(super) fn object(at: &TopicPartition, record: &ConsumedRecord) -> Value {
    let stamp = match record.timestamp_type {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    let mut map = Map::new();
    map.insert("topic".to_owned(), json!(*at.topic));
    map.insert("partition".to_owned(), json!(at.partition));
    map.insert("offset".to_owned(), json!(record.offset.0));
    map.insert("timestamp".to_owned(), json!(record.timestamp.0));
    map.insert("timestamp_type".to_owned(), json!(stamp));
    put(&mut map, "key", record.key.as_deref());
    put(&mut map, "value", record.value.as_deref());
    let headers = record.headers.iter().map(|(name, value)| {
        let mut header = Map::new();
        put(&mut header, "key", Some(name));
        put(&mut header, "value", value.as_deref());
        Value::Object(header)
    });
    map.insert("headers".to_owned(), Value::Array(headers.collect()));
    Value::Object(map)
}

fn put(map: &mut Map<String, Value>, name: &str, data: Option<&[u8]>) {
    match data.map(std::str::from_utf8) {
        None => map.insert(name.to_owned(), Value::Null),
        Some(Ok(text)) => map.insert(name.to_owned(), json!(text)),
        Some(Err(_)) => {
            map.insert(format!("{name}_base64"), json!(base64(data.unwrap_or_default())))
        }
    };
}

fn base64(data: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for chunk in data.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let used = place <= chunk.len();
            let sextet = (bits >> (18 - 6 * place)) as usize & 63;
            out.push(if used { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};

    fn record(value: Option<&'static [u8]>) -> ConsumedRecord {
        ConsumedRecord {
            offset: Offset(7),
            timestamp: Timestamp(99),
            timestamp_type: TimestampType::CreateTime,
            key: Some(Bytes::from_static(b"key")),
            value: value.map(Bytes::from_static),
            headers: vec![
                (Bytes::from_static(b"a"), Some(Bytes::from_static(b"1"))),
                (Bytes::from_static(b"b"), None),
            ],
            leader_epoch: LeaderEpoch(0),
        }
    }

    fn check(format: &str, expected: &str) {
        let format: Format = format.parse().unwrap();
        let mut out = Vec::new();
        let at = TopicPartition::new("t", 2);
        format.print(&mut out, &at, &record(Some(b"val"))).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn formats() {
        check("%t/%p/%o\\n", "t/2/7\n");
        check("%k=%v %K %V %%\\t\\\\", "key=val 3 3 %\t\\");
        check("%h @%T ü", "a=1,b= @99 ü");
        check("", "");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in ["%x", "%", "\\q", "a\\"] {
            assert!(text.parse::<Format>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn objects_lose_nothing() {
        let at = TopicPartition::new("t", 2);
        let expected = json!({
            "topic": "t", "partition": 2, "offset": 7, "timestamp": 99,
            "timestamp_type": "CreateTime", "key": "key", "value_base64": "/wA=",
            "headers": [{"key": "a", "value": "1"}, {"key": "b", "value": null}],
        });
        assert_eq!(object(&at, &record(Some(b"\xff\x00"))), expected);
        assert_eq!(object(&at, &record(None))["value"], Value::Null);
    }

    #[test]
    fn base64_of_every_length() {
        let check = |data: &[u8], text: &str| assert_eq!(base64(data), text);
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foob", "Zm9vYg==");
    }
}
