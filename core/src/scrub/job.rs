//! One segment is gone through: its files block by block, against its sums where these count,
//! against its own structure and checksums in any case; and the snapshot of producers that was
//! made when it was closed. Sums that are missing or out of date are made anew, if
//! all of it is sound.
//!
//! State: which file is being read and how far, one walk through batches, the hashes (eight bytes
//! for 64 KiB). Inputs: the end of the operation that was asked for. Effects: one disk operation
//! at a time, asked for by [`Job::ask`]; whoever drives the job decides when.
//!
//! Invariants: no file but that of the sums is ever written; one block is in memory at most.
//!
//! Must never know: how fast it goes, what else is to be gone through, who hears of damage.

use bytes::Bytes;
use dohle_wire::id::Offset;

use super::damage::{Damage, Damages};
use super::walk::{Around, Walk};
use crate::disk::{
    self, DirEntry, DiskOp, FileId, FileIds, FilePath, IoDone, IoError, IoId, IoOk, Stamp,
    WholeRead,
};
use crate::fx::Fx;
use crate::log::Segment;
use crate::log::names::FileKind;
use crate::log::snapshot;
use crate::log::sums::{self, BLOCK, FileSums, Owner, Sums};

/// A closed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The log's folder.
    pub folder: FilePath,
    /// Whose it is.
    pub owner: Owner,
    /// One past its last offset.
    pub next: Offset,
    /// Bytes of records.
    pub size: u64,
    /// Its records, open.
    pub file: FileId,
}

impl Target {
    /// The name of one of its files. The snapshot is the one at its end.
    #[must_use]
    pub fn name(&self, kind: FileKind) -> String {
        kind.name(if kind == FileKind::Snapshot { self.next } else { self.owner.base })
    }

    /// Whether a segment of the log, which ends at `next`, is still this one.
    #[must_use]
    pub fn is(&self, segment: &Segment, next: Offset) -> bool {
        let same = segment.base == self.owner.base && segment.file == self.file;
        same && segment.size == self.size && next == self.next
    }
}

/// What came of going through a segment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Bytes that were read.
    pub bytes: u64,
    /// What is damaged.
    pub damages: Damages,
    /// The file of the sums was damaged itself.
    pub bad_sums: Option<String>,
    /// Sums were made.
    pub sealed: bool,
    /// They could not be written.
    pub unsealed: Option<IoError>,
}

/// What an operation's end brought.
#[derive(Debug)]
pub enum Progress {
    /// There is more to ask for. The last step was as much work as reading so many bytes.
    More(u64),
    /// The segment was gone through.
    Done(Box<Report>),
}

/// What is being waited for, or asked for next.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Stat,
    Sums,
    Read { part: usize, position: u64 },
    Save,
}

/// A file of the segment.
#[derive(Clone, Debug)]
struct Part {
    kind: FileKind,
    size: u64,
    stamp: Stamp,
    /// Hashes that count.
    known: Option<Vec<u64>>,
    /// Hashes that were made.
    made: Vec<u64>,
}

/// The going through of one segment.
#[derive(Clone, Debug)]
pub struct Job {
    target: Target,
    step: Step,
    parts: Vec<Part>,
    side: Option<FileId>,
    /// The block under way, some of which may have come.
    reading: Option<WholeRead>,
    walk: Walk,
    snapshot: snapshot::Check,
    report: Report,
}

/// The files that are looked at, in this order.
const GONE_THROUGH: [FileKind; 5] =
    [FileKind::Log, FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex, FileKind::Snapshot];

/// Work that a step is at least, and that writing sums is: they are synced.
const STEP_COST: u64 = BLOCK as u64;
const SAVE_COST: u64 = 4 * BLOCK as u64;

impl Job {
    /// Begins with a segment.
    #[must_use]
    pub fn new(target: Target) -> Self {
        let walk = Walk::new(target.owner.base, target.next, target.size);
        Self {
            target,
            step: Step::Stat,
            parts: Vec::new(),
            side: None,
            reading: None,
            walk,
            snapshot: snapshot::Check::default(),
            report: Report::default(),
        }
    }

