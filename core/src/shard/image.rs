//! Following the metadata: which partitions the shard has, and for what.

use std::collections::BTreeSet;

use dohle_wire::id::{PartitionIndex, TopicId};

use super::slot::{Gone, Opening};
use super::*;
use crate::disk::{FilePath, IoError};
use crate::image::{PartitionImage, TopicImage};
use crate::log::LogSettings;
use crate::log::recover::{Gaps, Recovery, RecoveryPlan, aside_name};
use crate::node::shard_of;

/// Generation of the operations that delete a log; no log gets that far.
const DELETION: u32 = u32::MAX;

/// Stands for a data directory that is not there.
const NOWHERE: u16 = u16::MAX;

impl Shard {
    pub(super) fn on_image(&mut self, now: Now, image: Arc<Image>, fx: &mut Fx<Effect>) {
        let old = self.image.replace(Arc::clone(&image));
        self.follow_topics(now, old.as_deref(), fx);
        self.follow_settings(now, old.as_deref(), fx);
        self.delete_missing(&image, fx);
        if let Some(old) = &old {
            self.forget_missing(now, old, &image, fx);
        }
        for topic in image.topics.values() {
            let same = old.as_ref().and_then(|old| old.topic(&topic.name));
            if !same.is_some_and(|same| Arc::ptr_eq(same, topic)) {
                self.follow_topic(now, topic, fx);
            }
        }
        if old.is_none() {
            // Checkpoints go by name: they say nothing of a topic that is made later.
            self.checkpoints = Arc::default();
            self.begin_sweep(fx);
        }
        self.unpark(now, fx);
    }

    /// A topic that is no more, or whose name now belongs to another one, loses its partitions.
    fn delete_missing(&mut self, image: &Image, fx: &mut Fx<Effect>) {
        let gone: Vec<_> = self.by_id.keys().filter(|id| !is_in(image, id)).copied().collect();
        for id in gone {
            if let Some(slot) = self.by_id.remove(&id) {
                self.delete(slot, fx);
            }
        }
    }

    /// Committed offsets go with the topics they are for.
    fn forget_missing(&mut self, now: Now, old: &Image, new: &Image, fx: &mut Fx<Effect>) {
        let is_gone = |topic: &&Arc<TopicImage>| new.topic_by_id(&topic.id).is_none();
        let gone: Vec<_> =
            old.topics.values().filter(is_gone).map(|topic| Arc::clone(&topic.name)).collect();
        if !gone.is_empty() {
            self.forget_topics(now, &gone, fx);
        }
    }

    fn follow_topic(&mut self, now: Now, topic: &Arc<TopicImage>, fx: &mut Fx<Effect>) {
        for (number, state) in topic.partitions.iter().enumerate() {
            let index = PartitionIndex(i32::try_from(number).unwrap_or(i32::MAX));
            let here = state.replicas.contains(&self.local());
            if here && shard_of(&topic.name, index, self.shards) == self.id {
                self.follow(now, topic, index, state, fx);
            }
        }
    }

    fn follow(
        &mut self,
        now: Now,
        topic: &Arc<TopicImage>,
        index: PartitionIndex,
        state: &Arc<PartitionImage>,
        fx: &mut Fx<Effect>,
    ) {
        let id = PartitionId { topic: topic.id, index };
        let slot = self.by_id.get(&id).copied();
        let mut inner = std::mem::take(&mut self.inner);
        match slot.and_then(|slot| self.slots.get_mut(slot)) {
            Some(Slot::Open(partition)) => partition.on_image(&topic.config, state, &mut inner),
            Some(Slot::Opening(opening) | Slot::Starved(opening)) => {
                opening.config = Arc::clone(&topic.config);
                opening.state = Arc::clone(state);
            }
            Some(Slot::Failed(_) | Slot::Deleting(_)) => {}
            None => self.begin_opening(id, topic, state, fx),
        }
        // A change of configs may change `flush.ms`.
        slot.into_iter().for_each(|slot| self.slots.look_at(slot));
        self.carry_out(now, inner, fx);
        slot.into_iter().for_each(|slot| self.follow_leadership(now, slot, fx));
    }

    fn begin_opening(
        &mut self,
        id: PartitionId,
        topic: &Arc<TopicImage>,
        state: &Arc<PartitionImage>,
        fx: &mut Fx<Effect>,
    ) {
        let owner = self.fresh_slot();
        let name = format!("{}-{}", topic.name, id.index);
        let dir = self.place_of(&name, state).unwrap_or(NOWHERE);
        let checkpoints = &self.checkpoints;
        let named = checkpoints.recovery_points.get(&name).copied().unwrap_or(Offset(0));
        let (durable, known) = (checkpoints.durable_of(id), checkpoints.durable.as_ref());
        let plan = RecoveryPlan {
            owner,
            generation: 1,
            clean: checkpoints.clean,
            recovery_point: durable.map_or(named, |durable| durable.min(named)),
            // What Kafka's file says by name is sure to be of this topic after a clean stop only.
            durable: durable.max(checkpoints.clean.then_some(named)).unwrap_or(Offset(0)),
            gaps: checkpoints.cleaned.get(&name).map_or(Gaps::None, |at| Gaps::Cleaned(*at)),
            log_start: checkpoints.log_starts.get(&name).copied(),
            folder: FilePath::new(dir, name),
            topic_id: topic.id,
            own: false,
            anonymous: known.is_none_or(|known| known.contains_key(&id)),
            settings: LogSettings::from_topic(&topic.config, self.mutants),
        };
        self.by_id.insert(id, owner);
        if dir == NOWHERE || self.failed_dirs.contains(&dir) {
            self.slots.insert(owner, Slot::Failed(Gone { folder: plan.folder }));
            return;
        }
        let opening = Opening {
            id,
            recovery: Recovery::begin(plan, fx),
            config: Arc::clone(&topic.config),
            state: Arc::clone(state),
            leaves: None,
        };
        self.slots.insert(owner, Slot::Opening(Box::new(opening)));
    }

