//! One partition as its leader holds it.
//!
//! State: the log, the leader's epoch, the high watermark, requests that wait for records to be
//! safe, readers that wait for records to come. Inputs are the methods `on_*`; effects come out
//! through [`Effect`].
//!
//! Invariants: `log_start ≤ last stable ≤ high watermark ≤ end` (L2); the high watermark never
//! goes back (R3) and passes only what counts as safe: what is written, or what is durable where
//! `flush.messages=1`; a produce request is answered with success only in or after the step that
//! learns that its records are safe (R17); no reader sees a record at or past the high watermark
//! (R14).
//!
//! Must never know: connections, wire versions, other partitions.

mod produce;
mod query;

use std::collections::VecDeque;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp};

use self::produce::Waiting;
pub use self::query::{Lookup, LookupFor, Sought, completed};
use crate::config::topic::TopicConfig;
use crate::disk::{DiskOp, IoDone};
use crate::fx::Fx;
use crate::image::PartitionImage;
use crate::log::recover::RecoveryPlan;
use crate::log::{Log, LogProgress, LogSettings};
use crate::mail::{Answer, PartitionId, ReplyTo, SessionId};
use crate::mutant::Mutants;
use crate::time::{Deadline, Now};

/// A partition whose log is open.
#[derive(Clone, Debug)]
pub struct Partition {
    id: PartitionId,
    local: NodeId,
    log: Log,
    config: Arc<TopicConfig>,
    state: Arc<PartitionImage>,
    high_watermark: Offset,
    /// Produce requests whose records are not safe yet, in log order.
    waiting: VecDeque<Waiting>,
    /// Batches past the high watermark: where each ends and its size in bytes.
    unseen: VecDeque<(Offset, u64)>,
    watchers: Vec<Watcher>,
    mutants: Mutants,
}

/// A read that waits for bytes to come: a session's request.
pub type Watcher = (SessionId, u64);

/// What a partition wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Do something on a disk.
    Disk(DiskOp),
    /// Answer a part of a request.
    Answer(ReplyTo, Answer),
    /// `bytes` more can be read by these watchers.
    #[allow(missing_docs, reason = "the text names them")]
    Readable { watchers: Vec<Watcher>, bytes: u64 },
    /// The data directory `dir` failed under the partition.
    #[allow(missing_docs, reason = "the text names them")]
    Failed { dir: u16, why: String },
    /// The log found no space for a write and has to be opened anew; `owner` is the log's slot.
    #[allow(missing_docs, reason = "the text names them")]
    Full { owner: u32, why: String },
}

impl From<DiskOp> for Effect {
    fn from(op: DiskOp) -> Self {
        Self::Disk(op)
    }
}

impl Partition {
    /// A partition over an open log. A single replica is in sync with itself: all that was found
    /// is committed.
    #[must_use]
    pub fn new(
        id: PartitionId,
        local: NodeId,
        log: Log,
        config: Arc<TopicConfig>,
        state: Arc<PartitionImage>,
        mutants: Mutants,
    ) -> Self {
        let high_watermark = if config_syncs(&log) { log.durable() } else { log.written() };
        Self {
            id,
            local,
            log,
            config,
            high_watermark,
            state,
            waiting: VecDeque::new(),
            unseen: VecDeque::new(),
            watchers: Vec::new(),
            mutants,
        }
    }

    /// Which partition it is.
    #[must_use]
    pub fn id(&self) -> PartitionId {
        self.id
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Every record below is committed: visible to readers.
    #[must_use]
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// Every transaction below is decided.
    #[must_use]
    pub fn last_stable(&self) -> Offset {
        let open = self.log.producers().first_open();
        open.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }

    /// The leader's epoch.
    #[must_use]
    pub fn epoch(&self) -> LeaderEpoch {
        self.state.leader_epoch
    }

    /// Up to where records are safe enough to be acknowledged and shown.
    fn safe(&self) -> Offset {
        if config_syncs(&self.log) { self.log.durable() } else { self.log.written() }
    }

    /// The metadata of the partition or its topic changed.
    pub fn on_image(
        &mut self,
        config: &Arc<TopicConfig>,
        state: &Arc<PartitionImage>,
        fx: &mut Fx<Effect>,
    ) {
        let was = self.state.leader_epoch;
        self.state = Arc::clone(state);
        self.config = Arc::clone(config);
        self.log.configure(LogSettings::from_topic(config, self.mutants));
        if self.leads() && (state.leader_epoch > was || self.log.epochs().latest().is_none()) {
            self.log.begin_epoch(state.leader_epoch, fx);
        }
        if config_syncs(&self.log) {
            self.log.flush(fx);
        }
        self.advance(fx);
    }

    /// Whether this node leads the partition.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.state.leader == Some(self.local)
    }

