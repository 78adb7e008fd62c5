//! The metadata quorum: KRaft, so far with a single voter.
//!
//! Owns the metadata log (`__cluster_metadata-0`) and `quorum-state`. Reads both at start, hands
//! the records of the log over in order, stands for election in the next epoch and leads. What
//! is proposed to it is appended; what is committed it says by the high watermark.
//!
//! The life of the single voter: [`Role::Opening`] → [`Role::Candidate`] (its own vote in a new
//! epoch is being made durable) → [`Role::Leader`] → [`Role::Closed`]. With more voters the
//! requests Vote, BeginQuorumEpoch, EndQuorumEpoch and Fetch become further inputs, and the roles
//! in which somebody else leads become further variants.
//!
//! Invariants:
//! * The epoch rises at each start, and nothing is written in an epoch that is not durable in
//!   `quorum-state` (Q2, Q9).
//! * A record counts only once it is durable on a majority, the leader included (Q7): here once
//!   the leader's own sync completed.
//! * The high watermark never falls (Q6) and passes nothing before the leader's first record of
//!   its own epoch (Q12).
//!
//! A failed write or sync is not tried again: the machine fails as a whole, and only a new one
//! looks at the log again ([`Quorum::anew`]).
//!
//! Must never know: what the records mean, who waits for them.

pub mod batches;
pub mod consensus;
mod opening;
pub mod state_file;
#[cfg(test)]
mod tests;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset};

use self::batches::{BATCH_BYTES_MAX, Entry, EntryKind, leader_change_batch};
use self::opening::{Opening, Trouble};
use self::state_file::{StoredState, StoredVoters};
use crate::batch::CheckedBatch;
use crate::disk::{DiskOp, FileIds, FilePath, IoDone, IoError, IoId, What};
use crate::fx::Fx;
use crate::log::{Log, LogProgress, LogSettings};
use crate::mail::QuorumView;
use crate::time::Now;

/// Name of the metadata log's folder.
pub const FOLDER: &str = "__cluster_metadata-0";

/// Slot of the metadata log among the control unit's logs: owner of its disk operations.
pub const LOG_OWNER: u32 = 0;

/// Owner of the quorum's own disk operations.
pub const OWNER: u32 = 1;

/// What a quorum is made of.
#[derive(Clone, Debug)]
pub struct QuorumSettings {
    /// This node, the only voter.
    pub node: NodeId,
    /// The data directory that holds the metadata log.
    pub dir: u16,
    /// Whether the node was stopped cleanly.
    pub clean: bool,
    /// Everything below was once known to be durable.
    pub recovery_point: Offset,
    /// How often the log was opened before in this run of the process.
    pub generation: u32,
    /// How the log is kept.
    pub log: LogSettings,
}

/// What a quorum reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// Begin: read what the disk holds.
    Open,
    /// Append the record that begins the epoch won; it waits for [`Quorum::flush`].
    Lead,
    /// A disk operation ended.
    Io(IoDone),
    /// Nothing is proposed any more: close the log. [`Effect::Closed`] tells when a leader's is.
    Close,
}

/// What a quorum wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Do something on a disk.
    Disk(DiskOp),
    /// The next records of the log that were not proposed: those found at start, and the one
    /// that begins an epoch. They count once the high watermark has passed them.
    Replay(Vec<Entry>),
    /// This node was elected, durably: [`Input::Lead`] is welcome.
    Elected(LeaderEpoch),
    /// The high watermark moved here.
    Committed(Offset),
    /// Something an operator should read.
    Note(String),
    /// The log is closed; everything up to its end is durable.
    Closed(Offset),
    /// The disk failed.
    DiskFailed(IoError),
    /// What the disk holds cannot be used.
    Unusable(String),
}

impl From<DiskOp> for Effect {
    fn from(op: DiskOp) -> Self {
        Self::Disk(op)
    }
}

/// Part of a quorum's life.
#[derive(Clone, Debug)]
enum Role {
    /// Reads what the disk holds.
    Opening(Box<Opening>),
    /// Its vote for itself is being written.
    Candidate { log: Box<Log>, state: StoredState },
    /// Leads; `start` is the first offset of its epoch, none until it has begun.
    Leader { log: Box<Log>, epoch: LeaderEpoch, start: Option<Offset>, closing: bool },
    /// The log is closed.
    Closed,
    /// Nothing can be done any more.
    Failed,
}

/// The metadata quorum as this node takes part in it.
#[derive(Clone, Debug)]
pub struct Quorum {
    settings: QuorumSettings,
    role: Role,
    /// The greatest epoch this node knows of.
    epoch: LeaderEpoch,
    /// None until the first record of the own epoch is committed.
    high_watermark: Option<Offset>,
}

impl Quorum {
    /// A quorum that has not looked at the disk yet.
    #[must_use]
    pub fn new(mut settings: QuorumSettings) -> Self {
        let batch = BATCH_BYTES_MAX as u64;
        settings.log.segment_bytes = settings.log.segment_bytes.max(2 * batch);
        // When to sync is decided here, see `flush`.
        settings.log.flush_messages = i64::MAX;
        let role = Role::Opening(Box::new(Opening::new()));
        Self { settings, role, epoch: LeaderEpoch(0), high_watermark: None }
    }

