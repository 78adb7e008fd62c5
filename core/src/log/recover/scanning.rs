//! The scan of a recovery: reading segments, cutting what is torn, rebuilding what follows.

use std::ops::Range;

use dohle_wire::record::RawBatch;

use super::*;
use crate::log::index::OffsetEntry;
use crate::log::offset_file;
use crate::log::store::START;
use crate::log::tail::{Tail, TailBatch};

/// So many gaps are looked at twice.
const GAPS_DOUBTED_MAX: u32 = 8;

impl Recovery {
    pub(super) fn scan_segment<E: From<DiskOp>>(
        &mut self,
        at: usize,
        position: u64,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.scan_from(at, position..self.segments[at].size, fx)
    }

    fn scan_from<E: From<DiskOp>>(
        &mut self,
        at: usize,
        range: Range<u64>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let (segment, mutants) = (&self.segments[at], self.plan.settings.mutants);
        let verify = !self.plan.clean && !mutants.has(Mutant::NoTornTailCheck);
        let known = if range.start > 0 { self.end } else { segment.base };
        let scan = Scan::new(range.start, range.end, known.max(segment.base), verify)
            .ordered(!mutants.has(Mutant::OffsetsNotChecked));
        self.go_on(at, scan, fx)
    }

    pub(super) fn on_scan<E: From<DiskOp>>(
        &mut self,
        at: usize,
        mut scan: Scan,
        bytes: &[u8],
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        scan.feed(bytes);
        self.go_on(at, scan, fx)
    }

    fn go_on<E: From<DiskOp>>(
        &mut self,
        at: usize,
        mut scan: Scan,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        loop {
            match scan.advance() {
                Scanned::Batch(batch, position) if self.is_astray(at, &batch.header, position) => {
                    return self.on_damaged(at, position..scan.end(), "an index leads astray", fx);
                }
                Scanned::Batch(_, position) if self.is_misplaced(at, position) => {
                    return self.cut(at, position, "a batch that belongs further back", fx);
                }
                Scanned::Batch(batch, position)
                    if self.is_doubtful(at, &batch.header, position) =>
                {
                    self.gaps_doubted += 1;
                    return self.read_again(at, position..scan.end(), fx);
                }
                Scanned::Batch(batch, position) if self.leaves_out(at, &batch.header) => {
                    let why = format!("records up to {} are missing", batch.header.base_offset);
                    return self.cut(at, position, &why, fx);
                }
                Scanned::Batch(batch, position) => self.take(at, &batch, position),
                Scanned::Need { position, len } => {
                    let file = self.segments[at].file;
                    self.step = Step::Scan { at, scan };
                    self.read(file, position, len, fx);
                    return Ok(());
                }
                Scanned::Damaged { position, behind: Some(_), .. }
                    if self.is_behind_a_gap(at, position) =>
                {
                    return self.begin_without_misplaced(at, fx);
                }
                Scanned::Damaged { position, why, .. } => {
                    return self.on_damaged(at, position..scan.end(), &why, fx);
                }
                Scanned::End => return self.on_segment_end(at, scan.next_offset(), fx),
            }
        }
    }

    /// The scan was led here by an index that may be wrong: then it begins anew.
    fn on_damaged<E: From<DiskOp>>(
        &mut self,
        at: usize,
        range: Range<u64>,
        why: &str,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let position = range.start;
        let segment = &mut self.segments[at];
        let led = segment.indexes.offsets.last().is_some_and(|e| u64::from(e.position) == position);
        if self.plan.clean && led {
            segment.forget_indexes();
            return self.scan_segment(at, 0, fx);
        }
        let hasty = self.plan.settings.mutants.has(Mutant::DamageCutOnSight);
        if self.doubted != Some((at, position)) && !hasty {
            return self.read_again(at, range, fx);
        }
        self.cut(at, position, why, fx)
    }

    /// Whether there is a gap before a batch that nothing is known to have left.
    fn is_gap(&self, at: usize, header: &BatchHeader) -> bool {
        let begins = self.end.max(self.segments[at].base);
        let gap = header.base_offset > begins && header.base_offset > self.compacted();
        gap && !self.plan.clean
    }

