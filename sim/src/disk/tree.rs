//! Files and folders in two images: what processes see, and what a loss of power leaves for sure.
//!
//! *Live* is the page cache and the directory tree as system calls show it. *Durable* is what has
//! been synced. Between them lie changes that a loss of power may keep, drop or tear
//! ([`super::crash`]).
//!
//! Changes of the names in one folder become durable in the order in which they were made, as on
//! any journaling file system; those of different folders in any order.
//!
//! Invariants: durable content plus the pending changes in order is the live content; every entry
//! of either image has its folders in the same image.

use std::collections::BTreeMap;

use super::flaw::Scar;
use bytes::Bytes;
use dohle_core::disk::{DirEntry, FilePath, Stamp};
use dohle_wire::id::Timestamp;

/// A file's identity, whatever its name is now.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inode(pub(super) u64);

/// What a name stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Dir,
    File(Inode),
}

/// One un-synced change of a file.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) at: u64,
    pub(super) bytes: Bytes,
}

/// One file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) live: Vec<u8>,
    pub(super) durable: Vec<u8>,
    pub(super) pending: Vec<Change>,
    pub(super) scars: Vec<Scar>,
    pub(super) path: Option<FilePath>,
    pub(super) modified: Timestamp,
    /// How often it was changed.
    pub(super) changes: u64,
}

impl File {
    fn write(&mut self, at: u64, bytes: Bytes) {
        self.changes += 1;
        overwrite(&mut self.live, at, &bytes);
        self.pending.push(Change { at, bytes });
    }

    fn sync(&mut self) {
        for change in self.pending.drain(..) {
            overwrite(&mut self.durable, change.at, &change.bytes);
        }
        // A hole that a lost write left is as long as it is.
        self.durable.resize(self.live.len(), 0);
    }

    fn cut(&mut self, len: u64) {
        self.changes += 1;
        self.cut_scars(len);
        self.live.truncate(len as usize);
        self.durable.truncate(len as usize);
        self.pending.retain_mut(|change| {
            let room = len.saturating_sub(change.at).min(change.bytes.len() as u64);
            change.bytes.truncate(room as usize);
            room > 0
        });
    }
}

/// Puts `bytes` at `at`, with zeros before it where the content was shorter.
pub(super) fn overwrite(content: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (from, to) = (at as usize, at as usize + bytes.len());
    if content.len() < to {
        content.resize(to, 0);
    }
    content[from..to].copy_from_slice(bytes);
}

/// All data directories of one node.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(super) live: BTreeMap<FilePath, Entry>,
    pub(super) durable: BTreeMap<FilePath, Entry>,
    /// Names that changed and are not durable yet, in the order of the changes.
    pub(super) changed: Vec<(FilePath, Option<Entry>)>,
    pub(super) files: BTreeMap<Inode, File>,
    next: u64,
}

impl Tree {
    /// The file of that name.
    #[must_use]
    pub fn find(&self, path: &FilePath) -> Option<Inode> {
        match self.live.get(path) {
            Some(Entry::File(inode)) => Some(*inode),
            Some(Entry::Dir) | None => None,
        }
    }

    /// The file of that name, made with its folders where there was none.
    pub fn create(&mut self, path: &FilePath) -> Inode {
        if let Some(inode) = self.find(path) {
            return inode;
        }
        self.next += 1;
        let inode = Inode(self.next);
        for folder in folders(path) {
            if self.live.insert(folder.clone(), Entry::Dir).is_none() {
                self.changed.push((folder, Some(Entry::Dir)));
            }
        }
        self.live.insert(path.clone(), Entry::File(inode));
        self.changed.push((path.clone(), Some(Entry::File(inode))));
        self.files.insert(inode, File { path: Some(path.clone()), ..File::default() });
        inode
    }

    /// What all files hold together.
    pub(super) fn bytes(&self) -> u64 {
        let files = self.live.values().filter_map(|entry| match entry {
            Entry::File(inode) => self.files.get(inode),
            Entry::Dir => None,
        });
        files.map(|file| file.live.len() as u64).sum()
    }

    /// Writes into the page cache.
    pub fn write(&mut self, inode: Inode, at: u64, bytes: Bytes, now: Timestamp) {
        if let Some(file) = self.files.get_mut(&inode) {
            file.write(at, bytes);
            file.modified = now;
        }
    }