    /// A quorum that looks at the disk again, after this one failed.
    #[must_use]
    pub fn anew(&self, recovery_point: Offset) -> Self {
        assert!(matches!(self.role, Role::Failed), "a quorum that works is not begun anew");
        let generation = self.settings.generation + 1;
        let (clean, log) = (false, self.settings.log.clone());
        let QuorumSettings { node, dir, .. } = self.settings;
        Self::new(QuorumSettings { node, dir, clean, recovery_point, generation, log })
    }

    /// The epoch that this node leads, if it does.
    #[must_use]
    pub fn leads(&self) -> Option<LeaderEpoch> {
        match &self.role {
            Role::Leader { epoch, start: Some(_), closing: false, .. } => Some(*epoch),
            _ => None,
        }
    }

    /// What this node sees as the leader, once something of its epoch is committed.
    #[must_use]
    pub fn view(&self) -> Option<QuorumView> {
        let (epoch, high_watermark, end) = (self.leads()?, self.high_watermark?, self.end()?);
        let leader = self.settings.node;
        Some(QuorumView { leader, epoch, high_watermark, voters: vec![(leader, end)] })
    }

    /// Everything below is committed; none before that is known.
    #[must_use]
    pub fn high_watermark(&self) -> Option<Offset> {
        self.high_watermark
    }

    /// The offset that the next record gets; none before the log is open.
    #[must_use]
    pub fn end(&self) -> Option<Offset> {
        self.log().map(Log::end)
    }

    /// Everything below is durable, side files included; none before the log is open.
    #[must_use]
    pub fn recovery_point(&self) -> Option<Offset> {
        self.log().map(Log::recovery_point)
    }

    fn log(&self) -> Option<&Log> {
        match &self.role {
            Role::Candidate { log, .. } | Role::Leader { log, .. } => Some(log),
            Role::Opening(_) | Role::Closed | Role::Failed => None,
        }
    }

    /// Takes in one input.
    pub fn step(&mut self, now: Now, input: Input, files: &mut FileIds, fx: &mut Fx<Effect>) {
        match input {
            Input::Open => self.on_open(fx),
            Input::Lead => self.on_lead(now, files, fx),
            Input::Io(done) => self.on_io(now, done, files, fx),
            Input::Close => self.on_close(fx),
        }
        self.invariants();
    }

