//! A log on its way to another data directory: a *future* log, in a folder of its own there, that
//! is filled from the current one until it can take its place (ReplicaAlterLogDirsThread).
//!
//! State: how far it has come, and the read under way. Inputs: ends of its disk operations, and
//! the current log, of which it only reads. Effects: disk operations.
//!
//! Invariants: only what is durable in the current log is copied, so that no crash takes from that
//! what its future has; batches keep their offsets, epochs and bytes; one read is under way at a
//! time, and its batches are written before the next one is asked for.
//!
//! Must never know: who writes to the current log, what the metadata says, when it is time to swap,
//! how much may be unsynced.

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, Offset, TopicId};
use dohle_wire::record::split_batches;

use super::locate::LocatePlan;
use super::names::{FileKind, PARTITION_METADATA};
use super::producer::ProducerTable;
use super::recover::{Gaps, Recovered, Recovery, RecoveryPlan, parse_owner};
use super::store::UNWATCHED;
use super::tail::Span;
use super::{Log, LogProgress, LogSettings, Reading, Unsynced, io_id, snapshot};
use crate::disk::{
    DiskOp, FileId, FileIds, FilePath, IoDone, IoError, IoOk, Part, What, WholeRead,
};
use crate::fx::Fx;
use crate::mutant::Mutant;
use crate::time::Now;

/// A sync is asked for when so many bytes were written without one, and nothing is copied while
/// twice as many wait for one, whatever is allowed: little is left to be synced at the end, for
/// which writers wait.
const SYNC_BYTES: u64 = 16 << 20;

/// See the module.
#[derive(Clone, Debug)]
pub struct Future {
    owner: u32,
    generation: u32,
    folder: FilePath,
    topic: TopicId,
    settings: LogSettings,
    state: State,
    /// What is being read of the current log.
    piece: Option<Piece>,
    /// So many bytes are read at a time.
    piece_bytes: u32,
    /// The current log has no whole batch below that is not copied.
    reached: Offset,
}

#[derive(Clone, Debug)]
enum State {
    /// It is looked up whose the folder is.
    Owner,
    /// What was copied before is opened.
    Opening(Box<Recovery>),
    /// Nothing was copied yet.
    Empty,
    /// It is looked up which producers were known before the first record.
    Snapshot(Offset),
    /// It is a log.
    Filling(Box<Log>),
}

#[derive(Clone, Debug)]
struct Piece {
    /// Batches from here on do not count yet.
    upto: Offset,
    looking: Option<LocatePlan>,
    reading: Option<WholeRead>,
}

impl Piece {
    /// Whether the current log still has the file that it is in: that log may have been opened anew
    /// meanwhile, or its first segments removed. Then the piece is read once more, if it is there.
    fn is_still_there(&self, source: Option<&Log>) -> bool {
        let looking = self.looking.as_ref().map(|plan| plan.file);
        let file = looking.or(self.reading.as_ref().map(WholeRead::file));
        let has = |log: &Log, file| log.segments().iter().any(|segment| segment.file == file);
        file.is_none_or(|file| source.is_some_and(|log| has(log, file)))
    }
}

/// What became of an operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Copied {
    /// It goes on.
    Working,
    /// What is there was never begun, or is of another topic.
    Foreign,
    /// The copy cannot be completed; the reason is for the operator.
    Failed(String),
    /// There is no space for it.
    Full(String),
    /// The directory that it goes to failed.
    DirFailed(String),
}

/// What a future log could do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for a disk operation.
    Busy,
    /// A part of the current log can be read.
    Piece,
    /// It has everything that is durable.
    CaughtUp,
}

impl Future {
    /// A future log of which nothing is there yet.
    #[must_use]
    pub fn new(owner: u32, folder: FilePath, topic: TopicId, settings: LogSettings) -> Self {
        // Nobody waits for single records: what is durable when the logs are swapped counts.
        let settings = LogSettings { flush_messages: i64::MAX, flush_ms: i64::MAX, ..settings };
        let state = State::Empty;
        Self {
            owner,
            generation: 1,
            folder,
            topic,
            settings,
            state,
            piece: None,
            piece_bytes: 0,
            reached: Offset(0),
        }
    }

