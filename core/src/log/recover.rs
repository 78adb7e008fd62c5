//! Opening a log: what its folder holds becomes a [`Log`], after a clean stop or after a crash.
//!
//! Steps, one disk operation at a time: list the folder and sweep leftovers away, or finish what
//! a compaction left half done; see whose log it is and where it was last cut; read the leader
//! epochs and the log start, and hold the epochs against the records; read which transactions were
//! aborted; take the newest sound producer snapshot at or below the first segment that will be
//! scanned; learn the times of segments that will not be; scan.
//!
//! After a clean stop only what lies past the active segment's last index entry is scanned. After
//! a crash every segment that reaches past the recovery point is, with its checksums: the log
//! ends where valid batches end (torn tail), later segments are removed, indexes are rebuilt. What
//! would be cut off is read once more first. Records that are missing where compaction leaves none
//! out are damage, and the batch behind them lies where it does not belong.
//!
//! Invariant L7: the recovered log is a prefix of what was appended and holds all that was
//! durable; derived state equals a full replay.

mod aborted;
mod plan;
mod scanning;
mod swap;
mod trust;

use std::collections::BTreeSet;

use bytes::Bytes;
use dohle_wire::id::{Offset, Timestamp, TopicId};
use dohle_wire::record::BatchHeader;

pub(super) use self::plan::parse_owner;
use self::plan::{Files, parse_offset};
pub(crate) use self::plan::{aside_name, stray_name};
use self::swap::{Swap, is_swap};
use self::trust::Probe;
use super::epoch::EpochCache;
use super::index::{Indexes, parse_offsets, parse_times, time_entry};
use super::names::{
    FileKind, LEADER_EPOCHS, LOG_START, PARTITION_METADATA, TRUNCATED_TO, is_leftover,
};
use super::producer::ProducerTable;
use super::scan::{Scan, Scanned};
use super::segment::Segment;
use super::tail::Tail;
use super::txn::TxnIndex;
use super::{EPOCHS, Log, LogSettings, io_id, snapshot};
use crate::disk::{
    DirEntry, DiskOp, FileId, FileIds, FilePath, IoDone, IoError, IoId, IoOk, Part, Stamp, What,
    WholeRead,
};
use crate::fx::Fx;
use crate::mutant::{Mutant, Mutants};
use crate::time::Now;

/// What to open and what is known of it.
#[derive(Clone, Debug)]
pub struct RecoveryPlan {
    /// The unit's slot for the log.
    pub owner: u32,
    /// Generation of the operations of this recovery and of the log that comes of it.
    pub generation: u32,
    /// Its folder.
    pub folder: FilePath,
    /// Whose log it shall be.
    pub topic_id: TopicId,
    /// It was, when this process looked last: then no other topic's can be there.
    pub own: bool,
    /// Whether a folder with records that does not say whose they are may be it: one that another
    /// broker wrote, or that a checkpoint knows. This broker writes no records before.
    pub anonymous: bool,
    /// Whether the node was stopped cleanly.
    pub clean: bool,
    /// What the checkpoint says is durable: batches below need not be checked. If it is the same as
    /// `durable`, a segment that ends there was closed by then ([`Log::stated_recovery_point`]).
    pub recovery_point: Offset,
    /// What is known to have been durable of this very log: a log that ends below is damaged.
    pub durable: Offset,
    /// Where segments may lie apart without anything being lost.
    pub gaps: Gaps,
    /// What the checkpoint says the log starts at.
    pub log_start: Option<Offset>,
    /// The topic's settings.
    pub settings: LogSettings,
}

impl RecoveryPlan {
    /// Records below are on the disk.
    fn known_durable(&self) -> Offset {
        self.recovery_point.max(self.durable)
    }
}

/// What took records out from between segments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Nothing did.
    None,
    /// Kafka's cleaner, as its checkpoint says up to here. It says so after the files are changed.
    Cleaned(Offset),
    /// Kafka's cleaner, up to here and no further.
    Upto(Offset),
}