    /// A gap is worth a second look, a few times: where it comes often, it is what compaction left.
    fn is_doubtful(&self, at: usize, header: &BatchHeader, position: u64) -> bool {
        let looks = self.gaps_doubted < GAPS_DOUBTED_MAX || !self.plan.settings.gaps;
        self.is_gap(at, header) && looks && self.doubted != Some((at, position))
    }

    /// Records are missing where compaction leaves nothing out: what follows lies where it does not
    /// belong.
    fn leaves_out(&self, at: usize, header: &BatchHeader) -> bool {
        let settings = &self.plan.settings;
        self.is_gap(at, header) && !settings.gaps && !settings.mutants.has(Mutant::GapBelieved)
    }

    /// The batch before the one at `position`, which is read for the second time, came after a gap.
    /// Then it is the one that does not belong there.
    fn is_behind_a_gap(&self, at: usize, position: u64) -> bool {
        let kept = self.plan.settings.mutants.has(Mutant::MisplacedBatchKept);
        let gapped =
            self.gapped.is_some_and(|(segment, _, upto)| (segment, upto) == (at, position));
        gapped && self.doubted == Some((at, position)) && !self.plan.clean && !kept
    }

    /// Begins anew, to end before that batch. Nothing was changed yet.
    fn begin_without_misplaced<E: From<DiskOp>>(
        &mut self,
        at: usize,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let found = self.gapped.map(|(_, position, _)| (self.segments[at].base, position));
        for segment in &self.segments {
            fx.push(E::from(DiskOp::Close { file: segment.file }));
        }
        *self = Self { misplaced: found, ..Self::begin(*self.asked.clone(), fx) };
        Ok(())
    }

    fn is_misplaced(&self, at: usize, position: u64) -> bool {
        self.misplaced == Some((self.segments[at].base, position))
    }

    /// Nothing is cut off for bytes that came wrong once.
    fn read_again<E: From<DiskOp>>(
        &mut self,
        at: usize,
        range: Range<u64>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.doubted = Some((at, range.start));
        self.scan_from(at, range, fx)
    }

    /// Whether the index entry that led here is about another batch.
    fn is_astray(&self, at: usize, header: &BatchHeader, position: u64) -> bool {
        let segment = &self.segments[at];
        let here = |entry: &&OffsetEntry| u64::from(entry.position) == position;
        let entry = segment.indexes.offsets.last().filter(here);
        entry.is_some_and(|entry| segment.relative(header.last_offset()) != Some(entry.relative))
    }

    /// Takes a batch found at its place into the derived state.
    fn take(&mut self, at: usize, batch: &RawBatch, position: u64) {
        let header = &batch.header;
        let len = header.total_len() as u64;
        if header.base_offset > self.end.max(self.segments[at].base) {
            self.gapped = Some((at, position, position + len));
        }
        let segment = &mut self.segments[at];
        segment.note(header, position, len, self.plan.settings.index_interval);
        self.tail.push(TailBatch {
            base: header.base_offset,
            next: header.next_offset(),
            file: segment.file,
            position,
            len: u32::try_from(len).unwrap_or(u32::MAX),
        });
        self.take_epoch(header);
        if header.base_offset >= self.replayed {
            self.note(self.segments[at].base, batch);
        }
        self.end = header.next_offset();
    }

    /// The first epoch known is said to begin where the log does, and says nothing of what is
    /// deleted.
    fn take_epoch(&mut self, header: &BatchHeader) {
        let (epoch, base) = (header.partition_leader_epoch, header.base_offset);
        let kept = base >= self.log_start();
        let told = kept || self.epochs.epoch_at(base).is_some();
        if told && !self.plan.settings.mutants.has(Mutant::EpochsNotCorrected) {
            self.epochs.correct(epoch, base, header.next_offset());
        } else {
            self.epochs.begin(epoch, base);
        }
    }