    /// A future log that an earlier process has begun.
    pub fn resume<E: From<DiskOp>>(
        owner: u32,
        folder: FilePath,
        topic: TopicId,
        settings: LogSettings,
        fx: &mut Fx<E>,
    ) -> Self {
        let mut future = Self::new(owner, folder, topic, settings);
        future.state = State::Owner;
        let (id, path) = (future.id(), future.folder.join(PARTITION_METADATA));
        fx.push(E::from(DiskOp::Get { id, path }));
        future
    }

    fn id(&self) -> crate::disk::IoId {
        io_id(self.owner, self.generation, What::Load, 0)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &FilePath {
        &self.folder
    }

    /// Bytes of records it has, and where it ends; nothing while that is not known.
    #[must_use]
    pub fn extent(&self) -> (u64, Offset) {
        self.log().map_or((0, Offset(0)), |log| (log.size(), log.end()))
    }

    /// What of it is not known to be on the disk of which directory.
    #[must_use]
    pub fn unsynced(&self) -> Option<(u16, Unsynced)> {
        self.log().map(|log| (self.folder.dir, log.unsynced()))
    }

    /// Asks for what was copied to be made durable.
    pub fn flush<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        if let State::Filling(log) = &mut self.state {
            log.flush_all(fx);
        }
    }

