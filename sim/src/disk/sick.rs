//! Disks that fail: one operation of a kind ends with an error, having done a part of its work.

use bytes::Bytes;
use dohle_core::disk::{DiskOp, IoError};
use dohle_wire::id::Timestamp;

use super::SimDisk;

/// What will fail.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// A write: a beginning of it may get through.
    Write,
    /// A write or a new file: the device is full.
    NoSpace,
    /// A sync: what it should have made durable may be lost at once, also for readers.
    Sync,
    /// A change of names or lengths; nothing happens.
    Name,
}

impl Ailment {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Write, Self::NoSpace, Self::Sync, Self::Name];
}

/// The next operation that is of that kind fails; `salt` decides how much of it gets through.
#[derive(Copy, Clone, Debug)]
pub struct Sickness {
    /// The kind.
    pub ailment: Ailment,
    /// A number.
    pub salt: u64,
}

impl SimDisk {
    /// Lets one operation fail.
    pub fn sicken(&mut self, sickness: Sickness) {
        (self.sickness, self.sick_dir) = (Some(sickness), None);
    }

    /// Lets one operation in a data directory fail.
    pub fn sicken_dir(&mut self, dir: u16, sickness: Sickness) {
        (self.sickness, self.sick_dir) = (Some(sickness), Some(dir));
    }

    /// If an operation is still to fail, a write is.
    pub fn worsen(&mut self) {
        if let Some(sickness) = &mut self.sickness {
            sickness.ailment = Ailment::Write;
        }
    }

    /// Nothing fails any more.
    pub fn heal(&mut self) {
        self.sickness = None;
    }

    /// What has failed was dealt with.
    pub fn forgive(&mut self) {
        self.failed = None;
    }

    /// What has failed since the process began.
    #[must_use]
    pub fn failed(&self) -> Option<Ailment> {
        self.failed
    }

    /// The error that `op` ends with, if it is the one to fail.
    pub(super) fn ail(&mut self, op: &DiskOp, now: Timestamp) -> Option<IoError> {
        let Sickness { ailment, salt } = self.sickness?;
        let hit = match op {
            DiskOp::Write { .. } => matches!(ailment, Ailment::Write | Ailment::NoSpace),
            DiskOp::Put { .. } => matches!(ailment, Ailment::NoSpace | Ailment::Name),
            DiskOp::Sync { .. } => ailment == Ailment::Sync,
            DiskOp::Remove { .. } | DiskOp::Rename { .. } | DiskOp::Truncate { .. } => {
                ailment == Ailment::Name
            }
            _ => false,
        };
        if !hit || self.sick_dir.is_some_and(|dir| self.dir_of(op) != Some(dir)) {
            return None;
        }
        (self.sickness, self.failed) = (None, Some(ailment));
        self.half(op, salt, now);
        Some(match ailment {
            Ailment::NoSpace => IoError::NoSpace("simulated".to_owned()),
            _ => IoError::Failed("simulated: input/output error".to_owned()),
        })
    }

    fn dir_of(&self, op: &DiskOp) -> Option<u16> {
        match op {
            DiskOp::Write { file, .. }
            | DiskOp::Sync { file, .. }
            | DiskOp::Truncate { file, .. } => self.path_of(*file).map(|path| path.dir),
            DiskOp::Put { path, .. } | DiskOp::Remove { path, .. } => Some(path.dir),
            DiskOp::Rename { from, .. } => Some(from.dir),
            _ => None,
        }
    }

    fn half(&mut self, op: &DiskOp, salt: u64, now: Timestamp) {
        match op {
            DiskOp::Write { file, position, data, .. } => {
                let whole = data.concat();
                let len = (salt % (whole.len() as u64 + 1)) as usize;
                let inode = self.inode_for_write(*file);
                self.tree.write(inode, *position, Bytes::from(whole).slice(..len), now);
            }
            DiskOp::Sync { file, .. } => {
                if let Some(inode) = self.inode(*file) {
                    self.tree.forget_unsynced(inode, salt);
                }
            }
            _ => {}
        }
    }
}