    /// The next segment follows, unless records between it and what was read are missing, or are
    /// there already: then the log ends here. (Below the recovery point a gap is what compaction
    /// left. An overlap is a segment that was removed once, and came back with a loss of power.)
    fn on_segment_end<E: From<DiskOp>>(
        &mut self,
        at: usize,
        reached: Offset,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.end = self.end.max(reached);
        let Some(next) = self.segments.get(at + 1) else {
            return self.on_log_end(fx);
        };
        let size = self.segments[at].size;
        let gapped = self.gapped.is_some_and(|(segment, _, upto)| (segment, upto) == (at, size));
        if next.base < self.end && gapped && !self.plan.clean {
            return self.begin_without_misplaced(at, fx);
        }
        if next.base < self.end {
            let why = format!("the segment {} lies in what comes before it", next.base);
            return self.cut(at, size, &why, fx);
        }
        // What is deleted may be missing, and does not make a gap of what follows it.
        let kept = self.end.max(self.log_start());
        let missing = next.base > kept && kept >= self.plan.recovery_point;
        let missing = missing && next.base > self.compacted();
        if missing && !self.plan.clean {
            let why = format!("records {kept} to {} are missing", next.base);
            return self.cut(at, size, &why, fx);
        }
        self.scan_segment(at + 1, 0, fx)
    }

    /// Up to where what is missing was taken out by Kafka's cleaner, which keeps the files that it
    /// took out for a while. Where only Kafka has written, it was the cleaner in any case.
    pub(super) fn compacted(&self) -> Offset {
        match self.plan.gaps {
            _ if self.files.has_deleted => Offset(i64::MAX),
            Gaps::Cleaned(_) if !self.says_start => Offset(i64::MAX),
            Gaps::Cleaned(upto) | Gaps::Upto(upto) => upto,
            Gaps::None => Offset(0),
        }
    }

