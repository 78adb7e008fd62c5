//! The table of files: which path a [`FileId`] means, and the descriptors that are open.
//!
//! Descriptors are opened when they are first needed and at most so many are kept; a reader keeps
//! the file it was handed however long it takes. A closed id stays known for [`LINGER`], since a
//! range of it may be on its way to a sender.
//!
//! Invariant: the lock of the table, of a slot's place and of a slot's file are leaves: none is
//! held while another is taken, but for the list of open slots under a slot's file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use dohle_core::disk::{FileId, FilePath};
use dohle_core::time::Instant;

/// How long a closed file is kept for senders that were handed a range of it: as long as Kafka
/// keeps a deleted segment (`file.delete.delay.ms`).
pub(super) const LINGER: Duration = Duration::from_secs(60);
/// Closed files kept at most; the oldest goes first.
const LINGER_MAX: usize = 4096;

/// All files of a node.
pub struct Files {
    roots: Vec<PathBuf>,
    table: RwLock<BTreeMap<FileId, Arc<Slot>>>,
    lingering: Mutex<VecDeque<Lingering>>,
    lingering_until: AtomicU64,
    /// Folders whose own entries, up to the data directory, are known to be durable.
    linked_folders: Mutex<BTreeSet<(u16, String)>>,
    open: Mutex<VecDeque<Weak<Slot>>>,
    open_max: usize,
    births: AtomicU64,
}

struct Lingering {
    until: Instant,
    file: FileId,
    slot: Arc<Slot>,
}

/// One file that the core knows by an id.
pub(super) struct Slot {
    dir: u16,
    /// Serial number; a rename concerns the slots that are older than it.
    birth: u64,
    place: Mutex<Place>,
    file: Mutex<Option<Arc<File>>>,
    /// Used since the last look for a descriptor to close.
    used: AtomicBool,
    /// Its directory entry, and those of the folders above, are known to be durable.
    linked: AtomicBool,
}

struct Place {
    path: Arc<str>,
    /// Where it may still be, while a rename is under way.
    former: Option<Arc<str>>,
}

