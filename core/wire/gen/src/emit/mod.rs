//! Writes Rust source from the schema.

mod body;
mod condition;
mod index;
mod metadata;
mod names;
mod read;
mod types;
mod write;

use std::path::Path;

use crate::File;
use crate::schema::{Kind, Message};

/// First lines of every generated file.
const HEADER: &str = "\
// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.
";

/// All generated files for these messages.
pub(crate) fn files(messages: &[Message]) -> Vec<File> {
    let mut files: Vec<_> = messages.iter().map(|message| file(message, messages)).collect();
    let records = messages.iter().filter(|message| matches!(message.kind, Kind::Metadata { .. }));
    files.push(source("metadata.rs", &metadata::module(&records.collect::<Vec<_>>())));
    files.push(source("mod.rs", &index::module(messages)));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn file(message: &Message, messages: &[Message]) -> File {
    let name = format!("{}.rs", names::module(message.name()));
    source(&name, &body::module(message, messages))
}

fn source(name: &str, text: &str) -> File {
    File { path: Path::new("src/message").join(name), text: format!("{HEADER}\n{text}") }
}