    /// Makes a file's content and its name durable.
    pub fn sync(&mut self, inode: Inode) {
        let Some(file) = self.files.get_mut(&inode) else { return };
        file.sync();
        if let Some(path) = file.path.clone() {
            self.commit(&path);
        }
    }

    /// A sync failed: the first few writes since the last one are on the medium, the others gone.
    pub(super) fn forget_unsynced(&mut self, inode: Inode, salt: u64) {
        let Some(file) = self.files.get_mut(&inode) else { return };
        let kept = salt % (file.pending.len() as u64 + 1);
        file.pending.truncate(kept as usize);
        file.sync();
        file.live = file.durable.clone();
    }

    /// Makes the changes of names durable that concern a path's folders and everything in the
    /// innermost of them.
    fn commit(&mut self, path: &FilePath) {
        let parents: Vec<FilePath> = folders(path).collect();
        let parent = parents.last().cloned().unwrap_or_else(|| FilePath::new(path.dir, ""));
        let due = |changed: &FilePath| parents.contains(changed) || is_child(changed, &parent);
        let (now, later) = std::mem::take(&mut self.changed).into_iter().partition(|(p, _)| due(p));
        self.changed = later;
        let now: Vec<(FilePath, Option<Entry>)> = now;
        for (path, entry) in now {
            self.settle(path, entry);
        }
    }

    /// Makes one change of a name durable.
    pub(super) fn settle(&mut self, path: FilePath, entry: Option<Entry>) {
        match entry {
            Some(entry) => self.durable.insert(path, entry),
            None => self.durable.remove(&path),
        };
    }

    /// Cuts a file, durably.
    pub fn truncate(&mut self, inode: Inode, len: u64) {
        if let Some(file) = self.files.get_mut(&inode) {
            file.cut(len);
        }
    }

    /// Replaces a file as a whole; the old content goes with its name.
    pub fn replace(&mut self, path: &FilePath, content: Bytes, durable: bool, now: Timestamp) {
        self.unlink(path);
        let inode = self.create(path);
        self.write(inode, 0, content, now);
        if durable {
            self.sync(inode);
        }
    }

    /// Removes a file or folder with all it holds; a loss of power may bring it back.
    pub fn remove(&mut self, path: &FilePath) {
        for below in self.below(path) {
            self.unlink(&below);
        }
        self.unlink(path);
    }

    /// Removes a file, durably.
    pub(super) fn take_away(&mut self, path: &FilePath) {
        self.unlink(path);
        self.commit(path);
    }

    /// Renames a file or folder, durably.
    pub fn rename(&mut self, from: &FilePath, to: &FilePath) {
        if !self.live.contains_key(from) {
            return;
        }
        self.remove(to);
        self.commit(from);
        self.commit(to);
        let moved = |path: &FilePath| -> Option<FilePath> {
            let rest = is_within(path, from).then(|| &path.path[from.path.len()..])?;
            Some(FilePath::new(to.dir, format!("{}{rest}", to.path)))
        };
        for image in [&mut self.live, &mut self.durable] {
            let names: Vec<FilePath> =
                image.keys().filter(|path| is_within(path, from)).cloned().collect();
            for old in names {
                if let (Some(entry), Some(new)) = (image.remove(&old), moved(&old)) {
                    for folder in folders(&new) {
                        image.insert(folder, Entry::Dir);
                    }
                    image.insert(new, entry);
                }
            }
        }
        for (path, _) in &mut self.changed {
            if let Some(new) = moved(path) {
                *path = new;
            }
        }
        for file in self.files.values_mut() {
            if let Some(new) = file.path.as_ref().and_then(moved) {
                file.path = Some(new);
            }
        }
    }

    fn unlink(&mut self, path: &FilePath) {
        let Some(entry) = self.live.remove(path) else { return };
        self.changed.push((path.clone(), None));
        if let Entry::File(inode) = entry
            && let Some(file) = self.files.get_mut(&inode)
        {
            file.path = None;
        }
    }

    /// Up to `len` bytes of a file at `at`, fewer at its end.
    #[must_use]
    pub fn read(&self, inode: Inode, at: u64, len: u64) -> Bytes {
        let Some(file) = self.files.get(&inode) else { return Bytes::new() };
        let from = file.live.len().min(at as usize);
        let to = file.live.len().min(from + len as usize);
        Bytes::copy_from_slice(&file.live[from..to])
    }

