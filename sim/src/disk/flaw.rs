//! Disks that are wrong without a word: they say that all went well, and what they give back is not
//! what they were given.
//!
//! State: which flaw strikes next, how often each did; in each file its *scars*, the ranges that do
//! not hold what was written there, with what they ought to hold. Inputs: a flaw that is armed.
//! Effects: one sync, or one read, that does something else than it should.
//!
//! Invariants: a file with its scars healed is what was written and synced; a scar is gone once its
//! range is cut off, or its file is; what decays, is corrupted or lands elsewhere stays so, and a
//! read that goes wrong does so once.
//!
//! Must never know: what the bytes mean, and whether anybody noticed.

use bytes::Bytes;
use dohle_core::disk::FilePath;
use serde::{Deserialize, Serialize};

use super::SimDisk;
use super::tree::{Change, File, Inode, Tree, overwrite};

/// What goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// A bit of what was stored decays.
    Rot,
    /// A bit of what is being stored changes on its way.
    CorruptWrite,
    /// What is being stored never arrives.
    LostWrite,
    /// What is being stored arrives at another place.
    MisdirectedWrite,
    /// A bit changes while it is read.
    CorruptRead,
    /// Something else is read.
    MisdirectedRead,
    /// Fewer bytes are read than there are.
    ShortRead,
}

impl Flaw {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Rot,
        Self::CorruptWrite,
        Self::LostWrite,
        Self::MisdirectedWrite,
        Self::CorruptRead,
        Self::MisdirectedRead,
        Self::ShortRead,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rot => "rot",
            Self::CorruptWrite => "corrupt-write",
            Self::LostWrite => "lost-write",
            Self::MisdirectedWrite => "misdirected-write",
            Self::CorruptRead => "corrupt-read",
            Self::MisdirectedRead => "misdirected-read",
            Self::ShortRead => "short-read",
        }
    }

    pub(crate) fn strikes_reads(self) -> bool {
        matches!(self, Self::CorruptRead | Self::MisdirectedRead | Self::ShortRead)
    }
}

/// A range of a file that does not hold what was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scar {
    /// Where it begins.
    pub at: u64,
    /// What was written.
    pub sound: Vec<u8>,
    /// How it came about.
    pub flaw: Flaw,
}

/// A flaw that waits, and a number that decides where it strikes.
type Armed = Option<(Flaw, u64)>;

/// The flaws of a node's disks.
#[derive(Clone, Debug, Default)]
pub struct Flaws {
    write: Armed,
    read: Armed,
    /// The latest read gave other bytes than there are.
    misread: bool,
    /// How often each kind struck, in the order of [`Flaw::ALL`].
    pub happened: [u64; 7],
}

impl Flaws {
    fn count(&mut self, flaw: Flaw) {
        self.happened[flaw as usize] += 1;
    }

    /// Reads a file. `short_only`: nothing worse than a short read strikes.
    pub(super) fn read(
        &mut self,
        tree: &Tree,
        inode: Inode,
        (at, len): (u64, u64),
        short_only: bool,
    ) -> Bytes {
        let bytes = tree.read(inode, at, len);
        let Some((flaw, salt)) = self.read else { return bytes };
        if bytes.len() < 2 || (short_only && flaw != Flaw::ShortRead) {
            return bytes;
        }
        let given = match flaw {
            Flaw::ShortRead => bytes.slice(..1 + (salt % (bytes.len() as u64 - 1)) as usize),
            Flaw::CorruptRead => flipped(&bytes, tree.is_framed(inode).then_some(at), salt),
            _ => first(elsewhere(tree, inode, at, salt), bytes.len()),
        };
        if given == bytes || given.is_empty() {
            return bytes;
        }
        self.read = None;
        self.misread |= flaw != Flaw::ShortRead;
        self.count(flaw);
        given
    }
}

fn first(bytes: Bytes, most: usize) -> Bytes {
    bytes.slice(..bytes.len().min(most))
}

/// One bit of a read is another. In records those are left alone that nothing covers and no order
/// bears out: the leader epochs of batches.
fn flipped(bytes: &Bytes, framed_at: Option<u64>, salt: u64) -> Bytes {
    let mut given = bytes.to_vec();
    let spots = (0..8).map(|turn| (salt.rotate_left(turn * 7) % bytes.len() as u64) as usize);
    let frames = framed_at.map(|_| frames(bytes)).unwrap_or_default();
    let is_epoch = |spot: usize| frames.iter().any(|(at, _)| (at + 12..at + 16).contains(&spot));
    let spot = spots.into_iter().find(|spot| !is_epoch(*spot));
    if let Some(spot) = spot {
        given[spot] ^= 1 << (salt % 8);
    }
    given.into()
}

