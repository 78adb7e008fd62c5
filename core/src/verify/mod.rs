//! Looks for damage in the files of a data directory, offline.
//!
//! State: none beyond a walk. Inputs: the bytes of files, through [`Files`]. Effects: findings,
//! and facts about each partition. Nothing is ever written.
//!
//! What a crash leaves behind is no damage: a torn end of the last segment, and whatever the next
//! start makes anew. What lies below the recovery point, or was closed by a clean stop, is held
//! to be whole, as recovery does (see `log::recover`).
//!
//! Must never know: where files come from, and how findings are shown.

mod batch;
mod context;
mod directory;
mod finding;
mod index;
mod partition;
mod producers;
mod segment;
mod sums;
#[cfg(test)]
mod tests;
mod text;

use bytes::{Bytes, BytesMut};
use dohle_wire::record::Codecs;

use crate::disk::Stamp;

pub use self::directory::{is_data_directory, is_partition, is_root_file};
pub use self::finding::{Finding, Problem, Problems, Severity};
pub use self::partition::{Facts, is_log_file};

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Bytes of a file.
    pub len: u64,
    /// Whether it is still the file that it was.
    pub stamp: Stamp,
}

/// Files by their paths below a root, which is the empty path.
pub trait Files {
    /// Why a file or folder cannot be read.
    type Error;

    /// What a folder holds; nothing if it is not there.
    ///
    /// # Errors
    /// That it cannot be read.
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Self::Error>;

    /// Up to `len` bytes from `position` on; none if the file is not there or ends before.
    ///
    /// # Errors
    /// That it cannot be read.
    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, Self::Error>;
}

/// What a walk went through.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files that were read.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Batches that are sound.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Findings that are damage.
    pub damaged: u64,
    /// Findings that a crash explains.
    pub torn: u64,
    /// Findings that do no harm.
    pub warnings: u64,
}

impl Tally {
    fn count(&mut self, severity: Severity, findings: u64) {
        match severity {
            Severity::Damage => self.damaged += findings,
            Severity::Torn => self.torn += findings,
            Severity::Warning => self.warnings += findings,
        }
    }
}

/// A walk through files.
pub struct Survey<'a, F: Files> {
    files: &'a mut F,
    codecs: &'a dyn Codecs,
    on_finding: &'a mut dyn FnMut(Finding),
    deep: bool,
    only: Option<String>,
    tally: Tally,
}

/// Most bytes of a file that is read as a whole.
pub const WHOLE_MAX: u64 = 1 << 28;
/// Bytes that are asked for at a time.
const PIECE: u32 = 1 << 20;

impl<'a, F: Files> Survey<'a, F> {
    /// A walk through `files` that tells its findings to `on_finding`. A `deep` one reads records
    /// and checks sums, another looks at the headers of batches only.
    pub fn new(
        files: &'a mut F,
        codecs: &'a dyn Codecs,
        deep: bool,
        on_finding: &'a mut dyn FnMut(Finding),
    ) -> Self {
        Self { files, codecs, on_finding, deep, only: None, tally: Tally::default() }
    }

    /// What was gone through so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Tells what is wrong with a file.
    fn tell(&mut self, file: &str, problems: Problems) {
        let inside = |only: &String| {
            let rest = file.strip_prefix(only.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !self.only.as_ref().is_none_or(inside) {
            return;
        }
        for problem in problems.into_all() {
            self.tally.count(problem.severity, problem.times);
            (self.on_finding)(Finding { file: file.to_owned(), problem });
        }
    }

    /// The content of a file of `len` bytes, if it can be looked at as a whole.
    fn whole(&mut self, path: &str, len: u64) -> Result<Option<Bytes>, F::Error> {
        self.tally.files += 1;
        if len > WHOLE_MAX {
            let expected = format!("at most {WHOLE_MAX} bytes");
            self.tell(path, Problem::new("size", expected, format!("{len} bytes")).into());
            return Ok(None);
        }
        let mut content = BytesMut::new();
        while (content.len() as u64) < len {
            let bytes = self.files.read(path, content.len() as u64, PIECE)?;
            if bytes.is_empty() {
                break;
            }
            content.extend_from_slice(&bytes);
        }
        self.tally.bytes += content.len() as u64;
        Ok(Some(content.freeze()))
    }
}

/// A path in a folder.
fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
