//! Records of the metadata log and control records, with the names of their fields.
//!
//! The generated messages have one generic description of themselves: what `Debug` prints. This
//! module turns that description into JSON, so that no list of types has to be kept here.

use bytes::Bytes;
use dohle_wire::Reader;
use dohle_wire::message::MetadataRecord;
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// Name, version and fields of a record of the metadata log.
pub(super) fn metadata(value: &[u8]) -> Result<(&'static str, i16, Value), String> {
    let mut reader = Reader::new(Bytes::copy_from_slice(value));
    let (record, version) = MetadataRecord::decode(&mut reader)
        .map_err(|error| format!("no metadata record: {error}"))?;
    reader.expect_end().map_err(|error| format!("{}: {error}", record.name()))?;
    Ok((record.name(), version, fields(&record)))
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
        if self.rest.starts_with('"') || self.rest.starts_with("b\"") {
            self.eat("b");
            return self.quoted();
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

    /// A quoted text; its escapes stay as they are, except those of quotes and backslashes.
    fn quoted(&mut self) -> Option<Value> {
        let body = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &body[at + 1..];
                    return Some(Value::String(text));
                }
                '\\' => match chars.next()?.1 {
                    escaped @ ('"' | '\\' | '\'') => text.push(escaped),
                    other => text.extend(['\\', other]),
                },
                plain => text.push(plain),
            }
        }
        None
    }
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
    use dohle_wire::message::{ConfigRecord, PartitionRecord, TopicRecord};

    fn check(record: MetadataRecord, version: i16, expected: (&str, Value)) {
        let mut w = Writer::new();
        record.encode(&mut w, version).unwrap();
        let found = metadata(&w.into_bytes().unwrap()).unwrap();
        assert_eq!(found, (expected.0, version, expected.1));
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
