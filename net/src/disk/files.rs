//! The table of files: which path a [`FileId`] means, and the descriptors that are open.
//!
//! Descriptors are opened when they are first needed and at most so many are kept. A sender keeps
//! the file it was handed however long it takes; while too many are kept it is handed the slot
//! instead, and opens the file when its turn comes. So a node has open, at most: what is kept, one
//! for each connection that sends, and one for each thread. A closed id stays known for [`LINGER`],
//! since a range of it may be on its way to a sender.
//!
//! That the process, or the system, has no descriptor left says nothing about a disk: what is kept
//! makes room ([`Files::make_room`]), and who still gets none tries again later.
//!
//! A data directory is the one that was there at the start. When another one has its name (its file
//! system was unmounted, say), what is not open is not looked for there, nor made: that fails.
//!
//! Invariant: the lock of the table, of a slot's place and of a slot's file are leaves: none is
//! held while another is taken, but for the list of open slots under a slot's file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use dohle_core::disk::{FileId, FilePath};
use dohle_core::time::Instant;
use rustix::io::Errno;

use crate::times::Times;

/// How long a closed file is kept for senders that were handed a range of it: as long as Kafka
/// keeps a deleted segment (`file.delete.delay.ms`).
pub(super) const LINGER: Duration = Duration::from_secs(60);
/// How long on a disk without space, which a deleted file that is kept takes up.
const LINGER_WITHOUT_SPACE: Duration = Duration::from_secs(2);
/// Closed files kept at most; the oldest goes first.
const LINGER_MAX: usize = 4096;
/// Descriptors that make room at a time.
const ROOM: usize = 8;

/// All files of a node.
pub struct Files {
    roots: Vec<Root>,
    table: RwLock<BTreeMap<FileId, Arc<Slot>>>,
    lingering: Mutex<VecDeque<Lingering>>,
    lingering_until: AtomicU64,
    /// Folders whose own entries, up to the data directory, are known to be durable.
    linked_folders: Mutex<BTreeSet<(u16, String)>>,
    kept: Mutex<VecDeque<Kept>>,
    kept_max: usize,
    births: AtomicU64,
    syncs: Times,
}

/// A data directory.
struct Root {
    path: PathBuf,
    /// Device and inode, if it was there at the start.
    known: Option<(u64, u64)>,
}

/// An open file, for as long as anybody has it.
struct Kept {
    slot: Weak<Slot>,
    file: Weak<File>,
}

/// A file of which a range was handed out.
pub struct Handed(Source);

enum Source {
    Open(Arc<File>),
    /// It is opened when it is needed.
    Placed(Arc<Files>, Arc<Slot>),
}

struct Lingering {
    closed: Instant,
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
    /// The table does not know it any more.
    forgotten: AtomicBool,
}

struct Place {
    path: Arc<str>,
    /// Where it may still be, while a rename is under way.
    former: Option<Arc<str>>,
}

