//! Which transactions were aborted: read from the files of closed segments, told by the records
//! of those that are scanned.
//!
//! A file is held against what the sums of its segment say of it, as long as they are of the
//! segment's records as they are now. Without sums it is believed if it can be read, and so is its
//! absence, as in Kafka.

use dohle_wire::record::RawBatch;

use super::plan::SegmentFiles;
use super::*;
use crate::log::sums::{Hasher, Sums};
use crate::log::txn;

/// Sums are not read that are larger: those of a segment of 2 GiB have a quarter of it.
const SUMS_MOST: u64 = 1024 * 1024;

/// Segments whose files have not been read yet, the newest first.
type Left = Vec<Offset>;

impl Recovery {
    pub(super) fn begin_aborted<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let upto = self.files.told_from(&self.plan);
        let says = |files: &SegmentFiles| files.aborted || files.sums.is_some();
        let with = self.files.segments.range(..upto).filter(|(_, files)| says(files));
        let left = with.map(|(base, _)| *base).rev().collect();
        self.next_aborted(left, fx)
    }

    fn next_aborted<E: From<DiskOp>>(&mut self, left: Left, fx: &mut Fx<E>) -> Result<(), String> {
        let Some(&base) = left.last() else { return self.begin_snapshots(fx) };
        let believed = self.plan.settings.mutants.has(Mutant::AbortedFileBelieved);
        let sums = self.files.segments[&base].sums.as_ref();
        if sums.is_none_or(|sums| sums.len > SUMS_MOST || believed) {
            return self.read_aborted(left, None, fx);
        }
        let path = self.plan.folder.join(&FileKind::Sums.name(base));
        self.step = Step::SumsOfAborted { left };
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    pub(super) fn on_sums_of_aborted<E: From<DiskOp>>(
        &mut self,
        mut left: Left,
        sums: Option<Bytes>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = *left.last().expect("sums of a segment were asked for");
        let files = &self.files.segments[&base];
        let (aborted, now) = (files.aborted, files.sums.as_ref().map(|file| file.records));
        let sums = sums.as_deref().map(Sums::parse).and_then(Result::ok).filter(|sums| {
            let records = sums.of(FileKind::Log, files.size);
            let owned = sums.owner.topic == self.plan.topic_id && sums.owner.base == base;
            owned && records.is_some_and(|records| records.stamp.is_still(now.unwrap_or_default()))
        });
        let of_file = |sums: Sums| sums.files.into_iter().find(|f| f.kind == FileKind::TxnIndex);
        // One that is empty says as much as none.
        match sums.and_then(of_file).map(|file| file.blocks).filter(|hashes| !hashes.is_empty()) {
            Some(_) if !aborted => self.distrust_aborted(base, fx),
            None if !aborted => {
                left.pop();
                self.next_aborted(left, fx)
            }
            hashes => self.read_aborted(left, hashes, fx),
        }
    }

    fn read_aborted<E: From<DiskOp>>(
        &mut self,
        left: Left,
        hashes: Option<Vec<u64>>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = left.last().expect("a segment is left");
        let path = self.plan.folder.join(&FileKind::TxnIndex.name(*base));
        self.step = Step::Aborted { left, hashes };
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    pub(super) fn on_aborted<E: From<DiskOp>>(
        &mut self,
        mut left: Left,
        hashes: Option<Vec<u64>>,
        file: Option<Bytes>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = left.pop().expect("the file of a segment was asked for");
        let next = self.files.segments.range(base.plus(1)..).next();
        let next = next.map_or(Offset(i64::MAX), |(next, _)| *next);
        let ignored = self.plan.settings.mutants.has(Mutant::AbortedFileIgnored);
        let file = file.unwrap_or_default();
        let as_said = hashes.is_none_or(|hashes| Hasher::of(&file) == hashes);
        match txn::parse(&file, base, next).filter(|_| as_said) {
            None if ignored => {}
            Some(entries) => self.aborted.extend(entries),
            None => return self.distrust_aborted(base, fx),
        }
        self.next_aborted(left, fx)
    }

    /// A file that is damaged or missing has its segment and all that follow scanned once more.
    fn distrust_aborted<E: From<DiskOp>>(
        &mut self,
        base: Offset,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let (folder, name) = (&self.plan.folder.path, FileKind::TxnIndex.name(base));
        self.add_note(format!("{folder}/{name} was missing or damaged: made anew"));
        self.files.untold = Some(base);
        self.aborted.keep(Offset(0), self.files.told_from(&self.plan));
        self.next_aborted(Vec::new(), fx)
    }

    /// Takes a batch of the segment at `base` into the state of the producers.
    pub(super) fn note(&mut self, base: Offset, batch: &RawBatch) {
        let aborted = txn::note(&batch.header, &batch.bytes, &mut self.producers);
        let learns = !self.plan.settings.mutants.has(Mutant::AbortedNotReplayed);
        let told = base >= self.files.told_from(&self.plan);
        self.aborted.extend(aborted.filter(|_| told && learns));
    }

    /// Closed segments whose records told it have files that say the same, or none. That of the
    /// active one is written when it is closed.
    pub(super) fn put_aborted<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        let from = self.files.told_from(&self.plan);
        for at in 0..self.segments.len() {
            let base = self.segments[at].base;
            if base < from {
                continue;
            }
            let next = self.segments.get(at + 1).map_or(self.end, |next| next.base);
            let path = self.plan.folder.join(&FileKind::TxnIndex.name(base));
            let closed = at + 1 < self.segments.len();
            match self.aborted.encode(base, next.max(base)).filter(|_| closed) {
                Some(data) => {
                    self.ask_about(base.0, fx, |id| DiskOp::Put { id, path, data, durable: true });
                }
                None if self.files.segments[&base].aborted => {
                    self.ask(fx, |id| DiskOp::Remove { id, path });
                }
                None => {}
            }
        }
    }
}
