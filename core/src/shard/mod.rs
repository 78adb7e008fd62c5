//! A shard: some of a node's partitions and the router between them and the rest.
//!
//! State: partitions by slot (open, being opened, failed, being deleted), the coordinators of
//! groups on those of `__consumer_offsets`, requests that have to
//! wait for an image or for a log to open, reads and look-ups under way, watched reads. Inputs:
//! mail, ends of disk operations, ticks.
//!
//! Invariants: a partition of the image that hashes to this shard has exactly one slot, any other
//! has none; a request is answered once; requests for one partition are handled in the order
//! they came, waiting ones first.
//!
//! Must never know: connections, wire versions, the metadata log.

mod deadlines;
mod full;
mod groups;
mod image;
mod ledger;
mod lifecycle;
mod moves;
mod reads;
mod scrub;
mod silent;
mod sizes;
mod slot;
mod slots;
mod statistics;
#[cfg(test)]
mod tests;
mod undecided;
mod unflushed;

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, Offset, Uuid};
use dohle_wire::record::Codecs;

use self::full::FullDirs;
pub(crate) use self::full::SPACE_PROBE;
use self::groups::Ledgers;
use self::ledger::Ledger;
use self::moves::Moves;
use self::reads::{Reads, Watches};
pub use self::scrub::Scrubbed;
use self::scrub::Scrubber;
use self::sizes::Sizes;
use self::slot::Slot;
use self::slots::Slots;
use self::unflushed::Unflushed;
use crate::config::broker::BrokerConfig;
use crate::disk::{DiskOp, FileIds, FilePath, IoDone, IoId, What};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{
    Answer, Checkpoints, PartitionId, ReplyTo, SessionId, ShardId, ToControl, ToSession, ToShard,
};
use crate::mutant::{Mutant, Mutants};
use crate::partition::{self, Partition};
use crate::time::{Deadline, Instant, Now, earlier};

/// What a shard reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// From a session or from control.
    Mail(ToShard),
    /// A disk operation ended.
    Io(IoDone),
    /// The deadline passed.
    Tick,
}

/// What a shard wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Do something on a disk.
    Disk(DiskOp),
    /// Mail to a session; a session that is gone is no error.
    Session(SessionId, ToSession),
    /// Mail to control.
    Control(ToControl),
    /// Tell the operator.
    Note(Note),
}

impl From<DiskOp> for Effect {
    fn from(op: DiskOp) -> Self {
        Self::Disk(op)
    }
}

/// Something an operator should read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How urgent.
    pub level: Level,
    /// One sentence.
    pub text: Arc<str>,
}

/// How urgent a note is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// Routine.
    Info,
    /// Worth a look.
    Warn,
    /// Something is broken.
    Error,
}

/// Some of a node's partitions.
#[derive(Clone)]
pub struct Shard {
    id: ShardId,
    shards: u16,
    config: Arc<BrokerConfig>,
    codecs: Arc<dyn Codecs>,
    mutants: Mutants,
    files: FileIds,
    image: Option<Arc<Image>>,
    checkpoints: Arc<Checkpoints>,
    slots: Slots,
    by_id: BTreeMap<PartitionId, u32>,
    next_slot: u32,
    parked: Vec<ToShard>,
    reads: Reads,
    watches: Watches,
    scrubber: Scrubber,
    ledgers: Ledgers,
    inner: Fx<partition::Effect>,
    /// Ids of the data directories, by number.
    dirs: BTreeMap<u16, Uuid>,
    failed_dirs: Vec<u16>,
    moves: Moves,
    sizes: Sizes,
    /// Copies that an earlier process has begun, by the names of their partitions.
    futures: BTreeMap<String, Vec<FilePath>>,
    full_dirs: FullDirs,
    /// Listings of data directories and moves that have to end before the shard is ready.
    sweeping: u32,
    announced: bool,
    next_progress: Option<Instant>,
    stopping: Stopping,
    /// Slots that a stop still waits for, and perhaps some that have settled meanwhile.
    unsettled: Vec<u32>,
    next_expiry: Option<Instant>,
}

/// How far a clean stop has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stopping {
    No,
    Closing,
    Done,
}

/// Producers are looked through this often (Kafka: 10 minutes).
const EXPIRY_INTERVAL_MS: i64 = 600_000;

