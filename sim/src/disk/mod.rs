//! A node's disks: every [`DiskOp`], by the contract written beside it.
//!
//! An operation is *submitted*, takes *effect* at a drawn time and *completes* at another.
//! Operations of one unit on one file (or on a folder around it) take effect in the order
//! submitted, all others in any order. A crash between these moments leaves what a real disk
//! could leave ([`crash`]).
//!
//! Breaches of the contract by the core (a closed file asked for, two `Put`s of one path under
//! way) are assertion failures.

mod crash;
mod flaw;
mod sick;
mod tree;

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FileId, FilePath, IoDone, IoError, IoOk, Space, What};
use dohle_core::log::locate::{LocatePlan, Located, ReadAt, locate};
use dohle_wire::codec::Hole;
use dohle_wire::id::Timestamp;

use crate::choice::{Choices, Stream};
pub use crash::Crash;
pub use flaw::{Flaw, Flaws, Scar, frames};
pub use sick::{Ailment, Sickness};
pub use tree::{Inode, Tree};

/// How fast a disk is: typical times in nanoseconds of true time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskSpeed {
    /// Writes and reads take no time at all, as through a warm page cache.
    pub inline: bool,
    /// A write into the page cache, a read.
    pub cached: u64,
    /// An operation that waits for the medium.
    pub medium: u64,
    /// A sync of a file, which has to bring to the medium what was written.
    pub sync: u64,
    /// How many of a million operations take a hundred times as long.
    pub stalls: u32,
}

/// An operation between submission and effect.
#[derive(Clone, Debug)]
struct Pending {
    ticket: u64,
    op: DiskOp,
    due: u64,
    told: u64,
}

/// A file as a unit has opened it.
#[derive(Clone, Debug)]
struct Opened {
    path: FilePath,
    inode: Option<Inode>,
    closed: bool,
}

/// When the latest operation on a path takes effect and is told.
#[derive(Copy, Clone, Debug, Default)]
struct Busy {
    effect: u64,
    told: u64,
}

/// All disks of one node.
#[derive(Clone, Debug)]
pub struct SimDisk {
    tree: Tree,
    speed: DiskSpeed,
    files: BTreeMap<FileId, Opened>,
    pending: BTreeMap<u64, Pending>,
    busy: BTreeMap<(u16, FilePath), Busy>,
    next_ticket: u64,
    /// Bytes that still fit, if there is a limit.
    room: Option<u64>,
    sickness: Option<Sickness>,
    /// Only this data directory is sick.
    sick_dir: Option<u16>,
    failed: Option<Ailment>,
    flaws: Flaws,
}

impl SimDisk {
    /// Empty disks.
    #[must_use]
    pub fn new(speed: DiskSpeed) -> Self {
        Self {
            tree: Tree::default(),
            speed,
            files: BTreeMap::new(),
            pending: BTreeMap::new(),
            busy: BTreeMap::new(),
            next_ticket: 0,
            room: None,
            sickness: None,
            sick_dir: None,
            failed: None,
            flaws: Flaws::default(),
        }
    }