    /// The content of the file of that name, as processes see it.
    #[must_use]
    pub fn content(&self, path: &FilePath) -> Option<&[u8]> {
        self.files.get(&self.find(path)?).map(|file| &file.live[..])
    }

    /// The content that a loss of power now would leave for sure.
    #[must_use]
    pub fn durable_content(&self, path: &FilePath) -> Option<&[u8]> {
        self.durable_file(path).map(|file| &file.durable[..])
    }

    pub(super) fn durable_file(&self, path: &FilePath) -> Option<&File> {
        match self.durable.get(path) {
            Some(Entry::File(inode)) => self.files.get(inode),
            Some(Entry::Dir) | None => None,
        }
    }

    /// What a folder holds, in name order.
    #[must_use]
    pub fn list(&self, path: &FilePath) -> Option<Vec<DirEntry>> {
        let is_root = path.path.is_empty();
        if !is_root && self.live.get(path) != Some(&Entry::Dir) {
            return None;
        }
        let start = if is_root { 0 } else { path.path.len() + 1 };
        let mut list: Vec<DirEntry> = self
            .live
            .iter()
            .filter(|(below, _)| below.dir == path.dir && (is_root || is_within(below, path)))
            .filter(|(below, _)| below.path.len() > start && !below.path[start..].contains('/'))
            .map(|(below, entry)| self.dir_entry(&below.path[start..], *entry))
            .collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        Some(list)
    }

    /// What files of these names a folder holds.
    #[must_use]
    pub fn stat(&self, folder: &FilePath, names: &[String]) -> Vec<DirEntry> {
        let find = |name: &String| Some(self.dir_entry(name, *self.live.get(&folder.join(name))?));
        names.iter().filter_map(find).collect()
    }

    fn dir_entry(&self, name: &str, entry: Entry) -> DirEntry {
        let (file, stamp) = match entry {
            Entry::Dir => (None, Stamp(0)),
            Entry::File(inode) => {
                let file = self.files.get(&inode);
                let changes = file.map_or(0, |file| file.changes);
                (file, Stamp::of(inode.0, changes.cast_signed(), 0))
            }
        };
        DirEntry {
            name: name.to_owned(),
            is_dir: entry == Entry::Dir,
            len: file.map_or(0, |file| file.live.len() as u64),
            modified: file.map_or(Timestamp(0), |file| file.modified),
            stamp,
        }
    }

    /// Everything inside a folder, files and folders, the deepest last.
    pub(super) fn below(&self, path: &FilePath) -> Vec<FilePath> {
        self.live.keys().filter(|below| *below != path && is_within(below, path)).cloned().collect()
    }

    /// Names of the files in a folder, in order, in the live or the durable image.
    #[must_use]
    pub fn names(&self, folder: &FilePath, durable: bool) -> Vec<String> {
        let image = if durable { &self.durable } else { &self.live };
        image
            .iter()
            .filter(|(path, entry)| **entry != Entry::Dir && is_within(path, folder))
            .map(|(path, _)| path.path[folder.path.len() + 1..].to_owned())
            .filter(|name| !name.contains('/'))
            .collect()
    }

    /// Everything that the live image names.
    pub fn paths(&self) -> impl Iterator<Item = &FilePath> {
        self.live.keys()
    }

    /// Forgets files that no image names and nobody holds open.
    pub(super) fn sweep(&mut self) {
        let named: std::collections::BTreeSet<Inode> = self
            .live
            .values()
            .chain(self.durable.values())
            .filter_map(|entry| match entry {
                Entry::Dir => None,
                Entry::File(inode) => Some(*inode),
            })
            .collect();
        self.files.retain(|inode, _| named.contains(inode));
    }
}

/// Whether `path` is `folder` or lies in it.
pub(super) fn is_within(path: &FilePath, folder: &FilePath) -> bool {
    path.dir == folder.dir
        && path
            .path
            .strip_prefix(&*folder.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.path.is_empty())
}

/// Whether `path` lies in `folder` itself, not deeper.
pub(super) fn is_child(path: &FilePath, folder: &FilePath) -> bool {
    let parent = path.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    path.dir == folder.dir && parent == &*folder.path
}

/// The folders that a path lies in, the outermost first, without the data directory itself.
pub(super) fn folders(path: &FilePath) -> impl Iterator<Item = FilePath> + '_ {
    path.path.match_indices('/').map(|(at, _)| FilePath::new(path.dir, &path.path[..at]))
}