/// What lies at another place of a file, where a frame begins if it has frames.
fn elsewhere(tree: &Tree, inode: Inode, at: u64, salt: u64) -> Bytes {
    let all = tree.read(inode, 0, u64::MAX >> 1);
    let starts: Vec<u64> = match tree.is_framed(inode) {
        true => frames(&all).into_iter().map(|(at, _)| at as u64).collect(),
        false => (0..all.len() as u64).collect(),
    };
    let others: Vec<u64> = starts.into_iter().filter(|start| *start != at).collect();
    match others.get((salt % others.len().max(1) as u64) as usize) {
        Some(start) => all.slice(*start as usize..),
        None => Bytes::new(),
    }
}

/// Where frames (eight bytes, a length, so many bytes) begin, and how long they are.
#[must_use]
pub fn frames(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(length) = bytes.get(at + 8..at + 12) {
        let length = u32::from_be_bytes(length.try_into().unwrap_or_default()) as usize;
        found.push((at, 12 + length));
        at = at.saturating_add(12).saturating_add(length);
    }
    found
}

impl SimDisk {
    /// Lets a flaw strike what it can next. False if another one waits to do so.
    pub fn arm(&mut self, flaw: Flaw, salt: u64) -> bool {
        let place = match flaw.strikes_reads() {
            true => &mut self.flaws.read,
            false => &mut self.flaws.write,
        };
        let free = place.is_none();
        if free {
            *place = Some((flaw, salt));
        }
        free
    }

    /// Whether the next sync goes wrong.
    #[must_use]
    pub fn waits_for_a_sync(&self) -> bool {
        self.flaws.write.is_some()
    }

    /// Nothing strikes any more.
    pub fn disarm(&mut self) {
        (self.flaws.read, self.flaws.write) = (None, None);
    }

    /// Nothing worse than a short read strikes for now. The flaws that waited.
    pub fn spare(&mut self) -> impl Iterator<Item = (Flaw, u64)> + use<> {
        let read = self.flaws.read.take_if(|(flaw, _)| *flaw != Flaw::ShortRead);
        read.into_iter().chain(self.flaws.write.take())
    }

    /// Their flaws.
    #[must_use]
    pub fn flaws(&self) -> &Flaws {
        &self.flaws
    }

    /// Whether a read gave other bytes than there are since this was last asked.
    pub fn take_misread(&mut self) -> bool {
        std::mem::take(&mut self.flaws.misread)
    }

    /// A bit of a file decays: nobody wrote it.
    pub fn rot(&mut self, path: &FilePath, at: u64, mask: u8) {
        let Some(inode) = self.tree.find(path) else { return };
        let byte = self.tree.read(inode, at, 1);
        if let Some(byte) = byte.first() {
            self.tree.wound(inode, at, &[byte ^ mask], Flaw::Rot);
            self.flaws.count(Flaw::Rot);
        }
    }

    /// Everything in a folder holds again what was written there.
    pub fn heal_scars(&mut self, folder: &FilePath) {
        self.tree.heal(folder);
    }

    /// Syncs a file, and perhaps something else becomes of one of its writes.
    pub(super) fn sync(&mut self, inode: Inode) {
        let writes = self.tree.unsynced(inode);
        self.tree.sync(inode);
        let framed = self.tree.is_framed(inode) && !writes.is_empty();
        let Some((flaw, salt)) = self.flaws.write.filter(|_| framed) else { return };
        let write = &writes[(salt % writes.len() as u64) as usize];
        // Interrupted before, it is no batch.
        if frames(&write.bytes).first() != Some(&(0, write.bytes.len())) || write.bytes.len() < 61 {
            return;
        }
        let struck = match flaw {
            Flaw::CorruptWrite => {
                let at = 16 + salt % (write.bytes.len() as u64 - 16);
                let byte = write.bytes[at as usize] ^ (1 << (salt % 8));
                self.tree.wound(inode, write.at + at, &[byte], flaw)
            }
            Flaw::LostWrite => self.tree.lose(inode, write, flaw),
            _ => match self.tree.victim(inode, write, salt) {
                Some((victim, at)) => {
                    let hit = self.tree.wound(victim, at, &write.bytes, flaw);
                    hit && self.tree.lose(inode, write, flaw)
                }
                // It lands where nothing is that anybody wants.
                None => self.tree.lose(inode, write, flaw),
            },
        };
        if struck {
            self.flaws.write = None;
            self.flaws.count(flaw);
        }
    }
}

impl Tree {
    /// Whether a file holds frames one after the other.
    fn is_framed(&self, inode: Inode) -> bool {
        let path = self.files.get(&inode).and_then(|file| file.path.as_ref());
        path.is_some_and(|path| path.path.ends_with(".log"))
    }

    fn unsynced(&self, inode: Inode) -> Vec<Change> {
        self.files.get(&inode).map(|file| file.pending.clone()).unwrap_or_default()
    }

    /// A range of a file holds other bytes, as far as the file reaches. False where it is harmed
    /// already.
    fn wound(&mut self, inode: Inode, at: u64, bytes: &[u8], flaw: Flaw) -> bool {
        self.files.get_mut(&inode).is_some_and(|file| file.wound(at, bytes, flaw))
    }

