//! Records of the metadata log, of groups and control records, with the names of their fields.
//!
//! The generated messages have one generic description of themselves: what `Debug` prints. This
//! module turns that description into JSON, so that no list of types has to be kept here.

use bytes::Bytes;
use dohle_wire::Reader;
use dohle_wire::message::{GroupRecord, MetadataRecord};
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// The named values of a row.
pub(super) type Content = Vec<(&'static str, Value)>;

/// Name, version and fields of a record of the metadata log.
pub(super) fn metadata(value: &[u8]) -> Result<Content, String> {
    let mut reader = Reader::new(Bytes::copy_from_slice(value));
    let (record, version) = MetadataRecord::decode(&mut reader)
        .map_err(|error| format!("no metadata record: {error}"))?;
    reader.expect_end().map_err(|error| format!("{}: {error}", record.name()))?;
    let (name, fields) = (json!(record.name()), fields(&record));
    Ok(vec![("type", name), ("version", json!(version)), ("data", fields)])
}

/// Name and number of the type, version of the value, and the fields of key and value of a record
/// of groups; those of a type that is not known are bytes.
pub(super) fn group(key: &[u8], value: Option<&[u8]>) -> Result<Content, String> {
    let (key, value) = (Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice));
    let (record, version) =
        GroupRecord::decode(key, value).map_err(|error| format!("no record of groups: {error}"))?;
    let mut content = vec![("type", json!(record.name())), ("keyType", json!(record.key_type()))];
    content.extend(version.map(|version| ("version", json!(version))));
    let (key, value) = match fields(&record) {
        Value::Object(mut unknown) => (unknown["key"].take(), unknown["value"].take()),
        Value::Array(mut pair) if pair.len() == 2 => (pair[0].take(), pair[1].take()),
        other => (other, Value::Null),
    };
    content.extend([("key", key), ("data", value)]);
    Ok(content)
}

/// What `Debug` prints, as JSON.
pub(super) fn fields(message: &impl Debug) -> Value {
    let text = format!("{message:?}");
    let mut parser = Parser { rest: &text };
    match parser.value() {
        Some(value) if parser.rest.is_empty() => value,
        // A form that this module does not know is still shown to a person.
        _ => Value::String(text),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn value(&mut self) -> Option<Value> {
        if self.eat("[") {
            return self.list("]").map(Value::Array);
        }
        if self.eat("b\"") {
            return self.quoted().map(|bytes| Value::String(base64(&bytes)));
        }
        if self.eat("\"") {
            return String::from_utf8(self.quoted()?).ok().map(Value::String);
        }
        let word = self.word();
        if word.is_empty() {
            return None;
        }
        if self.eat(" { ") {
            return self.object();
        }
        if self.eat("(") {
            // A wrapper such as `Some(…)` or a newtype says no more than what is in it.
            let mut inner = self.list(")")?;
            return if inner.len() == 1 { inner.pop() } else { Some(Value::Array(inner)) };
        }
        Some(scalar(word))
    }

    fn list(&mut self, end: &str) -> Option<Vec<Value>> {
        let mut list = Vec::new();
        while !self.eat(end) {
            list.push(self.value()?);
            self.eat(", ");
        }
        Some(list)
    }

    fn object(&mut self) -> Option<Value> {
        let mut map = Map::new();
        while !self.eat(" }") {
            let name = self.word();
            if name.is_empty() || !self.eat(": ") {
                return None;
            }
            map.insert(camel(name), self.value()?);
            self.eat(", ");
        }
        Some(Value::Object(map))
    }

    /// What was quoted, up to the closing quote.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let end = self.rest.find(['"', '\\'])?;
            out.extend(&self.rest.as_bytes()[..end]);
            self.rest = &self.rest[end..];
            if self.eat("\"") {
                return Some(out);
            }
            self.eat("\\");
            self.escaped(&mut out)?;
        }
    }

    /// What stands behind a backslash.
    fn escaped(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let mut chars = self.rest.chars();
        let kind = chars.next()?;
        self.rest = chars.as_str();
        match kind {
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            '0' => out.push(0),
            'x' => {
                let (digits, rest) = self.rest.split_at_checked(2)?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
                self.rest = rest;
            }
            'u' => {
                let (digits, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
                let code = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                out.extend(code.to_string().bytes());
                self.rest = rest;
            }
            itself => out.extend(itself.to_string().bytes()),
        }
        Some(())
    }
}

/// Bytes as Kafka's dump tool prints them.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let is_used = digit <= chunk.len();
            let index = bits >> (18 - 6 * digit) & 63;
            out.push(if is_used { char::from(DIGITS[index]) } else { '=' });
        }
    }
    out
}