impl Shard {
    /// Shard `id` of `shards`, without partitions until it is given an image. Ids of members of
    /// groups are drawn from `seed`.
    #[must_use]
    pub fn new(
        id: ShardId,
        shards: u16,
        config: Arc<BrokerConfig>,
        codecs: Arc<dyn Codecs>,
        seed: u64,
    ) -> Self {
        Self {
            ledgers: Ledgers::new(&config, seed),
            slots: Slots::new(Unflushed::new(&config, shards)),
            scrubber: Scrubber::new(&config, shards),
            id,
            shards,
            config,
            codecs,
            mutants: Mutants::default(),
            files: FileIds::of_unit(id.0 + 1),
            image: None,
            checkpoints: Arc::default(),
            by_id: BTreeMap::new(),
            next_slot: 0,
            parked: Vec::new(),
            reads: Reads::default(),
            watches: Watches::default(),
            inner: Fx::new(),
            dirs: BTreeMap::new(),
            failed_dirs: Vec::new(),
            moves: Moves::default(),
            sizes: Sizes::default(),
            futures: BTreeMap::new(),
            full_dirs: FullDirs::default(),
            sweeping: 0,
            announced: false,
            next_progress: None,
            stopping: Stopping::No,
            unsettled: Vec::new(),
            next_expiry: None,
        }
    }

    /// Plants bugs in every partition made from now on.
    pub fn plant(&mut self, mutants: Mutants) {
        self.mutants = mutants;
        self.ledgers.plant(mutants);
        self.slots.unflushed.plant(mutants);
    }

