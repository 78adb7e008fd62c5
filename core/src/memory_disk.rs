//! A disk in memory for whoever drives a machine by hand: every operation is carried out at once,
//! what is not synced can be thrown away. No broker uses it. (The simulator's disk is the real
//! opponent; this one keeps tests short.)
//!
//! State: files, and what is durable of them. Inputs: operations, and faults that are asked for.
//! Effects: none. A breach of the contract in [`crate::disk`] is a panic.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_wire::id::Timestamp;

use crate::disk::{DirEntry, DiskOp, FileId, FilePath, IoDone, IoError, IoOk, Space, Stamp};
use crate::log::locate::{LocatePlan, ReadAt, locate};

/// Files by path.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    /// What a reader sees.
    pub files: BTreeMap<FilePath, Vec<u8>>,
    durable: BTreeMap<FilePath, Vec<u8>>,
    names: BTreeMap<FileId, FilePath>,
    /// For each file, which of all changes was its last. Tests that damage a file leave it out.
    changes: BTreeMap<FilePath, u64>,
    changes_made: u64,
    /// Writes fail from now on.
    pub broken: bool,
    /// Nothing can be done in these directories.
    pub broken_dirs: BTreeSet<u16>,
    /// No more bytes fit than these.
    pub most: Option<usize>,
    /// Reads of this file fail.
    pub unreadable: Option<FilePath>,
    /// Bytes that were read from open files so far.
    pub bytes_read: u64,
    /// A read brings no more bytes than these.
    pub piece: Option<u32>,
    /// The read after so many others brings one wrong bit, in the byte with this place.
    pub misread: Option<(u32, usize)>,
}

impl MemoryDisk {
    /// Carries out `op`; nothing for operations without a completion.
    pub fn run(&mut self, op: DiskOp) -> Option<IoDone> {
        match op {
            DiskOp::Open { file, path } => {
                self.names.insert(file, path);
                None
            }
            DiskOp::Close { .. } => None,
            op => {
                let id = op.id().expect("only Open and Close have none");
                Some(IoDone { id, result: self.answer(op) })
            }
        }
    }

    fn answer(&mut self, op: DiskOp) -> Result<IoOk, IoError> {
        if self.dir_of(&op).is_some_and(|dir| self.broken_dirs.contains(&dir)) {
            return Err(IoError::Failed("broken".to_owned()));
        }
        if self.broken && !matches!(op, DiskOp::Read { .. } | DiskOp::Get { .. }) {
            return Err(IoError::Failed("broken".to_owned()));
        }
        Ok(match op {
            DiskOp::Read { file, .. }
                if self.unreadable.is_some()
                    && self.unreadable.as_ref() == self.names.get(&file) =>
            {
                return Err(IoError::Failed("decayed".to_owned()));
            }
            DiskOp::Get { path, .. } if self.unreadable.as_ref() == Some(&path) => {
                return Err(IoError::Failed("decayed".to_owned()));
            }
            DiskOp::Read { file, position, len, .. } => {
                let bytes = self.read(file, position, len.min(self.piece.unwrap_or(len)));
                self.bytes_read += bytes.len() as u64;
                IoOk::Read(self.perhaps_misread(bytes))
            }
            DiskOp::Get { path, .. } => {
                IoOk::Content(self.files.get(&path).map(|data| Bytes::copy_from_slice(data)))
            }
            DiskOp::List { path, .. } => IoOk::Listing(self.list(&path)),
            DiskOp::Stat { folder, names, .. } => IoOk::Listing(Some(self.stat(&folder, &names))),
            DiskOp::Locate { plan, .. } => IoOk::Located(self.locate(&plan)?),
            DiskOp::Space { dir, .. } => {
                let total = 1000 + u64::from(dir);
                IoOk::Space(Space { total, usable: total / 2 })
            }
            DiskOp::Rename { ref from, ref to, .. }
                if self.has_below(from) && self.has_below(to) =>
            {
                return Err(IoError::Failed("directory not empty".to_owned()));
            }
            other => {
                let fitting = self.fitting(other)?;
                self.change(fitting);
                IoOk::Done
            }
        })
    }

