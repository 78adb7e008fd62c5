//! Generator of the message types of `dohle-wire`.
//!
//! It reads the schema table (`core/wire/schema`, see the README there), and writes one Rust module
//! per message, one with all metadata records, one with all records of groups, and the test support
//! that makes arbitrary values of every message. The output is committed; a test compares it with what the table says.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod emit;
mod format;
mod parse;
mod schema;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use format::format;

/// One generated file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Path relative to the folder of the `dohle-wire` crate.
    pub path: PathBuf,
    /// Rust source, not yet formatted.
    pub text: String,
}

/// What stops the generator.
#[derive(Debug, Error)]
pub enum Error {
    /// A file could not be read or written, or rustfmt could not be run.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line of the table is not understood.
    #[error("{file}:{line}: {problem}")]
    Table {
        /// Name of the table file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// rustfmt refused the generated source.
    #[error("rustfmt: {0}")]
    Format(
        /// Its message.
        String,
    ),
}

/// Generates all files from the table files in `schema`, in the order of their paths.
pub fn generate(schema: &Path) -> Result<Vec<File>, Error> {
    let mut messages = Vec::new();
    for path in table_files(schema)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        messages.extend(parse::parse(&name, &fs::read_to_string(&path)?)?);
    }
    Ok(emit::files(&messages))
}

fn table_files(schema: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries: Result<Vec<_>, _> = fs::read_dir(schema)?.collect();
    let mut paths: Vec<_> = entries?.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "schema"));
    paths.sort();
    Ok(paths)
}
