//! One disk operation, carried out from beginning to end on the thread that calls.

use std::fs::{File, Metadata};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use bytes::Bytes;
use dohle_core::disk::{DirEntry, DiskOp, FilePath, IoDone, IoError, IoOk, Space, Stamp, What};
use dohle_core::log::locate::{LocatePlan, ReadAt, locate};
use dohle_wire::id::Timestamp;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::files::{Files, Slot, is_shortage};
use super::order::{Footprint, Manner};
use super::waiting::Touches;

/// Parts of one vectored write; Linux takes at most 1024.
const WRITE_PARTS: usize = 64;
/// Buffers up to this size are made without asking how long the file is.
const READ_UNASKED: u32 = 256 * 1024;

/// An operation and the file that it was emitted for.
pub(super) struct Job {
    pub(super) op: DiskOp,
    /// The slot of the operation's file id.
    pub(super) slot: Option<Arc<Slot>>,
    /// Above the births of all slots that were open when it was emitted.
    pub(super) birth: u64,
}

impl Touches for Job {
    fn footprint(&self) -> Footprint {
        let of = |manner, path: &FilePath| Footprint {
            manner,
            dir: path.dir,
            paths: [Some(Arc::clone(&path.path)), None],
        };
        match &self.op {
            DiskOp::Write { .. }
            | DiskOp::Reserve { .. }
            | DiskOp::Read { .. }
            | DiskOp::Locate { .. } => self.slot_footprint(Manner::Content),
            DiskOp::Sync { .. } => self.slot_footprint(Manner::Sync),
            DiskOp::Truncate { .. } => self.slot_footprint(Manner::Alone),
            DiskOp::Get { path, .. } | DiskOp::Put { path, .. } => of(Manner::Alone, path),
            DiskOp::Remove { path, .. } | DiskOp::List { path, .. } => of(Manner::Alone, path),
            DiskOp::Rename { from, to, .. } => Footprint {
                manner: Manner::Alone,
                dir: from.dir,
                paths: [Some(Arc::clone(&from.path)), Some(Arc::clone(&to.path))],
            },
            DiskOp::Stat { folder, .. } => {
                Footprint { manner: Manner::Content, dir: folder.dir, paths: [None, None] }
            }
            DiskOp::Space { dir, .. } => {
                Footprint { manner: Manner::Content, dir: *dir, paths: [None, None] }
            }
            DiskOp::Open { .. } | DiskOp::Close { .. } => unreachable!("these are never jobs"),
        }
    }
}

impl Job {
    fn slot_footprint(&self, manner: Manner) -> Footprint {
        let place = self.slot.as_ref().map(|slot| (slot.dir(), slot.path()));
        let (dir, path) = place.map_or((0, None), |(dir, path)| (dir, Some(path)));
        Footprint { manner, dir, paths: [path, None] }
    }

    /// Whether the operation ends in the page cache: it may be done where it was emitted. What the
    /// search for damage reads has not been read for long.
    pub(super) fn is_quick(&self) -> bool {
        let scrubs = self.op.id().is_some_and(|id| id.what == What::Scrub);
        !scrubs
            && matches!(
                self.op,
                DiskOp::Write { .. }
                    | DiskOp::Read { .. }
                    | DiskOp::Locate { .. }
                    | DiskOp::Get { .. }
                    | DiskOp::Put { durable: false, .. }
            )
    }

    /// Carries it out. None: there is no descriptor for it; it may be carried out later, from its
    /// beginning: each operation comes out the same if part of it was done before.
    pub(super) fn run(&self, files: &Files) -> Option<IoDone> {
        let Some(id) = self.op.id() else { unreachable!("open and close are never jobs") };
        loop {
            match perform(&self.op, self.slot.as_ref(), self.birth, files) {
                Ok(ok) => return Some(IoDone { id, result: Ok(ok) }),
                Err(Trouble::Io(why)) => {
                    if matches!(why, IoError::NoSpace(_)) {
                        files.hurry();
                    }
                    return Some(IoDone { id, result: Err(why) });
                }
                Err(Trouble::Shortage) if files.make_room() => {}
                Err(Trouble::Shortage) => return None,
            }
        }
    }
}

/// Why an operation did not end well.
enum Trouble {
    /// It failed.
    Io(IoError),
    /// There was no descriptor left: nothing is wrong with the disk.
    Shortage,
}