    /// Appends a batch and gives the offset of its first record. The leader alone may be asked.
    ///
    /// After [`Self::flush`] the batch becomes durable; it is committed when the high watermark
    /// has passed it.
    pub fn propose(
        &mut self,
        now: Now,
        batch: &CheckedBatch,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Offset {
        let Role::Leader { log, epoch, start: Some(_), closing: false } = &mut self.role else {
            panic!("proposed to a quorum that this node does not lead");
        };
        let placed = log.append(now, batch, *epoch, files, fx);
        placed.expect("a segment holds any batch of the metadata log").base
    }

    /// Syncs what was appended. To be called once when all there is to append has been: one
    /// sync covers it, and what comes while that is under way is covered by the next one.
    pub fn flush(&mut self, fx: &mut Fx<Effect>) {
        if let Role::Leader { log, .. } = &mut self.role {
            log.flush(fx);
        }
    }

    fn on_open(&mut self, fx: &mut Fx<Effect>) {
        if let Role::Opening(opening) = &mut self.role {
            opening.begin(&self.settings, fx);
        }
    }

    fn on_lead(&mut self, now: Now, files: &mut FileIds, fx: &mut Fx<Effect>) {
        let Role::Leader { log, epoch, start: start @ None, .. } = &mut self.role else { return };
        let node = self.settings.node;
        let batch = leader_change_batch(now.wall, node, &[node]);
        let placed = log.append(now, &batch, *epoch, files, fx);
        let offset = placed.expect("a segment holds one small batch").base;
        *start = Some(offset);
        let what = EntryKind::Leader(node);
        fx.push(Effect::Replay(vec![Entry { offset, epoch: *epoch, what }]));
    }

    fn on_io(&mut self, now: Now, done: IoDone, files: &mut FileIds, fx: &mut Fx<Effect>) {
        match &mut self.role {
            Role::Opening(_) => self.on_opening_io(now, done, files, fx),
            Role::Candidate { .. } => self.on_candidate_io(done, fx),
            Role::Leader { .. } => self.on_leader_io(&done, fx),
            Role::Closed | Role::Failed => {}
        }
    }

    fn on_opening_io(&mut self, now: Now, done: IoDone, files: &mut FileIds, fx: &mut Fx<Effect>) {
        let Role::Opening(opening) = &mut self.role else { return };
        match opening.step(now, done, &self.settings, files, fx) {
            Ok(None) => {}
            Ok(Some(opened)) => self.stand(opened.log, opened.state, fx),
            Err(Trouble::Disk(error)) => self.disk_failed(error, fx),
            Err(Trouble::Unusable(why)) => self.unusable(why, fx),
        }
    }

    /// Votes for itself in the next epoch. A sole voter's vote makes it leader, so that one write
    /// says both.
    fn stand(&mut self, log: Box<Log>, stored: StoredState, fx: &mut Fx<Effect>) {
        let in_log = log.epochs().latest().unwrap_or(LeaderEpoch(0));
        let last = stored.epoch.max(in_log);
        let Some(epoch) = last.0.checked_add(1).map(LeaderEpoch) else {
            return self.unusable(format!("the quorum's epoch {last} is the last there is"), fx);
        };
        self.epoch = last;
        let node = self.settings.node;
        let voters = match stored.voters {
            StoredVoters::Static(_) => StoredVoters::Static(vec![node]),
            dynamic @ StoredVoters::Dynamic { .. } => dynamic,
        };
        let state = StoredState { epoch, leader: Some(node), voted: None, voters };
        let id = IoId { owner: OWNER, generation: 0, what: What::Meta, end: i64::from(epoch.0) };
        let data = state.encode().into();
        let path = state_path(self.settings.dir);
        fx.push(DiskOp::Put { id, path, data, durable: true });
        self.role = Role::Candidate { log, state };
    }

    fn on_candidate_io(&mut self, done: IoDone, fx: &mut Fx<Effect>) {
        if done.id.owner == LOG_OWNER && done.id.generation != self.settings.generation {
            return;
        }
        if let Err(error) = done.result {
            return self.disk_failed(error, fx);
        }
        if done.id.owner != OWNER {
            return;
        }
        match std::mem::replace(&mut self.role, Role::Failed) {
            Role::Candidate { log, state } => {
                assert!(state.epoch > self.epoch, "Q9: epoch {} after {}", state.epoch, self.epoch);
                let epoch = state.epoch;
                self.epoch = epoch;
                self.role = Role::Leader { log, epoch, start: None, closing: false };
                fx.push(Effect::Elected(epoch));
            }
            other => self.role = other,
        }
    }

    fn on_leader_io(&mut self, done: &IoDone, fx: &mut Fx<Effect>) {
        if done.id.owner != LOG_OWNER {
            return;
        }
        let Role::Leader { log, start, closing, .. } = &mut self.role else { return };
        let (start, closing) = (*start, *closing);
        match log.on_io(done, fx) {
            LogProgress::Nothing | LogProgress::Written => {}
            LogProgress::Durable => {
                let durable = log.durable();
                log.flush(fx);
                self.advance(start, durable, fx);
            }
            LogProgress::Failed(error) | LogProgress::Full(error) => {
                return self.disk_failed(error, fx);
            }
        }
        if closing {
            self.close_if_done(fx);
        }
    }

    /// Moves the high watermark to what a majority has durably: the sole voter itself.
    fn advance(&mut self, start: Option<Offset>, durable: Offset, fx: &mut Fx<Effect>) {
        let own_epoch = start.is_some_and(|start| durable > start);
        if !own_epoch || self.high_watermark.is_some_and(|known| known >= durable) {
            return;
        }
        self.high_watermark = Some(durable);
        fx.push(Effect::Committed(durable));
    }

    fn on_close(&mut self, fx: &mut Fx<Effect>) {
        match &mut self.role {
            Role::Leader { log, closing, .. } => {
                *closing = true;
                log.close(fx);
                self.close_if_done(fx);
            }
            Role::Opening(_) | Role::Candidate { .. } | Role::Closed | Role::Failed => {
                self.role = Role::Closed;
            }
        }
    }

    fn close_if_done(&mut self, fx: &mut Fx<Effect>) {
        let Role::Leader { log, .. } = &self.role else { return };
        if log.is_closed() {
            fx.push(Effect::Closed(log.end()));
            self.role = Role::Closed;
        }
    }

    fn disk_failed(&mut self, error: IoError, fx: &mut Fx<Effect>) {
        if let Some(log) = self.log() {
            log.release(fx);
        }
        self.role = Role::Failed;
        fx.push(Effect::DiskFailed(error));
    }

    fn unusable(&mut self, why: String, fx: &mut Fx<Effect>) {
        self.role = Role::Failed;
        fx.push(Effect::Unusable(why));
    }

    /// Asserts what must always hold.
    pub fn invariants(&self) {
        let Role::Leader { log, epoch, start, .. } = &self.role else { return };
        assert!(*epoch == self.epoch, "Q9: leads {epoch} but knows of {}", self.epoch);
        let Some(high) = self.high_watermark else { return };
        assert!(high <= log.durable(), "Q7: high watermark {high}, durable {}", log.durable());
        assert!(start.is_some_and(|start| high > start), "Q12: high watermark {high}");
    }
}

/// Where `quorum-state` lies.
#[must_use]
pub fn state_path(dir: u16) -> FilePath {
    FilePath::new(dir, FOLDER).join("quorum-state")
}