/// How far an opening has come.
#[derive(Debug)]
pub enum Recovered {
    /// It waits for a disk operation.
    Working,
    /// The log can be used. What was found on the way: a sentence for the operator.
    Done(Box<Log>, Option<String>),
    /// It cannot be opened; the reason is for the operator.
    Failed(String),
    /// It cannot be opened while the disk is full; the reason is for the operator.
    Full(String),
}

/// The opening of one log.
#[derive(Clone, Debug)]
pub struct Recovery {
    plan: RecoveryPlan,
    step: Step,
    /// Operations under way, besides which nothing else is.
    pending: u32,
    /// The read under way.
    reading: Option<WholeRead>,
    /// What lies at this position of this segment was read once more.
    doubted: Option<(usize, u64)>,
    gaps_doubted: u32,
    /// The latest batch that came after a gap: its segment and where it lies in that.
    gapped: Option<(usize, u64, u64)>,
    /// This batch, by its segment and position, is known not to belong there.
    misplaced: Option<(Offset, u64)>,
    /// The plan as it was given.
    asked: Box<RecoveryPlan>,
    files: Files,
    epochs: EpochCache,
    /// What the file says; none if there is none that can be read.
    epochs_saved: Option<EpochCache>,
    /// Segments behind the end were removed.
    removed: bool,
    /// The leader epochs found no space.
    epochs_starved: bool,
    /// They are taken from the log, and have to be written.
    epochs_anew: bool,
    /// The folder itself says where the log starts.
    says_start: bool,
    /// It says another offset.
    start_anew: bool,
    /// The folder itself says that older checkpoints are not to be believed.
    bounded: bool,
    producers: ProducerTable,
    aborted: TxnIndex,
    /// The producer state covers everything below.
    replayed: Offset,
    segments: Vec<Segment>,
    tail: Tail,
    end: Offset,
    note: Option<String>,
    /// Time of the last batch of the closed segment that is looked at.
    newest: Option<Timestamp>,
}

/// The files that make up a segment.
const SEGMENT_FILES: [FileKind; 5] =
    [FileKind::Log, FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex, FileKind::Sums];

/// Argument of operations that write no index of a segment. Those have the segment's base offset,
/// and the leader epochs [`EPOCHS`].
const NO_INDEX: i64 = -9;

const GAPS_ANYWHERE: Gaps = Gaps::Upto(Offset(i64::MAX));

/// What is being waited for.
#[derive(Clone, Debug)]
enum Step {
    List,
    Swap(Swap),
    SwapIn { names: Vec<String> },
    Swapped,
    Owner,
    SetAside,
    Bound,
    Epochs,
    Start,
    Sweep,
    SumsOfAborted { left: Vec<Offset> },
    Aborted { left: Vec<Offset>, hashes: Option<Vec<u64>> },
    Probe { probe: Probe, at: usize },
    Probed { probe: Probe, at: usize },
    Rebuild { at: usize, anew: Box<Segment>, scan: Scan },
    Rebuilt { at: usize },
    Snapshot { left: Vec<Offset> },
    Times { at: usize, file: FileId },
    Offsets,
    TimesOfActive { offsets: Bytes },
    FirstHeader { indexes: Indexes },
    Scan { at: usize, scan: Scan },
    Cut,
    CutEpochs,
    StartSnapshot,
    SealAborted,
    Seal,
    Finished,
}

impl Recovery {
    /// Begins to open a log.
    #[must_use]
    pub fn begin<E: From<DiskOp>>(plan: RecoveryPlan, fx: &mut Fx<E>) -> Self {
        let mut recovery = Self {
            step: Step::List,
            pending: 0,
            reading: None,
            doubted: None,
            gaps_doubted: 0,
            gapped: None,
            misplaced: None,
            asked: Box::new(plan.clone()),
            plan,
            files: Files::default(),
            epochs: EpochCache::default(),
            epochs_saved: None,
            removed: false,
            epochs_starved: false,
            epochs_anew: false,
            says_start: false,
            start_anew: false,
            bounded: false,
            producers: ProducerTable::default(),
            aborted: TxnIndex::default(),
            replayed: Offset(0),
            segments: Vec::new(),
            tail: Tail::default(),
            end: Offset(0),
            note: None,
            newest: None,
        };
        recovery.look(fx);
        recovery
    }