fn perform(
    op: &DiskOp,
    slot: Option<&Arc<Slot>>,
    birth: u64,
    files: &Files,
) -> Result<IoOk, Trouble> {
    let unknown = || Trouble::Io(IoError::Failed("the file was not opened".to_owned()));
    let slot = slot.ok_or_else(unknown);
    let done = |result: io::Result<()>, what: &str| match result {
        Ok(()) => Ok(IoOk::Done),
        Err(why) => Err(trouble(&why, what)),
    };
    match op {
        DiskOp::Open { .. } | DiskOp::Close { .. } => unreachable!("these are never jobs"),
        DiskOp::Write { position, data, .. } => {
            let slot = slot?;
            done(write(files, slot, *position, data), &slot.path())
        }
        DiskOp::Sync { .. } => {
            let slot = slot?;
            let began = Instant::now();
            let synced = sync(files, slot);
            files.syncs().note(began.elapsed());
            done(synced, &slot.path())
        }
        DiskOp::Reserve { len, .. } => {
            let slot = slot?;
            done(reserve(files, slot, *len), &slot.path())
        }
        DiskOp::Truncate { len, .. } => {
            let slot = slot?;
            done(truncate(files, slot, *len), &slot.path())
        }
        DiskOp::Read { position, len, .. } => {
            let slot = slot?;
            let read = read(files, slot, *position, *len);
            read.map(IoOk::Read).map_err(|why| trouble(&why, &slot.path()))
        }
        DiskOp::Get { path, .. } => {
            let content = get(files, path);
            content.map(IoOk::Content).map_err(|why| trouble(&why, &path.path))
        }
        DiskOp::Put { path, data, durable, .. } => {
            done(put(files, path, data, *durable), &path.path)
        }
        DiskOp::Remove { path, .. } => done(remove(files, path), &path.path),
        DiskOp::Rename { from, to, .. } => done(rename(files, from, to, birth), &from.path),
        DiskOp::List { path, .. } => {
            let listing = list(files, path);
            listing.map(IoOk::Listing).map_err(|why| trouble(&why, &path.path))
        }
        DiskOp::Stat { folder, names, .. } => {
            let listing = stat(files, folder, names).map(Some);
            listing.map(IoOk::Listing).map_err(|why| trouble(&why, &folder.path))
        }
        DiskOp::Space { dir, .. } => {
            space(files, *dir).map(IoOk::Space).map_err(|why| trouble(&why, "the directory"))
        }
        DiskOp::Locate { plan, .. } => find(files, slot?, plan).map(IoOk::Located),
    }
}

fn write(files: &Files, slot: &Arc<Slot>, position: u64, data: &[Bytes]) -> io::Result<()> {
    let file = files.created(slot)?;
    let mut at = position;
    let mut rest: &[Bytes] = data;
    let mut skip = 0;
    while let Some(first) = rest.first() {
        if skip == first.len() {
            rest = &rest[1..];
            skip = 0;
            continue;
        }
        let head = IoSlice::new(&first[skip..]);
        let tail = rest[1..].iter().map(|part| IoSlice::new(part));
        let slices: Vec<IoSlice<'_>> =
            std::iter::once(head).chain(tail).take(WRITE_PARTS).collect();
        let mut written = match rustix::io::pwritev(&*file, &slices, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(why) => return Err(why.into()),
        };
        at += written as u64;
        while let Some(part) = rest.first() {
            let left = part.len() - skip;
            if written < left {
                skip += written;
                break;
            }
            written -= left;
            rest = &rest[1..];
            skip = 0;
        }
    }
    Ok(())
}

fn reserve(files: &Files, slot: &Arc<Slot>, len: u64) -> io::Result<()> {
    let Some(file) = files.existing(slot)? else { return Ok(()) };
    match rustix::fs::fallocate(&*file, FallocateFlags::KEEP_SIZE, 0, len) {
        // Not every file system can, not every one has the space: records are written all the same.
        Err(Errno::NOSPC | Errno::DQUOT | Errno::OPNOTSUPP | Errno::NOSYS | Errno::FBIG) => Ok(()),
        other => Ok(other?),
    }
}

fn sync(files: &Files, slot: &Arc<Slot>) -> io::Result<()> {
    let Some(file) = files.existing(slot)? else { return Ok(()) };
    file.sync_data()?;
    if !slot.linked() {
        sync_folders(files, slot.dir(), &slot.path())?;
        slot.set_linked();
    }
    Ok(())
}