    /// All batches were sound. There is as much as there is known to have been.
    pub(super) fn on_log_end<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let start = self.log_start();
        let replayed = if self.plan.clean { self.replayed } else { Offset(0) };
        let (end, promised) = (self.end.max(start), self.plan.durable.max(replayed));
        if end < promised {
            return Err(format!(
                "ends at offset {end}, and records up to {promised} were on the disk. This is not \
                 the torn end of a crash; nothing was changed"
            ));
        }
        self.seal(fx)
    }

    /// The segment with the first records is not there. A crash can take it away while nothing
    /// of it was durable: then nothing of the log is left.
    pub(super) fn on_missing_start<E: From<DiskOp>>(
        &mut self,
        first: Offset,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let start = self.log_start();
        if self.plan.clean || start < self.plan.known_durable() {
            return Err(format!(
                "starts at offset {start} by its {LOG_START}, and its first segment is {first}: \
                 one is missing. Nothing was changed"
            ));
        }
        let folder = &self.plan.folder.path;
        self.add_note(format!(
            "{folder}: log ends at offset {start}: records up to {first} are missing"
        ));
        self.removed = true;
        for base in std::mem::take(&mut self.files.segments).into_keys() {
            self.remove_files(base, fx);
        }
        Ok(())
    }

    /// Ends the log at `position` of segment `at`.
    fn cut<E: From<DiskOp>>(
        &mut self,
        at: usize,
        position: u64,
        why: &str,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.end = self.end.max(self.segments[at].base);
        // What is deleted need not be sound.
        let start = self.log_start();
        let refuse_deleted = self.plan.settings.mutants.has(Mutant::DeletedHasToBeSound);
        let kept = if refuse_deleted { self.end } else { self.end.max(start) };
        // All later segments go. Where one has records that are known to have been on the disk, it
        // is the end read so far that is wrong.
        let hasty = self.plan.settings.mutants.has(Mutant::LaterSegmentsCut);
        let later = self.segments.get(at + 1).filter(|_| !hasty);
        let kept = later.map_or(kept, |later| kept.min(later.base));
        let promised = self.plan.known_durable();
        let refuses = !self.plan.settings.mutants.has(Mutant::DamageCutAnywhere);
        if self.plan.clean || (kept < promised && refuses) {
            return Err(format!(
                "damaged at offset {} (segment {}, position {position}): {why}. This is not the \
                 torn end of a crash; nothing was changed",
                self.end.min(kept),
                self.segments[at].base
            ));
        }
        self.add_note(format!("{}: log ends at offset {}: {why}", self.plan.folder.path, self.end));
        self.step = Step::Cut;
        let segment = &mut self.segments[at];
        segment.size = position;
        let file = segment.file;
        let sums = self.plan.folder.join(&FileKind::Sums.name(self.segments[at].base));
        self.ask(fx, |id| DiskOp::Truncate { id, file, len: position });
        self.ask(fx, |id| DiskOp::Remove { id, path: sums });
        for later in self.segments.split_off(at + 1) {
            self.removed = true;
            self.remove_segment(&later, fx);
        }
        Ok(())
    }

    /// Epochs end with the log; writing them also makes durable what was removed from the folder
    /// before, so that no later segment comes back behind what will be appended.
    pub(super) fn cut_epochs<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        if !self.removed {
            return self.seal(fx);
        }
        self.epochs.cut_end(self.end);
        self.step = Step::CutEpochs;
        self.put_epochs(NO_INDEX, fx);
        Ok(())
    }

    fn put_epochs<E: From<DiskOp>>(&mut self, what: i64, fx: &mut Fx<E>) {
        self.epochs_saved = Some(self.epochs.clone());
        let path = self.plan.folder.join(LEADER_EPOCHS);
        let data = Bytes::from(self.epochs.encode());
        let durable = !self.plan.settings.mutants.has(Mutant::EpochsNotSynced);
        self.ask_about(what, fx, |id| DiskOp::Put { id, path, data, durable });
    }

    /// A side file found no space: what it would say stays in memory.
    pub(super) fn starve(&mut self, what: i64) {
        if what == EPOCHS {
            self.epochs_saved = None;
            self.epochs_starved = true;
        } else if what == START {
            self.says_start = false;
        } else if let Ok(at) = self.segments.binary_search_by_key(&what, |segment| segment.base.0) {
            self.segments[at].unsealed = 1;
            self.segments[at].starved = true;
        }
    }

    fn remove_segment<E: From<DiskOp>>(&mut self, segment: &Segment, fx: &mut Fx<E>) {
        fx.push(E::from(DiskOp::Close { file: segment.file }));
        self.remove_files(segment.base, fx);
    }

    pub(super) fn remove_files<E: From<DiskOp>>(&mut self, base: Offset, fx: &mut Fx<E>) {
        for kind in SEGMENT_FILES {
            let path = self.plan.folder.join(&kind.name(base));
            self.ask(fx, |id| DiskOp::Remove { id, path });
        }
    }

    /// Writes what the scan rebuilt and sweeps away what describes more than there is. Indexes come
    /// last: a segment that has them is taken to have a file of its aborted transactions, if there
    /// are any.
    pub(super) fn seal<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        if self.end < self.log_start() {
            return self.start_over(fx);
        }
        self.step = Step::SealAborted;
        self.put_aborted(fx);
        let at_once = self.plan.settings.mutants.has(Mutant::SealedAtOnce);
        if self.pending > 0 && !at_once { Ok(()) } else { self.seal_rest(fx) }
    }

    pub(super) fn seal_rest<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        self.step = Step::Seal;
        if self.start_anew {
            // Records that come from here on must not be behind a gap when the epochs are lost.
            let path = self.plan.folder.join(LOG_START);
            let data = offset_file::encode(self.log_start());
            self.ask_about(START, fx, |id| DiskOp::Put { id, path, data, durable: true });
        }
        self.put_indexes(fx);
        let mut stale = self.files.snapshots.split_off(&self.end.plus(1));
        if self.segments.is_empty() {
            stale.extend(self.files.snapshots.range(..self.end));
        }
        for at in stale {
            let path = self.plan.folder.join(&FileKind::Snapshot.name(at));
            self.ask(fx, |id| DiskOp::Remove { id, path });
        }
        self.epochs.cut_end(self.end);
        let said = self.epochs_saved.as_ref();
        let known = said.is_some() || self.epochs_anew || self.epochs.latest().is_some();
        if said != Some(&self.epochs) && known {
            self.put_epochs(EPOCHS, fx);
        }
        if self.plan.settings.syncs_before_ack() && !self.plan.clean {
            for at in 0..self.segments.len() {
                let file = self.segments[at].file;
                self.ask(fx, |id| DiskOp::Sync { id, file });
            }
        }
        Ok(())
    }

    /// The log ends below where it shall start: nothing in it is wanted. What it ended with is a
    /// history that does not lead there, but for a snapshot right there: a truncation that sets a
    /// start has removed those of before.
    fn start_over<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let path = self.plan.folder.join(&FileKind::Snapshot.name(self.log_start()));
        self.step = Step::StartSnapshot;
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    pub(super) fn on_start_snapshot<E: From<DiskOp>>(
        &mut self,
        file: Option<Bytes>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.producers = file.as_deref().and_then(snapshot::parse).unwrap_or_default();
        for segment in std::mem::take(&mut self.segments) {
            self.remove_segment(&segment, fx);
        }
        self.tail = Tail::default();
        self.end = self.log_start();
        self.seal(fx)
    }

    /// Closed segments that were scanned get their indexes anew.
    fn put_indexes<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        let closed = self.segments.len().saturating_sub(1);
        for at in self.first_scanned().min(closed)..closed {
            if !self.segments[at].starved {
                self.put_indexes_of(at, fx);
            }
        }
    }

    pub(super) fn put_indexes_of<E: From<DiskOp>>(&mut self, at: usize, fx: &mut Fx<E>) {
        let segment = &mut self.segments[at];
        segment.seal();
        let (indexes, base) = (segment.indexes.clone(), segment.base);
        for (kind, data) in [
            (FileKind::Index, indexes.encode_offsets()),
            (FileKind::TimeIndex, indexes.encode_times()),
        ] {
            let path = self.plan.folder.join(&kind.name(base));
            self.ask_about(base.0, fx, |id| DiskOp::Put { id, path, data, durable: true });
        }
    }

    /// The log as it was found. What lay past what is known to be durable is in the page cache, and
    /// no more is claimed.
    pub(super) fn finish(&mut self) -> Log {
        let plan = &self.plan;
        let synced = plan.clean || plan.settings.syncs_before_ack();
        let durable = if synced { self.end } else { self.end.min(plan.known_durable()) };
        let first = self.first_base();
        let mut log = Log::empty(
            plan.owner,
            plan.generation,
            plan.folder.clone(),
            plan.topic_id,
            self.log_start().max(first),
            plan.settings.clone(),
        );
        log.store.on_disk = self.files.has_owner && self.says_start;
        log.store.says_owner |= self.files.has_owner;
        log.store.start_known = self.says_start;
        log.store.epochs_on_disk = self.epochs_saved.is_some();
        log.store.unsaved_epoch = self.epochs_starved.then_some(log.log_start);
        log.store.bounded = self.bounded;
        log.end = self.end.max(log.log_start);
        log.gaps_upto = self.compacted().min(log.end);
        log.written = log.end;
        log.segments = std::mem::take(&mut self.segments);
        for at in 0..log.segments.len() {
            let upto = log.segment_next(at).min(durable);
            log.segments[at].synced = upto.max(log.segments[at].base);
            log.segments[at].written = log.segment_next(at);
            if log.segments[at].synced == log.segment_next(at) {
                log.segments[at].unsynced = 0;
            }
            if at + 1 < log.segments.len() && !log.segments[at].starved {
                log.segments[at].indexes = Indexes::default();
            }
        }
        log.durable = if log.segments.is_empty() { log.end } else { durable.max(first) };
        log.epochs = std::mem::take(&mut self.epochs);
        log.epochs.cut_start(log.log_start);
        log.producers = std::mem::take(&mut self.producers);
        if !log.segments.is_empty() {
            log.aborted = std::mem::take(&mut self.aborted);
            log.aborted.keep(first, log.end);
        }
        log.tail = std::mem::take(&mut self.tail);
        log.invariants();
        log
    }
}