    /// The open partitions, for checkers.
    pub fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.slots.open()
    }

    /// Takes in one input.
    pub fn step(&mut self, now: Now, input: Input, fx: &mut Fx<Effect>) {
        match input {
            Input::Mail(mail) => self.on_mail(now, mail, fx),
            Input::Io(done) => self.on_io(now, done, fx),
            Input::Tick => self.on_tick(now, fx),
        }
        self.announce(now, fx);
        self.drive_moves(now, fx);
        self.bound_unflushed(now, fx);
        self.finish_stop(fx);
        self.invariants();
    }

    /// When the shard next wants a tick.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let expiry = self.next_expiry.map(|at| (at, "producer.id.expiration.ms"));
        let logs = earlier(self.slots.deadline(), self.full_dirs.deadline());
        let progress = self.next_progress.map(|at| (at, "progress of a start"));
        let own = earlier(earlier(expiry, progress), self.scrubber.deadline());
        let logs = earlier(logs, self.moves.deadline());
        earlier(own, earlier(logs, self.ledgers.deadline()))
    }

    /// Asserts what must always hold and can be seen at once.
    pub fn invariants(&self) {
        assert!(self.by_id.len() <= self.slots.len(), "a partition has exactly one slot");
        assert!(
            self.stopping != Stopping::Done || self.unsettled.is_empty(),
            "a stopped shard has nothing open"
        );
    }

    fn on_mail(&mut self, now: Now, mail: ToShard, fx: &mut Fx<Effect>) {
        if self.stopping != Stopping::No {
            return self.on_late_mail(mail, fx);
        }
        if self.must_wait(&mail) {
            self.parked.push(mail);
            return;
        }
        match mail {
            ToShard::Start(checkpoints) => self.on_start(now, checkpoints),
            ToShard::Image(image) => self.on_image(now, image, fx),
            ToShard::Produce(produce) => self.on_produce(now, &produce, fx),
            ToShard::Read(read) => self.on_read(read, fx),
            ToShard::Unwatch { session, request } => self.on_unwatch((session, request)),
            ToShard::ListOffset { reply, partition, query, .. } => {
                self.on_list_offset(reply, partition, &query, fx);
            }
            ToShard::DeleteRecords { reply, partition, before, .. } => {
                self.on_delete_records(now, reply, partition, before, fx);
            }
            ToShard::EpochEnd { reply, partition, query, .. } => {
                let answer = self.open(&partition).and_then(|p| p.on_epoch_end(&query));
                answer_to(reply, Answer::EpochEnd(answer), fx);
            }
            ToShard::Group { reply, partition, request, .. } => {
                self.on_group(now, reply, &partition, *request, fx);
            }
            ToShard::ListGroups { reply } => self.on_list_groups(reply, fx),
            ToShard::AlterDir { reply, partition, dir, .. } => {
                self.on_alter_dir(now, reply, &partition, dir, fx);
            }
            ToShard::LogSizes { reply } => self.on_log_sizes(reply, fx),
            ToShard::Statistics { reply } => self.on_statistics(reply, fx),
            ToShard::DirFull { dir, why } => self.begin_full(now, dir, &why, fx),
            ToShard::Checkpoint => self.report_checkpoint(fx),
            ToShard::Stop => self.on_stop(now, fx),
        }
    }

    /// Whether a request has to wait: for the image it was routed by, or for a log to open.
    fn must_wait(&self, mail: &ToShard) -> bool {
        match mail {
            ToShard::Produce(produce) => {
                self.is_early(produce.seen, &produce.partition)
                    || self.is_held_back(&produce.partition)
                    || self.awaits_sync(&produce.partition)
            }
            ToShard::Read(read) => {
                read.parts.iter().any(|part| self.is_early(read.seen, &part.partition))
            }
            ToShard::DeleteRecords { seen, partition, .. } => {
                self.is_early(*seen, partition) || self.is_held_back(partition)
            }
            ToShard::ListOffset { seen, partition, .. }
            | ToShard::AlterDir { seen, partition, .. }
            | ToShard::EpochEnd { seen, partition, .. } => self.is_early(*seen, partition),
            ToShard::Group { seen, partition, .. } => {
                let waits = self.is_loading(partition) || self.is_held_back(partition);
                waits || self.is_early(*seen, partition)
            }
            ToShard::Start(_)
            | ToShard::Image(_)
            | ToShard::Unwatch { .. }
            | ToShard::DirFull { .. }
            | ToShard::ListGroups { .. }
            | ToShard::LogSizes { .. }
            | ToShard::Statistics { .. }
            | ToShard::Checkpoint
            | ToShard::Stop => false,
        }
    }

    fn is_early(&self, seen: Offset, partition: &PartitionId) -> bool {
        let known = self.image.as_ref().map_or(Offset(-1), |image| image.offset);
        seen > known || self.slot(partition).is_some_and(Slot::is_opening)
    }

    /// Whether a partition's log is about to be replaced by its copy in another directory.
    fn is_held_back(&self, partition: &PartitionId) -> bool {
        self.by_id.get(partition).is_some_and(|slot| self.holds_back(*slot))
    }

    /// Whether the coordinator on a partition is still reading its log.
    fn is_loading(&self, partition: &PartitionId) -> bool {
        let slot = self.by_id.get(partition);
        slot.and_then(|slot| self.ledgers.get(*slot)).is_some_and(Ledger::is_loading)
    }

    /// Handles what waited, in the order it came; what still has to wait stays.
    fn unpark(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for mail in std::mem::take(&mut self.parked) {
            self.on_mail(now, mail, fx);
        }
    }

    fn slot(&self, id: &PartitionId) -> Option<&Slot> {
        self.by_id.get(id).and_then(|slot| self.slots.get(*slot))
    }

    /// An open partition.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR.
    fn open(&self, id: &PartitionId) -> Result<&Partition, ErrorCode> {
        self.slot(id).ok_or(ErrorCode::UnknownTopicOrPartition)?.partition()
    }

    fn open_mut(&mut self, id: &PartitionId) -> Result<(u32, &mut Partition), ErrorCode> {
        let slot = *self.by_id.get(id).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        let held = self.slots.get_mut(slot).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        held.partition_mut().map(|partition| (slot, partition))
    }

    fn on_produce(&mut self, now: Now, produce: &crate::mail::Produce, fx: &mut Fx<Effect>) {
        let mut files = self.files.clone();
        let mut inner = std::mem::take(&mut self.inner);
        match self.writable(&produce.partition) {
            Ok((slot, partition)) => {
                partition.on_produce(now, produce, &mut files, &mut inner);
                self.slots.look_at(slot);
            }
            Err(refusal) => answer_to(produce.reply, Answer::Produced(Err(refusal)), fx),
        }
        self.files = files;
        self.next_expiry.get_or_insert(now.mono.plus_ms(EXPIRY_INTERVAL_MS));
        self.carry_out(now, inner, fx);
    }

    fn on_delete_records(
        &mut self,
        now: Now,
        reply: ReplyTo,
        id: PartitionId,
        before: Option<Offset>,
        fx: &mut Fx<Effect>,
    ) {
        let mut inner = std::mem::take(&mut self.inner);
        let answer = match self.open_mut(&id) {
            Ok((slot, partition)) => {
                let answer = partition.on_delete_records(before, &mut inner);
                self.slots.look_at(slot);
                answer
            }
            Err(code) => Err(code.into()),
        };
        answer_to(reply, Answer::Deleted(answer), fx);
        self.carry_out(now, inner, fx);
    }

    /// Passes on what a partition wants done, and gives the buffer back.
    fn carry_out(&mut self, now: Now, mut inner: Fx<partition::Effect>, fx: &mut Fx<Effect>) {
        let (mut failed, mut full) = (None, None);
        for effect in inner.drain() {
            match effect {
                partition::Effect::Disk(op) => fx.push(Effect::Disk(op)),
                partition::Effect::Answer(reply, answer) => answer_to(reply, answer, fx),
                partition::Effect::Readable { watchers, bytes } => {
                    self.watches.on_readable(&watchers, bytes, fx);
                }
                partition::Effect::Failed { dir, why } => failed = Some((dir, why)),
                partition::Effect::Full { owner, why } => full = Some((owner, why)),
            }
        }
        self.inner = inner;
        if let Some((dir, why)) = failed {
            self.on_dir_failed(now, dir, &why, fx);
        }
        if let Some((slot, why)) = full {
            self.on_full(now, slot, &why, fx);
        }
    }

    fn on_io(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        match done.id.what {
            What::Scrub => return self.on_scrub(now, done, fx),
            _ if self.moves.has(done.id.owner) => return self.on_move_io(now, done, fx),
            _ if done.id.owner == IoId::UNIT => return self.on_unit_io(now, done, fx),
            What::Locate => return self.on_located(now, done, fx),
            What::Load => return self.on_load(now, done, fx),
            _ => {}
        }
        let slot = done.id.owner;
        let mut inner = std::mem::take(&mut self.inner);
        match self.slots.get_mut(slot) {
            Some(Slot::Open(partition)) => {
                partition.on_io(&done, &mut inner);
                self.slots.look_at(slot);
            }
            Some(Slot::Opening(_)) => return self.on_recovery(now, slot, done, inner, fx),
            Some(Slot::Deleting(_)) => self.on_deleted(now, slot, &done, fx),
            Some(Slot::Starved(_) | Slot::Failed(_)) | None => {}
        }
        self.carry_out(now, inner, fx);
        self.settle_ledger(slot, fx);
    }

    fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let expire = self.next_expiry.is_some_and(|at| at <= now.mono);
        let horizon = now.wall.0.saturating_sub(self.config.producer_id_expiration_ms);
        let mut inner = std::mem::take(&mut self.inner);
        for slot in self.slots.due(now) {
            if let Some(partition) = self.slots.get_mut(slot).and_then(Slot::open_mut) {
                partition.on_tick(now, &mut inner);
            }
            self.slots.look_at(slot);
        }
        if expire {
            for partition in self.slots.open_mut() {
                partition.expire_producers(dohle_wire::id::Timestamp(horizon));
            }
            self.next_expiry = Some(now.mono.plus_ms(EXPIRY_INTERVAL_MS));
        }
        self.carry_out(now, inner, fx);
        self.report_progress(now, fx);
        self.probe(now, fx);
        self.tick_ledgers(now, fx);
        self.tick_scrub(now, fx);
    }

    fn on_unit_io(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        if full::is_probe(&done) {
            self.on_probed(now, done, fx);
        } else if sizes::is_look(&done) {
            self.on_space(&done, fx);
        } else {
            self.on_sweep(now, done, fx);
        }
    }

    fn local(&self) -> NodeId {
        NodeId(self.config.node_id)
    }
}

/// Sends an answer to the session that asked.
fn answer_to(reply: ReplyTo, answer: Answer, fx: &mut Fx<Effect>) {
    fx.push(Effect::Session(reply.session, ToSession::Answer { reply, answer }));
}

fn note(level: Level, text: impl Into<Arc<str>>, fx: &mut Fx<Effect>) {
    fx.push(Effect::Note(Note { level, text: text.into() }));
}