    fn look<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        let path = self.plan.folder.clone();
        self.step = Step::List;
        self.ask(fx, |id| DiskOp::List { id, path });
    }

    /// Begins anew; ends of operations of this opening mean nothing to the other.
    #[must_use]
    pub fn again<E: From<DiskOp>>(&self, fx: &mut Fx<E>) -> Self {
        let generation = self.plan.generation + 1;
        // What said that the cleaner was at work is swept away.
        let gaps = if self.files.has_deleted { GAPS_ANYWHERE } else { self.plan.gaps };
        Self::begin(RecoveryPlan { generation, gaps, ..self.plan.clone() }, fx)
    }

    /// The log's folder.
    #[must_use]
    pub fn folder(&self) -> &FilePath {
        &self.plan.folder
    }

    /// Takes in the end of an operation; ends of other generations are ignored.
    pub fn step<E: From<DiskOp>>(
        &mut self,
        now: Now,
        done: IoDone,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Recovered {
        if done.id.generation != self.plan.generation || done.id.what != What::Recover {
            return Recovered::Working;
        }
        self.pending -= 1;
        let sealing = matches!(self.step, Step::SealAborted | Step::Seal | Step::Rebuilt { .. });
        match done.result {
            Err(IoError::NoSpace(_)) if sealing && done.id.end != NO_INDEX => {
                self.starve(done.id.end);
                match self.pending {
                    0 => self.on_answer(now, IoOk::Done, ids, fx),
                    _ => Recovered::Working,
                }
            }
            Err(IoError::NoSpace(why)) => Recovered::Full(self.told(&why)),
            Err(IoError::Damaged(_)) if matches!(self.step, Step::Probe { .. }) => {
                self.on_unsound(now, ids, fx)
            }
            // Without sums nothing is said.
            Err(_) if matches!(self.step, Step::SumsOfAborted { .. }) => {
                self.on_answer(now, IoOk::Content(None), ids, fx)
            }
            Err(IoError::Failed(why) | IoError::Damaged(why)) => Recovered::Failed(self.told(&why)),
            Ok(_) if self.pending > 0 => Recovered::Working,
            Ok(IoOk::Read(bytes)) => self.on_part(now, bytes, ids, fx),
            Ok(answer) => self.on_answer(now, answer, ids, fx),
        }
    }

    /// A read may bring fewer bytes than were asked for. Where none come the file is shorter than
    /// its folder says: that is no torn end, and nothing is cut for it.
    fn on_part<E: From<DiskOp>>(
        &mut self,
        now: Now,
        bytes: Bytes,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Recovered {
        let Some(mut read) = self.reading.take() else { unreachable!("nothing is being read") };
        let scans = matches!(self.step, Step::Scan { .. } | Step::Rebuild { .. } | Step::Swap(_));
        match read.take(bytes) {
            Part::Whole(bytes) => self.on_answer(now, IoOk::Read(bytes), ids, fx),
            Part::Ends(_) if scans => {
                Recovered::Failed(self.told("a segment is shorter than its folder says"))
            }
            Part::Ends(bytes) => self.on_answer(now, IoOk::Read(bytes), ids, fx),
            Part::More if self.plan.settings.mutants.has(Mutant::ShortReadIsEnd) => {
                let bytes = read.so_far();
                if let Step::Scan { scan, .. } = &mut self.step {
                    scan.ends_after(bytes.len() as u64);
                }
                self.on_answer(now, IoOk::Read(bytes), ids, fx)
            }
            Part::More => {
                self.ask(fx, |id| read.op(id));
                self.reading = Some(read);
                Recovered::Working
            }
        }
    }

    /// Reads so many bytes.
    fn read<E: From<DiskOp>>(&mut self, file: FileId, position: u64, len: u32, fx: &mut Fx<E>) {
        let read = WholeRead::new(file, position, len);
        self.ask(fx, |id| read.op(id));
        self.reading = Some(read);
    }

    fn told(&self, why: &str) -> String {
        format!("{}: {why}", self.plan.folder.path)
    }

    fn on_answer<E: From<DiskOp>>(
        &mut self,
        now: Now,
        answer: IoOk,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Recovered {
        let outcome = match (std::mem::replace(&mut self.step, Step::Finished), answer) {
            (Step::List, IoOk::Listing(None)) => return self.on_no_folder(),
            (Step::List, IoOk::Listing(Some(names))) => self.on_list(&names, ids, fx),
            (Step::Swap(swap), IoOk::Read(bytes)) => self.on_swap(swap, &bytes, fx),
            (Step::SwapIn { names }, _) => self.swap_in(&names, fx),
            (Step::Swapped, _) => {
                self.look(fx);
                Ok(())
            }
            (Step::Owner, IoOk::Content(text)) => self.on_owner(text, now, fx),
            (Step::SetAside, _) => return self.nothing_there(),
            (Step::Bound, IoOk::Content(text)) => self.on_bound(text.as_deref(), fx),
            (Step::Epochs, IoOk::Content(text)) => self.on_epochs(text, fx),
            (Step::Start, IoOk::Content(text)) => self.on_start(text.as_deref(), now, ids, fx),
            (Step::Sweep, _) => self.on_swept(now, ids, fx),
            (Step::SumsOfAborted { left }, IoOk::Content(file)) => {
                self.on_sums_of_aborted(left, file, fx)
            }
            (Step::Aborted { left, hashes }, IoOk::Content(file)) => {
                self.on_aborted(left, hashes, file, fx)
            }
            (Step::Probe { probe, at }, IoOk::Located(found)) => {
                self.on_located(probe, at, found, ids, fx)
            }
            (Step::Probed { probe, at }, IoOk::Read(bytes)) => {
                self.on_probed(probe, at, BatchHeader::parse(&bytes).ok(), ids, fx)
            }
            (Step::Rebuild { at, anew, mut scan }, IoOk::Read(bytes)) => {
                scan.feed(&bytes);
                self.go_on_rebuilding(at, anew, scan, fx)
            }
            (Step::Rebuilt { at }, _) => self.next_closed(at + 1, ids, fx),
            (Step::Snapshot { left }, IoOk::Content(file)) => self.on_snapshot(left, file, ids, fx),
            (Step::Times { at, file }, IoOk::Read(bytes)) => {
                fx.push(E::from(DiskOp::Close { file }));
                self.on_times(at, &bytes, ids, fx)
            }
            (Step::Offsets, IoOk::Content(file)) => self.on_offsets(file.unwrap_or_default(), fx),
            (Step::TimesOfActive { offsets }, IoOk::Content(file)) => {
                self.on_active_indexes(&offsets, &file.unwrap_or_default(), fx)
            }
            (Step::FirstHeader { indexes }, IoOk::Read(bytes)) => {
                self.on_first_header(indexes, &bytes, fx)
            }
            (Step::Scan { at, scan }, IoOk::Read(bytes)) => self.on_scan(at, scan, &bytes, fx),
            (Step::Cut, _) => self.cut_epochs(fx),
            (Step::CutEpochs, _) => self.seal(fx),
            (Step::StartSnapshot, IoOk::Content(file)) => self.on_start_snapshot(file, fx),
            (Step::SealAborted, _) => self.seal_rest(fx),
            (Step::Seal, _) => Ok(()),
            (step, answer) => unreachable!("an answer {answer:?} that {step:?} does not have"),
        };
        self.outcome(outcome)
    }

    fn outcome(&mut self, outcome: Result<(), String>) -> Recovered {
        match outcome {
            Err(why) => Recovered::Failed(self.told(&why)),
            Ok(()) if self.pending > 0 => Recovered::Working,
            Ok(()) => Recovered::Done(Box::new(self.finish()), self.note.take()),
        }
    }

    /// Where a batch is looked for there is damage: what is looked at is believed.
    fn on_unsound<E: From<DiskOp>>(
        &mut self,
        now: Now,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Recovered {
        match &self.step {
            Step::Probe { probe: Probe::Seam(at), .. } => {
                let goes_on = self.times_of(*at, ids, fx);
                self.outcome(goes_on)
            }
            _ => self.on_answer(now, IoOk::Located(None), ids, fx),
        }
    }

    /// Emits an operation whose end the next step waits for.
    fn ask<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>, op: impl FnOnce(IoId) -> DiskOp) {
        self.ask_about(NO_INDEX, fx, op);
    }

    fn ask_about<E: From<DiskOp>>(
        &mut self,
        what: i64,
        fx: &mut Fx<E>,
        op: impl FnOnce(IoId) -> DiskOp,
    ) {
        self.pending += 1;
        let id = io_id(self.plan.owner, self.plan.generation, What::Recover, what);
        fx.push(E::from(op(id)));
    }

    /// A partition without records has no folder, until it gets some.
    fn on_no_folder(&mut self) -> Recovered {
        let RecoveryPlan { durable, folder, .. } = &self.plan;
        if durable.0 > 0 {
            return Recovered::Failed(format!(
                "{}: the folder is gone, and had records up to offset {durable}; put it back, or \
                 delete the topic",
                folder.path
            ));
        }
        self.nothing_there()
    }

    fn nothing_there(&mut self) -> Recovered {
        let plan = &self.plan;
        let log = Log::empty(
            plan.owner,
            plan.generation,
            plan.folder.clone(),
            plan.topic_id,
            Offset(0),
            plan.settings.clone(),
        );
        Recovered::Done(Box::new(log), self.note.take())
    }

    fn on_list<E: From<DiskOp>>(
        &mut self,
        names: &[DirEntry],
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.files = Files::of(names);
        if names.iter().any(|entry| is_swap(&entry.name)) {
            return match self.plan.settings.mutants.has(Mutant::SwapThrownAway) {
                true => self.drop_swaps(names, Offset(0), fx),
                false => self.begin_swap(names, ids, fx),
            };
        }
        let path = self.plan.folder.join(PARTITION_METADATA);
        self.step = Step::Owner;
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    /// A folder of another topic of the same name belongs to one that was deleted while this node
    /// was away (C5): it is set aside.
    fn on_owner<E: From<DiskOp>>(
        &mut self,
        text: Option<Bytes>,
        now: Now,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let owner = text.as_deref().map(parse_owner).transpose()?;
        let (durable, own) = (self.plan.durable, self.plan.topic_id);
        let certain = durable.0 > 0 || self.plan.own;
        if let Some(other) = owner.filter(|owner| *owner != own && certain) {
            return Err(format!(
                "belongs to topic {other} by its {PARTITION_METADATA}, and topic {own} had its log \
                 there, durable up to offset {durable}: the file is damaged or another one's. \
                 Nothing was changed"
            ));
        }
        if let Some(other) = owner.filter(|owner| *owner != self.plan.topic_id) {
            return self.set_aside(&format!("belongs to topic {other}"), now, fx);
        }
        let has_records = self.files.segments.values().any(|segment| segment.size > 0);
        if owner.is_none() && has_records && !self.plan.anonymous {
            return self.set_aside("does not say whose it is", now, fx);
        }
        self.files.has_owner = owner.is_some();
        for name in std::mem::take(&mut self.files.leftovers) {
            let path = self.plan.folder.join(&name);
            let id = io_id(self.plan.owner, self.plan.generation, What::Side, -2);
            fx.push(E::from(DiskOp::Remove { id, path }));
        }
        let path = self.plan.folder.join(TRUNCATED_TO);
        self.step = Step::Bound;
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    /// Checkpoints may be from before a truncation, and promise what it cut off. Those of a clean
    /// stop are not, nor is what this process knows itself.
    fn on_bound<E: From<DiskOp>>(
        &mut self,
        text: Option<&[u8]>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let mutants = self.plan.settings.mutants;
        let bound = text.map(|text| parse_offset(text, TRUNCATED_TO, mutants)).transpose()?;
        self.bounded = bound.is_some();
        if let Some(bound) = bound.filter(|_| !self.plan.clean && !self.plan.own) {
            self.plan.recovery_point = self.plan.recovery_point.min(bound);
            self.plan.durable = self.plan.durable.min(bound);
        }
        let path = self.plan.folder.join(LEADER_EPOCHS);
        self.step = Step::Epochs;
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    fn set_aside<E: From<DiskOp>>(
        &mut self,
        why: &str,
        now: Now,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let from = self.plan.folder.clone();
        let to = FilePath::new(from.dir, stray_name(&from.path, now, |_| false));
        self.add_note(format!("{} {why}: moved to {}", from.path, to.path));
        self.step = Step::SetAside;
        self.ask(fx, |id| DiskOp::Rename { id, from, to });
        Ok(())
    }

    fn on_epochs<E: From<DiskOp>>(
        &mut self,
        text: Option<Bytes>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let there = text.is_some();
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match text.as_deref().map(EpochCache::parse) {
            Some(Some(epochs)) => {
                self.epochs_saved = Some(epochs.clone());
                self.epochs = epochs;
            }
            None if self.files.segments.is_empty() => {}
            Some(None) | None => self.lose_epochs(there),
        }
        if !self.plan.clean && self.epochs.latest().is_none() {
            self.plan.recovery_point = Offset(0);
        }
        let path = self.plan.folder.join(LOG_START);
        self.step = Step::Start;
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    /// Without epochs that can be trusted, the log itself has to tell them.
    fn lose_epochs(&mut self, there: bool) {
        self.epochs_anew = there;
        self.plan.clean = false;
        self.plan.recovery_point = Offset(0);
    }

    /// Segments that end below the log start were being removed when the node went down: some may
    /// be back, with gaps between them. None of them belongs to the log any more.
    fn on_start<E: From<DiskOp>>(
        &mut self,
        text: Option<&[u8]>,
        now: Now,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        // Kafka moves a start without saying so there. Its checkpoint goes by name, and the first
        // epoch may begin behind a gap: together they tell.
        let moved = self.epochs.start().filter(|moved| self.plan.log_start >= Some(*moved));
        let moved = moved.unwrap_or(Offset(0));
        let mutants = self.plan.settings.mutants;
        let said = text.map(|text| parse_offset(text, LOG_START, mutants)).transpose()?;
        self.start_anew = said.is_some_and(|said| said < moved);
        let said = said.map(|said| said.max(moved));
        // The checkpoint of the directory goes by name and may be of an earlier topic: it counts
        // only where the log itself does not say (a folder that Kafka made).
        self.plan.log_start = said.or(self.plan.log_start);
        self.says_start = said.is_some();
        let start = self.log_start();
        let durable = self.plan.durable;
        if self.plan.clean && durable.0 > 0 && start > durable {
            return Err(format!(
                "starts at offset {start} by its {LOG_START}, and ended at {durable} when the \
                 broker stopped cleanly. Nothing was changed"
            ));
        }
        self.step = Step::Sweep;
        for base in self.files.take_below(start) {
            self.remove_files(base, fx);
        }
        if self.pending > 0 { Ok(()) } else { self.on_swept(now, ids, fx) }
    }

    /// What is in the folder belongs to the log, if its beginning is there.
    fn on_swept<E: From<DiskOp>>(
        &mut self,
        now: Now,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let start = self.log_start();
        let first = self.files.segments.keys().next().filter(|first| **first > start);
        if let Some(&first) = first.filter(|_| self.says_start) {
            return self.on_missing_start(first, fx);
        }
        self.open_segments(now, ids, fx);
        self.check_epochs(0, fx)
    }

    fn begin_snapshots<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let left = self.files.usable_snapshots(&self.plan);
        self.next_snapshot(left, fx)
    }

    fn next_snapshot<E: From<DiskOp>>(
        &mut self,
        left: Vec<Offset>,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        // With nothing left the answer is "no file", asked for all the same to keep one path.
        let newest = left.last().copied().unwrap_or(Offset(0));
        let path = self.plan.folder.join(&FileKind::Snapshot.name(newest));
        self.step = Step::Snapshot { left };
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    fn on_snapshot<E: From<DiskOp>>(
        &mut self,
        mut left: Vec<Offset>,
        file: Option<Bytes>,
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let at = left.pop();
        let parse = match self.plan.settings.mutants.has(Mutant::SnapshotBelieved) {
            true => snapshot::parse_unchecked,
            false => snapshot::parse,
        };
        match (at, file.as_deref().and_then(parse)) {
            (Some(at), Some(table)) => {
                self.producers = table;
                self.replayed = at;
            }
            (Some(_), None) if !left.is_empty() => return self.next_snapshot(left, fx),
            _ => self.replayed = Offset(0),
        }
        self.next_closed(0, ids, fx)
    }

    fn open_segments<E: From<DiskOp>>(&mut self, now: Now, ids: &mut FileIds, fx: &mut Fx<E>) {
        self.segments.reserve_exact(self.files.segments.len());
        for (&base, found) in &self.files.segments {
            let file = ids.fresh();
            let path = self.plan.folder.join(&FileKind::Log.name(base));
            fx.push(E::from(DiskOp::Open { file, path }));
            let mut segment = Segment::new(base, file, now.wall);
            segment.size = found.size;
            segment.synced = self.plan.known_durable().max(base);
            self.segments.push(segment);
        }
    }

    /// The first segment that has to be read: where recovery or the replay of producers begins.
    fn first_scanned(&self) -> usize {
        let wanted = self.files.scan_from(&self.plan).min(self.replayed.max(self.first_base()));
        self.segments.partition_point(|segment| segment.base <= wanted).saturating_sub(1)
    }

    fn log_start(&self) -> Offset {
        self.plan.log_start.unwrap_or(Offset(0))
    }

    fn first_base(&self) -> Offset {
        self.segments.first().map_or(Offset(0), |segment| segment.base)
    }

    fn begin_scan<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) -> Result<(), String> {
        let Some(last) = self.segments.len().checked_sub(1) else {
            self.end = self.log_start();
            return if self.removed { self.cut_epochs(fx) } else { self.on_log_end(fx) };
        };
        let first = self.first_scanned();
        if self.plan.clean && first == last && self.replayed > self.segments[last].base {
            let path = self.plan.folder.join(&FileKind::Index.name(self.segments[last].base));
            self.step = Step::Offsets;
            self.ask(fx, |id| DiskOp::Get { id, path });
            return Ok(());
        }
        self.scan_segment(first, 0, fx)
    }

    fn on_offsets<E: From<DiskOp>>(
        &mut self,
        offsets: Bytes,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let base = self.segments.last().map_or(Offset(0), |segment| segment.base);
        let path = self.plan.folder.join(&FileKind::TimeIndex.name(base));
        self.step = Step::TimesOfActive { offsets };
        self.ask(fx, |id| DiskOp::Get { id, path });
        Ok(())
    }

    fn on_active_indexes<E: From<DiskOp>>(
        &mut self,
        offsets: &[u8],
        times: &[u8],
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let last = self.segments.len() - 1;
        let segment = &self.segments[last];
        let file = segment.file;
        // What comes before the last entry is not read: its producers have to be known.
        let replayed = |relative: u32| self.replayed > segment.base.plus(i64::from(relative));
        match (parse_offsets(offsets, segment.size), parse_times(times)) {
            (Some(offsets), Some(times))
                if offsets.last().is_some_and(|e| replayed(e.relative)) && !times.is_empty() =>
            {
                let indexes = Indexes { offsets, times };
                self.step = Step::FirstHeader { indexes };
                self.read(file, 0, 61, fx);
                Ok(())
            }
            _ => self.scan_segment(last, 0, fx),
        }
    }

    fn on_first_header<E: From<DiskOp>>(
        &mut self,
        indexes: Indexes,
        bytes: &[u8],
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let last = self.segments.len() - 1;
        let segment = &mut self.segments[last];
        if let Ok(header) = BatchHeader::parse(bytes) {
            segment.first_timestamp = Some(header.max_timestamp);
        }
        let base = segment.base;
        let relative = indexes.times.last().map_or(0, |time| time.relative);
        self.probe(Probe::Active(indexes), base.plus(i64::from(relative)), fx);
        Ok(())
    }

    /// Goes on where the indexes end.
    fn adopt<E: From<DiskOp>>(&mut self, indexes: Indexes, fx: &mut Fx<E>) -> Result<(), String> {
        let last = self.segments.len() - 1;
        let position = self.segments[last].adopt(indexes);
        self.scan_segment(last, position, fx)
    }
}