    /// Whether the epoch that a client names is the leader's.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH (the client's is older) or
    /// UNKNOWN_LEADER_EPOCH (newer).
    fn check_leader(&self, claimed: Option<LeaderEpoch>) -> Result<(), ErrorCode> {
        if !self.leads() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        match claimed.map(|epoch| epoch.cmp(&self.state.leader_epoch)) {
            Some(std::cmp::Ordering::Less) => Err(ErrorCode::FencedLeaderEpoch),
            Some(std::cmp::Ordering::Greater) => Err(ErrorCode::UnknownLeaderEpoch),
            Some(std::cmp::Ordering::Equal) | None => Ok(()),
        }
    }

    /// A disk operation of the log ended.
    pub fn on_io(&mut self, done: &IoDone, fx: &mut Fx<Effect>) {
        match self.log.on_io(done, fx) {
            LogProgress::Nothing => {}
            LogProgress::Written | LogProgress::Durable => self.advance(fx),
            LogProgress::Failed(error) => {
                let dir = self.log.folder().dir;
                fx.push(Effect::Failed { dir, why: error.to_string() });
            }
            LogProgress::Full(error) => {
                fx.push(Effect::Full { owner: done.id.owner, why: error.to_string() });
            }
        }
    }

    /// Moves the high watermark up to what is safe and lets everyone know who waited for it.
    fn advance(&mut self, fx: &mut Fx<Effect>) {
        let before = self.high_watermark;
        self.high_watermark = before.max(self.safe());
        let mut bytes = 0;
        while self.unseen.front().is_some_and(|&(next, _)| next <= self.high_watermark) {
            bytes += self.unseen.pop_front().map_or(0, |(_, len)| len);
        }
        self.answer_waiting(fx);
        if bytes > 0 && !self.watchers.is_empty() {
            let watchers = self.watchers.clone();
            fx.push(Effect::Readable { watchers, bytes });
        }
        self.invariants();
    }

    /// A read waits for more bytes.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watchers.push(watcher);
    }

    /// It no longer does.
    pub fn unwatch(&mut self, watcher: Watcher) {
        self.watchers.retain(|known| *known != watcher);
    }

    /// What it takes to open the log anew, and what for. The partition has to be abandoned.
    #[must_use]
    pub fn reopening(&self) -> (RecoveryPlan, Arc<TopicConfig>, Arc<PartitionImage>) {
        (self.log.reopening(), Arc::clone(&self.config), Arc::clone(&self.state))
    }

    /// Makes durable what is written, and what comes until that is done.
    pub fn flush(&mut self, fx: &mut Fx<Effect>) {
        self.log.flush_all(fx);
    }

    /// There is space again: what found none is written.
    pub fn on_space(&mut self, fx: &mut Fx<Effect>) {
        self.log.reseal(fx);
    }

    /// The partition is no more, or out of reach: nobody shall wait for it.
    pub fn abandon(&mut self, code: ErrorCode, fx: &mut Fx<Effect>) {
        for waiting in self.waiting.drain(..) {
            fx.push(Effect::Answer(waiting.reply, Answer::Produced(Err(code.into()))));
        }
        let watchers = std::mem::take(&mut self.watchers);
        if !watchers.is_empty() {
            fx.push(Effect::Readable { watchers, bytes: u64::MAX });
        }
        self.log.release(fx);
    }

    /// Makes everything durable; see [`Partition::is_closed`].
    pub fn close(&mut self, fx: &mut Fx<Effect>) {
        self.log.close(fx);
    }

    /// Whether a close is complete.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.log.is_closed()
    }

    /// Forgets producers that were silent since before `horizon`.
    pub fn expire_producers(&mut self, horizon: Timestamp) {
        self.log.expire_producers(horizon);
    }

    /// When the partition next wants a tick.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.log.deadline()
    }

    /// The deadline passed.
    pub fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) {
        self.log.tick(now, fx);
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        let (start, end) = (self.log.log_start(), self.log.end());
        assert!(start <= self.high_watermark, "L2: start {start} HW {}", self.high_watermark);
        assert!(self.high_watermark <= end, "L2: HW {} end {end}", self.high_watermark);
        if let Some(first) = self.waiting.front() {
            assert!(
                first.upto > self.high_watermark,
                "R17: a request for {} waits below HW {}",
                first.upto,
                self.high_watermark
            );
        }
        self.log.invariants();
    }
}

fn config_syncs(log: &Log) -> bool {
    log.settings().syncs_before_ack()
}