fn scalar(word: &str) -> Value {
    match word {
        "None" => Value::Null,
        "true" => json!(true),
        "false" => json!(false),
        _ => match word.parse::<i64>() {
            Ok(number) => json!(number),
            // Ids have no point, so that none of them is taken for a number.
            Err(_) if word.contains('.') => word.parse::<f64>().map_or(json!(word), Value::from),
            Err(_) => json!(word),
        },
    }
}

/// `topic_id` → `topicId`, as in Kafka's schemas.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use dohle_wire::Writer;
    use dohle_wire::id::Uuid;
    use dohle_wire::message::{
        ConfigRecord, OffsetCommitKey, OffsetCommitValue, PartitionRecord, TopicRecord,
    };

    fn check(record: MetadataRecord, version: i16, expected: (&str, Value)) {
        let mut w = Writer::new();
        record.encode(&mut w, version).unwrap();
        let found = metadata(&w.into_bytes().unwrap()).unwrap();
        let (name, fields) = (json!(expected.0), expected.1);
        assert_eq!(found, [("type", name), ("version", json!(version)), ("data", fields)]);
    }

    fn check_group(record: &GroupRecord, expected: Value) {
        let (key, value) = record.encode().unwrap();
        let found = group(&key, value.as_deref()).unwrap();
        let found: Map<_, _> =
            found.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(Value::Object(found), expected);
    }

    #[test]
    fn records_of_groups_have_a_key_and_a_value() {
        let key = OffsetCommitKey { group: "g".to_owned(), topic: "t".to_owned(), partition: 1 };
        let value = OffsetCommitValue { offset: 9, metadata: "m".to_owned(), ..Default::default() };
        let key_fields = json!({"group": "g", "topic": "t", "partition": 1});
        let fields = json!({
            "offset": 9, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 0,
            "expireTimestamp": -1, "topicId": "AAAAAAAAAAAAAAAAAAAAAA",
        });
        check_group(
            &GroupRecord::OffsetCommit(key.clone(), Some(value)),
            json!({"type": "OffsetCommit", "keyType": 1, "version": 4, "key": key_fields, "data": fields}),
        );
        check_group(
            &GroupRecord::OffsetCommit(key, None),
            json!({"type": "OffsetCommit", "keyType": 1, "key": key_fields, "data": null}),
        );
        let (key, value) = (Bytes::from_static(b"k"), Some(Bytes::from_static(b"\0\x01")));
        check_group(
            &GroupRecord::Unknown { key_type: 23, key, value },
            json!({"type": "Unknown", "keyType": 23, "key": "aw==", "data": "AAE="}),
        );
        assert!(group(&[], None).is_err());
        assert!(group(&[0, 2, 0, 0], Some(&[0, 9])).is_err());
    }

    #[test]
    fn texts_and_bytes_are_what_they_were() {
        let check = |text: &str| assert_eq!(fields(&text), json!(text));
        check("quote\" and \\ and '");
        check("line\nbreak\r\ttab\0 \u{1b} \u{301} é漢");
        let check = |bytes: &'static [u8], base64| {
            assert_eq!(fields(&Bytes::from_static(bytes)), json!(base64));
        };
        check(b"", "");
        check(b"\0", "AA==");
        check(b"\"\\", "Ilw=");
        check(b"a\n\xff", "YQr/");
        check(b"\xfb\xef\xbe\x01", "++++AQ==");
    }

    #[test]
    fn records_are_named_and_their_fields_too() {
        let topic = TopicRecord { name: "a-b".to_owned(), topic_id: Uuid::from_u128(258) };
        let fields = json!({"name": "a-b", "topicId": "AAAAAAAAAAAAAAAAAAABAg"});
        check(topic.into(), 0, ("TopicRecord", fields));
        let config = ConfigRecord {
            resource_type: 2,
            resource_name: "quote\" and \\".to_owned(),
            name: "x".to_owned(),
            value: None,
        };
        let fields = json!({
            "resourceType": 2, "resourceName": "quote\" and \\", "name": "x", "value": null,
        });
        check(config.into(), 0, ("ConfigRecord", fields));
    }

    #[test]
    fn lists_and_missing_lists() {
        let partition = PartitionRecord {
            partition_id: 1,
            replicas: vec![1, 2],
            isr: vec![],
            ..PartitionRecord::default()
        };
        let Value::Object(found) = fields(&MetadataRecord::from(partition)) else {
            panic!("no object")
        };
        assert_eq!(found["replicas"], json!([1, 2]));
        assert_eq!(found["isr"], json!([]));
        assert_eq!(found["partitionId"], json!(1));
    }

    #[test]
    fn bytes_that_are_no_record_are_an_error() {
        assert!(metadata(&[]).is_err());
        assert!(metadata(&[1, 2, 0, 0, 0]).is_err());
    }
}
