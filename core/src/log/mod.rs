//! A partition's log as state: offsets, segments, epochs, producers, and what is on disk of it.
//!
//! A log decides where bytes go and in what order; the bytes themselves only pass through. It
//! asks for disk operations and is told of their ends ([`Log::on_io`]).
//!
//! Invariants: `log_start ≤ end`, `durable ≤ written ≤ end` (L2, §durability is an input);
//! offsets of batches rise without gaps (L1); epochs rise (L3); there is exactly one active
//! segment and no two overlap (L6).
//!
//! Must never know: who leads, who waits, what clients are told.

pub mod epoch;
pub mod follow;
pub mod future;
pub mod index;
pub mod locate;
pub mod names;
pub(crate) mod offset_file;
pub mod producer;
mod read;
pub mod recover;
mod reopen;
pub mod scan;
pub mod segment;
pub mod settings;
pub mod snapshot;
mod store;
pub mod sums;
pub mod tail;
#[cfg(test)]
mod tests;
pub mod truncate;
pub mod txn;

use bytes::{BufMut, Bytes, BytesMut};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp, TopicId};
use dohle_wire::record::{BATCH_HEADER_LEN, BatchHeader};

use self::epoch::EpochCache;
use self::index::Indexes;
use self::names::FileKind;
use self::producer::ProducerTable;
pub use self::read::Reading;
pub use self::segment::Segment;
pub use self::settings::LogSettings;
use self::store::{EPOCHS, Store};
use self::tail::{Tail, TailBatch};
use self::txn::TxnIndex;
use crate::batch::CheckedBatch;
use crate::disk::{DiskOp, FileIds, FilePath, IoDone, IoError, IoId, What};
use crate::fx::Fx;
use crate::mail::Refusal;
use crate::mutant::Mutant;
use crate::time::{Deadline, Instant, Now};

/// The log of one partition.
#[derive(Clone, Debug)]
pub struct Log {
    settings: LogSettings,
    store: Store,
    log_start: Offset,
    end: Offset,
    written: Offset,
    durable: Offset,
    segments: Vec<Segment>,
    epochs: EpochCache,
    producers: ProducerTable,
    aborted: TxnIndex,
    /// Between segments below, Kafka's cleaner may have taken records out.
    gaps_upto: Offset,
    tail: Tail,
    unsynced_since: Option<Instant>,
    closing: bool,
}

/// Where an appended batch went.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LogAppend {
    /// Offset of its first record.
    pub base: Offset,
    /// One past its last record.
    pub next: Offset,
}

/// What a loss of power could take from a log.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsynced {
    /// Bytes appended that no completed sync covers.
    pub bytes: u64,
    /// A sync is under way.
    pub syncing: bool,
}

/// What the end of a disk operation changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogProgress {
    /// Nothing that anybody waits for.
    Nothing,
    /// [`Log::written`] moved.
    Written,
    /// [`Log::durable`] moved.
    Durable,
    /// The disk failed: the log must not be used any more.
    Failed(IoError),
    /// The disk is full. What was being written is not there, all else is: the log has to be
    /// opened anew, see [`Log::reopening`].
    Full(IoError),
}

impl Log {
    /// A log that has no files yet and begins at `start`.
    #[must_use]
    pub fn empty(
        owner: u32,
        generation: u32,
        folder: FilePath,
        topic_id: TopicId,
        start: Offset,
        settings: LogSettings,
    ) -> Self {
        Self {
            store: Store::new(owner, generation, folder, topic_id, settings.mutants),
            settings,
            log_start: start,
            end: start,
            written: start,
            durable: start,
            segments: Vec::new(),
            epochs: EpochCache::default(),
            producers: ProducerTable::default(),
            aborted: TxnIndex::default(),
            gaps_upto: Offset(0),
            tail: Tail::default(),
            unsynced_since: None,
            closing: false,
        }
    }

    /// First offset there is.
    #[must_use]
    pub fn log_start(&self) -> Offset {
        self.log_start
    }