    /// The data directory of a partition: the one that the metadata gave to this node's replica or,
    /// where it does not say (before 3.7), the one with its folder. None: it is one that is not
    /// there.
    pub(super) fn place_of(&self, name: &str, state: &PartitionImage) -> Option<u16> {
        if let Some(wanted) = self.directory_of(state).filter(|_| !self.dirs.is_empty()) {
            return self.dirs.iter().find(|(_, id)| **id == wanted).map(|(dir, _)| *dir);
        }
        let found = &self.checkpoints.directories;
        let there = found.folders.get(name).and_then(BTreeSet::first).copied();
        let first = found.failed.is_empty().then(|| self.dirs.keys().next().copied().unwrap_or(0));
        there.or(first)
    }

    /// The id of the directory that the metadata gave to this node's replica.
    pub(super) fn directory_of(&self, state: &PartitionImage) -> Option<Uuid> {
        let at = state.replicas.iter().position(|replica| *replica == self.local())?;
        state.directories.get(at).copied().filter(|id| !id.is_reserved())
    }

    /// Renames the folder out of the way at once, so that a new topic may take the name, and
    /// then removes it.
    fn delete(&mut self, slot: u32, fx: &mut Fx<Effect>) {
        self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        self.delete_future(slot, fx);
        let Some(held) = self.slots.remove(slot) else { return };
        let (id, from, leaves) = match held {
            Slot::Open(mut partition) => {
                let folder = partition.log().folder().clone();
                let mut inner = std::mem::take(&mut self.inner);
                partition.abandon(ErrorCode::UnknownTopicOrPartition, &mut inner);
                for effect in inner.drain() {
                    match effect {
                        partition::Effect::Disk(op) => fx.push(Effect::Disk(op)),
                        partition::Effect::Answer(reply, answer) => answer_to(reply, answer, fx),
                        partition::Effect::Readable { watchers, bytes } => {
                            self.watches.on_readable(&watchers, bytes, fx);
                        }
                        partition::Effect::Failed { .. } | partition::Effect::Full { .. } => {}
                    }
                }
                self.inner = inner;
                (partition.id(), folder, None)
            }
            Slot::Opening(opening) | Slot::Starved(opening) => {
                (opening.id, opening.recovery.folder().clone(), opening.leaves)
            }
            Slot::Failed(_) | Slot::Deleting(_) => return,
        };
        self.begin_removal(id.topic, from, fx);
        if let Some(old) = leaves {
            self.begin_removal(id.topic, old, fx);
        }
    }

    /// Removes a log's folder, in a slot of its own.
    pub(super) fn begin_removal(&mut self, topic: TopicId, from: FilePath, fx: &mut Fx<Effect>) {
        let slot = self.fresh_slot();
        let to = FilePath::new(from.dir, aside_name(&from.path, topic, "delete"));
        let io = IoId { owner: slot, generation: DELETION, what: What::Side, end: 0 };
        fx.push(Effect::Disk(DiskOp::Rename { id: io, from, to: to.clone() }));
        self.slots.insert(slot, Slot::Deleting(Gone { folder: to }));
    }

    /// The folder of a deleted partition was renamed, then removed. Where it stays, nothing can
    /// take its name: its directory has failed (Kafka's LogManager.asyncDelete).
    pub(super) fn on_deleted(&mut self, now: Now, slot: u32, done: &IoDone, fx: &mut Fx<Effect>) {
        if done.id.generation != DELETION {
            return;
        }
        let Some(Slot::Deleting(gone)) = self.slots.get(slot) else { return };
        let path = gone.folder.clone();
        if done.id.end == 0 && done.result.is_ok() {
            let id = IoId { end: 1, ..done.id };
            return fx.push(Effect::Disk(DiskOp::Remove { id, path }));
        }
        self.slots.remove(slot);
        let Err(error) = &done.result else { return };
        note(Level::Warn, format!("{} could not be removed: {error}", path.path), fx);
        if let IoError::Failed(why) | IoError::Damaged(why) = error {
            self.on_dir_failed(now, path.dir, why, fx);
        }
    }
}

fn is_in(image: &Image, id: &PartitionId) -> bool {
    image.topic_by_id(&id.topic).is_some_and(|topic| topic.partition(id.index).is_some())
}
