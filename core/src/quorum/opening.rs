//! The start of a quorum: its stored state is read, its log recovered and read through.

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, TopicId, Uuid};
use dohle_wire::record::RawBatch;

use super::batches::{self, Entry, EntryKind};
use super::state_file::{StoredState, StoredVoters};
use super::{Effect, FOLDER, LOG_OWNER, OWNER, QuorumSettings, state_path};
use crate::disk::{DiskOp, FileIds, FilePath, IoDone, IoError, IoId, IoOk, What};
use crate::fx::Fx;
use crate::log::Log;
use crate::log::recover::{Gaps, Recovered, Recovery, RecoveryPlan};
use crate::log::scan::{Scan, Scanned};
use crate::time::Now;

/// An opening under way.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    step: Step,
    state: Option<StoredState>,
}

/// What the opening waits for.
#[derive(Clone, Debug)]
enum Step {
    /// Nothing was asked for yet.
    Idle,
    /// `quorum-state`.
    State,
    /// The log's recovery.
    Recovering(Box<Recovery>),
    /// The records of segment `at`.
    Reading { log: Box<Log>, at: usize, scan: Scan },
}

/// What an opening comes to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) log: Box<Log>,
    pub(super) state: StoredState,
}

/// Either more has to come from the disk, or the result.
type Progress = Result<Option<Opened>, Trouble>;

/// Why it comes to nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The disk is full.
    Disk(IoError),
    /// What is there cannot be used; the reason is for the operator.
    Unusable(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Unusable(why)
    }
}

impl Opening {
    pub(super) fn new() -> Self {
        Self { step: Step::Idle, state: None }
    }

    pub(super) fn begin(&mut self, settings: &QuorumSettings, fx: &mut Fx<Effect>) {
        let path = state_path(settings.dir);
        self.step = Step::State;
        fx.push(DiskOp::Get { id: own_id(), path });
    }

    pub(super) fn step(
        &mut self,
        now: Now,
        done: IoDone,
        settings: &QuorumSettings,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        match (std::mem::replace(&mut self.step, Step::Idle), done.id.owner) {
            (Step::State, OWNER) => self.on_state(done, settings, fx),
            (Step::Recovering(recovery), LOG_OWNER) => {
                self.on_recovery(now, done, recovery, settings, files, fx)
            }
            (Step::Reading { log, at, scan }, OWNER) => {
                self.on_read(done, log, at, scan, settings, fx)
            }
            (step, _) => {
                self.step = step;
                Ok(None)
            }
        }
    }

    fn on_state(
        &mut self,
        done: IoDone,
        settings: &QuorumSettings,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        let IoOk::Content(content) = done.result.map_err(|error| error.to_string())? else {
            unreachable!("a read of a whole file answers its content");
        };
        self.state = content.map(|bytes| stored(&bytes, settings.node)).transpose()?;
        let plan = RecoveryPlan {
            owner: LOG_OWNER,
            generation: settings.generation,
            folder: FilePath::new(settings.dir, FOLDER),
            topic_id: TopicId(Uuid::METADATA_TOPIC),
            own: false,
            anonymous: true,
            clean: settings.clean,
            recovery_point: settings.recovery_point,
            // What is missing is judged below, where the reason can be told better; nor is it known
            // whether the recovery point closes a segment.
            durable: Offset(0),
            gaps: Gaps::None,
            log_start: None,
            settings: settings.log.clone(),
        };
        self.step = Step::Recovering(Box::new(Recovery::begin(plan, fx)));
        Ok(None)
    }

    fn on_recovery(
        &mut self,
        now: Now,
        done: IoDone,
        mut recovery: Box<Recovery>,
        settings: &QuorumSettings,
        files: &mut FileIds,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        match recovery.step(now, done, files, fx) {
            Recovered::Working => {
                self.step = Step::Recovering(recovery);
                Ok(None)
            }
            Recovered::Failed(why) => Err(Trouble::Unusable(why)),
            Recovered::Full(why) => Err(Trouble::Disk(IoError::NoSpace(why))),
            Recovered::Done(log, note) => {
                if let Some(note) = note {
                    fx.push(Effect::Note(note));
                }
                check_bounds(&log, settings)?;
                self.read_segment(log, 0, settings, fx)
            }
        }
    }