    /// The log that it is so far; nothing while it is not known.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        match &self.state {
            State::Filling(log) => Some(log),
            State::Owner | State::Opening(_) | State::Empty | State::Snapshot(_) => None,
        }
    }

    /// Takes in the end of one of its operations.
    pub fn on_io<E: From<DiskOp>>(
        &mut self,
        now: Now,
        done: IoDone,
        source: Option<&Log>,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Copied {
        if done.id.generation != self.generation {
            return Copied::Working;
        }
        match (&mut self.state, done.id.what) {
            (State::Opening(recovery), _) => {
                let recovered = recovery.step(now, done, files, fx);
                self.on_recovered(recovered)
            }
            (State::Filling(log), What::Append | What::Flush | What::Side) => {
                match log.on_io(&done, fx) {
                    LogProgress::Failed(error) => Copied::DirFailed(error.to_string()),
                    LogProgress::Full(error) => Copied::Full(error.to_string()),
                    LogProgress::Nothing | LogProgress::Written | LogProgress::Durable => {
                        Copied::Working
                    }
                }
            }
            (_, What::Load) => self.on_read(now, done.result, source, files, fx),
            _ => Copied::Working,
        }
    }

    fn on_recovered(&mut self, recovered: Recovered) -> Copied {
        match recovered {
            Recovered::Working => Copied::Working,
            Recovered::Done(log, _) if log.segments().is_empty() => {
                self.state = State::Empty;
                Copied::Working
            }
            Recovered::Done(log, _) => {
                self.state = State::Filling(log);
                Copied::Working
            }
            Recovered::Full(why) => Copied::Full(why),
            Recovered::Failed(why) => Copied::Failed(why),
        }
    }

    fn on_read<E: From<DiskOp>>(
        &mut self,
        now: Now,
        result: Result<IoOk, IoError>,
        source: Option<&Log>,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Copied {
        let piece = self.piece.take();
        if piece.as_ref().is_some_and(|piece| !piece.is_still_there(source)) {
            return Copied::Working;
        }
        match (&self.state, result) {
            (State::Owner, Ok(IoOk::Content(text))) => self.on_owner(text.as_deref(), fx),
            (State::Owner, Err(error)) => Copied::DirFailed(error.to_string()),
            (State::Snapshot(base), Ok(IoOk::Content(file))) => {
                let producers = file.as_deref().and_then(snapshot::parse).unwrap_or_default();
                self.start(*base, producers, fx);
                Copied::Working
            }
            (_, Ok(IoOk::Located(found))) => {
                let Some(Piece { upto, looking: Some(plan), .. }) = piece else {
                    return Copied::Working;
                };
                let span = found.map(|found| Span::located(&plan, &found));
                match (span, source.and_then(|source| source.read_further(&plan, upto))) {
                    (Some(span), _) => self.read(&span, upto, fx),
                    (None, Some(plan)) => self.look(plan, upto, fx),
                    // What counts as durable may end within a batch.
                    (None, None) if source.is_some_and(|source| upto < source.end()) => {
                        self.reached = upto;
                    }
                    (None, None) => return Copied::Failed("a batch is not in its place".into()),
                }
                Copied::Working
            }
            (_, Ok(IoOk::Read(bytes))) => {
                let Some(Piece { upto, looking, reading: Some(mut read) }) = piece else {
                    return Copied::Working;
                };
                match read.take(bytes) {
                    Part::Whole(bytes) | Part::Ends(bytes) => {
                        self.take(now, bytes, upto, files, fx)
                    }
                    Part::More => {
                        fx.push(E::from(read.op(self.id())));
                        self.piece = Some(Piece { upto, looking, reading: Some(read) });
                        Copied::Working
                    }
                }
            }
            (_, Ok(_)) => Copied::Working,
            (_, Err(error)) => Copied::Failed(error.to_string()),
        }
    }

    fn on_owner<E: From<DiskOp>>(&mut self, text: Option<&[u8]>, fx: &mut Fx<E>) -> Copied {
        match text.map(parse_owner) {
            Some(Ok(topic)) if topic == self.topic => {
                self.open(None, fx);
                Copied::Working
            }
            _ => Copied::Foreign,
        }
    }

    /// Opens what is in the folder; `closed` where it ended when it was closed.
    fn open<E: From<DiskOp>>(&mut self, closed: Option<Offset>, fx: &mut Fx<E>) {
        let durable = closed.unwrap_or(Offset(0));
        let plan = RecoveryPlan {
            owner: self.owner,
            generation: self.generation,
            folder: self.folder.clone(),
            topic_id: self.topic,
            own: true,
            anonymous: true,
            clean: closed.is_some(),
            recovery_point: durable,
            durable,
            gaps: Gaps::None,
            log_start: None,
            settings: self.settings.clone(),
        };
        self.state = State::Opening(Box::new(Recovery::begin(plan, fx)));
    }

    /// What there is to do. What was copied and does not lead to the current log any more (all of
    /// it was deleted there) is thrown away.
    pub fn next<E: From<DiskOp>>(&mut self, source: &Log, fx: &mut Fx<E>) -> Next {
        let first = source.segments().first().map_or(source.log_start(), |segment| segment.base);
        if self.unsynced().is_some_and(|(_, log)| log.bytes >= 2 * SYNC_BYTES) {
            // After a crash nobody may have asked yet.
            self.flush(fx);
            return Next::Busy;
        }
        match &self.state {
            _ if self.piece.is_some() => Next::Busy,
            State::Owner | State::Opening(_) | State::Snapshot(_) => Next::Busy,
            State::Empty => {
                self.look_up_producers(first, source, fx);
                Next::Busy
            }
            State::Filling(log) if log.end() < first || log.end() > source.end() => {
                self.remove(fx);
                (self.generation, self.state) = (self.generation + 1, State::Empty);
                self.reached = Offset(0);
                Next::Busy
            }
            State::Filling(log) if log.written() < log.end() => Next::Busy,
            State::Filling(log) if log.end().max(self.reached) >= source.durable() => {
                Next::CaughtUp
            }
            State::Filling(_) => Next::Piece,
        }
    }

    fn look_up_producers<E: From<DiskOp>>(&mut self, first: Offset, source: &Log, fx: &mut Fx<E>) {
        self.state = State::Snapshot(first);
        let (id, path) = (self.id(), source.folder().join(&FileKind::Snapshot.name(first)));
        fx.push(E::from(DiskOp::Get { id, path }));
    }

    /// Begins the log. From now on the folder is there, and says whose it is.
    fn start<E: From<DiskOp>>(&mut self, base: Offset, producers: ProducerTable, fx: &mut Fx<E>) {
        let (folder, settings) = (self.folder.clone(), self.settings.clone());
        let mut log = Log::empty(self.owner, self.generation, folder, self.topic, base, settings);
        log.store.put_metadata(base, fx);
        if base > Offset(0) {
            let path = log.store.file(FileKind::Snapshot, base);
            log.store.put(path, snapshot::encode(&producers), UNWATCHED, fx);
        }
        log.producers = producers;
        self.state = State::Filling(Box::new(log));
    }

    /// Reads the next part of the current log, `bytes` or one batch that is larger. To be called
    /// when there is one.
    pub fn copy<E: From<DiskOp>>(&mut self, source: &Log, bytes: u32, fx: &mut Fx<E>) {
        let Some(from) = self.log().map(Log::end) else { return };
        let upto = source.durable();
        self.piece_bytes = bytes;
        match source.read(from, upto) {
            Reading::Empty => self.reached = upto,
            Reading::At(span) => self.read(&span, upto, fx),
            Reading::Locate(plan) => self.look(plan, upto, fx),
        }
    }

    fn look<E: From<DiskOp>>(&mut self, plan: LocatePlan, upto: Offset, fx: &mut Fx<E>) {
        self.piece = Some(Piece { upto, looking: Some(plan.clone()), reading: None });
        fx.push(E::from(DiskOp::Locate { id: self.id(), plan }));
    }

    fn read<E: From<DiskOp>>(&mut self, span: &Span, upto: Offset, fx: &mut Fx<E>) {
        let hole = span.hole(self.piece_bytes);
        let read = WholeRead::new(FileId(hole.file), hole.position, hole.len);
        fx.push(E::from(read.op(self.id())));
        self.piece = Some(Piece { upto, looking: None, reading: Some(read) });
    }

    /// Appends what was read, of which the last batch may be cut off.
    fn take<E: From<DiskOp>>(
        &mut self,
        now: Now,
        bytes: Bytes,
        upto: Offset,
        files: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Copied {
        let State::Filling(log) = &mut self.state else { return Copied::Working };
        let before = log.end();
        for batch in split_batches(bytes).map_while(Result::ok) {
            if batch.header.next_offset() <= log.end() {
                continue;
            }
            if batch.header.next_offset() > upto {
                break;
            }
            let any = LeaderEpoch(i32::MAX);
            if let Err(why) = log.append_as_follower(now, &batch, any, files, fx) {
                return Copied::Failed(why.to_string());
            }
        }
        if log.end() == before {
            return Copied::Failed(format!("no batch at offset {before}"));
        }
        if log.unsynced().bytes > SYNC_BYTES {
            log.flush_all(fx);
        }
        Copied::Working
    }

    /// The current log has nothing more, and will not get any: makes everything durable that a
    /// clean start needs. What cannot be told by the records is taken over.
    pub fn seal<E: From<DiskOp>>(&mut self, source: &Log, fx: &mut Fx<E>) {
        let State::Filling(log) = &mut self.state else { return };
        assert!(log.end() == source.end(), "sealed at {}, not {}", log.end(), source.end());
        if self.settings.mutants.has(Mutant::FutureNotSealed) {
            return;
        }
        log.producers = source.producers.clone();
        log.gaps_upto = source.gaps_upto;
        log.advance_start(source.log_start, fx);
        log.epochs = source.epochs.clone();
        if log.epochs.latest().is_some() {
            log.store.put_epochs(&log.epochs, fx);
        }
        log.close(fx);
    }

    /// Whether everything is durable after [`Self::seal`].
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let sealed = |log: &Log| log.is_closed() && log.is_settled();
        self.log().is_some_and(sealed) || self.settings.mutants.has(Mutant::FutureNotSealed)
    }

    /// The current log will get more after all.
    pub fn unseal<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        let State::Filling(log) = &self.state else { return };
        let closed = log.is_closed().then(|| log.end());
        log.release(fx);
        self.generation += 1;
        self.piece = None;
        self.open(closed, fx);
    }

    /// How the log is opened that takes the place of `source` in `folder`: as after a clean stop.
    #[must_use]
    pub fn succession(source: &Log, folder: FilePath) -> RecoveryPlan {
        let durable = source.end();
        let plan = source.reopening();
        RecoveryPlan { folder, clean: true, recovery_point: durable, durable, ..plan }
    }

    /// Gives its files back.
    pub fn release<E: From<DiskOp>>(&self, fx: &mut Fx<E>) {
        if let Some(log) = self.log() {
            log.release(fx);
        }
    }

    /// Removes what there is of it.
    pub fn remove<E: From<DiskOp>>(&self, fx: &mut Fx<E>) {
        self.release(fx);
        let id = io_id(self.owner, self.generation, What::Side, UNWATCHED);
        fx.push(E::from(DiskOp::Remove { id, path: self.folder.clone() }));
    }
}