impl Files {
    /// A table for data directories `roots` that keeps `kept_max` descriptors.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>, kept_max: usize) -> Self {
        Self {
            roots: roots.into_iter().map(Root::new).collect(),
            table: RwLock::default(),
            lingering: Mutex::default(),
            lingering_until: AtomicU64::new(u64::MAX),
            linked_folders: Mutex::default(),
            kept: Mutex::default(),
            kept_max: kept_max.max(1),
            births: AtomicU64::new(0),
            syncs: Times::default(),
        }
    }

    /// How long syncs of logs took.
    pub(crate) fn syncs(&self) -> &Times {
        &self.syncs
    }

    /// The file of a range that was handed out.
    ///
    /// # Errors
    /// When the id was never opened or closed too long ago, or when the file cannot be opened.
    pub fn handed_out(self: &Arc<Self>, id: FileId) -> io::Result<Handed> {
        let slot = self.slot(id).or_else(|| self.lingering_slot(id));
        let slot =
            slot.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "file was closed"))?;
        let file = self.for_sender(&slot)?;
        let mut kept = lock(&self.kept);
        close_down_to(&mut kept, self.kept_max);
        if kept.len() > self.kept_max {
            return Ok(Handed(Source::Placed(Arc::clone(self), slot)));
        }
        Ok(file.into())
    }

    fn for_sender(&self, slot: &Arc<Slot>) -> io::Result<Arc<File>> {
        // Nobody tells it of renames any more: its path may mean another file by now.
        if slot.forgotten.load(Ordering::Acquire) {
            return Err(io::ErrorKind::NotFound.into());
        }
        loop {
            match self.existing(slot) {
                Err(why) if is_shortage(&why) && self.make_room() => {}
                found => return found?.ok_or_else(|| io::ErrorKind::NotFound.into()),
            }
        }
    }

    /// Closes some of the descriptors that are kept, for the process has none left. False: there
    /// was nothing to close.
    pub(super) fn make_room(&self) -> bool {
        let mut kept = lock(&self.kept);
        let room = kept.len().saturating_sub(ROOM);
        close_down_to(&mut kept, room)
    }

    /// When [`Files::expire`] has something to do.
    pub(super) fn expiry(&self) -> Option<Instant> {
        let at = self.lingering_until.load(Ordering::Relaxed);
        (at != u64::MAX).then_some(Instant(at))
    }

    /// Forgets files that were closed long ago.
    pub(super) fn expire(&self, now: Instant) {
        let mut lingering = lock(&self.lingering);
        while let Some(old) = lingering.pop_front_if(|old| old.until <= now) {
            old.slot.forget();
        }
        self.note_expiry(&lingering);
    }

    /// There was no space: closed files, which may be deleted ones, are kept a short time only.
    pub(super) fn hurry(&self) {
        let mut lingering = lock(&self.lingering);
        for old in lingering.iter_mut() {
            old.until = old.until.min(old.closed.plus(LINGER_WITHOUT_SPACE));
        }
        self.note_expiry(&lingering);
    }

    /// The path on this machine.
    pub(super) fn path(&self, at: &FilePath) -> io::Result<PathBuf> {
        self.locate(at.dir, &at.path)
    }

    /// The root of a data directory.
    pub(super) fn root(&self, dir: u16) -> io::Result<&Path> {
        Ok(&self.known(dir)?.path)
    }

    /// Fails when the data directory is gone, or another one has its name.
    pub(super) fn still_there(&self, dir: u16) -> io::Result<()> {
        let root = self.known(dir)?;
        if root.known.is_some() && root.known == identity(&root.path) {
            return Ok(());
        }
        let path = root.path.display();
        Err(io::Error::other(format!("the data directory {path} is no longer there")))
    }

    /// What was looked for in a data directory and not found is not there.
    pub(super) fn absent<T: Default>(&self, dir: u16) -> io::Result<T> {
        self.still_there(dir).map(|()| T::default())
    }

    fn known(&self, dir: u16) -> io::Result<&Root> {
        let root = self.roots.get(usize::from(dir));
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
            forgotten: AtomicBool::new(false),
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
        lingering.push_back(Lingering { closed: now, until: now.plus(LINGER), file: id, slot });
        if lingering.len() > LINGER_MAX
            && let Some(old) = lingering.pop_front()
        {
            old.slot.forget();
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
            Err(why) if why.kind() == io::ErrorKind::NotFound => self.absent(slot.dir),
            Err(why) => Err(why),
        }
    }

    /// The slot's file, made with the folders above it if there is none.
    pub(super) fn created(&self, slot: &Arc<Slot>) -> io::Result<Arc<File>> {
        if let Some(file) = self.existing(slot)? {
            return Ok(file);
        }
        self.still_there(slot.dir)?;
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
        let mut kept = lock(&self.kept);
        kept.push_back(Kept { slot: Arc::downgrade(slot), file: Arc::downgrade(&file) });
        close_down_to(&mut kept, self.kept_max);
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

impl Root {
    fn new(path: PathBuf) -> Self {
        Self { known: identity(&path), path }
    }
}

/// Device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
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

    fn forget(&self) {
        self.forgotten.store(true, Ordering::Release);
    }

    fn moves(&self, from: &str, to: &str) {
        let mut place = lock(&self.place);
        let Some(rest) = remainder(&place.path, from) else { return };
        let path = Arc::from(format!("{to}{rest}"));
        let former = std::mem::replace(&mut place.path, path);
        place.former = Some(former);
    }
}

/// Closes descriptors until `most` are open, first of slots that were not used since the last look
/// at them (second chance). What a sender or an operation has is passed over. Whether any closed.
fn close_down_to(kept: &mut VecDeque<Kept>, most: usize) -> bool {
    let mut closed = false;
    for _ in 0..2 * kept.len() {
        if kept.len() <= most {
            break;
        }
        let Some(candidate) = kept.pop_front() else { break };
        match candidate.close() {
            true => closed = true,
            false => kept.push_back(candidate),
        }
    }
    closed
}

impl Kept {
    /// Closes the descriptor, unless somebody has or lately had a use for it.
    fn close(&self) -> bool {
        let Some(slot) = self.slot.upgrade() else { return self.file.strong_count() == 0 };
        if slot.used.swap(false, Ordering::Relaxed) {
            return false;
        }
        let Ok(mut file) = slot.file.try_lock() else { return false };
        if self.file.strong_count() > 1 {
            return false;
        }
        *file = None;
        true
    }
}

impl Handed {
    /// The file, open.
    ///
    /// # Errors
    /// It is gone, or cannot be opened.
    pub fn file(&self) -> io::Result<Arc<File>> {
        match &self.0 {
            Source::Open(file) => Ok(Arc::clone(file)),
            Source::Placed(files, slot) => files.for_sender(slot),
        }
    }
}

impl From<Arc<File>> for Handed {
    fn from(file: Arc<File>) -> Self {
        Self(Source::Open(file))
    }
}

/// Whether an error says that there is no descriptor left.
pub(super) fn is_shortage(why: &io::Error) -> bool {
    matches!(Errno::from_io_error(why), Some(Errno::MFILE | Errno::NFILE))
}

/// What follows `folder` in `path`, beginning with `/`, or nothing when they are equal.
fn remainder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
