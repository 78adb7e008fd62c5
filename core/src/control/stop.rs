//! A clean stop: shards, then the metadata log, then the checkpoints, and at the very end the
//! mark that says so.

use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::Offset;

use super::io::{Token, id};
use super::node::{Node, Round, Stage};
use super::{Effect, clean_stop, warn};
use crate::controller::local_epoch;
use crate::disk::{DiskOp, FilePath, IoDone};
use crate::fx::Fx;
use crate::mail::{ShardId, ToShard};
use crate::quorum;
use crate::time::Now;

impl Node {
    pub(super) fn on_shutdown(&mut self, fx: &mut Fx<Effect>) -> Result<(), String> {
        match &self.stage {
            // Nobody was served: there is nothing that a new start would not do again.
            Stage::Opening { .. } | Stage::Starting { .. } => self.over(fx),
            Stage::Running => {
                let left = self.all_shards().collect();
                let asked = Arc::clone(self.committed());
                self.round = Some(Round { waiting: self.all_shards().collect(), asked });
                self.stage = Stage::Stopping { left };
                for shard in self.all_shards() {
                    fx.push(Effect::Shard(shard, ToShard::Stop));
                }
            }
            Stage::Stopping { .. }
            | Stage::Closing
            | Stage::Saving
            | Stage::Marking { .. }
            | Stage::Over => {}
        }
        Ok(())
    }

    pub(super) fn on_shard_stopped(
        &mut self,
        now: Now,
        shard: ShardId,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let Stage::Stopping { left } = &mut self.stage else { return Ok(()) };
        left.remove(&shard);
        if !left.is_empty() {
            return Ok(());
        }
        if self.frozen {
            self.leave_metadata_open(fx);
            return Ok(());
        }
        self.stage = Stage::Closing;
        self.drive(now, quorum::Input::Close, fx)
    }

    /// The metadata log cannot be closed on a full disk: the next start recovers it.
    pub(super) fn leave_metadata_open(&mut self, fx: &mut Fx<Effect>) {
        self.stage = Stage::Saving;
        self.save(fx);
        self.mark_if_saved(fx);
    }

    pub(super) fn on_quorum_closed(&mut self, end: Offset, fx: &mut Fx<Effect>) {
        if self.stage == Stage::Closing {
            self.stage = Stage::Saving;
            self.keeper.metadata_durable(end);
            self.save(fx);
            self.mark_if_saved(fx);
        }
    }

    /// Writes the marks once the checkpoints are on the disk, but none where something failed:
    /// such a directory has to be recovered.
    pub(super) fn mark_if_saved(&mut self, fx: &mut Fx<Effect>) {
        if self.stage != Stage::Saving || !self.keeper.is_idle() {
            return;
        }
        let epoch = local_epoch(self.committed()).unwrap_or(-1);
        let dirs = 0..u16::try_from(self.settings.config.log_dirs.len()).unwrap_or(u16::MAX);
        let sound = dirs.filter(|dir| !self.frozen && !self.keeper.is_unsound(*dir));
        let sound: Vec<u16> = sound.collect();
        for dir in &sound {
            fx.push(Effect::Disk(DiskOp::Put {
                id: id(Token::CleanStop, *dir),
                path: FilePath::new(*dir, clean_stop::FILE),
                data: Bytes::from(clean_stop::encode(epoch)),
                durable: true,
            }));
        }
        self.stage = Stage::Marking { writes: sound.len() };
        self.over_if_marked(fx);
    }

    pub(super) fn on_mark_written(&mut self, dir: u16, done: &IoDone, fx: &mut Fx<Effect>) {
        if let Err(error) = &done.result {
            let path = self.path(dir);
            let file = clean_stop::FILE;
            warn(format!("{path}/{file} cannot be written: {error}; the next start recovers"), fx);
        }
        if let Stage::Marking { writes } = &mut self.stage {
            *writes -= 1;
        }
        self.over_if_marked(fx);
    }

    fn over_if_marked(&mut self, fx: &mut Fx<Effect>) {
        if self.stage == (Stage::Marking { writes: 0 }) {
            self.over(fx);
        }
    }

    fn over(&mut self, fx: &mut Fx<Effect>) {
        self.stage = Stage::Over;
        fx.push(Effect::Stopped);
    }
}
