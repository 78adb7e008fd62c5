//! What is believed of derived files, and only after the segments bear it out: leader epochs, the
//! last time of each closed segment, the indexes of the segment in use.
//!
//! These files have no checksums, and a log is opened by them without reading its records. Each of
//! the few entries that count is held against the header of the batch that it is about. Where they
//! part, leader epochs are taken from the log as a whole, indexes from their segment.
//!
//! An entry whose batch is not found in a closed segment is believed: it may be the batch that is
//! damaged, and then a search for more damage is no reason not to serve the rest.

use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use super::*;
use crate::log::index::TimeEntry;
use crate::log::locate::{LocatePlan, Located, Target};

/// A batch that is looked up, to see whether what is said of it is right.
#[derive(Clone, Debug)]
pub(super) enum Probe {
    /// That at the start of the epoch with this place.
    Epoch(usize),
    /// The one before it.
    BeforeEpoch(usize),
    /// The last one that has to be there: an epoch may be missing.
    LastEpoch,
    /// The last one of this segment, where the next one begins.
    Seam(usize),
    /// That with the last time of this segment.
    Time(usize, TimeEntry),
    /// That with the last time of the segment in use.
    Active(Indexes),
}

impl Recovery {
    /// Looks up the batch that `offset` is in, or that follows it.
    pub(super) fn probe<E: From<DiskOp>>(&mut self, probe: Probe, offset: Offset, fx: &mut Fx<E>) {
        let at = self.segments.partition_point(|segment| segment.base <= offset).saturating_sub(1);
        let segment = &self.segments[at];
        let plan = LocatePlan {
            file: segment.file,
            base: segment.base,
            index: Some(self.plan.folder.join(&FileKind::Index.name(segment.base))),
            times: None,
            from: 0,
            older: None,
            size: segment.size,
            target: Target::Offset(offset),
            lower: Offset(0),
            upper: Offset(i64::MAX),
            next: Offset(i64::MAX),
        };
        self.step = Step::Probe { probe, at };
        self.ask(fx, |id| DiskOp::Locate { id, plan });
    }

    pub(super) fn on_located<E: From<DiskOp>>(
        &mut self,
        probe: Probe,
        at: usize,
        found: Option<Located>,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let Some(found) = found else {
            if let Probe::Seam(before) = probe {
                self.tell_missing(before);
            }
            return self.on_probed(probe, at, None, ids, fx);
        };
        let (file, position) = (self.segments[at].file, found.position);
        self.step = Step::Probed { probe, at };
        let len = u32::try_from(BATCH_HEADER_LEN).unwrap_or(u32::MAX);
        self.read(file, position, len, fx);
        Ok(())
    }

    pub(super) fn on_probed<E: From<DiskOp>>(
        &mut self,
        probe: Probe,
        at: usize,
        header: Option<BatchHeader>,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let in_use = at + 1 == self.segments.len();
        match probe {
            Probe::Epoch(entry) | Probe::BeforeEpoch(entry) => {
                let is_start = matches!(probe, Probe::Epoch(_));
                match header.map(|header| self.epoch_fits(&header, entry)) {
                    // An epoch may begin where the log ends, and none behind it.
                    None if in_use && !is_start => self.distrust_epochs(fx),
                    Some(false) => self.distrust_epochs(fx),
                    None | Some(true) => {
                        let more = !is_start && self.probe_epoch(entry, fx);
                        if more { Ok(()) } else { self.check_epochs(entry + 1, fx) }
                    }
                }
            }
            Probe::Seam(before) => {
                let last = header.filter(|last| !last.is_control());
                self.newest = last.map(|last| last.max_timestamp);
                self.times_of(before, ids, fx)
            }
            Probe::LastEpoch => {
                let last = self.epochs.entries().len() - 1;
                let known = header.filter(|header| self.is_known(header.base_offset));
                match known.is_none_or(|header| self.epoch_fits(&header, last)) {
                    true => self.begin_aborted(fx),
                    false => self.distrust_epochs(fx),
                }
            }
            Probe::Time(closed, time) => {
                if header.is_some_and(|header| !self.time_fits(closed, &header, time)) {
                    return self.rebuild(closed, fx);
                }
                self.next_closed(closed + 1, ids, fx)
            }
            Probe::Active(indexes) => {
                let last = self.segments.len() - 1;
                let fits = match (header, indexes.times.last()) {
                    (Some(header), Some(time)) => self.time_fits(last, &header, *time),
                    _ => false,
                };
                if fits { self.adopt(indexes, fx) } else { self.scan_segment(last, 0, fx) }
            }
        }
    }

