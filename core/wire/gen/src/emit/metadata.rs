//! The module with all metadata records.

use std::fmt::Write;

use super::names;
use crate::schema::{Kind, Message};

/// Source of `message/metadata.rs`.
pub(crate) fn module(records: &[&Message]) -> String {
    let mut records = records.to_vec();
    records.sort_by_key(|record| key(record));
    let mut out = "//! All records of the metadata log, and the frame they are stored in.\n\n\
        use crate::codec::{DecodeError, EncodeError, Reader, Writer};\n\
        use crate::message::traits::{Message, read_frame, write_frame};\n\n"
        .to_owned();
    for record in &records {
        let name = record.name();
        let _ = writeln!(out, "use super::{}::{name};", names::module(name));
    }
    out += &definition(&records);
    out += &methods(&records);
    for record in &records {
        let (name, variant) = (record.name(), names::variant(record.name()));
        let _ = writeln!(
            out,
            "\nimpl From<{name}> for MetadataRecord {{\n    fn from(record: {name}) -> Self {{\n        \
             Self::{variant}(record)\n    }}\n}}"
        );
    }
    out
}

fn key(record: &Message) -> i16 {
    match record.kind {
        Kind::Metadata { key } => key,
        _ => -1,
    }
}

fn definition(records: &[&Message]) -> String {
    let mut out = "\n/// A record of the metadata log.\n#[derive(Clone, PartialEq, Debug)]\n\
        pub enum MetadataRecord {\n"
        .to_owned();
    for record in records {
        let name = record.name();
        let _ = writeln!(out, "    /// {}", record.body().doc);
        let _ = writeln!(out, "    {}({name}),", names::variant(name));
    }
    out + "}\n\n"
}

fn methods(records: &[&Message]) -> String {
    let each = |line: &dyn Fn(&Message) -> String| -> String {
        records.iter().map(|record| line(record)).collect()
    };
    let keys = each(&|r| format!("Self::{}(_) => {},\n", names::variant(r.name()), key(r)));
    let names =
        each(&|r| format!("Self::{}(_) => {}::NAME,\n", names::variant(r.name()), r.name()));
    let versions =
        each(&|r| format!("Self::{}(_) => {}::VERSIONS,\n", names::variant(r.name()), r.name()));
    let encode = each(&|r| {
        format!("Self::{}(record) => record.encode(w, version),\n", names::variant(r.name()))
    });
    let decode =
        each(&|r| format!("{} => {}::decode(r, version).map(Self::from),\n", key(r), r.name()));
    format!(
        "impl MetadataRecord {{
    /// Number of the record's type in the frame.
    pub const fn key(&self) -> u32 {{ match self {{ {keys} }} }}

    /// The protocol's name of the record's type.
    pub const fn name(&self) -> &'static str {{ match self {{ {names} }} }}

    /// Oldest and newest version of the record's type.
    pub const fn versions(&self) -> (i16, i16) {{ match self {{ {versions} }} }}

    /// Writes the value of a log record: the frame, and in it this record in `version`.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {{
        write_frame(w, self.key(), version);
        match self {{ {encode} }}
    }}

    /// Reads the value of a log record to its end; gives the record and its version.
    pub fn decode(r: &mut Reader) -> Result<(Self, i16), DecodeError> {{
        let (key, version) = read_frame(r)?;
        let record = match key {{ {decode} _ => Err(DecodeError::UnknownRecordKey(key)), }}?;
        r.expect_end()?;
        Ok((record, version))
    }}
}}
"
    )
}