    fn has_below(&self, folder: &FilePath) -> bool {
        self.files.keys().any(|path| path != folder && is_at_or_below(path, folder))
    }

    fn perhaps_misread(&mut self, bytes: Bytes) -> Bytes {
        let at = match &mut self.misread {
            Some((0, at)) if *at < bytes.len() => *at,
            Some((0, _)) | None => return bytes,
            Some((before, _)) => {
                *before -= 1;
                return bytes;
            }
        };
        self.misread = None;
        let mut wrong = bytes.to_vec();
        wrong[at] ^= 1;
        wrong.into()
    }

    fn dir_of(&self, op: &DiskOp) -> Option<u16> {
        match op {
            DiskOp::Open { path, .. }
            | DiskOp::Get { path, .. }
            | DiskOp::Put { path, .. }
            | DiskOp::Remove { path, .. }
            | DiskOp::List { path, .. }
            | DiskOp::Rename { from: path, .. }
            | DiskOp::Stat { folder: path, .. } => Some(path.dir),
            DiskOp::Space { dir, .. } => Some(*dir),
            DiskOp::Close { file }
            | DiskOp::Write { file, .. }
            | DiskOp::Sync { file, .. }
            | DiskOp::Reserve { file, .. }
            | DiskOp::Truncate { file, .. }
            | DiskOp::Read { file, .. } => self.names.get(file).map(|path| path.dir),
            DiskOp::Locate { plan, .. } => self.names.get(&plan.file).map(|path| path.dir),
        }
    }