    /// What was written never arrived.
    fn lose(&mut self, inode: Inode, write: &Change, flaw: Flaw) -> bool {
        self.wound(inode, write.at, &vec![0; write.bytes.len()], flaw)
    }

    /// Where a write lands that misses its place: at another frame of its length in the folder,
    /// further to the front.
    fn victim(&self, inode: Inode, write: &Change, salt: u64) -> Option<(Inode, u64)> {
        let folder = self.files.get(&inode)?.path.as_ref()?.path.rsplit_once('/')?.0.to_owned();
        let mut places = Vec::new();
        for (other, file) in &self.files {
            let beside = file.path.as_ref().and_then(|path| path.path.rsplit_once('/'));
            let beside = beside.is_some_and(|(around, _)| around == folder);
            if !beside || !self.is_framed(*other) {
                continue;
            }
            let fits = |frame: &(usize, usize)| frame.1 == write.bytes.len();
            let starts = frames(&file.durable).into_iter().filter(fits).map(|(at, _)| at as u64);
            let free = |at: &u64| {
                let reaches = *at + write.bytes.len() as u64;
                *other != inode || reaches <= write.at
            };
            places.extend(starts.filter(free).map(|at| (*other, at)));
        }
        // Nearby more often than not: that is what an opening looks at.
        let any = places.get((salt % places.len().max(1) as u64) as usize);
        if salt.rotate_left(29).is_multiple_of(4) { any } else { places.last() }.copied()
    }

    /// What is wrong with a file.
    #[must_use]
    pub fn scars(&self, path: &FilePath) -> &[Scar] {
        let file = self.find(path).and_then(|inode| self.files.get(&inode));
        file.map(|file| &file.scars[..]).unwrap_or_default()
    }

    /// What is wrong with an open file, whatever its name is now.
    #[must_use]
    pub fn scars_of(&self, inode: Inode) -> &[Scar] {
        self.files.get(&inode).map(|file| &file.scars[..]).unwrap_or_default()
    }

    /// What a file ought to hold, as processes see it or as it is on the medium.
    #[must_use]
    pub fn sound_content(&self, path: &FilePath, durable: bool) -> Option<Vec<u8>> {
        let content = match durable {
            true => self.durable_content(path),
            false => self.content(path),
        };
        let mut content = content?.to_vec();
        let scars = match durable {
            true => self.durable_file(path).map(|file| &file.scars[..]).unwrap_or_default(),
            false => self.scars(path),
        };
        for scar in scars {
            patch(&mut content, scar);
        }
        Some(content)
    }

    fn heal(&mut self, folder: &FilePath) {
        let inside = |path: &FilePath| super::tree::is_within(path, folder);
        for file in self.files.values_mut().filter(|f| f.path.as_ref().is_some_and(inside)) {
            file.heal();
        }
    }
}

fn patch(content: &mut Vec<u8>, scar: &Scar) {
    let room = content.len().saturating_sub(scar.at as usize).min(scar.sound.len());
    overwrite(content, scar.at, &scar.sound[..room]);
}

impl File {
    /// If records were cut in the middle of what is wrong, the last ones are not whole.
    fn heal(&mut self) {
        let scars = std::mem::take(&mut self.scars);
        // Whoever puts a file right changes it.
        self.changes += u64::from(!scars.is_empty());
        for scar in &scars {
            patch(&mut self.live, scar);
            patch(&mut self.durable, scar);
        }
        let framed = self.path.as_ref().is_some_and(|path| path.path.ends_with(".log"));
        let last = frames(&self.durable).last().copied();
        if let Some((at, len)) = last.filter(|_| framed && !scars.is_empty())
            && at + len > self.durable.len()
            && self.live.len() == self.durable.len()
        {
            self.durable.truncate(at);
            self.live.truncate(at);
            self.pending.clear();
        }
    }

    fn wound(&mut self, at: u64, bytes: &[u8], flaw: Flaw) -> bool {
        let room = (self.durable.len() as u64).saturating_sub(at).min(bytes.len() as u64);
        let upto = at + room;
        let harmed = |scar: &Scar| scar.at < upto && at < scar.at + scar.sound.len() as u64;
        if room == 0 || self.scars.iter().any(harmed) {
            return false;
        }
        let (bytes, range) = (&bytes[..room as usize], at as usize..upto as usize);
        let sound = self.durable[range].to_vec();
        if sound == bytes {
            return false;
        }
        overwrite(&mut self.durable, at, bytes);
        overwrite(&mut self.live, at, bytes);
        self.scars.push(Scar { at, sound, flaw });
        true
    }

    /// What is cut off is not wrong any more.
    pub(super) fn cut_scars(&mut self, len: u64) {
        self.scars.retain_mut(|scar| {
            scar.sound.truncate(len.saturating_sub(scar.at) as usize);
            !scar.sound.is_empty()
        });
    }
}