    /// One past the last record appended.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Everything below is in the page cache: it survives the end of the process.
    #[must_use]
    pub fn written(&self) -> Offset {
        self.written
    }

    /// Everything below is on the disk: it survives a loss of power.
    #[must_use]
    pub fn durable(&self) -> Offset {
        self.durable
    }

    /// Bytes that are not known to be on the disk, and whether a sync of some is under way.
    #[must_use]
    pub fn unsynced(&self) -> Unsynced {
        let late = &self.segments[self.holding(self.durable)..];
        Unsynced {
            bytes: late.iter().map(|segment| segment.unsynced).sum(),
            syncing: late.iter().any(|segment| segment.syncing.is_some()),
        }
    }

    /// Recovery need not look below this offset (L10: never past what is durable, side files of
    /// closed segments and leader epochs included).
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        // What is about to be removed may be back after a loss of power.
        let mut all = self.store.doomed().iter().chain(&self.segments);
        let unsealed = all.find(|segment| segment.unsealed > 0);
        let sealed = unsealed.map_or(self.durable, |segment| self.durable.min(segment.base));
        match self.store.unsaved_epoch {
            Some(start) if !self.settings.mutants.has(Mutant::EpochsNotAwaited) => {
                sealed.min(start)
            }
            _ => sealed,
        }
    }

    /// The recovery point as a checkpoint gives it: below the end of a segment that goes on. Where
    /// it says the same as [`Log::durable`] does, and a segment ends there, that one was closed.
    #[must_use]
    pub fn stated_recovery_point(&self) -> Offset {
        let point = self.recovery_point();
        let goes_on = self.segments.last().is_some_and(|active| active.base < point);
        match goes_on && point == self.end && !self.settings.mutants.has(Mutant::RollBelieved) {
            true => Offset(point.0 - 1),
            false => point,
        }
    }

    /// Leader epochs.
    #[must_use]
    pub fn epochs(&self) -> &EpochCache {
        &self.epochs
    }

    /// Producer state.
    #[must_use]
    pub fn producers(&self) -> &ProducerTable {
        &self.producers
    }

    /// Its segments, oldest first; the last one is active.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &LogSettings {
        &self.settings
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &FilePath {
        &self.store.folder
    }

    /// Completions that carry another generation mean nothing to this log.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.store.generation
    }

    /// Bytes of records it holds.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// One past the last offset that belongs to segment `at`.
    fn segment_next(&self, at: usize) -> Offset {
        self.segments.get(at + 1).map_or(self.end, |next| next.base)
    }

    /// New settings hold from the next append on.
    pub fn configure(&mut self, settings: LogSettings) {
        self.settings = settings;
    }

    /// A leader of `epoch` writes from the end of the log on.
    pub fn begin_epoch<E: From<DiskOp>>(&mut self, epoch: LeaderEpoch, fx: &mut Fx<E>) {
        if self.epochs.begin(epoch, self.end) && self.store.has_folder() {
            self.store.put_epochs(&self.epochs, fx);
        }
    }

    /// Forgets producers that were silent since before `horizon`.
    pub fn expire_producers(&mut self, horizon: Timestamp) {
        self.producers.expire(horizon);
    }

    /// Whether a batch can be appended.
    ///
    /// # Errors
    /// A batch larger than a segment can be (RECORD_LIST_TOO_LARGE).
    pub fn check_size(&self, batch: &CheckedBatch) -> Result<(), Refusal> {
        let (len, most) = (batch.bytes().len() as u64, self.settings.segment_bytes);
        if len <= most {
            return Ok(());
        }
        let message = format!("the batch has {len} bytes, a segment of this topic at most {most}");
        Err(Refusal::new(ErrorCode::RecordListTooLarge, message))
    }

    /// Appends a batch at the end of the log.
    ///
    /// # Errors
    /// As [`Self::check_size`]. The caller has judged the
    /// producer's sequence before.
    pub fn append<E: From<DiskOp>>(
        &mut self,
        now: Now,
        batch: &CheckedBatch,
        epoch: LeaderEpoch,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<LogAppend, Refusal> {
        self.check_size(batch)?;
        let header = self.placed(batch.header(), epoch);
        Ok(self.put(now, &header, batch.bytes(), files, fx))
    }

    /// Appends a batch whose place and epoch are settled.
    fn put<E: From<DiskOp>>(
        &mut self,
        now: Now,
        header: &BatchHeader,
        bytes: &Bytes,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> LogAppend {
        let len = bytes.len() as u64;
        self.make_room(now, header, len, files, fx);
        self.note_epoch(header.partition_leader_epoch, header.base_offset, fx);
        let position = self.active().size;
        self.note(header, bytes, position);
        self.write(header, bytes, position, fx);
        self.sync_if_due(now, fx);
        let late = position == 0 && self.end > Offset(500);
        if late && self.settings.mutants.has(Mutant::WrittenAtAppend) {
            self.written = self.end;
        }
        LogAppend { base: header.base_offset, next: self.end }
    }

    fn placed(&self, header: &BatchHeader, epoch: LeaderEpoch) -> BatchHeader {
        let mut placed = *header;
        placed.base_offset = self.end;
        placed.partition_leader_epoch = epoch;
        placed
    }

    fn make_room<E: From<DiskOp>>(
        &mut self,
        now: Now,
        header: &BatchHeader,
        len: u64,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) {
        // The folder may have segments and not say whose it is: power was lost in between.
        if !self.store.on_disk {
            self.store.put_metadata(self.log_start, fx);
        }
        if self.segments.is_empty() {
            self.begin_segment(now, files, fx);
        } else if self.must_roll(now, header, len) {
            self.roll(now, files, fx);
        }
    }

    /// Where the log starts has to be on disk before there is a second segment: otherwise nobody
    /// could tell after a loss of power that the first one is missing.
    fn must_roll(&self, now: Now, header: &BatchHeader, len: u64) -> bool {
        let (active, last) = (self.active(), header.last_offset());
        let hasty = self.settings.mutants.has(Mutant::RollBeforeStart);
        let known = self.store.start_known && self.store.says_owner;
        let may = known || hasty || active.relative(last).is_none();
        may && active.must_roll(last, header, len, &self.settings, now.wall)
    }

    /// Ends the active segment and begins the next one.
    fn roll<E: From<DiskOp>>(&mut self, now: Now, files: &mut FileIds, fx: &mut Fx<E>) {
        assert!(self.active().size > 0, "L6: rolled an empty segment at {}", self.end);
        self.seal_active(fx);
        self.flush(fx);
        self.begin_segment(now, files, fx);
    }

    fn begin_segment<E: From<DiskOp>>(&mut self, now: Now, files: &mut FileIds, fx: &mut Fx<E>) {
        let file = files.fresh();
        let path = self.store.file(FileKind::Log, self.end);
        fx.push(E::from(DiskOp::Open { file, path }));
        self.segments.push(Segment::new(self.end, file, now.wall));
    }

    /// Writes the side files of the active segment: its indexes and the producer state at its
    /// end.
    fn seal_active<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        let snapshot = snapshot::encode(&self.producers);
        let end = self.end;
        let Some(active) = self.segments.last_mut() else { return };
        active.seal();
        active.unsealed += 2;
        let base = active.base;
        let offsets = active.indexes.encode_offsets();
        let times = active.indexes.encode_times();
        let store = &mut self.store;
        store.put(store.file(FileKind::Index, base), offsets, base.0, fx);
        store.put(store.file(FileKind::TimeIndex, base), times, base.0, fx);
        if let Some(aborted) = self.aborted.encode(base, end) {
            active.unsealed += 1;
            store.put(store.file(FileKind::TxnIndex, base), aborted, base.0, fx);
        }
        // A segment without records ends where the one before it did: its snapshot is there.
        if active.size > 0 {
            active.unsealed += 1;
            store.put(store.file(FileKind::Snapshot, end), snapshot, base.0, fx);
        }
        if active.size > 0 && self.settings.preallocate {
            active.unsealed += 1;
            let (id, file, len) = (store.id(What::Side, base.0), active.file, active.size);
            store.after_owner(DiskOp::Truncate { id, file, len }, fx);
        }
    }

    fn note_epoch<E: From<DiskOp>>(&mut self, epoch: LeaderEpoch, at: Offset, fx: &mut Fx<E>) {
        let news = self.epochs.begin(epoch, at);
        if news || !self.store.epochs_on_disk {
            self.store.put_epochs(&self.epochs, fx);
        }
    }

    /// Takes a batch at its final place into the state.
    fn note(&mut self, header: &BatchHeader, bytes: &[u8], position: u64) {
        let (len, interval) = (bytes.len() as u64, self.settings.index_interval);
        let active = self.segments.last_mut().expect("a batch lies in a segment");
        active.note(header, position, len, interval);
        self.tail.push(TailBatch {
            base: header.base_offset,
            next: header.next_offset(),
            file: active.file,
            position,
            len: u32::try_from(len).expect("a batch is below 2 GiB"),
        });
        self.aborted.extend(txn::note(header, bytes, &mut self.producers));
        self.end = header.next_offset();
    }

    fn write<E: From<DiskOp>>(
        &mut self,
        header: &BatchHeader,
        bytes: &Bytes,
        position: u64,
        fx: &mut Fx<E>,
    ) {
        let id = self.store.id(What::Append, self.end.0);
        let file = self.active().file;
        let data = vec![patched_header(header, bytes), bytes.slice(BATCH_HEADER_LEN..)];
        self.store.after_owner(DiskOp::Write { id, file, position, data }, fx);
        if position == 0 && self.settings.preallocate {
            self.store.reserve(file, self.settings.segment_bytes, fx);
        }
    }

    fn active(&self) -> &Segment {
        self.segments.last().expect("L6: a log with records has an active segment")
    }

    fn sync_if_due<E: From<DiskOp>>(&mut self, now: Now, fx: &mut Fx<E>) {
        self.unsynced_since.get_or_insert(now.mono);
        if self.end.minus(self.durable) >= self.settings.flush_messages {
            self.flush(fx);
        }
    }

    /// Asks for everything appended so far to be made durable. One sync for a segment is under
    /// way at a time; what comes meanwhile is covered by the next one.
    pub fn flush<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        for at in self.holding(self.durable)..self.segments.len() {
            let upto = self.segment_next(at);
            let id = self.store.id(What::Flush, upto.0);
            let segment = &mut self.segments[at];
            if segment.synced < upto && segment.syncing.is_none() {
                segment.syncing = Some((upto, segment.unsynced));
                let file = segment.file;
                self.store.after_owner(DiskOp::Sync { id, file }, fx);
            }
        }
    }

    /// When `flush.ms` wants a sync.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let since = self.unsynced_since.filter(|_| self.settings.flush_ms < i64::MAX / 2)?;
        Some((since.plus_ms(self.settings.flush_ms), "flush.ms"))
    }

    /// Syncs when `flush.ms` has passed.
    pub fn tick<E: From<DiskOp>>(&mut self, now: Now, fx: &mut Fx<E>) {
        if self.deadline().is_some_and(|(at, _)| at <= now.mono) {
            self.flush_all(fx);
        }
    }

    /// Syncs what is not, whether a sync is under way already or not.
    pub fn flush_all<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        self.unsynced_since = None;
        self.flush(fx);
    }

    /// Takes in the end of one of its operations.
    pub fn on_io<E: From<DiskOp>>(&mut self, done: &IoDone, fx: &mut Fx<E>) -> LogProgress {
        if done.id.generation != self.store.generation {
            return LogProgress::Nothing;
        }
        if let Err(error) = &done.result {
            return match (error, done.id.what) {
                (IoError::NoSpace(_), What::Append | What::Side) => {
                    LogProgress::Full(error.clone())
                }
                // A sync that found no space may have lost what it was to keep.
                _ => LogProgress::Failed(error.clone()),
            };
        }
        let progress = match done.id.what {
            What::Append => self.on_written(Offset(done.id.end)),
            What::Flush => self.on_synced(Offset(done.id.end), fx),
            What::Side => self.on_side(done.id.end, fx),
            What::Recover | What::Load | What::Locate | What::Scrub | What::Meta => {
                LogProgress::Nothing
            }
        };
        self.invariants();
        progress
    }

    fn on_written(&mut self, end: Offset) -> LogProgress {
        assert!(end <= self.end, "wrote up to {end}, appended up to {}", self.end);
        if let Some(at) = self.segment_below(end) {
            let segment = &mut self.segments[at];
            assert!(segment.written < end, "writes of one file end in their order");
            segment.written = end;
        }
        self.advance_written();
        self.advance_durable();
        LogProgress::Written
    }

    fn on_synced<E: From<DiskOp>>(&mut self, upto: Offset, fx: &mut Fx<E>) -> LogProgress {
        let Some(at) = self.segment_below(upto) else { return LogProgress::Nothing };
        let segment = &mut self.segments[at];
        if let Some((_, bytes)) = segment.syncing.take_if(|(asked, _)| *asked == upto) {
            segment.synced = segment.synced.max(upto);
            segment.unsynced -= bytes;
        }
        let before = self.durable;
        self.advance_durable();
        // `flush.ms` may have passed while this sync was under way: what came after it began is due.
        let overdue = self.unsynced_since.is_none() && self.durable < self.end;
        let many = self.end.minus(self.durable) >= self.settings.flush_messages;
        if many || overdue || self.closing {
            self.flush(fx);
        }
        if self.durable > before { LogProgress::Durable } else { LogProgress::Nothing }
    }

    /// The segment in which records below `upto` end.
    fn segment_below(&self, upto: Offset) -> Option<usize> {
        self.segments.partition_point(|segment| segment.base < upto).checked_sub(1)
    }

    /// The segment that holds `offset`, or that it would be the first of: all before it end below.
    fn holding(&self, offset: Offset) -> usize {
        self.segments.partition_point(|segment| segment.base <= offset).saturating_sub(1)
    }

    /// Writes of different segments may end in any order: what counts is without a gap.
    fn advance_written(&mut self) {
        let mut written = self.written;
        for at in self.holding(written)..self.segments.len() {
            written = written.max(self.segments[at].written);
            if written < self.segment_next(at) {
                break;
            }
        }
        self.written = written;
    }

    fn advance_durable(&mut self) {
        // What lay before the first segment counts as durable only when it counts as deleted.
        let first = self.segments.first().map_or(self.end, |first| first.base);
        if self.durable < first && !self.settings.mutants.has(Mutant::DeletedAtOnce) {
            return;
        }
        let mut durable = self.durable.max(first);
        for at in self.holding(durable)..self.segments.len() {
            durable = durable.max(self.segments[at].synced);
            if durable < self.segment_next(at) {
                break;
            }
        }
        self.durable = self.durable.max(durable.min(self.written));
        if self.durable == self.end {
            self.unsynced_since = None;
        }
    }

    fn on_side<E: From<DiskOp>>(&mut self, token: i64, fx: &mut Fx<E>) -> LogProgress {
        if token == EPOCHS {
            self.store.epochs_written(&self.epochs, fx);
        } else if token == store::OWNER {
            self.store.owner_written(fx);
        } else if token == store::START {
            if self.store.start_written(self.log_start, fx) {
                return self.on_started();
            }
        } else if let Ok(at) = self.segments.binary_search_by_key(&token, |s| s.base.0) {
            self.segments[at].unsealed -= 1;
            if self.segments[at].unsealed == 0 && at + 1 < self.segments.len() {
                self.segments[at].indexes = Indexes::default();
            }
        }
        LogProgress::Nothing
    }

    /// A crash will not take the log start back below where it is now.
    fn on_started(&mut self) -> LogProgress {
        self.epochs.cut_start(self.log_start);
        let before = self.durable;
        self.durable = before.max(self.log_start.min(self.written));
        self.advance_durable();
        if self.durable > before { LogProgress::Durable } else { LogProgress::Nothing }
    }

    /// Moves the start of the log up to `start` and removes segments that end below it (L8).
    pub fn advance_start<E: From<DiskOp>>(&mut self, start: Offset, fx: &mut Fx<E>) {
        assert!(start <= self.end, "L8: log start {start} past the end {}", self.end);
        self.log_start = self.log_start.max(start);
        let gone = (1..self.segments.len())
            .take_while(|&at| self.segments[at].base <= self.log_start)
            .count();
        if !self.store.on_disk && !self.segments.is_empty() {
            self.store.put_metadata(self.log_start, fx);
        }
        if self.store.on_disk {
            let wrong = self.settings.mutants.has(Mutant::WrongSegmentsRemoved) && gone > 1;
            let doomed: Vec<Segment> = match wrong {
                true => self.segments[1..=gone].to_vec(),
                false => self.segments[..gone].to_vec(),
            };
            self.segments.drain(..gone);
            self.store.doom(doomed.into_iter(), self.log_start, fx);
        }
        let first = self.segments.first().map_or(self.log_start, |segment| segment.base);
        self.aborted.keep(first, self.end);
        self.tail.cut_start(self.log_start);
        // A crash may take the start back while that is not durable.
        if !self.store.on_disk {
            self.on_started();
        }
        self.invariants();
    }

    /// Makes everything durable and writes what a clean start needs. No appends come after.
    pub fn close<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if std::mem::replace(&mut self.closing, true) {
            return;
        }
        self.flush(fx);
        self.reseal(fx);
        self.seal_active(fx);
    }

    /// Whether everything asked for by [`Log::close`] is done.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        if self.settings.mutants.has(Mutant::ClosedBeforeSealed) {
            return self.closing && self.written == self.end;
        }
        let sealed = self.segments.iter().all(|segment| segment.unsealed == 0);
        // Segments that are about to go hold the recovery point below where the log starts.
        let hasty = self.settings.mutants.has(Mutant::ClosedBeforeDeleted);
        let deleted = self.store.doomed().is_empty() || hasty;
        let durable = self.durable == self.end && self.store.unsaved_epoch.is_none();
        self.closing && sealed && deleted && durable
    }

    /// Gives back its files without a trace of state on disk changing.
    pub fn release<E: From<DiskOp>>(&self, fx: &mut Fx<E>) {
        for segment in &self.segments {
            fx.push(E::from(DiskOp::Close { file: segment.file }));
        }
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        assert!(self.log_start <= self.end, "L2: start {} end {}", self.log_start, self.end);
        assert!(self.durable <= self.written, "durable {} written {}", self.durable, self.written);
        assert!(self.written <= self.end, "written {} end {}", self.written, self.end);
        if let [.., a, b] = self.segments.as_slice() {
            assert!(a.base < b.base, "L6: segments {} and {}", a.base, b.base);
        }
        self.epochs.invariants();
    }
}

/// The 61 header bytes of a batch at its final place. Base offset and leader epoch lie outside
/// the CRC; nothing else changes.
fn patched_header(header: &BatchHeader, bytes: &Bytes) -> Bytes {
    let mut patched = BytesMut::with_capacity(BATCH_HEADER_LEN);
    patched.put_slice(&bytes[..BATCH_HEADER_LEN]);
    dohle_wire::record::patch(&mut patched, header.base_offset, header.partition_leader_epoch)
        .expect("a checked batch has a whole header");
    patched.freeze()
}

/// Ids of a log's operations.
pub(crate) fn io_id(owner: u32, generation: u32, what: What, end: i64) -> IoId {
    IoId { owner, generation, what, end }
}