impl Files {
    /// A table for data directories `roots` that keeps about `open_max` descriptors.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>, open_max: usize) -> Self {
        Self {
            roots,
            table: RwLock::default(),
            lingering: Mutex::default(),
            lingering_until: AtomicU64::new(u64::MAX),
            linked_folders: Mutex::default(),
            open: Mutex::default(),
            open_max: open_max.max(1),
            births: AtomicU64::new(0),
        }
    }

    /// The file of a range that was handed out.
    ///
    /// # Errors
    /// When the id was never opened or closed too long ago, or when the file cannot be opened.
    pub fn handed_out(&self, id: FileId) -> io::Result<Arc<File>> {
        let slot = self.slot(id).or_else(|| self.lingering_slot(id));
        let slot =
            slot.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "file was closed"))?;
        self.existing(&slot)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// When [`Files::expire`] has something to do.
    pub(super) fn expiry(&self) -> Option<Instant> {
        let at = self.lingering_until.load(Ordering::Relaxed);
        (at != u64::MAX).then_some(Instant(at))
    }

    /// Forgets files that were closed long ago.
    pub(super) fn expire(&self, now: Instant) {
        let mut lingering = lock(&self.lingering);
        while lingering.front().is_some_and(|old| old.until <= now) {
            lingering.pop_front();
        }
        self.note_expiry(&lingering);
    }

    /// The path on this machine.
    pub(super) fn path(&self, at: &FilePath) -> io::Result<PathBuf> {
        self.locate(at.dir, &at.path)
    }

    /// The root of a data directory.
    pub(super) fn root(&self, dir: u16) -> io::Result<&Path> {
        let root = self.roots.get(usize::from(dir)).map(PathBuf::as_path);
        root.ok_or_else(|| io::Error::other(format!("there is no data directory {dir}")))
    }

    pub(super) fn open(&self, id: FileId, path: &FilePath) {
        let slot = Slot {
            dir: path.dir,
            birth: self.birth(),
            place: Mutex::new(Place { path: Arc::clone(&path.path), former: None }),
            file: Mutex::default(),
            used: AtomicBool::new(false),
            linked: AtomicBool::new(false),
        };
        self.write_table().insert(id, Arc::new(slot));
    }

    /// Forgets an id, but for senders that were handed a range of it. `settled`: nothing is under
    /// way that changes what its path means.
    pub(super) fn close(&self, id: FileId, now: Instant, settled: bool) {
        let Some(slot) = self.write_table().remove(&id) else { return };
        if settled {
            // Opened now if need be: its name may be gone when a sender asks. If that fails there
            // is nothing to send, and the sender is told so.
            let _ = self.existing(&slot);
        }
        let mut lingering = lock(&self.lingering);
        lingering.push_back(Lingering { until: now.plus(LINGER), file: id, slot });
        if lingering.len() > LINGER_MAX {
            lingering.pop_front();
        }
        self.note_expiry(&lingering);
    }

    pub(super) fn slot(&self, id: FileId) -> Option<Arc<Slot>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// A serial number above those of all slots opened so far.
    pub(super) fn birth(&self) -> u64 {
        self.births.fetch_add(1, Ordering::Relaxed)
    }

    /// The slot's file, none if there is none on disk.
    pub(super) fn existing(&self, slot: &Arc<Slot>) -> io::Result<Option<Arc<File>>> {
        let mut file = lock(&slot.file);
        if let Some(open) = &*file {
            slot.used.store(true, Ordering::Relaxed);
            return Ok(Some(Arc::clone(open)));
        }
        match self.open_placed(slot) {
            Ok(opened) => Ok(Some(self.keep(slot, &mut file, opened))),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The slot's file, made with the folders above it if there is none.
    pub(super) fn created(&self, slot: &Arc<Slot>) -> io::Result<Arc<File>> {
        if let Some(file) = self.existing(slot)? {
            return Ok(file);
        }
        let mut file = lock(&slot.file);
        let path = self.locate(slot.dir, &slot.path())?;
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let opened = match open() {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                open()?
            }
            other => other?,
        };
        Ok(self.keep(slot, &mut file, opened))
    }

    /// A rename starts: slots older than `birth` under `from` are under `to` from now on.
    pub(super) fn rename_begins(&self, dir: u16, from: &str, to: &str, birth: u64) {
        self.each_slot(dir, |slot| {
            if slot.birth < birth {
                slot.moves(from, to);
            }
        });
    }

    /// The rename ended; if it failed, the slots are where they were.
    pub(super) fn rename_ended(&self, dir: u16, to: &str, done: bool) {
        self.each_slot(dir, |slot| {
            let mut place = lock(&slot.place);
            let here = remainder(&place.path, to).is_some();
            if let Some(former) = place.former.take_if(|_| here)
                && !done
            {
                place.path = former;
            }
        });
    }

    /// Whether the entry of `folder` needs no more syncs.
    pub(super) fn folder_is_linked(&self, dir: u16, folder: &str) -> bool {
        folder.is_empty() || lock(&self.linked_folders).contains(&(dir, folder.to_owned()))
    }

    pub(super) fn link_folder(&self, dir: u16, folder: &str) {
        lock(&self.linked_folders).insert((dir, folder.to_owned()));
    }

    /// The entry of `path` is about to go, or to come anew.
    pub(super) fn unlink_folders(&self, dir: u16, path: &str) {
        let under = |folder: &str| path.is_empty() || remainder(folder, path).is_some();
        lock(&self.linked_folders).retain(|(other, folder)| *other != dir || !under(folder));
    }

    fn each_slot(&self, dir: u16, mut visit: impl FnMut(&Slot)) {
        for slot in self.table.read().unwrap_or_else(PoisonError::into_inner).values() {
            if slot.dir == dir {
                visit(slot);
            }
        }
        for old in lock(&self.lingering).iter().filter(|old| old.slot.dir == dir) {
            visit(&old.slot);
        }
    }

    fn open_placed(&self, slot: &Slot) -> io::Result<File> {
        let (path, former) = {
            let place = lock(&slot.place);
            (Arc::clone(&place.path), place.former.clone())
        };
        let open = |path: &str| {
            OpenOptions::new().read(true).write(true).open(self.locate(slot.dir, path)?)
        };
        match (open(&path), former) {
            (Err(why), Some(former)) if why.kind() == io::ErrorKind::NotFound => {
                // Between the two attempts the rename may have happened.
                open(&former).or_else(|_| open(&path))
            }
            (opened, _) => opened,
        }
    }

    fn keep(&self, slot: &Arc<Slot>, place: &mut Option<Arc<File>>, opened: File) -> Arc<File> {
        let file = Arc::new(opened);
        *place = Some(Arc::clone(&file));
        slot.used.store(true, Ordering::Relaxed);
        let mut open = lock(&self.open);
        open.push_back(Arc::downgrade(slot));
        if open.len() > self.open_max {
            close_one(&mut open);
        }
        file
    }

    fn lingering_slot(&self, id: FileId) -> Option<Arc<Slot>> {
        lock(&self.lingering).iter().find(|old| old.file == id).map(|old| Arc::clone(&old.slot))
    }

    fn note_expiry(&self, lingering: &VecDeque<Lingering>) {
        let first = lingering.front().map_or(u64::MAX, |old| old.until.0);
        self.lingering_until.store(first, Ordering::Relaxed);
    }

    fn locate(&self, dir: u16, path: &str) -> io::Result<PathBuf> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        assert!(path.is_empty() || path.split('/').all(plain), "not a path of the core: {path:?}");
        Ok(self.root(dir)?.join(path))
    }

    fn write_table(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<FileId, Arc<Slot>>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn open_count(&self) -> usize {
        let open = |slot: &&Arc<Slot>| lock(&slot.file).is_some();
        self.table.read().expect("no panic under the lock").values().filter(open).count()
    }
}

impl Slot {
    pub(super) fn dir(&self) -> u16 {
        self.dir
    }

    pub(super) fn path(&self) -> Arc<str> {
        Arc::clone(&lock(&self.place).path)
    }

    pub(super) fn linked(&self) -> bool {
        self.linked.load(Ordering::Acquire)
    }

    pub(super) fn set_linked(&self) {
        self.linked.store(true, Ordering::Release);
    }

    fn moves(&self, from: &str, to: &str) {
        let mut place = lock(&self.place);
        let Some(rest) = remainder(&place.path, from) else { return };
        let path = Arc::from(format!("{to}{rest}"));
        let former = std::mem::replace(&mut place.path, path);
        place.former = Some(former);
    }
}

/// Closes the descriptor of a slot that was not used since the last look at it (second chance).
/// Slots that are busy at this moment are passed over.
fn close_one(open: &mut VecDeque<Weak<Slot>>) {
    for _ in 0..2 * open.len() {
        let Some(candidate) = open.pop_front() else { return };
        let Some(slot) = candidate.upgrade() else { return };
        if slot.used.swap(false, Ordering::Relaxed) {
            open.push_back(candidate);
            continue;
        }
        match slot.file.try_lock() {
            Ok(mut file) => {
                *file = None;
                return;
            }
            Err(_) => open.push_back(candidate),
        }
    }
}

/// What follows `folder` in `path`, beginning with `/`, or nothing when they are equal.
fn remainder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