    /// Whether the number of bytes that fit is limited.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.room.is_some()
    }

    /// So many more bytes fit, until it is said otherwise; `None` for any number.
    pub fn limit(&mut self, room: Option<u64>) {
        self.room = room;
    }

    /// What lies on them.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Operations that have not taken effect, in the order in which they will.
    pub fn under_way(&self) -> impl Iterator<Item = &DiskOp> {
        let mut list: Vec<&Pending> = self.pending.values().collect();
        list.sort_by_key(|pending| (pending.due, pending.ticket));
        list.into_iter().map(|pending| &pending.op)
    }

    /// The path that a unit opened a file by.
    #[must_use]
    pub fn path_of(&self, file: FileId) -> Option<&FilePath> {
        self.files.get(&file).map(|opened| &opened.path)
    }

    /// Takes an operation of unit `unit` on. Returns its ticket and when it takes effect, nothing
    /// for one that is done at once.
    pub fn submit(
        &mut self,
        unit: u16,
        op: DiskOp,
        time: u64,
        choices: &mut Choices,
    ) -> Option<(u64, u64)> {
        match &op {
            DiskOp::Open { file, path } => self.open(*file, path),
            DiskOp::Close { file } => self.opened(*file).closed = true,
            _ => return Some(self.enqueue(unit, op, time, choices)),
        }
        None
    }

    fn open(&mut self, file: FileId, path: &FilePath) {
        // What is about to be removed is not what is meant.
        let doomed = |pending: &Pending| matches!(&pending.op, DiskOp::Remove { path: gone, .. } if tree::is_within(path, gone));
        let there = !self.pending.values().any(doomed);
        let inode = self.tree.find(path).filter(|_| there);
        let opened = Opened { path: path.clone(), inode, closed: false };
        assert!(self.files.insert(file, opened).is_none(), "file id {file:?} used twice");
    }

    fn opened(&mut self, file: FileId) -> &mut Opened {
        let opened = self.files.get_mut(&file);
        let opened = opened.unwrap_or_else(|| panic!("{file:?} was never opened"));
        assert!(!opened.closed, "{} asked for after it was closed", opened.path.path);
        opened
    }

    fn enqueue(&mut self, unit: u16, op: DiskOp, time: u64, choices: &mut Choices) -> (u64, u64) {
        self.assert_only_put(&op);
        if self.busy.len() > 64 {
            self.busy.retain(|_, busy| busy.told > time);
        }
        let mut due = time + self.latency(&op, choices);
        if choices.chance(Stream::Disk, "stall", self.speed.stalls) {
            due += choices.heavy(Stream::Disk, "stalled", 100 * self.speed.cached);
        }
        let mut told = due;
        if !self.speed.inline && choices.chance(Stream::Disk, "late-completion", 150_000) {
            told += choices.heavy(Stream::Disk, "completion", self.speed.cached);
        }
        let paths = self.paths(&op);
        for path in paths.iter().flatten() {
            let before = self.busy_around(unit, path);
            due = due.max(before.effect);
            told = told.max(due).max(before.told);
        }
        for path in paths.into_iter().flatten() {
            self.busy.insert((unit, path), Busy { effect: due, told });
        }
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        self.pending.insert(ticket, Pending { ticket, op, due, told });
        (ticket, due)
    }

    fn assert_only_put(&self, op: &DiskOp) {
        let DiskOp::Put { path, .. } = op else { return };
        // A log that was given up may have left one: they take effect in their order.
        let whose = |op: &DiskOp| op.id().map(|id| (id.owner, id.generation));
        let same = |other: &Pending| {
            let put = matches!(&other.op, DiskOp::Put { path: p, .. } if p == path);
            put && whose(&other.op) == whose(op)
        };
        assert!(!self.pending.values().any(same), "two Puts of {} under way", path.path);
    }

    fn latency(&self, op: &DiskOp, choices: &mut Choices) -> u64 {
        match op {
            DiskOp::Open { .. } | DiskOp::Close { .. } => 0,
            DiskOp::Write { .. } | DiskOp::Read { .. } | DiskOp::Locate { .. }
                if self.speed.inline =>
            {
                0
            }
            DiskOp::Write { .. }
            | DiskOp::Read { .. }
            | DiskOp::Get { .. }
            | DiskOp::List { .. }
            | DiskOp::Stat { .. }
            | DiskOp::Space { .. }
            | DiskOp::Locate { .. } => choices.heavy(Stream::Disk, "cached", self.speed.cached),
            DiskOp::Sync { .. } => choices.heavy(Stream::Disk, "sync", self.speed.sync),
            DiskOp::Reserve { .. }
            | DiskOp::Truncate { .. }
            | DiskOp::Put { .. }
            | DiskOp::Remove { .. }
            | DiskOp::Rename { .. } => choices.heavy(Stream::Disk, "medium", self.speed.medium),
        }
    }

    /// The paths that an operation is about.
    fn paths(&mut self, op: &DiskOp) -> [Option<FilePath>; 2] {
        match op {
            DiskOp::Open { path, .. }
            | DiskOp::Get { path, .. }
            | DiskOp::Put { path, .. }
            | DiskOp::Remove { path, .. }
            | DiskOp::List { path, .. } => [Some(path.clone()), None],
            DiskOp::Rename { from, to, .. } => [Some(from.clone()), Some(to.clone())],
            DiskOp::Close { file }
            | DiskOp::Write { file, .. }
            | DiskOp::Sync { file, .. }
            | DiskOp::Reserve { file, .. }
            | DiskOp::Truncate { file, .. }
            | DiskOp::Read { file, .. } => [Some(self.opened(*file).path.clone()), None],
            DiskOp::Stat { .. } | DiskOp::Space { .. } => [None, None],
            DiskOp::Locate { plan, .. } => [Some(self.opened(plan.file).path.clone()), None],
        }
    }

    /// When everything before an operation on `path` has taken effect and is told.
    fn busy_around(&self, unit: u16, path: &FilePath) -> Busy {
        let related =
            |other: &FilePath| tree::is_within(other, path) || tree::is_within(path, other);
        self.busy.iter().filter(|((owner, other), _)| *owner == unit && related(other)).fold(
            Busy::default(),
            |latest, (_, busy)| Busy {
                effect: latest.effect.max(busy.effect),
                told: latest.told.max(busy.told),
            },
        )
    }

    /// Lets a submitted operation take effect. Returns its completion and when that is told;
    /// nothing when a crash took the operation away.
    pub fn effect(&mut self, ticket: u64, now: Timestamp) -> Option<(IoDone, u64)> {
        let pending = self.pending.remove(&ticket)?;
        let id = pending.op.id()?;
        let result = match self.ail(&pending.op, now) {
            Some(error) => Err(error),
            None => self.execute(&pending.op, now),
        };
        Some((IoDone { id, result }, pending.told))
    }

    /// Somebody else leaves a file, durably.
    pub fn leave(&mut self, path: &FilePath, content: Bytes, now: Timestamp) {
        self.tree.replace(path, content, true, now);
    }

    /// Somebody else removes a file, durably.
    pub fn take_away(&mut self, path: &FilePath) {
        self.tree.take_away(path);
    }

    /// What is wrong with an open file.
    #[must_use]
    pub fn scars(&self, file: FileId) -> &[Scar] {
        let inode = self.files.get(&file).and_then(|opened| opened.inode);
        inode.map(|inode| self.tree.scars_of(inode)).unwrap_or_default()
    }

    /// The bytes of a range that was handed out; `None` where the file is shorter.
    #[must_use]
    pub fn hole(&self, hole: &Hole) -> Option<Bytes> {
        let inode = self.files.get(&FileId(hole.file))?.inode?;
        let bytes = self.tree.read(inode, hole.position, u64::from(hole.len));
        (bytes.len() == hole.len as usize).then_some(bytes)
    }

    /// Carries out a look-up at once, for a reader that does not wait.
    ///
    /// # Errors
    /// As the operation.
    pub fn look_up(&mut self, plan: &LocatePlan) -> Result<Option<Located>, IoError> {
        let inode = self.inode(plan.file).ok_or_else(absent)?;
        locate(plan, &mut SegmentReader { tree: &self.tree, inode, flaws: &mut self.flaws })
    }

    fn inode_for_write(&mut self, file: FileId) -> Inode {
        let opened = self.files.get_mut(&file).unwrap_or_else(|| panic!("{file:?} not open"));
        *opened.inode.get_or_insert_with(|| self.tree.create(&opened.path))
    }

    fn inode(&mut self, file: FileId) -> Option<Inode> {
        let opened = self.files.get_mut(&file)?;
        if opened.inode.is_none() {
            opened.inode = self.tree.find(&opened.path);
        }
        opened.inode
    }

    fn execute(&mut self, op: &DiskOp, now: Timestamp) -> Result<IoOk, IoError> {
        match op {
            DiskOp::Open { .. } | DiskOp::Close { .. } | DiskOp::Reserve { .. } => Ok(IoOk::Done),
            DiskOp::Write { file, position, data, .. } => {
                let inode = self.inode_for_write(*file);
                let whole = match &data[..] {
                    [one] => one.clone(),
                    parts => Bytes::from(parts.concat()),
                };
                let there = self.tree.read(inode, *position, whole.len() as u64).len();
                let fits =
                    self.take_room((whole.len() - there) as u64).map(|room| there as u64 + room);
                let part = fits.map_or(whole.len(), |fits| fits as usize);
                self.tree.write(inode, *position, whole.slice(..part), now);
                if fits.is_some() { Err(no_space()) } else { Ok(IoOk::Done) }
            }
            DiskOp::Sync { file, .. } => {
                if let Some(inode) = self.inode(*file) {
                    self.sync(inode);
                }
                Ok(IoOk::Done)
            }
            DiskOp::Truncate { file, len, .. } => {
                let inode = self.inode(*file).ok_or_else(absent)?;
                self.give_room(self.tree.read(inode, *len, u64::MAX >> 1).len() as u64);
                self.tree.truncate(inode, *len);
                Ok(IoOk::Done)
            }
            DiskOp::Read { id, file, position, len } => {
                let inode = self.inode(*file).ok_or_else(absent)?;
                let range = (*position, u64::from(*len));
                // Sums are made of what is read: a bit that changes on the way would be in them.
                let short_only = id.what == What::Scrub;
                Ok(IoOk::Read(self.flaws.read(&self.tree, inode, range, short_only)))
            }
            DiskOp::Get { path, .. } => {
                Ok(IoOk::Content(self.tree.content(path).map(Bytes::copy_from_slice)))
            }
            DiskOp::Put { path, data, durable, .. } => {
                if let Some(fits) = self.take_room(data.len() as u64) {
                    self.give_room(fits);
                    return Err(no_space());
                }
                self.give_room(self.size_of(path));
                self.tree.replace(path, data.clone(), *durable, now);
                Ok(IoOk::Done)
            }
            DiskOp::Remove { path, .. } => {
                let below = self.tree.below(path);
                let bytes: u64 = below.iter().map(|below| self.size_of(below)).sum();
                self.give_room(bytes + self.size_of(path));
                self.tree.remove(path);
                Ok(IoOk::Done)
            }
            DiskOp::Rename { from, to, .. } => {
                if !self.tree.below(from).is_empty() && !self.tree.below(to).is_empty() {
                    return Err(IoError::Failed("directory not empty".to_owned()));
                }
                self.tree.rename(from, to);
                Ok(IoOk::Done)
            }
            DiskOp::List { path, .. } => Ok(IoOk::Listing(self.tree.list(path))),
            DiskOp::Stat { folder, names, .. } => {
                Ok(IoOk::Listing(Some(self.tree.stat(folder, names))))
            }
            DiskOp::Space { .. } => Ok(IoOk::Space(Space { total: 1 << 40, usable: 1 << 39 })),
            DiskOp::Locate { plan, .. } => Ok(IoOk::Located(self.look_up(plan)?)),
        }
    }

    /// Takes room for so many bytes. If there is less, takes that, and gives how much it was.
    fn take_room(&mut self, bytes: u64) -> Option<u64> {
        let room = self.room.as_mut()?;
        let fits = bytes.min(*room);
        *room -= fits;
        (fits < bytes).then_some(fits)
    }

    pub(super) fn give_room(&mut self, bytes: u64) {
        if let Some(room) = &mut self.room {
            *room += bytes;
        }
    }

    fn size_of(&self, path: &FilePath) -> u64 {
        self.tree.content(path).map_or(0, |content| content.len() as u64)
    }
}

fn no_space() -> IoError {
    IoError::NoSpace("no space".to_owned())
}

fn absent() -> IoError {
    IoError::Failed("no such file".to_owned())
}

/// Reads a segment for [`locate`].
struct SegmentReader<'a> {
    tree: &'a Tree,
    inode: Inode,
    flaws: &'a mut Flaws,
}

impl ReadAt for SegmentReader<'_> {
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
        Ok(self.flaws.read(self.tree, self.inode, (position, u64::from(len)), false))
    }

    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
        Ok(self.tree.content(path).map(|content| content.len() as u64))
    }

    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
        let inode = self.tree.find(path).ok_or_else(absent)?;
        Ok(self.flaws.read(self.tree, inode, (position, u64::from(len)), false))
    }
}

#[cfg(test)]
mod tests;