    /// Looks at the segment `at`, if it is not scanned, and at those behind it; then goes on.
    pub(super) fn next_closed<E: From<DiskOp>>(
        &mut self,
        at: usize,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        if at >= self.first_scanned() {
            return self.begin_scan(fx);
        }
        self.newest = None;
        match self.must_meet(at) {
            Some(last) => {
                self.probe(Probe::Seam(at), last, fx);
                Ok(())
            }
            None => self.times_of(at, ids, fx),
        }
    }

    /// Reads the last time index entry of a segment that is not scanned.
    pub(super) fn times_of<E: From<DiskOp>>(
        &mut self,
        at: usize,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = self.segments[at].base;
        let files = &self.files.segments[&base];
        let Some(len) = files.times.filter(|_| files.offsets) else {
            return self.rebuild(at, fx);
        };
        let empty = self.segments[at].size == 0;
        if len < 12 {
            // Nothing is in it if no record has a time, which the last one shows.
            let timeless = self.newest.is_some_and(|newest| newest.0 < 0);
            return match empty || timeless {
                true => self.next_closed(at + 1, ids, fx),
                false => self.rebuild(at, fx),
            };
        }
        if empty {
            return self.rebuild(at, fx);
        }
        let file = ids.fresh();
        let path = self.plan.folder.join(&FileKind::TimeIndex.name(base));
        fx.push(E::from(DiskOp::Open { file, path }));
        self.step = Step::Times { at, file };
        let position = len - len % 12 - 12;
        self.read(file, position, 12, fx);
        Ok(())
    }

    /// The last offset of a closed segment, if the next one has to begin right behind it: not
    /// where compaction may have taken the end of it out.
    pub(super) fn must_meet(&self, at: usize) -> Option<Offset> {
        let next = self.segments.get(at + 1)?.base;
        let compacted = self.plan.settings.gaps || next <= self.compacted();
        (!compacted).then(|| next.plus(-1))
    }

    /// Nobody is refused for it: that a topic was compacted once may be forgotten by now.
    fn tell_missing(&mut self, at: usize) {
        let (base, next) = (self.segments[at].base, self.segments[at + 1].base);
        self.add_note(format!(
            "{}: records before offset {next} are missing: the segment {base} ends before it. \
             Readers pass over them; if no compaction took them out, put the files back",
            self.plan.folder.path
        ));
    }

    /// One more thing that people should know.
    pub(super) fn add_note(&mut self, text: String) {
        self.note = Some(match self.note.take() {
            Some(before) => format!("{before}; {text}"),
            None => text,
        });
    }

    /// Looks at the epochs from the one at `from` on, at those that there may be records of.
    pub(super) fn check_epochs<E: From<DiskOp>>(
        &mut self,
        from: usize,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        // Looking hides bugs that leave too few epochs: those come with belief.
        let mutants = self.plan.settings.mutants;
        if mutants.has(Mutant::EpochsNotSynced) || mutants.has(Mutant::EpochsNotAwaited) {
            return self.begin_aborted(fx);
        }
        for entry in from..self.epochs.entries().len() {
            let start = self.epochs.entries()[entry].1;
            let before = start.plus(-1);
            if start > self.first_known() && self.is_known(before) {
                self.probe(Probe::BeforeEpoch(entry), before, fx);
                return Ok(());
            }
            if self.probe_epoch(entry, fx) {
                return Ok(());
            }
        }
        let last = self.plan.recovery_point.plus(-1);
        let said = !self.epochs.entries().is_empty() && !self.segments.is_empty();
        if said && last >= self.first_known() {
            self.probe(Probe::LastEpoch, last, fx);
            return Ok(());
        }
        self.begin_aborted(fx)
    }

    fn probe_epoch<E: From<DiskOp>>(&mut self, entry: usize, fx: &mut Fx<E>) -> bool {
        let start = self.epochs.entries()[entry].1.max(self.first_known());
        let known = self.is_known(start);
        if known {
            self.probe(Probe::Epoch(entry), start, fx);
        }
        known
    }

    fn first_known(&self) -> Offset {
        self.first_base().max(self.log_start())
    }