fn truncate(files: &Files, slot: &Arc<Slot>, len: u64) -> io::Result<()> {
    let Some(file) = files.existing(slot)? else {
        return if len == 0 { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) };
    };
    // Also where it ends there already: what is reserved past its end goes.
    if file.metadata()?.len() >= len {
        file.set_len(len)?;
    }
    file.sync_all()
}

fn read(files: &Files, slot: &Arc<Slot>, position: u64, len: u32) -> io::Result<Bytes> {
    let file = files.existing(slot)?.ok_or(io::ErrorKind::NotFound)?;
    read_at(&file, position, len)
}

/// Up to `len` bytes, fewer only at the end of the file.
fn read_at(file: &File, position: u64, len: u32) -> io::Result<Bytes> {
    let want = if len <= READ_UNASKED {
        len as usize
    } else {
        let there = file.metadata()?.len().saturating_sub(position);
        usize::try_from(there.min(len.into())).unwrap_or(usize::MAX)
    };
    let mut buffer = vec![0; want];
    let mut filled = 0;
    while filled < want {
        match file.read_at(&mut buffer[filled..], position + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    buffer.truncate(filled);
    Ok(buffer.into())
}

fn get(files: &Files, path: &FilePath) -> io::Result<Option<Bytes>> {
    match std::fs::read(files.path(path)?) {
        Ok(content) => Ok(Some(content.into())),
        Err(why) if why.kind() == io::ErrorKind::NotFound => files.absent(path.dir),
        Err(why) => Err(why),
    }
}

fn put(files: &Files, at: &FilePath, data: &[u8], durable: bool) -> io::Result<()> {
    files.still_there(at.dir)?;
    let path = files.path(at)?;
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut temporary = name.to_owned();
    temporary.push(".tmp");
    let temporary = path.with_file_name(temporary);
    let file = match File::create(&temporary) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            make_folder_of(&path)?;
            File::create(&temporary)?
        }
        other => other?,
    };
    let written =
        file.write_all_at(data, 0).and_then(|()| if durable { file.sync_all() } else { Ok(()) });
    if let Err(why) = written.and_then(|()| std::fs::rename(&temporary, &path)) {
        // What did not fit must not take the space that is left.
        let _ = std::fs::remove_file(&temporary);
        return Err(why);
    }
    if durable { sync_folders(files, at.dir, &at.path) } else { Ok(()) }
}

fn remove(files: &Files, at: &FilePath) -> io::Result<()> {
    let path = files.path(at)?;
    files.unlink_folders(at.dir, &at.path);
    let removed = match std::fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(&path),
        Ok(_) => std::fs::remove_file(&path),
        Err(why) => Err(why),
    };
    match removed {
        Err(why) if why.kind() == io::ErrorKind::NotFound => files.absent(at.dir),
        other => other,
    }
}

fn rename(files: &Files, from: &FilePath, to: &FilePath, birth: u64) -> io::Result<()> {
    if from.dir != to.dir {
        return Err(io::Error::other("a rename from one data directory to another"));
    }
    files.unlink_folders(from.dir, &from.path);
    files.unlink_folders(to.dir, &to.path);
    files.rename_begins(from.dir, &from.path, &to.path, birth);
    let (source, target) = (files.path(from)?, files.path(to)?);
    let renamed = match std::fs::rename(&source, &target) {
        Err(why) if why.kind() == io::ErrorKind::NotFound && source.exists() => {
            make_folder_of(&target).and_then(|()| std::fs::rename(&source, &target))
        }
        // A log without records has no folder; there is nothing to move out of the way.
        Err(why) if why.kind() == io::ErrorKind::NotFound => files.absent(from.dir),
        other => other,
    };
    files.rename_ended(from.dir, &to.path, renamed.is_ok());
    renamed?;
    sync_folders(files, from.dir, &from.path)?;
    sync_folders(files, to.dir, &to.path)
}

fn list(files: &Files, at: &FilePath) -> io::Result<Option<Vec<DirEntry>>> {
    let entries = match std::fs::read_dir(files.path(at)?) {
        Ok(entries) => entries,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return files.absent(at.dir),
        Err(why) => return Err(why),
    };
    let mut listing = Vec::new();
    for entry in entries {
        let entry = entry?;
        match entry.metadata() {
            Ok(metadata) => {
                listing.push(dir_entry(&entry.file_name().to_string_lossy(), &metadata));
            }
            // Removed since the folder was read.
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
    }
    listing.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(listing))
}

