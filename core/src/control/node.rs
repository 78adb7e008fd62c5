//! A node whose metadata is being opened, served or closed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Uuid};
use dohle_wire::message::MetadataRecord;

use super::checkpoints::Keeper;
use super::io::{Token, token};
use super::reserve::Reserve;
use super::{ControlSettings, Effect, answer, not_now, note, warn};
use crate::controller::brokers::Registration;
use crate::controller::producer_ids::{Given, exhausted};
use crate::controller::{Controller, features};
use crate::disk::{FileIds, IoDone, IoError, IoId};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{
    AdminReply, AdminRequest, LogCheckpoint, Refusal, ReplyTo, ShardId, ToControl, ToShard,
};
use crate::quorum::batches::{Entry, Versioned, data_batch};
use crate::quorum::{self, FOLDER, Quorum};
use crate::shard::Level;
use crate::time::{Deadline, Instant, Now, earlier};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) settings: Arc<ControlSettings>,
    pub(super) metadata_dir: u16,
    pub(super) who: Registration,
    /// Broker epochs in the marks of the last clean stop.
    pub(super) clean_epochs: Vec<i64>,
    /// Directories that had no identity before.
    pub(super) fresh_dirs: BTreeSet<u16>,
    pub(super) files: FileIds,
    pub(super) quorum: Quorum,
    pub(super) controller: Controller,
    pub(super) keeper: Keeper,
    pub(super) stage: Stage,
    pub(super) failed_dirs: BTreeSet<u16>,
    /// Ids of those that failed since this node registered.
    pub(super) lost_dirs: BTreeSet<Uuid>,
    /// The disk under the metadata is full: nothing can be changed.
    pub(super) frozen: bool,
    /// When the metadata log is to be opened anew.
    pub(super) retry_metadata: Option<Instant>,
    /// Shards that find a data directory full, how many by directory.
    pub(super) full_dirs: BTreeMap<u16, u16>,
    pub(super) reserve: Reserve,
    pub(super) round: Option<Round>,
    pub(super) next_round: Instant,
    /// Offset of the latest deletion of topics whose names have to leave the checkpoints.
    pub(super) deletion: Option<Offset>,
}

/// How far the node has come.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// The quorum reads its log and stands for election; identities are being written.
    Opening { writes: usize, elected: Option<LeaderEpoch> },
    /// The first records, the last of them at `last`, are on their way; shards open their logs
    /// once they are `told`.
    Starting { last: Offset, told: bool, ready: BTreeSet<ShardId> },
    /// Clients are served.
    Running,
    /// These shards still close their logs.
    Stopping { left: BTreeSet<ShardId> },
    /// The metadata log is being closed.
    Closing,
    /// The last checkpoints are being written.
    Saving,
    /// The marks of a clean stop are being written, so many of them.
    Marking { writes: usize },
    /// Everything is done.
    Over,
}

/// A round of checkpoints.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Shards that have not reported yet.
    pub(super) waiting: BTreeSet<ShardId>,
    /// What they knew when they were asked.
    pub(super) asked: Arc<Image>,
}

