//! What the end of a process or a loss of power leaves on a disk.

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FilePath};
use dohle_wire::id::Timestamp;

use super::SimDisk;
use super::tree::{Change, Entry, File, Tree, overwrite};
use crate::choice::{Choices, Stream};

/// How a process ends against its will.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Crash {
    /// The process is gone; the page cache survives.
    Kill,
    /// Un-synced data may be gone too.
    Power,
}

/// Bytes that a disk writes as a whole or not at all.
const SECTOR: u64 = 512;

/// What the part of a torn write holds that did not get through.
#[derive(Copy, Clone)]
enum Fill {
    Old,
    Zeros,
    Garbage,
}

impl SimDisk {
    /// Ends all that the process had under way. Operations that were issued may have been carried
    /// out, in their order, up to one that may have been interrupted; nobody hears of it.
    pub fn crash(&mut self, crash: Crash, choices: &mut Choices, now: Timestamp) {
        (self.sickness, self.failed) = (None, None);
        self.interrupt(choices, now);
        if crash == Crash::Power {
            let before = self.tree.bytes();
            self.tree.lose_power(choices);
            // What is lost takes up no space.
            self.give_room(before.saturating_sub(self.tree.bytes()));
        }
        self.files.clear();
        self.busy.clear();
        self.tree.sweep();
    }

    fn interrupt(&mut self, choices: &mut Choices, now: Timestamp) {
        let mut pending: Vec<_> = std::mem::take(&mut self.pending).into_values().collect();
        if pending.is_empty() {
            return;
        }
        pending.sort_by_key(|op| (op.due, op.ticket));
        let most = (pending.len() as u64).min(6);
        let whole = choices.below(Stream::Disk, "ops-before-crash", most + 1) as usize;
        let mut ops = pending.into_iter().map(|pending| pending.op);
        for op in ops.by_ref().take(whole) {
            // Whatever the result is, nobody is left to hear it.
            let _unheard = self.execute(&op, now);
        }
        if let Some(op) = ops.next() {
            self.partly(op, choices, now);
        }
    }

    /// Carries out a beginning of an operation.
    fn partly(&mut self, op: DiskOp, choices: &mut Choices, now: Timestamp) {
        match op {
            DiskOp::Write { file, position, data, .. } => {
                let whole: Vec<u8> = data.concat();
                let len = choices.below(Stream::Disk, "interrupted-write", whole.len() as u64 + 1);
                if len > 0 {
                    let inode = self.inode_for_write(file);
                    let part = Bytes::from(whole).slice(..len as usize);
                    self.tree.write(inode, position, part, now);
                }
            }
            DiskOp::Put { path, data, .. } => {
                if choices.chance(Stream::Disk, "leftover", 500_000) {
                    let len = choices.below(Stream::Disk, "interrupted-put", data.len() as u64 + 1);
                    let beside = FilePath::new(path.dir, format!("{}.tmp", path.path));
                    self.tree.replace(&beside, data.slice(..len as usize), false, now);
                }
            }
            DiskOp::Remove { path, .. } => {
                let files = self.tree.below(&path);
                let gone =
                    choices.below(Stream::Disk, "interrupted-remove", files.len() as u64 + 1);
                for path in files.iter().rev().take(gone as usize) {
                    self.tree.remove(path);
                }
            }
            DiskOp::Open { .. }
            | DiskOp::Close { .. }
            | DiskOp::Sync { .. }
            | DiskOp::Reserve { .. }
            | DiskOp::Truncate { .. }
            | DiskOp::Read { .. }
            | DiskOp::Get { .. }
            | DiskOp::Rename { .. }
            | DiskOp::List { .. }
            | DiskOp::Stat { .. }
            | DiskOp::Space { .. }
            | DiskOp::Locate { .. } => {}
        }
    }
}

impl Tree {
    /// Drops, keeps or tears everything that was not synced, each on its own.
    fn lose_power(&mut self, choices: &mut Choices) {
        for file in self.files.values_mut() {
            file.lose_power(choices);
        }
        self.lose_names(choices);
        self.live = self.durable.clone();
        self.drop_orphans();
        self.durable = self.live.clone();
        for (path, entry) in &self.live {
            if let Entry::File(inode) = entry
                && let Some(file) = self.files.get_mut(inode)
            {
                file.path = Some(path.clone());
            }
        }
    }

    /// Keeps the first few changes of names in each folder, and drops the rest.
    fn lose_names(&mut self, choices: &mut Choices) {
        let mut by_folder: std::collections::BTreeMap<String, Vec<_>> = Default::default();
        for (path, entry) in std::mem::take(&mut self.changed) {
            let folder = path.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            by_folder.entry(format!("{}:{folder}", path.dir)).or_default().push((path, entry));
        }
        for changes in by_folder.into_values() {
            let kept = choices.below(Stream::Disk, "names-kept", changes.len() as u64 + 1);
            for (path, entry) in changes.into_iter().take(kept as usize) {
                self.settle(path, entry);
            }
        }
    }

    /// Removes names whose folder is gone.
    fn drop_orphans(&mut self) {
        let mut kept = std::collections::BTreeMap::new();
        for (path, entry) in std::mem::take(&mut self.live) {
            let is_dir = |folder| kept.get(&folder) == Some(&Entry::Dir);
            if super::tree::folders(&path).all(is_dir) {
                kept.insert(path, entry);
            }
        }
        self.live = kept;
    }
}

impl File {
    fn lose_power(&mut self, choices: &mut Choices) {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.changes += 1;
            // Most losses take everything from some point on; some take single writes out.
            let holes = choices.chance(Stream::Disk, "loss-with-holes", 300_000);
            let kept = choices.below(Stream::Disk, "writes-kept", pending.len() as u64 + 1);
            for (index, change) in pending.iter().enumerate() {
                let keep = match holes {
                    true => choices.chance(Stream::Disk, "keep-write", 500_000),
                    false => (index as u64) < kept,
                };
                if keep {
                    overwrite(&mut self.durable, change.at, &change.bytes);
                } else if index as u64 == kept || holes {
                    self.tear(change, choices);
                }
            }
        }
        self.live = self.durable.clone();
    }

    /// Lets a beginning of a write through, or nothing, or only its length.
    fn tear(&mut self, change: &Change, choices: &mut Choices) {
        if !choices.chance(Stream::Disk, "torn", 600_000) {
            return;
        }
        let len = change.bytes.len() as u64;
        let mut prefix = choices.below(Stream::Disk, "torn-at", len + 1);
        if choices.chance(Stream::Disk, "torn-at-sector", 500_000) {
            let end = (change.at + prefix) / SECTOR * SECTOR;
            prefix = end.saturating_sub(change.at);
        }
        let fill = choices.pick(Stream::Disk, "fill", &[Fill::Old, Fill::Zeros, Fill::Garbage]);
        overwrite(&mut self.durable, change.at, &change.bytes[..prefix as usize]);
        let rest = change.bytes.len() - prefix as usize;
        let bytes = match fill {
            Fill::Old => return,
            Fill::Zeros => vec![0; rest],
            Fill::Garbage => garbage(choices, rest),
        };
        overwrite(&mut self.durable, change.at + prefix, &bytes);
    }
}

/// Bytes without meaning, from one choice.
fn garbage(choices: &mut Choices, len: usize) -> Vec<u8> {
    let mut state = choices.below(Stream::Disk, "garbage", u64::MAX) | 1;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}