    /// What it goes through.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    fn path(&self, kind: FileKind) -> FilePath {
        self.target.folder.join(&self.target.name(kind))
    }

    /// Asks for the next operation.
    pub fn ask<E: From<DiskOp>>(&mut self, id: IoId, files: &mut FileIds, fx: &mut Fx<E>) {
        let op = match self.step {
            Step::Stat => {
                let kinds = GONE_THROUGH.into_iter().chain([FileKind::Sums]);
                let names = kinds.map(|kind| self.target.name(kind)).collect();
                DiskOp::Stat { id, folder: self.target.folder.clone(), names }
            }
            Step::Sums => DiskOp::Get { id, path: self.path(FileKind::Sums) },
            Step::Read { part, position } => {
                let file = self.file(part, files, fx);
                let rest = self.parts[part].size - position;
                let len = u32::try_from(rest).unwrap_or(BLOCK).min(BLOCK);
                let reading = self.reading.get_or_insert(WholeRead::new(file, position, len));
                reading.op(id)
            }
            Step::Save => {
                let (path, data) = (self.path(FileKind::Sums), self.made().encode());
                DiskOp::Put { id, path, data, durable: true }
            }
        };
        fx.push(E::from(op));
    }

    fn file<E: From<DiskOp>>(
        &mut self,
        part: usize,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> FileId {
        let kind = self.parts[part].kind;
        if kind == FileKind::Log {
            return self.target.file;
        }
        let path = self.path(kind);
        *self.side.get_or_insert_with(|| {
            let file = files.fresh();
            fx.push(E::from(DiskOp::Open { file, path }));
            file
        })
    }

    /// Gives back what it holds open.
    pub fn release<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if let Some(file) = self.side.take() {
            fx.push(E::from(DiskOp::Close { file }));
        }
    }

    /// Takes in the end of what was asked for.
    pub fn on_io<E: From<DiskOp>>(
        &mut self,
        done: IoDone,
        around: &Around<'_>,
        fx: &mut Fx<E>,
    ) -> Progress {
        match (self.step.clone(), done.result) {
            (Step::Stat, Ok(IoOk::Listing(found))) => self.on_stat(&found.unwrap_or_default()),
            (Step::Stat, _) => self.done(),
            (Step::Sums, Ok(IoOk::Content(file))) => self.on_sums(file.as_deref()),
            (Step::Sums, result) => self.on_sums_unread(result.err()),
            (Step::Read { part, position }, Ok(IoOk::Read(bytes))) => {
                let mut reading = self.reading.take();
                match reading.as_mut().map(|reading| reading.take(bytes.clone())) {
                    Some(disk::Part::More) => {
                        self.reading = reading;
                        Progress::More(STEP_COST)
                    }
                    Some(disk::Part::Whole(bytes) | disk::Part::Ends(bytes)) => {
                        self.on_block(part, position, &bytes, around, fx)
                    }
                    None => self.on_block(part, position, &bytes, around, fx),
                }
            }
            (Step::Read { part, position }, result) => {
                self.reading = None;
                self.on_unread(part, position, result.err(), fx)
            }
            (Step::Save, result) => {
                self.report.sealed = result.is_ok();
                self.report.unsealed = result.err();
                self.done()
            }
        }
    }

    fn on_stat(&mut self, found: &[DirEntry]) -> Progress {
        let named = |kind: FileKind| {
            let name = self.target.name(kind);
            found.iter().find(|entry| entry.name == name)
        };
        for kind in GONE_THROUGH {
            let Some(entry) = named(kind) else { continue };
            let (size, stamp) = (entry.len, entry.stamp);
            self.parts.push(Part { kind, size, stamp, known: None, made: Vec::new() });
        }
        let sums = named(FileKind::Sums).map(|entry| entry.len);
        match self.parts.first() {
            Some(part) if part.kind == FileKind::Log && part.size == self.target.size => {}
            other => {
                let there = other.filter(|part| part.kind == FileKind::Log);
                let there = there.map_or(0, |part| part.size);
                return self.on_wrong_size(there);
            }
        }
        self.step = Step::Read { part: 0, position: 0 };
        match sums {
            // Nothing is read that is larger than sums can be.
            Some(len) if len <= sums::len_max(self.summed().map(|part| part.size)) => {
                self.step = Step::Sums;
            }
            Some(_) | None => {}
        }
        Progress::More(STEP_COST)
    }

    fn on_wrong_size(&mut self, there: u64) -> Progress {
        let Target { size, owner, next, .. } = self.target;
        let why = format!("the file has {there} bytes, not {size}");
        let (from, upto) = (there.min(size), there.max(size));
        let first = owner.base;
        self.report.damages.push(Damage { kind: FileKind::Log, from, upto, first, next, why });
        self.done()
    }

    fn on_sums(&mut self, file: Option<&[u8]>) -> Progress {
        self.step = Step::Read { part: 0, position: 0 };
        match file.map(Sums::parse) {
            Some(Ok(sums)) if sums.owner == self.target.owner => self.believe(&sums),
            Some(Ok(_)) | None => {}
            Some(Err(error)) => self.report.bad_sums = Some(error.to_string()),
        }
        Progress::More(STEP_COST)
    }

    fn on_sums_unread(&mut self, error: Option<IoError>) -> Progress {
        self.step = Step::Read { part: 0, position: 0 };
        self.report.bad_sums = Some(unread(error));
        Progress::More(STEP_COST)
    }

    /// Takes the sums of those files that are still what they were.
    fn believe(&mut self, sums: &Sums) {
        for part in &mut self.parts {
            let file = sums.of(part.kind, part.size);
            let still = file.filter(|file| file.stamp.is_still(part.stamp));
            part.known = still.map(|file| file.blocks.clone());
        }
    }

    fn on_block<E: From<DiskOp>>(
        &mut self,
        part: usize,
        position: u64,
        bytes: &Bytes,
        around: &Around<'_>,
        fx: &mut Fx<E>,
    ) -> Progress {
        self.report.bytes += bytes.len() as u64;
        let wanted = (self.parts[part].size - position).min(u64::from(BLOCK));
        if bytes.len() as u64 != wanted {
            let why = Some(IoError::Failed(format!("{} bytes of {wanted}", bytes.len())));
            return self.on_unread(part, position, why, fx);
        }
        let first = self.walk.here();
        let damages = &mut self.report.damages;
        match self.parts[part].kind {
            FileKind::Log => self.walk.feed(bytes, around, &mut |damage| damages.push(damage)),
            FileKind::Snapshot => self.snapshot.feed(bytes),
            _ => {}
        }
        let hash = sums::hash(bytes);
        let at = usize::try_from(position / u64::from(BLOCK)).unwrap_or(usize::MAX);
        let known = self.parts[part].known.as_ref().and_then(|known| known.get(at));
        if known.is_some_and(|known| *known != hash) {
            let why = "the bytes are not those of the sums".to_owned();
            self.damage(part, position, first, why);
        }
        if self.parts[part].known.is_none() {
            self.parts[part].made.push(hash);
        }
        self.go_on(part, position, fx)
    }

    /// A block cannot be read. What can be is still looked at.
    fn on_unread<E: From<DiskOp>>(
        &mut self,
        part: usize,
        position: u64,
        error: Option<IoError>,
        fx: &mut Fx<E>,
    ) -> Progress {
        let first = self.walk.here();
        if self.parts[part].kind == FileKind::Log {
            self.walk.lose();
        }
        self.damage(part, position, first, unread(error));
        self.go_on(part, position, fx)
    }

    fn damage(&mut self, part: usize, position: u64, first: Offset, why: String) {
        let Part { kind, size, .. } = self.parts[part];
        let (first, next) = match kind {
            FileKind::Log => (first, self.walk.reached()),
            _ => (self.target.owner.base, self.target.next),
        };
        let upto = (position + u64::from(BLOCK)).min(size);
        self.report.damages.push(Damage { kind, from: position, upto, first, next, why });
    }

    fn go_on<E: From<DiskOp>>(&mut self, part: usize, position: u64, fx: &mut Fx<E>) -> Progress {
        let position = position + u64::from(BLOCK);
        if position < self.parts[part].size {
            self.step = Step::Read { part, position };
            return Progress::More(STEP_COST);
        }
        self.release(fx);
        self.on_end(part);
        let next = (part + 1..self.parts.len()).find(|at| self.parts[*at].size > 0);
        match next {
            Some(part) => self.step = Step::Read { part, position: 0 },
            None if self.is_to_be_sealed() => self.step = Step::Save,
            None => return self.done(),
        }
        let saves = self.step == Step::Save;
        Progress::More(if saves { SAVE_COST } else { STEP_COST })
    }

    /// All of a file has been read.
    fn on_end(&mut self, part: usize) {
        let damages = &mut self.report.damages;
        match self.parts[part].kind {
            FileKind::Log => self.walk.finish(&mut |damage| damages.push(damage)),
            FileKind::Snapshot if !self.snapshot.is_sound() => {
                let (kind, upto) = (FileKind::Snapshot, self.parts[part].size);
                let (first, next) = (self.target.owner.base, self.target.next);
                let why = "its checksum is wrong".to_owned();
                damages.push(Damage { kind, from: 0, upto, first, next, why });
            }
            _ => {}
        }
    }

    fn summed(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.kind != FileKind::Snapshot)
    }

    /// Whether sums have to be made, and will count once they are.
    fn is_to_be_sealed(&self) -> bool {
        let out_of_date = self.summed().any(|part| part.known.is_none());
        let can_count = self.summed().all(|part| part.stamp.is_still(part.stamp));
        out_of_date && can_count && self.report.damages.is_empty()
    }

    fn made(&self) -> Sums {
        let files = self.summed().map(|part| FileSums {
            kind: part.kind,
            size: part.size,
            stamp: part.stamp,
            blocks: part.known.as_ref().unwrap_or(&part.made).clone(),
        });
        Sums { owner: self.target.owner, files: files.collect() }
    }

    fn done(&mut self) -> Progress {
        Progress::Done(Box::new(std::mem::take(&mut self.report)))
    }
}

fn unread(error: Option<IoError>) -> String {
    let why = error.map_or_else(|| "another answer".to_owned(), |error| error.to_string());
    format!("it cannot be read: {why}")
}
