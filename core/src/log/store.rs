//! A log's folder: paths, ids of operations, and the small files beside the segments.

use bytes::Bytes;
use dohle_wire::id::{Offset, TopicId, Uuid};

use super::epoch::EpochCache;
use super::names::{FileKind, LEADER_EPOCHS, LOG_START, PARTITION_METADATA};
use super::offset_file;
use super::segment::Segment;
use crate::disk::{DiskOp, FileId, FilePath, IoId, What};
use crate::fx::Fx;
use crate::mutant::{Mutant, Mutants};

/// Token of the leader epochs' file among side files (segments use their base offset).
pub(super) const EPOCHS: i64 = -1;
/// Token of files whose end nobody waits for.
pub(super) const UNWATCHED: i64 = -2;
/// Token of the file that says where the log starts.
pub(super) const START: i64 = -3;

/// Token of the file that says whose log the folder is.
pub(super) const OWNER: i64 = -4;

/// Where a log lives.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) owner: u32,
    pub(super) generation: u32,
    pub(super) folder: FilePath,
    pub(super) topic_id: TopicId,
    /// `partition.metadata` is there or on its way.
    pub(super) on_disk: bool,
    /// It is there.
    pub(super) says_owner: bool,
    /// Records and syncs that wait for it: a folder with records that does not say whose they are
    /// could be given to another topic of its name.
    held: Vec<DiskOp>,
    /// The leader epochs' file is there or on its way.
    pub(super) epochs_on_disk: bool,
    /// A file says that older checkpoints are not to be believed.
    pub(super) bounded: bool,
    epochs_put: Put,
    /// Where the first epoch began that may not be on disk.
    pub(super) unsaved_epoch: Option<Offset>,
    start_put: Put,
    /// A file says where the log starts, or started a while ago.
    pub(super) start_known: bool,
    /// Segments below the log start, to be removed once that start is durable.
    doomed: Vec<Segment>,
    mutants: Mutants,
}

/// At most one write of a file is under way; what comes meanwhile goes out after it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Put {
    Idle,
    UnderWay,
    Again,
}

impl Store {
    pub(super) fn new(
        owner: u32,
        generation: u32,
        folder: FilePath,
        topic_id: TopicId,
        mutants: Mutants,
    ) -> Self {
        Self {
            owner,
            generation,
            folder,
            topic_id,
            on_disk: false,
            // There is one metadata log, and it cannot be anybody else's.
            says_owner: topic_id == TopicId(Uuid::METADATA_TOPIC),
            held: Vec::new(),
            epochs_on_disk: false,
            bounded: false,
            epochs_put: Put::Idle,
            unsaved_epoch: None,
            start_put: Put::Idle,
            start_known: false,
            doomed: Vec::new(),
            mutants,
        }
    }

    /// There is a folder, though a loss of power may have taken the file that says whose it is.
    pub(super) fn has_folder(&self) -> bool {
        self.on_disk || self.epochs_on_disk
    }

    pub(super) fn id(&self, what: What, end: i64) -> IoId {
        super::io_id(self.owner, self.generation, what, end)
    }

    pub(super) fn file(&self, kind: FileKind, base: Offset) -> FilePath {
        self.folder.join(&kind.name(base))
    }

    pub(super) fn put<E: From<DiskOp>>(
        &self,
        path: FilePath,
        data: Bytes,
        token: i64,
        fx: &mut Fx<E>,
    ) {
        let id = self.id(What::Side, token);
        fx.push(E::from(DiskOp::Put { id, path, data, durable: true }));
    }

    /// Writes `partition.metadata`, which says whose log the folder is, and where the log starts.
    /// They come before the first record.
    pub(super) fn put_metadata<E: From<DiskOp>>(&mut self, start: Offset, fx: &mut Fx<E>) {
        let text = format!("version: 0\ntopic_id: {}\n", self.topic_id);
        let path = self.folder.join(PARTITION_METADATA);
        self.put(path, Bytes::from(text), OWNER, fx);
        self.on_disk = true;
        self.doom(std::iter::empty(), start, fx);
    }

    /// Emits what touches records, once the folder says whose they are.
    pub(super) fn after_owner<E: From<DiskOp>>(&mut self, op: DiskOp, fx: &mut Fx<E>) {
        let early = self.mutants.has(Mutant::RecordsBeforeOwner);
        match self.says_owner || early {
            true => fx.push(E::from(op)),
            false => self.held.push(op),
        }
    }