fn stat(files: &Files, folder: &FilePath, names: &[String]) -> io::Result<Vec<DirEntry>> {
    let mut found = Vec::new();
    for name in names {
        match std::fs::symlink_metadata(files.path(&folder.join(name))?) {
            Ok(metadata) => found.push(dir_entry(name, &metadata)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
    }
    Ok(found)
}

fn space(files: &Files, dir: u16) -> io::Result<Space> {
    files.still_there(dir)?;
    let found = rustix::fs::statvfs(files.root(dir)?)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space { total: bytes(found.f_blocks), usable: bytes(found.f_bavail) })
}

fn dir_entry(name: &str, metadata: &Metadata) -> DirEntry {
    let is_dir = metadata.is_dir();
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let millis = modified.and_then(|since| i64::try_from(since.as_millis()).ok());
    DirEntry {
        name: name.to_owned(),
        is_dir,
        len: if is_dir { 0 } else { metadata.len() },
        modified: Timestamp(millis.unwrap_or(0)),
        stamp: stamp(metadata),
    }
}

/// The state of a file; see [`Stamp`].
#[must_use]
pub fn stamp(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    Stamp::of(metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

fn find(
    files: &Files,
    slot: &Arc<Slot>,
    plan: &LocatePlan,
) -> Result<Option<dohle_core::log::locate::Located>, Trouble> {
    let file = files.existing(slot).map_err(|why| trouble(&why, &slot.path()))?;
    let path = slot.path();
    let Some(file) = file else {
        return Err(Trouble::Io(IoError::Failed(format!("{path}: no such file"))));
    };
    let mut segment = Segment { files, file, path, side: None, shortage: false };
    let found = locate(plan, &mut segment);
    if segment.shortage { Err(Trouble::Shortage) } else { found.map_err(Trouble::Io) }
}

struct Segment<'a> {
    files: &'a Files,
    file: Arc<File>,
    path: Arc<str>,
    /// The index that was asked for last.
    side: Option<(FilePath, File)>,
    /// What it told the core is not an error of the disk.
    shortage: bool,
}

impl Segment<'_> {
    /// What the core is told of an error of an index.
    fn told(&mut self, why: &io::Error, path: &FilePath) -> IoError {
        self.shortage |= is_shortage(why);
        io_error(why, &path.path)
    }

    fn side(&mut self, path: &FilePath) -> io::Result<Option<&File>> {
        if self.side.as_ref().is_none_or(|(known, _)| known != path) {
            match File::open(self.files.path(path)?) {
                Ok(file) => self.side = Some((path.clone(), file)),
                Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(why) => return Err(why),
            }
        }
        Ok(self.side.as_ref().map(|(_, file)| file))
    }

    fn side_size(&mut self, path: &FilePath) -> io::Result<Option<u64>> {
        let file = self.side(path)?;
        file.map(|file| file.metadata().map(|metadata| metadata.len())).transpose()
    }

    fn side_piece(&mut self, path: &FilePath, position: u64, len: u32) -> io::Result<Bytes> {
        let file = self.side(path)?.ok_or(io::ErrorKind::NotFound)?;
        read_at(file, position, len)
    }
}

impl ReadAt for Segment<'_> {
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
        read_at(&self.file, position, len).map_err(|why| io_error(&why, &self.path))
    }

    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
        self.side_size(path).map_err(|why| self.told(&why, path))
    }

    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
        self.side_piece(path, position, len).map_err(|why| self.told(&why, path))
    }
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

/// Makes the entry of `path` durable, and those of the folders above it that are not.
fn sync_folders(files: &Files, dir: u16, path: &str) -> io::Result<()> {
    let mut folder = path;
    loop {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        sync_folder(&files.path(&FilePath::new(dir, folder))?)?;
        if files.folder_is_linked(dir, folder) {
            break;
        }
    }
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        files.link_folder(dir, above);
        folder = above;
    }
    Ok(())
}

/// A folder that is gone has no entries to keep.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(folder) => folder.sync_all(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

fn trouble(why: &io::Error, what: &str) -> Trouble {
    if is_shortage(why) { Trouble::Shortage } else { Trouble::Io(io_error(why, what)) }
}

/// What the core is told of an error.
fn io_error(why: &io::Error, what: &str) -> IoError {
    let text = format!("{what}: {why}");
    match why.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IoError::NoSpace(text),
        _ => IoError::Failed(text),
    }
}