impl Node {
    pub(super) fn committed(&self) -> &Arc<Image> {
        self.controller.committed()
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    pub(super) fn all_shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.settings.shards).map(ShardId)
    }

    pub(super) fn path(&self, dir: u16) -> &str {
        self.settings.config.log_dirs.get(usize::from(dir)).map_or("", String::as_str)
    }

    pub(super) fn deadline(&self) -> Deadline {
        let retry = self.retry_due().map(|at| (at, "space for the metadata log"));
        earlier(self.round_due(), retry)
    }

    fn round_due(&self) -> Deadline {
        let runs = self.stage == Stage::Running && self.round.is_none();
        runs.then_some((self.next_round, "log.flush.offset.checkpoint.interval.ms"))
    }

    pub(super) fn on_tick(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        if self.round_due().is_some_and(|(at, _)| at <= now.mono) {
            self.schedule_round(now);
            let asked = Arc::clone(self.committed());
            self.round = Some(Round { waiting: self.all_shards().collect(), asked });
            self.to_shards(&ToShard::Checkpoint, fx);
        }
        self.retry_metadata(now, fx)
    }

    pub(super) fn schedule_round(&mut self, now: Now) {
        let interval = self.settings.config.log_flush_offset_checkpoint_interval_ms;
        self.next_round = now.mono.plus_ms(interval.max(1));
    }

    fn to_shards(&self, mail: &ToShard, fx: &mut Fx<Effect>) {
        for shard in self.all_shards() {
            fx.push(Effect::Shard(shard, mail.clone()));
        }
    }

    pub(super) fn on_mail(
        &mut self,
        now: Now,
        mail: ToControl,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        match mail {
            ToControl::Admin { reply, request } => {
                self.on_admin(now, reply, &request, fx)?;
                self.flush(now, fx)
            }
            ToControl::Ready(shard) => {
                self.on_ready(now, shard, fx);
                Ok(())
            }
            ToControl::Checkpoint { shard, logs } => {
                self.on_checkpoint(shard, logs, fx);
                Ok(())
            }
            ToControl::CheckpointDue => {
                self.next_round = self.next_round.min(now.mono);
                Ok(())
            }
            ToControl::Stopped(shard) => self.on_shard_stopped(now, shard, fx),
            ToControl::DirFailed { dir, why } => self.on_dir_failed(now, dir, &why, fx),
            ToControl::DirFull { dir, why } => {
                self.on_dir_full(dir, &why, fx);
                Ok(())
            }
            ToControl::DirSpace { dir } => {
                self.on_dir_space(dir, fx);
                Ok(())
            }
            ToControl::LeftOpen { dir } => {
                self.keeper.leave_open(dir);
                Ok(())
            }
            ToControl::Placed { partition, dir } => self.on_placed(now, partition, dir, fx),
            ToControl::Prefer { topic, index, dir } => {
                if let Some(id) = self.who.directories.ids.get(&dir) {
                    self.controller.prefer_dir(topic, index, *id);
                }
                Ok(())
            }
        }
    }

    fn on_checkpoint(&mut self, shard: ShardId, logs: Vec<LogCheckpoint>, fx: &mut Fx<Effect>) {
        let Some(round) = &mut self.round else { return };
        self.keeper.report(&round.asked, self.controller.committed(), logs);
        round.waiting.remove(&shard);
        // While the node stops, the round stays open for the shards' last reports.
        if round.waiting.is_empty() && self.stage == Stage::Running {
            self.round = None;
            self.save(fx);
        }
    }

    /// Brings the checkpoint files up to date.
    pub(super) fn save(&mut self, fx: &mut Fx<Effect>) {
        if let Some(durable) = self.quorum.recovery_point() {
            self.keeper.metadata_durable(durable);
        }
        self.keeper.write(fx);
    }

    /// A shard found a directory full. All of them stop writing to it, and when they have, what is
    /// reserved for small files is given up, if that lies there: earlier, records would take it.
    fn on_dir_full(&mut self, dir: u16, why: &str, fx: &mut Fx<Effect>) {
        *self.full_dirs.entry(dir).or_insert(0) += 1;
        if dir == self.metadata_dir && self.nobody_writes() {
            self.reserve.release(fx);
        }
        if self.full_dirs[&dir] > 1 {
            return;
        }
        let path = self.path(dir);
        let text = format!(
            "the disk under {path} is full ({why}): what is there can be read, producers are \
             refused until there is space. Deleting topics or records frees some"
        );
        note(Level::Error, text, fx);
        self.to_shards(&ToShard::DirFull { dir, why: why.to_owned() }, fx);
    }

    /// Whether shards write nothing more into the directory of the metadata.
    fn nobody_writes(&self) -> bool {
        let full = self.full_dirs.get(&self.metadata_dir).copied().unwrap_or(0);
        full == self.settings.shards || self.stage != Stage::Running
    }

    /// The node itself finds no space for the metadata: it needs what is reserved, as soon as shards
    /// do not take it.
    pub(super) fn want_reserve(&mut self, why: &str, fx: &mut Fx<Effect>) {
        if self.nobody_writes() {
            return self.reserve.release(fx);
        }
        let (dir, why) = (self.metadata_dir, why.to_owned());
        self.to_shards(&ToShard::DirFull { dir, why }, fx);
    }

    /// A shard found space again. What there is of it goes to the reserve first.
    fn on_dir_space(&mut self, dir: u16, fx: &mut Fx<Effect>) {
        let Some(shards) = self.full_dirs.get_mut(&dir) else { return };
        *shards -= 1;
        if dir == self.metadata_dir {
            self.reserve.keep(fx);
        }
        if self.full_dirs[&dir] > 0 {
            return;
        }
        self.full_dirs.remove(&dir);
        let path = self.path(dir);
        note(Level::Info, format!("there is space under {path} again: producers are served"), fx);
    }

    fn on_admin(
        &mut self,
        now: Now,
        reply: ReplyTo,
        request: &AdminRequest,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if self.stage != Stage::Running {
            answer(reply, not_now(request), fx);
            return Ok(());
        }
        match request {
            AdminRequest::InitProducerId { .. } => {
                return self.on_producer_id(now, reply, request, fx);
            }
            AdminRequest::DescribeQuorum => {
                let view = self.quorum.view().map(AdminReply::Quorum);
                answer(reply, view.unwrap_or_else(|| not_now(request)), fx);
                return Ok(());
            }
            _ => {}
        }
        if self.frozen {
            answer(reply, AdminReply::Refused(self.frozen_refusal()), fx);
            return Ok(());
        }
        let decision = self.controller.decide(request);
        let deletes = matches!(request, AdminRequest::DeleteTopics { .. });
        let outcome = self.propose(now, decision.records, fx)?;
        if deletes && outcome.is_ok() {
            self.deletion = Some(self.controller.speculative().offset);
        }
        let what = outcome.map_or_else(AdminReply::Refused, |()| decision.reply);
        if let Some(what) = self.controller.park(reply, what) {
            answer(reply, what, fx);
        }
        Ok(())
    }

    fn on_producer_id(
        &mut self,
        now: Now,
        reply: ReplyTo,
        request: &AdminRequest,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if let Given::Now(what) = self.controller.give_producer_id(reply, request) {
            answer(reply, what, fx);
        }
        if self.frozen {
            let refusal = self.frozen_refusal();
            self.answer_all(&refusal, fx);
            return Ok(());
        }
        let next = self.controller.speculative().offset.plus(1);
        if let Some(record) = self.controller.want_producer_ids(next) {
            let placed = self.propose(now, vec![record], fx)?;
            placed.map_err(|refusal| format!("one small record was refused: {refusal:?}"))?;
        }
        self.answer_all(&exhausted(), fx);
        Ok(())
    }

    fn answer_all(&mut self, refusal: &Refusal, fx: &mut Fx<Effect>) {
        for (reply, what) in self.controller.refuse_starving(refusal) {
            answer(reply, what, fx);
        }
    }

    pub(super) fn frozen_refusal(&self) -> Refusal {
        Refusal::new(
            ErrorCode::KafkaStorageError,
            format!(
                "the disk under {} is full: metadata cannot change until there is space",
                self.path(self.metadata_dir)
            ),
        )
    }

    /// Appends records as one batch, all or none. Too many of them are the requester's fault.
    pub(super) fn propose(
        &mut self,
        now: Now,
        records: Vec<MetadataRecord>,
        fx: &mut Fx<Effect>,
    ) -> Result<Result<(), Refusal>, String> {
        if records.is_empty() {
            return Ok(Ok(()));
        }
        let level = features::level(self.controller.speculative());
        let versioned = |record: MetadataRecord| {
            let version = features::record_version(&record, level);
            (record, version)
        };
        let records: Vec<Versioned> = records.into_iter().map(versioned).collect();
        let batch = match data_batch(now.wall, &records) {
            Ok(batch) => batch,
            Err(why) => return Ok(Err(Refusal::new(ErrorCode::PolicyViolation, why))),
        };
        let epoch = self.quorum.leads().expect("only a leader is asked to append");
        let mut inner = Fx::new();
        let base = self.quorum.propose(now, &batch, &mut self.files, &mut inner);
        self.controller.appended(base, epoch, &records)?;
        self.absorb(now, inner, fx)?;
        Ok(Ok(()))
    }

    /// Has what was proposed made durable.
    pub(super) fn flush(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        let mut inner = Fx::new();
        self.quorum.flush(&mut inner);
        self.absorb(now, inner, fx)
    }

    pub(super) fn on_io(
        &mut self,
        now: Now,
        done: IoDone,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if done.id.owner != IoId::UNIT {
            return self.drive(now, quorum::Input::Io(done), fx);
        }
        let (token, dir) = token(done.id);
        match token {
            Token::Identity => self.on_identity_written(now, dir, done, fx),
            Token::CleanStop => {
                self.on_mark_written(dir, &done, fx);
                Ok(())
            }
            Token::Checkpoint(kind) => {
                if let Err(error) = &done.result {
                    self.checkpoint_failed(now, dir, kind.file(), error, fx)?;
                }
                self.keeper.on_written(dir, kind, done.result.is_ok(), fx);
                self.mark_if_saved(fx);
                Ok(())
            }
            Token::Reserve => {
                self.reserve.on_io(&done, fx);
                Ok(())
            }
            Token::Remains | Token::Listing => Ok(()),
        }
    }

    /// A checkpoint that finds no space leaves the old one, which is good enough to recover from. A
    /// directory that cannot be written otherwise has failed.
    fn checkpoint_failed(
        &mut self,
        now: Now,
        dir: u16,
        file: &str,
        error: &IoError,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let path = self.path(dir);
        match error {
            IoError::Failed(why) | IoError::Damaged(why) if dir == self.metadata_dir => {
                Err(format!("{path}/{file} cannot be written: {why}; see to the disk"))
            }
            IoError::Failed(why) | IoError::Damaged(why) => {
                self.on_dir_failed(now, dir, &format!("{file}: {why}"), fx)
            }
            IoError::NoSpace(_) => {
                warn(format!("{path}/{file} cannot be written: {error}"), fx);
                if dir == self.metadata_dir {
                    self.want_reserve(&error.to_string(), fx);
                }
                Ok(())
            }
        }
    }

    /// Has the quorum take in an input, and takes in what it wants.
    pub(super) fn drive(
        &mut self,
        now: Now,
        input: quorum::Input,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let mut inner = Fx::new();
        self.quorum.step(now, input, &mut self.files, &mut inner);
        self.absorb(now, inner, fx)
    }

    fn absorb(
        &mut self,
        now: Now,
        mut inner: Fx<quorum::Effect>,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        for effect in inner.drain() {
            match effect {
                quorum::Effect::Disk(op) => fx.push(Effect::Disk(op)),
                quorum::Effect::Replay(entries) => self.on_replay(&entries)?,
                quorum::Effect::Elected(epoch) => self.on_elected(now, epoch, fx)?,
                quorum::Effect::Committed(upto) => self.on_committed(now, upto, fx),
                quorum::Effect::Note(text) => warn(text, fx),
                quorum::Effect::Closed(end) => self.on_quorum_closed(end, fx),
                quorum::Effect::DiskFailed(error) => self.on_disk_failed(now, &error, fx)?,
                quorum::Effect::Unusable(why) => {
                    let path = self.path(self.metadata_dir);
                    return Err(format!("{path}/{FOLDER} cannot be used: {why}"));
                }
            }
        }
        Ok(())
    }

    /// A log that is opened anew says much that is known.
    fn on_replay(&mut self, entries: &[Entry]) -> Result<(), String> {
        let known = self.controller.speculative().offset;
        let news = entries.partition_point(|entry| entry.offset <= known);
        if news == entries.len() { Ok(()) } else { self.controller.replay(&entries[news..]) }
    }

    fn on_committed(&mut self, now: Now, upto: Offset, fx: &mut Fx<Effect>) {
        let answers = self.controller.commit(upto);
        self.thaw(fx);
        self.tell_image(fx);
        for (reply, what) in answers {
            answer(reply, what, fx);
        }
        if self.deletion.take_if(|offset| *offset < upto).is_some() {
            self.keeper.retain(self.controller.committed());
            self.save(fx);
        }
        self.run_if_ready(now, fx);
    }

    /// Gives the committed image to everyone who acts on it.
    fn tell_image(&mut self, fx: &mut Fx<Effect>) {
        let image = Arc::clone(self.committed());
        match &mut self.stage {
            Stage::Starting { told, .. } => {
                if !std::mem::replace(told, true) {
                    let mut checkpoints = self.keeper.begin(&image, self.who.clean);
                    checkpoints.directories = std::mem::take(&mut self.who.directories);
                    self.who.directories.ids.clone_from(&checkpoints.directories.ids);
                    let checkpoints = Arc::new(checkpoints);
                    self.to_shards(&ToShard::Start(checkpoints), fx);
                }
            }
            Stage::Running => {}
            Stage::Opening { .. }
            | Stage::Stopping { .. }
            | Stage::Closing
            | Stage::Saving
            | Stage::Marking { .. }
            | Stage::Over => return,
        }
        self.to_shards(&ToShard::Image(Arc::clone(&image)), fx);
        fx.push(Effect::Publish(image));
    }

    pub(super) fn invariants(&self) {
        self.controller.invariants();
        let Some(high) = self.quorum.high_watermark() else { return };
        let offset = self.committed().offset;
        assert!(offset < high, "C3: committed image at {offset}, high watermark {high}");
    }
}
