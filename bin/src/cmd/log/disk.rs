//! The files that a survey looks at: opened for reading, one at a time.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use dohle_core::verify::{
    Entry, Files, is_data_directory, is_log_file, is_partition, is_root_file,
};
use indicatif::ProgressBar;

/// Why a survey cannot look at something.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    pub(super) error: io::Error,
}

/// Files below a folder.
pub(super) struct Disk {
    root: PathBuf,
    open: Option<(String, File)>,
    progress: ProgressBar,
}

impl Disk {
    pub(super) fn new(root: &Path, progress: ProgressBar) -> Self {
        Self { root: root.to_owned(), open: None, progress }
    }

    fn path(&self, below: &str) -> PathBuf {
        if below.is_empty() { self.root.clone() } else { self.root.join(below) }
    }

    fn try_read(&mut self, path: &str, position: u64, len: u32) -> io::Result<Bytes> {
        if self.open.as_ref().is_none_or(|(open, _)| open != path) {
            self.open = Some((path.to_owned(), File::open(self.path(path))?));
        }
        let mut bytes = vec![0; len as usize];
        let Some((_, file)) = &self.open else { return Ok(Bytes::new()) };
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], position + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        Ok(Bytes::from(bytes))
    }
}

impl Files for Disk {
    type Error = Unreadable;

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Unreadable> {
        let path = self.path(folder);
        list(&path).map_err(|error| Unreadable { path, error })
    }

    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, Unreadable> {
        let bytes = match self.try_read(path, position, len) {
            // Removed since the folder was listed, as a running broker does.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Bytes::new(),
            other => other.map_err(|error| Unreadable { path: self.path(path), error })?,
        };
        self.progress.inc(bytes.len() as u64);
        Ok(bytes)
    }
}

fn list(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = match fs::metadata(entry.path()) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        let stamp = dohle_net::disk::stamp(&meta);
        entries.push(Entry { name, is_dir: meta.is_dir(), len: meta.len(), stamp });
    }
    Ok(entries)
}

/// What a path stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    Partition,
    File,
}

/// Where a survey begins.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) kind: Kind,
    /// The data directory, or what stands in its place.
    pub(super) root: PathBuf,
    /// The partition or file, below the root.
    pub(super) below: String,
    /// Bytes to look at.
    pub(super) bytes: u64,
}

/// Finds out what `path` is.
///
/// # Errors
/// That it is not there, cannot be read, or is nothing of a broker's.
pub(super) fn target(path: &Path) -> Result<Target, Unreadable> {
    let wrong = |error| Unreadable { path: path.to_owned(), error };
    let meta = fs::metadata(path).map_err(wrong)?;
    let named = match path.components().next_back() {
        Some(Component::Normal(_)) => path.to_owned(),
        _ => path.canonicalize().map_err(wrong)?,
    };
    let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = named.parent().unwrap_or(Path::new("")).to_owned();
    if meta.is_file() {
        File::open(path).map_err(wrong)?;
        return Ok(file(&parent, name, meta.len()));
    }
    let entries = list(path).map_err(wrong)?;
    if !is_data_directory(&entries) {
        let is_log = entries.is_empty() || entries.iter().any(|entry| is_log_file(&entry.name));
        if !is_partition(&name) || !is_log {
            let what = "neither a data directory nor the folder of a partition";
            return Err(wrong(io::Error::other(what)));
        }
        let bytes = entries.iter().map(|entry| entry.len).sum();
        return Ok(Target { kind: Kind::Partition, root: or_here(parent), below: name, bytes });
    }
    let mut bytes = 0;
    for entry in &entries {
        bytes += match entry.is_dir {
            true if is_partition(&entry.name) => {
                let inside = list(&path.join(&entry.name)).map_err(wrong)?;
                inside.iter().map(|entry| entry.len).sum()
            }
            true => 0,
            false => entry.len,
        };
    }
    Ok(Target { kind: Kind::Directory, root: path.to_owned(), below: String::new(), bytes })
}

/// A file lies in the data directory itself, or in the folder of a partition.
fn file(parent: &Path, name: String, bytes: u64) -> Target {
    if is_root_file(&name) {
        let root = or_here(parent.to_owned());
        return Target { kind: Kind::File, root, below: name, bytes };
    }
    let parent = match parent.components().next_back() {
        Some(Component::Normal(_)) => parent.to_owned(),
        _ => or_here(parent.to_owned()).canonicalize().unwrap_or_default(),
    };
    let folder = parent.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let root = or_here(parent.parent().unwrap_or(Path::new("")).to_owned());
    Target { kind: Kind::File, root, below: format!("{folder}/{name}"), bytes }
}

fn or_here(path: PathBuf) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}