    /// Reads a segment from its start; past the last one everything is read.
    fn read_segment(
        &mut self,
        log: Box<Log>,
        at: usize,
        settings: &QuorumSettings,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        let Some(segment) = log.segments().get(at) else {
            let state = self.state.take().unwrap_or_else(|| first_state(settings.node));
            return Ok(Some(Opened { log, state }));
        };
        // The checksums are looked at even after a clean stop: metadata must be right.
        let scan = Scan::new(0, segment.size, segment.base, true);
        self.go_on(log, at, scan, settings, fx)
    }

    fn on_read(
        &mut self,
        done: IoDone,
        log: Box<Log>,
        at: usize,
        mut scan: Scan,
        settings: &QuorumSettings,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        let IoOk::Read(bytes) = done.result.map_err(|error| error.to_string())? else {
            unreachable!("a read answers bytes");
        };
        scan.feed(&bytes);
        self.go_on(log, at, scan, settings, fx)
    }

    /// Hands over what is at hand and asks for more.
    fn go_on(
        &mut self,
        log: Box<Log>,
        at: usize,
        mut scan: Scan,
        settings: &QuorumSettings,
        fx: &mut Fx<Effect>,
    ) -> Progress {
        let mut entries = Vec::new();
        loop {
            match scan.advance() {
                Scanned::Batch(batch, _) => {
                    entries.extend(read_batch(&batch, settings.node)?);
                }
                Scanned::Need { position, len } => {
                    hand_over(entries, fx);
                    let file = log.segments()[at].file;
                    fx.push(DiskOp::Read { id: own_id(), file, position, len });
                    self.step = Step::Reading { log, at, scan };
                    return Ok(None);
                }
                Scanned::Damaged { position, why, .. } => {
                    let base = log.segments()[at].base;
                    let at = format!("the segment at offset {base} is damaged at byte {position}");
                    return Err(Trouble::Unusable(format!("{at}: {why}")));
                }
                Scanned::End => {
                    hand_over(entries, fx);
                    return self.read_segment(log, at + 1, settings, fx);
                }
            }
        }
    }
}

/// The state of a voter that has never voted.
fn first_state(node: NodeId) -> StoredState {
    let voters = StoredVoters::Static(vec![node]);
    StoredState { epoch: LeaderEpoch(0), leader: None, voted: None, voters }
}

fn own_id() -> IoId {
    IoId { owner: OWNER, generation: 0, what: What::Meta, end: 0 }
}

fn hand_over(entries: Vec<Entry>, fx: &mut Fx<Effect>) {
    if !entries.is_empty() {
        fx.push(Effect::Replay(entries));
    }
}

/// Reads `quorum-state` and checks that this node is the only voter.
fn stored(bytes: &Bytes, node: NodeId) -> Result<StoredState, String> {
    let state = StoredState::parse(bytes).map_err(|why| {
        format!(
            "{FOLDER}/quorum-state is damaged ({why}); restore it from a copy of this directory"
        )
    })?;
    if let StoredVoters::Static(voters) = &state.voters {
        check_sole_voter(voters, node)?;
    }
    Ok(state)
}

/// Refuses a set of voters that is not just this node; an empty one is not known yet.
fn check_sole_voter(voters: &[NodeId], node: NodeId) -> Result<(), String> {
    if voters.iter().all(|voter| *voter == node) {
        return Ok(());
    }
    let names: Vec<String> = voters.iter().map(ToString::to_string).collect();
    Err(format!(
        "the metadata belongs to a quorum of the voters {}, but this node is {node} and can only \
         be a quorum of its own; start it with the data directory that is its own",
        names.join(", ")
    ))
}

/// The log has to begin at 0 (snapshots are not read) and to reach as far as it once did (Q8).
fn check_bounds(log: &Log, settings: &QuorumSettings) -> Result<(), String> {
    let start = log.segments().first().map_or(Offset(0), |segment| segment.base);
    if start > Offset(0) || log.log_start() > Offset(0) {
        return Err(format!(
            "the metadata log begins at offset {start}, so that what came before is only in a \
             snapshot, and snapshots cannot be read yet"
        ));
    }
    if log.end() < settings.recovery_point {
        return Err(format!(
            "the metadata log ends at offset {} although everything below {} had been written \
             safely: the disk has lost committed metadata; restore the directory from a copy",
            log.end(),
            settings.recovery_point
        ));
    }
    Ok(())
}

/// The records of a batch, none of which names another voter than this node.
fn read_batch(batch: &RawBatch, node: NodeId) -> Result<Vec<Entry>, String> {
    let entries = batches::read(batch)?;
    for entry in &entries {
        if let EntryKind::Voters(voters) = &entry.what {
            check_sole_voter(voters, node)?;
        }
    }
    Ok(entries)
}
