//! The module with all records of the topic `__consumer_offsets`.

use std::fmt::Write;

use super::names;
use crate::schema::{Kind, Message};

/// Type number, key and value of each record, in the order of the numbers.
pub(crate) fn records(messages: &[Message]) -> Vec<(i16, &Message, &Message)> {
    let value_of = |number: i16| {
        let is_value = |each: &&Message| each.kind == Kind::GroupValue { key: number };
        messages.iter().find(is_value).expect("every key has a value")
    };
    let numbered = messages.iter().filter_map(|message| match message.kind {
        Kind::GroupKey { key } => Some((key, message, value_of(key))),
        _ => None,
    });
    let mut records: Vec<_> = numbered.collect();
    records.sort_by_key(|record| record.0);
    records
}

/// Source of `message/group.rs`.
pub(crate) fn module(messages: &[Message]) -> String {
    let records = records(messages);
    let mut out = "//! All records of the topic `__consumer_offsets`.\n\n\
        use bytes::Bytes;\n\n\
        use crate::codec::{DecodeError, EncodeError, Reader};\n\
        use crate::message::traits::{Message, prefixed, read_prefixed, with_prefix};\n\n"
        .to_owned();
    for message in records.iter().flat_map(|(_, key, value)| [key, value]) {
        let name = message.name();
        let _ = writeln!(out, "use super::{}::{name};", names::module(name));
    }
    out + &definition(&records) + &methods(&records)
}

fn definition(records: &[(i16, &Message, &Message)]) -> String {
    let mut out = "\n/// A record of the topic `__consumer_offsets`: a key and a value, or no value if it \
        removes what\n/// the key names.\n#[derive(Clone, PartialEq, Debug)]\npub enum GroupRecord {\n"
        .to_owned();
    for (_, key, value) in records {
        let (key, doc) = (key.name(), &value.body().doc);
        let variant = names::variant(key);
        let _ = writeln!(out, "    /// {doc}\n    {variant}({key}, Option<{}>),", value.name());
    }
    out + "    /// A record of a type that is not known here, as it is.\n    Unknown {\n        \
        /// Number of the type.\n        key_type: i16,\n        \
        /// Fields of the key.\n        key: Bytes,\n        \
        /// The value from its version on.\n        value: Option<Bytes>,\n    },\n}\n\n"
}

fn methods(records: &[(i16, &Message, &Message)]) -> String {
    let each = |line: &dyn Fn(&str, i16, &str) -> String| -> String {
        let lines = records
            .iter()
            .map(|(number, key, value)| line(names::variant(key.name()), *number, value.name()));
        lines.collect()
    };
    let types = each(&|variant, number, _| format!("Self::{variant}(..) => {number},\n"));
    let names = each(&|variant, _, _| format!("Self::{variant}(..) => \"{variant}\",\n"));
    let versions =
        each(&|variant, _, value| format!("Self::{variant}(..) => Some({value}::VERSIONS),\n"));
    let keys = each(&|variant, number, _| {
        format!("Self::{variant}(key, _) => prefixed({number}, key, 0),\n")
    });
    let values = each(&|variant, _, _| {
        format!(
            "Self::{variant}(_, value) => value.as_ref().map(|v| prefixed(version, v, version)),\n"
        )
    });
    let decode =
        each(&|variant, number, _| format!("{number} => known(Self::{variant}, key, value),\n"));
    format!(
        "impl GroupRecord {{
    /// Number of the record's type, with which the key begins.
    pub const fn key_type(&self) -> i16 {{
        match self {{ {types} Self::Unknown {{ key_type, .. }} => *key_type, }}
    }}

    /// The protocol's name of the record's type.
    pub const fn name(&self) -> &'static str {{
        match self {{ {names} Self::Unknown {{ .. }} => \"Unknown\", }}
    }}

    /// Oldest and newest version of the value; `None` for a type that is not known.
    pub const fn value_versions(&self) -> Option<(i16, i16)> {{
        match self {{ {versions} Self::Unknown {{ .. }} => None, }}
    }}

    /// The key as it is stored.
    pub fn key(&self) -> Result<Bytes, EncodeError> {{
        match self {{
            {keys}
            Self::Unknown {{ key_type, key, .. }} => Ok(with_prefix(*key_type, key)),
        }}
    }}

    /// The value as it is stored in `version`, which is ignored for a type that is not known.
    pub fn value(&self, version: i16) -> Result<Option<Bytes>, EncodeError> {{
        match self {{
            {values}
            Self::Unknown {{ value, .. }} => value.clone().map(Ok),
        }}
        .transpose()
    }}

    /// Reads key and value; gives the record and the version of its value, which is `None` if there
    /// is no value or the type is not known.
    ///
    /// As in Kafka's `CoordinatorRecordSerde`, bytes behind the fields are no error, a version of the
    /// value that does not exist is.
    pub fn decode(
        key: Bytes,
        value: Option<Bytes>,
    ) -> Result<(Self, Option<i16>), DecodeError> {{
        let mut key = Reader::new(key);
        match key.i16()? {{
            {decode}
            key_type => {{
                let key = key.take(key.remaining())?;
                Ok((Self::Unknown {{ key_type, key, value }}, None))
            }}
        }}
    }}
}}

/// Reads the rest of a key and the value of a known type.
fn known<K: Message, V: Message>(
    of: fn(K, Option<V>) -> GroupRecord,
    mut key: Reader,
    value: Option<Bytes>,
) -> Result<(GroupRecord, Option<i16>), DecodeError> {{
    let fields = K::decode(&mut key, 0)?;
    let Some((version, value)) = value.map(read_prefixed).transpose()? else {{
        return Ok((of(fields, None), None));
    }};
    Ok((of(fields, Some(value)), Some(version)))
}}
"
    )
}
