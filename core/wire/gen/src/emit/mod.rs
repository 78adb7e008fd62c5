//! Writes Rust source from the schema.

mod body;
mod condition;
mod group;
mod index;
mod metadata;
mod names;
mod read;
mod types;
mod values;
mod write;

use std::path::Path;

use crate::File;
use crate::schema::{Kind, Message};

/// Where the messages are.
const MESSAGES: &str = "src/message";

/// Where the test support is.
const VALUES: &str = "tests/wire/support/values";

/// First lines of every generated file.
const HEADER: &str = "\
// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.
";

/// All generated files for these messages.
pub(crate) fn files(messages: &[Message]) -> Vec<File> {
    let mut files: Vec<_> = messages.iter().flat_map(|each| of_message(each, messages)).collect();
    let records = messages.iter().filter(|message| matches!(message.kind, Kind::Metadata { .. }));
    files.push(source(MESSAGES, "metadata", &metadata::module(&records.collect::<Vec<_>>())));
    files.push(source(MESSAGES, "group", &group::module(messages)));
    files.push(source(MESSAGES, "mod", &index::module(messages)));
    files.push(source(VALUES, "mod", &values::index(messages)));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn of_message(message: &Message, messages: &[Message]) -> [File; 2] {
    let name = names::module(message.name());
    let module = source(MESSAGES, &name, &body::module(message, messages));
    [module, source(VALUES, &name, &values::module(message))]
}

fn source(folder: &str, name: &str, text: &str) -> File {
    let path = Path::new(folder).join(name).with_extension("rs");
    File { path, text: format!("{HEADER}\n{text}") }
}
