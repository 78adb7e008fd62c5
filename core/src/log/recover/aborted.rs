//! Which transactions were aborted: read from the files of closed segments, told by the records
//! of those that are scanned.

use dohle_wire::record::RawBatch;

use super::*;
use crate::log::txn;

impl Recovery {
    pub(super) fn begin_aborted<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let upto = self.files.told_from(&self.plan);
        let with = self.files.segments.range(..upto).filter(|(_, files)| files.aborted);
        let left = with.map(|(base, _)| *base).rev().collect();
        self.next_aborted(left, fx)
    }

    fn next_aborted<E: From<DiskOp>>(
        &mut self,
        left: Vec<Offset>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let Some(base) = left.last() else { return self.begin_snapshots(fx) };
        let path = self.plan.folder.join(&FileKind::TxnIndex.name(*base));
        self.step = Step::Aborted { left };
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    /// A file that is damaged has its segment and all that follow scanned once more.
    pub(super) fn on_aborted<E: From<DiskOp>>(
        &mut self,
        mut left: Vec<Offset>,
        file: Option<Bytes>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = left.pop().expect("the file of a segment was asked for");
        let next = self.files.segments.range(base.plus(1)..).next();
        let next = next.map_or(Offset(i64::MAX), |(next, _)| *next);
        let ignored = self.plan.settings.mutants.has(Mutant::AbortedFileIgnored);
        match txn::parse(&file.unwrap_or_default(), base, next) {
            None if ignored => {}
            Some(entries) => self.aborted.extend(entries),
            None => {
                self.files.untold = Some(base);
                left.clear();
            }
        }
        self.next_aborted(left, fx)
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