    pub(super) fn owner_written<E: From<DiskOp>>(&mut self, fx: &mut Fx<E>) {
        self.says_owner = true;
        fx.extend(std::mem::take(&mut self.held).into_iter().map(E::from));
    }

    pub(super) fn put_epochs<E: From<DiskOp>>(&mut self, epochs: &EpochCache, fx: &mut Fx<E>) {
        let unsaved = match self.epochs_on_disk {
            true => epochs.latest_start(),
            false => epochs.start(),
        };
        self.unsaved_epoch = [self.unsaved_epoch, unsaved].into_iter().flatten().min();
        self.epochs_on_disk = true;
        if self.epochs_put != Put::Idle {
            self.epochs_put = Put::Again;
            return;
        }
        self.epochs_put = Put::UnderWay;
        let (id, path) = (self.id(What::Side, EPOCHS), self.folder.join(LEADER_EPOCHS));
        let data = Bytes::from(epochs.encode());
        let durable = !self.mutants.has(Mutant::EpochsNotSynced);
        fx.push(E::from(DiskOp::Put { id, path, data, durable }));
    }

    pub(super) fn epochs_written<E: From<DiskOp>>(&mut self, epochs: &EpochCache, fx: &mut Fx<E>) {
        let again = self.epochs_put == Put::Again;
        self.epochs_put = Put::Idle;
        match again {
            true => self.put_epochs(epochs, fx),
            false => self.unsaved_epoch = None,
        }
    }

    pub(super) fn epochs_pending(&self) -> bool {
        self.epochs_put != Put::Idle
    }

    /// Neither the epochs nor the start are being written, and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.epochs_put == Put::Idle && self.start_put == Put::Idle && self.held.is_empty()
    }

    /// Removes segments that end at or below `start`, after that start is durable: should only
    /// some of the removals survive a loss of power, the gap they leave is known for what it is.
    pub(super) fn doom<E: From<DiskOp>>(
        &mut self,
        segments: impl Iterator<Item = Segment>,
        start: Offset,
        fx: &mut Fx<E>,
    ) {
        self.doomed.extend(segments);
        if self.start_put != Put::Idle {
            self.start_put = Put::Again;
            return;
        }
        self.start_put = Put::UnderWay;
        self.put(self.folder.join(LOG_START), offset_file::encode(start), START, fx);
    }

    /// Segments that will be removed.
    pub(super) fn doomed(&self) -> &[Segment] {
        &self.doomed
    }

    /// Whether the log's present start is durable now.
    pub(super) fn start_written<E: From<DiskOp>>(&mut self, start: Offset, fx: &mut Fx<E>) -> bool {
        let again = self.start_put == Put::Again;
        (self.start_put, self.start_known) = (Put::Idle, true);
        if again {
            self.doom(std::iter::empty(), start, fx);
            return false;
        }
        for segment in std::mem::take(&mut self.doomed) {
            self.remove_segment(&segment, fx);
        }
        true
    }

    /// Takes the space for a whole segment, whose first records are on their way.
    pub(super) fn reserve<E: From<DiskOp>>(&mut self, file: FileId, len: u64, fx: &mut Fx<E>) {
        let id = self.id(What::Side, UNWATCHED);
        self.after_owner(DiskOp::Reserve { id, file, len }, fx);
    }

    pub(super) fn remove<E: From<DiskOp>>(&self, path: FilePath, fx: &mut Fx<E>) {
        fx.push(E::from(DiskOp::Remove { id: self.id(What::Side, UNWATCHED), path }));
    }

    /// Removes a segment's files, the records first: without them the rest is swept away.
    pub(super) fn remove_segment<E: From<DiskOp>>(&self, segment: &Segment, fx: &mut Fx<E>) {
        fx.push(E::from(DiskOp::Close { file: segment.file }));
        use FileKind::{Index, Log, Sums, TimeIndex, TxnIndex};
        for kind in [Log, Index, TimeIndex, TxnIndex, Sums] {
            self.remove(self.file(kind, segment.base), fx);
        }
        self.remove(self.file(FileKind::Snapshot, segment.base), fx);
    }
}