    /// Bytes that all files have together.
    pub fn used(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    /// The operation, if there is room for it. Of a write the part that fits is carried out.
    fn fitting(&mut self, op: DiskOp) -> Result<DiskOp, IoError> {
        let room = self.most.map_or(usize::MAX, |most| most.saturating_sub(self.used()));
        let no_space = Err(IoError::NoSpace("no room".to_owned()));
        match op {
            DiskOp::Write { id, file, position, data } => {
                let whole: Bytes = data.concat().into();
                let there = self.read(file, position, u32::MAX).len();
                if whole.len() <= there + room {
                    return Ok(DiskOp::Write { id, file, position, data });
                }
                let data = vec![whole.slice(..there + room)];
                self.change(DiskOp::Write { id, file, position, data });
                no_space
            }
            DiskOp::Put { ref data, .. } if data.len() > room => no_space,
            op => Ok(op),
        }
    }

    /// Somebody writes a file.
    pub fn touch(&mut self, path: &FilePath) {
        self.changes_made += 1;
        self.changes.insert(path.clone(), self.changes_made);
    }

    fn change(&mut self, op: DiskOp) {
        match &op {
            DiskOp::Write { file, .. } | DiskOp::Truncate { file, .. } => {
                self.touch(&self.names[file].clone());
            }
            DiskOp::Put { path, .. } => self.touch(path),
            _ => {}
        }
        match op {
            DiskOp::Write { file, position, data, .. } => {
                let content = self.files.entry(self.names[&file].clone()).or_default();
                let at = usize::try_from(position).unwrap();
                content.truncate(at);
                content.resize(at, 0);
                data.iter().for_each(|part| content.extend_from_slice(part));
            }
            DiskOp::Reserve { file, .. } => {
                self.files.get(&self.names[&file]).expect("space is reserved for what is there");
            }
            DiskOp::Sync { file, .. } => self.sync(&self.names[&file].clone()),
            DiskOp::Truncate { file, len, .. } => {
                let path = self.names[&file].clone();
                let content = self.files.get_mut(&path).expect("truncated files exist");
                content.truncate(usize::try_from(len).unwrap());
                self.sync(&path);
            }
            DiskOp::Put { path, data, durable, .. } => {
                self.files.insert(path.clone(), data.to_vec());
                if durable {
                    self.sync(&path);
                }
            }
            DiskOp::Remove { path, .. } => {
                let gone = |other: &FilePath| is_at_or_below(other, &path);
                self.files.retain(|other, _| !gone(other));
                self.durable.retain(|other, _| !gone(other));
            }
            DiskOp::Rename { from, to, .. } => {
                move_all(&mut self.files, &from, &to);
                move_all(&mut self.durable, &from, &to);
            }
            other => unreachable!("{other:?} changes nothing"),
        }
    }

    fn sync(&mut self, path: &FilePath) {
        if let Some(content) = self.files.get(path) {
            self.durable.insert(path.clone(), content.clone());
        }
    }

    fn read(&self, file: FileId, position: u64, len: u32) -> Bytes {
        part(self.files.get(&self.names[&file]).map_or(&[], Vec::as_slice), position, len)
    }

    fn list(&self, path: &FilePath) -> Option<Vec<DirEntry>> {
        let below = if path.path.is_empty() { String::new() } else { format!("{}/", path.path) };
        let mut entries: BTreeMap<String, DirEntry> = BTreeMap::new();
        for (file, content) in self.files.iter().filter(|(file, _)| file.dir == path.dir) {
            let Some(rest) = file.path.strip_prefix(below.as_str()) else { continue };
            let (name, is_dir) = rest.split_once('/').map_or((rest, false), |(dir, _)| (dir, true));
            let len = if is_dir { 0 } else { content.len() as u64 };
            let stamp = self.stamp(file);
            let entry =
                DirEntry { name: name.to_owned(), is_dir, len, modified: Timestamp(0), stamp };
            entries.insert(name.to_owned(), entry);
        }
        (path.path.is_empty() || !entries.is_empty()).then(|| entries.into_values().collect())
    }

    /// The state of a file.
    pub fn stamp(&self, path: &FilePath) -> Stamp {
        Stamp(self.changes.get(path).copied().unwrap_or(0))
    }

    fn stat(&self, folder: &FilePath, names: &[String]) -> Vec<DirEntry> {
        let find = |name: &String| {
            let path = folder.join(name);
            let len = self.files.get(&path)?.len() as u64;
            let stamp = self.stamp(&path);
            let name = name.clone();
            Some(DirEntry { name, is_dir: false, len, modified: Timestamp(0), stamp })
        };
        names.iter().filter_map(find).collect()
    }

    /// Carries out a look-up.
    pub fn locate(
        &mut self,
        plan: &LocatePlan,
    ) -> Result<Option<crate::log::locate::Located>, IoError> {
        locate(plan, &mut Reader { disk: self, file: plan.file })
    }

    /// The machine loses power: only what was synced is left.
    pub fn lose_power(&mut self) {
        self.files = self.durable.clone();
        self.names.clear();
    }

    /// The process ends: the page cache stays.
    pub fn kill(&mut self) {
        self.names.clear();
    }

    /// Names of the files, in order.
    pub fn names(&self) -> BTreeSet<String> {
        self.files.keys().map(|path| path.path.to_string()).collect()
    }
}

fn part(content: &[u8], position: u64, len: u32) -> Bytes {
    let from = usize::try_from(position).unwrap().min(content.len());
    let upto = (from + len as usize).min(content.len());
    Bytes::copy_from_slice(&content[from..upto])
}

fn is_at_or_below(path: &FilePath, folder: &FilePath) -> bool {
    let rest = path.path.strip_prefix(&*folder.path);
    path.dir == folder.dir && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn move_all(files: &mut BTreeMap<FilePath, Vec<u8>>, from: &FilePath, to: &FilePath) {
    let moved: Vec<_> = files.keys().filter(|path| is_at_or_below(path, from)).cloned().collect();
    for old in moved {
        let rest = old.path[from.path.len()..].to_owned();
        if let Some(content) = files.remove(&old) {
            files.insert(FilePath::new(to.dir, format!("{}{rest}", to.path)), content);
        }
    }
}

struct Reader<'a> {
    disk: &'a MemoryDisk,
    file: FileId,
}

impl ReadAt for Reader<'_> {
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
        let len = len.min(self.disk.piece.unwrap_or(len));
        Ok(self.disk.read(self.file, position, len))
    }

    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
        Ok(self.disk.files.get(path).map(|data| data.len() as u64))
    }

    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
        let len = len.min(self.disk.piece.unwrap_or(len));
        Ok(self.disk.files.get(path).map_or_else(Bytes::new, |data| part(data, position, len)))
    }
}
