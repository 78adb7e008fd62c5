//! Data directories that cannot be used: not found in order at the start, or failed since.
//!
//! Such a directory goes offline alone, until the next start. Nothing is written to it, no new
//! partition goes there, and what is led there has no leader. The metadata's directory is another
//! matter: without it the node ends.

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::id::{NodeId, Uuid};

use super::node::{Node, Stage};
use super::{Effect, note};
use crate::controller::brokers;
use crate::fx::Fx;
use crate::mail::PartitionId;
use crate::shard::Level;
use crate::time::Now;

impl Node {
    /// A shard found that a directory has failed.
    ///
    /// # Errors
    /// It held the metadata.
    pub(super) fn on_dir_failed(
        &mut self,
        now: Now,
        dir: u16,
        why: &str,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if self.failed_dirs.contains(&dir) {
            return Ok(());
        }
        if dir == self.metadata_dir {
            let path = self.path(dir);
            return Err(format!(
                "the data directory {path}, which holds the metadata, failed: {why}; see to the \
                 disk and start again"
            ));
        }
        let id = self.who.directories.ids.get(&dir).copied();
        self.take_offline(dir, why, fx);
        self.lost_dirs.extend(id);
        self.tell_offline(now, fx)
    }

    /// Nothing of a directory is used any more.
    pub(super) fn take_offline(&mut self, dir: u16, why: &str, fx: &mut Fx<Effect>) {
        if !self.failed_dirs.insert(dir) {
            return;
        }
        let path = self.path(dir);
        let text = format!(
            "the data directory {path} failed ({why}): its partitions are offline until the disk \
             is in order and the node was started again"
        );
        note(Level::Error, text, fx);
        self.keeper.fail_dir(dir);
        self.who.directories.ids.remove(&dir);
        self.who.directories.failed.insert(dir);
    }

    /// Writes into the metadata which directories have failed since this node registered.
    pub(super) fn tell_offline(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        self.lost_dirs.iter().for_each(|dir| self.controller.fail_dir(*dir));
        let serves = matches!(self.stage, Stage::Starting { .. } | Stage::Running);
        if !serves || self.quorum.leads().is_none() {
            return Ok(());
        }
        let records = brokers::offline(self.controller.speculative(), &self.lost_dirs);
        for chunk in records.chunks(super::start::FIRST_BATCH) {
            let placed = self.propose(now, chunk.to_vec(), fx)?;
            placed.map_err(|refusal| format!("records do not fit: {refusal:?}"))?;
        }
        self.flush(now, fx)
    }

    /// A replica was moved to another directory, or stays where it is. If that cannot be written
    /// now the shard says so again.
    ///
    /// # Errors
    /// That the metadata cannot be written any more.
    pub(super) fn on_placed(
        &mut self,
        now: Now,
        partition: PartitionId,
        dir: u16,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let id = self.who.directories.ids.get(&dir).copied();
        let Some(id) = id.filter(|_| self.stage == Stage::Running && !self.frozen) else {
            return Ok(());
        };
        if self.quorum.leads().is_none() {
            return Ok(());
        }
        let record = brokers::placed(self.controller.speculative(), partition, id);
        let Some(record) = record else { return Ok(()) };
        let placed = self.propose(now, vec![record.into()], fx)?;
        placed.map_err(|refusal| format!("one small record was refused: {refusal:?}"))?;
        self.flush(now, fx)
    }

    /// Tells of partitions in directories that this node does not have.
    pub(super) fn note_missing_dirs(&self, fx: &mut Fx<Effect>) {
        let image = self.controller.speculative();
        let local = NodeId(image.local.node_id);
        let known: BTreeSet<Uuid> = self.who.directories.ids.values().copied().collect();
        let mut missing: BTreeMap<Uuid, usize> = BTreeMap::new();
        for partition in image.topics.values().flat_map(|topic| &topic.partitions) {
            let at = partition.replicas.iter().position(|replica| *replica == local);
            let dir = at.and_then(|at| partition.directories.get(at));
            if let Some(dir) = dir.filter(|dir| !dir.is_reserved() && !known.contains(dir)) {
                *missing.entry(*dir).or_insert(0) += 1;
            }
        }
        for (dir, count) in missing {
            let text = format!(
                "{count} partitions are in a data directory (directory.id {dir}) that is not \
                 there: they are offline until the node was started with it"
            );
            note(Level::Error, text, fx);
        }
    }
}