    /// Whether a record at `offset` has to be there, if there ever was one.
    fn is_known(&self, offset: Offset) -> bool {
        !self.segments.is_empty() && (self.plan.clean || offset < self.plan.recovery_point)
    }

    /// Whether a batch is of the epoch that wrote its offsets, and not of two of them.
    fn epoch_fits(&self, header: &BatchHeader, entry: usize) -> bool {
        let entries = self.epochs.entries();
        let (found, start) = (header.partition_leader_epoch, entries[entry].1);
        let right = match self.epochs.epoch_at(header.base_offset) {
            Some(epoch) => epoch == found,
            // The log start may lie in a batch, and the first epoch is said to begin there.
            None if entries[0].1 <= self.first_known() => found <= entries[0].0,
            None => found < entries[0].0,
        };
        let across = header.base_offset < start && start < header.next_offset();
        right && (!across || start <= self.first_known())
    }

    /// As with a file that cannot be read, the log itself has to tell them.
    fn distrust_epochs<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let folder = &self.plan.folder.path;
        self.add_note(format!(
            "{folder}/{LEADER_EPOCHS} does not fit the records: it is made anew from them"
        ));
        self.epochs = EpochCache::default();
        self.lose_epochs(true);
        self.begin_aborted(fx)
    }

    fn time_fits(&self, at: usize, header: &BatchHeader, time: TimeEntry) -> bool {
        let offset = self.segments[at].base.plus(i64::from(time.relative));
        let inside = header.base_offset <= offset && offset <= header.last_offset();
        inside && header.max_timestamp == time.timestamp
    }

    /// The last time of a closed segment was read.
    pub(super) fn on_times<E: From<DiskOp>>(
        &mut self,
        at: usize,
        bytes: &[u8],
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let Some(entry) = time_entry(bytes) else { return self.next_closed(at + 1, ids, fx) };
        let segment = &mut self.segments[at];
        let offset = segment.base.plus(i64::from(entry.relative));
        segment.max_timestamp = (entry.timestamp, offset);
        // Cut short, it ends with an entry that fits and is not the last.
        let short = self.newest.take().is_some_and(|newest| newest > entry.timestamp);
        if short || offset >= self.base_after(at) {
            return self.rebuild(at, fx);
        }
        self.probe(Probe::Time(at, entry), offset, fx);
        Ok(())
    }

    /// Where the segment after that one begins.
    fn base_after(&self, at: usize) -> Offset {
        self.segments.get(at + 1).map_or(Offset(i64::MAX), |next| next.base)
    }

    /// Reads a closed segment to make its indexes anew.
    pub(super) fn rebuild<E: From<DiskOp>>(
        &mut self,
        at: usize,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let Segment { base, file, size, created, synced, .. } = self.segments[at];
        let mut anew = Box::new(Segment::new(base, file, created));
        anew.synced = synced;
        self.go_on_rebuilding(at, anew, Scan::new(0, size, base, true), fx)
    }

    pub(super) fn go_on_rebuilding<E: From<DiskOp>>(
        &mut self,
        at: usize,
        mut anew: Box<Segment>,
        mut scan: Scan,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        loop {
            match scan.advance() {
                Scanned::Batch(batch, position) => {
                    let interval = self.plan.settings.index_interval;
                    anew.note(&batch.header, position, batch.bytes.len() as u64, interval);
                }
                Scanned::Need { position, len } => {
                    let file = anew.file;
                    self.step = Step::Rebuild { at, anew, scan };
                    self.read(file, position, len, fx);
                    return Ok(());
                }
                // It may be this that does not fit: then the index is as good as it can be.
                Scanned::Damaged { .. } => break,
                Scanned::End if scan.next_offset() > self.base_after(at) => break,
                Scanned::End => {
                    let name = FileKind::TimeIndex.name(anew.base);
                    let folder = &self.plan.folder.path;
                    self.add_note(format!("{folder}/{name} was missing or damaged: made anew"));
                    self.segments[at] = *anew;
                    self.put_indexes_of(at, fx);
                    break;
                }
            }
        }
        self.step = Step::Rebuilt { at };
        if self.pending == 0 {
            // One path goes on, whether something was written or not.
            let path = self.plan.folder.join(LOG_START);
            self.ask(fx, |id| DiskOp::Get { id, path });
        }
        Ok(())
    }
}
