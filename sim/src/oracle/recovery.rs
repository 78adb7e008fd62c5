//! The promise table: what a crash may take and what it may not.
//!
//! When a process ends, the disk is read: what was written, what was under way, what was synced.
//! When the next one serves, its logs must be prefixes of that: after a kill with everything that
//! was written, after a loss of power with everything that was synced.

use std::collections::BTreeMap;

use dohle_core::disk::FilePath;
use dohle_core::group::place::OFFSETS_TOPIC;
use dohle_core::partition::Partition;
use dohle_wire::id::Uuid;

use super::disk_log::{self, DiskBatch, DiskLog, View};
use super::{Oracles, Violation, replay};
use crate::disk::Crash;
use crate::node::Node;

/// The disk at the moment of a crash.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    logs: BTreeMap<FilePath, BeforeLog>,
    power: bool,
}

#[derive(Clone, Debug)]
struct BeforeLog {
    topic_id: Option<String>,
    /// Everything that was written or under way.
    batches: Vec<DiskBatch>,
    /// Offset below which nothing may be gone.
    floor: i64,
}

/// Records that were lost as the promise allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The first offset that is gone.
    pub from: i64,
}

impl Oracles {
    /// A process is about to end by a crash, or has ended of itself ([`Crash::Kill`]).
    ///
    /// # Errors
    /// L10 when the core believes more to be durable, or written, than is.
    pub fn on_crash(&mut self, node: &Node, crash: Crash) -> Result<(), Violation> {
        self.claims(node)?;
        if node.is_ready() {
            let logs = node.shards().flat_map(|shard| shard.partitions()).map(Partition::log);
            self.starts = logs.map(|log| (log.folder().clone(), log.log_start().0)).collect();
        }
        let now = Before::read(node, crash, &self.starts);
        self.before = Some(match self.before.take() {
            None => now,
            Some(earlier) => earlier.and_then(&now),
        });
        Ok(())
    }

    /// A node serves clients again.
    ///
    /// # Errors
    /// L7 and the promise of acknowledgements, and everything of [`replay`].
    pub fn on_ready(&mut self, node: &Node) -> Result<Vec<Loss>, Violation> {
        let before = self.before.take().unwrap_or_default();
        let mut losses = Vec::new();
        for partition in node.shards().flat_map(|shard| shard.partitions()) {
            losses.extend(self.recovered(node, &before, partition)?);
        }
        before.metadata(node)?;
        self.topics(node)?;
        self.replay(node)?;
        Ok(losses)
    }

    /// Folds every log anew and compares.
    ///
    /// # Errors
    /// L3, L6, L7, P1 to P4.
    pub fn replay(&mut self, node: &Node) -> Result<(), Violation> {
        for partition in node.shards().flat_map(|shard| shard.partitions()) {
            let log = partition.log();
            let start = log.log_start().0;
            let disk = DiskLog::read(node.disk.tree(), log.folder(), View::Live, start);
            let lossy = self.truth(partition).lossy;
            self.armed.replays += 1;
            replay::check(node.disk.tree(), log.folder(), &disk, log, lossy)?;
        }
        Ok(())
    }

    /// What the core believes of its logs at one moment (L8, R3).
    ///
    /// # Errors
    /// When a bound went back within one life of the node.
    pub fn look(&mut self, node: &Node) -> Result<(), Violation> {
        for partition in node.shards().flat_map(|shard| shard.partitions()) {
            let (start, watermark) = (partition.log().log_start(), partition.high_watermark());
            self.truth(partition).on_node(node.life, start.0, watermark.0)?;
        }
        Ok(())
    }

    fn truth(&mut self, partition: &Partition) -> &mut super::truth::Truth {
        let id = partition.id();
        self.tap.truths.entry((id.topic.0, id.index.0)).or_default()
    }

    /// What the core believes to be on disk is there.
    ///
    /// # Errors
    /// L10.
    pub fn claims(&self, node: &Node) -> Result<(), Violation> {
        for partition in node.shards().flat_map(|shard| shard.partitions()) {
            let log = partition.log();
            let tree = node.disk.tree();
            for (view, claimed) in [(View::Durable, log.durable()), (View::Live, log.written())] {
                let disk = DiskLog::read(tree, log.folder(), view, log.log_start().0);
                let end = disk.end().unwrap_or(0).max(log.log_start().0);
                if claimed.0 > end {
                    let (folder, why) = (&log.folder().path, disk.damage.unwrap_or_default());
                    let text =
                        format!("{folder}: {view:?} up to {claimed} claimed, {end} is {why}");
                    return Err(Violation::new("L10", text));
                }
            }
        }
        Ok(())
    }

    /// Compares one log with what was there before.
    fn recovered(
        &mut self,
        node: &Node,
        before: &Before,
        partition: &Partition,
    ) -> Result<Option<Loss>, Violation> {
        let log = partition.log();
        let (start, end) = (log.log_start().0, log.end().0);
        let disk = DiskLog::read(node.disk.tree(), log.folder(), View::Live, start);
        let mut dropped = false;
        let known = before.logs.get(log.folder());
        if let Some(known) = known.filter(|known| known.topic_id == disk.topic_id) {
            self.armed.recoveries += 1;
            let grows = topic_of(&log.folder().path).0 == OFFSETS_TOPIC;
            dropped = known.compare((&log.folder().path, grows), &disk, start, end)?;
        }
        let (power, fsync) = (before.power, self.fsync);
        let truth = self.truth(partition);
        let visible = truth.batches.iter().filter(|(_, batch)| batch.next > start);
        for (base, batch) in visible.clone().filter(|(_, batch)| batch.next <= end) {
            let kept = disk.batches.iter().find(|found| found.base() == *base);
            if kept.is_none_or(|found| (found.next(), found.header.crc) != (batch.next, batch.crc))
            {
                let text = format!("{}: batch at {base} is now {kept:?}", log.folder().path);
                return Err(Violation::new("L5", text));
            }
        }
        let lost = visible.clone().find(|(_, batch)| batch.next > end);
        if let Some((base, batch)) = lost
            && (!power || fsync)
        {
            let text =
                format!("{}: {batch:?} at {base} is gone, log ends at {end}", log.folder().path);
            return Err(Violation::new("lost-acknowledged", text));
        }
        if !dropped && lost.is_none() {
            return Ok(None);
        }
        let truth = self.truth(partition);
        let allowed = truth.forget(end);
        self.armed.allowed_losses += allowed;
        let (topic, partition) = topic_of(&log.folder().path);
        Ok(power.then(|| Loss { topic: topic.to_owned(), partition, from: end }))
    }

    /// Topics that hold acknowledged records are still there, unless somebody deleted them.
    fn topics(&self, node: &Node) -> Result<(), Violation> {
        let Some(image) = node.image() else { return Ok(()) };
        for ((id, index), truth) in &self.tap.truths {
            let acknowledged = truth.batches.values().any(|known| known.acknowledged);
            let known: Uuid = *id;
            if acknowledged
                && image.topic_by_id(&known.into()).is_none()
                && !self.tap.deleted.contains(id)
            {
                let text = format!("topic {id} partition {index} is gone, nobody deleted it");
                return Err(Violation::new("Q5", text));
            }
        }
        Ok(())
    }
}

/// The partition whose folder has that name.
fn topic_of(name: &str) -> (&str, i32) {
    let (topic, partition) = name.rsplit_once('-').unwrap_or((name, "0"));
    (topic, partition.parse().unwrap_or(0))
}

impl Before {
    fn read(node: &Node, crash: Crash, starts: &BTreeMap<FilePath, i64>) -> Self {
        let tree = node.disk.tree();
        let mut under_way = disk_log::under_way(&node.disk);
        let mut folders = disk_log::folders(tree);
        folders.extend(under_way.keys().cloned());
        folders.sort();
        folders.dedup();
        let mut logs = BTreeMap::new();
        for folder in folders {
            let start = starts.get(&folder).copied().unwrap_or(0);
            let live = DiskLog::read(tree, &folder, View::Live, start);
            let floor = match crash {
                Crash::Kill => live.end(),
                Crash::Power => DiskLog::read(tree, &folder, View::Durable, start).end(),
            };
            // What is under way may close gaps in what is there.
            let mut more = live.beyond;
            more.extend(under_way.remove(&folder).unwrap_or_default());
            more.sort_by_key(DiskBatch::base);
            let mut batches = live.batches;
            for batch in more {
                if batches.last().is_none_or(|last| last.next() == batch.base()) {
                    batches.push(batch);
                }
            }
            let log = BeforeLog { topic_id: live.topic_id, batches, floor: floor.unwrap_or(0) };
            logs.insert(folder, log);
        }
        Self { logs, power: crash == Crash::Power }
    }

    /// A second crash before anything was served: nothing new can be there, less may be.
    fn and_then(mut self, later: &Self) -> Self {
        self.power |= later.power;
        for (folder, log) in &mut self.logs {
            let floor = later.logs.get(folder).map_or(0, |later| later.floor);
            log.floor = log.floor.min(floor);
        }
        self
    }

    /// The metadata log lost nothing durable. It may have grown already.
    fn metadata(&self, node: &Node) -> Result<(), Violation> {
        let folder = FilePath::new(0, "__cluster_metadata-0");
        let Some(known) = self.logs.get(&folder) else { return Ok(()) };
        let disk = DiskLog::read(node.disk.tree(), &folder, View::Live, 0);
        let start = disk.segments.first().copied().unwrap_or(0);
        let cut = known.common_end(&disk, start);
        match cut >= known.floor {
            true => Ok(()),
            false => {
                let text = format!("metadata log changed at {cut}, {} was safe", known.floor);
                Err(Violation::new("Q5", text))
            }
        }
    }
}

impl BeforeLog {
    /// One past the last offset that both have, with the same content, from `start` on.
    fn common_end(&self, disk: &DiskLog, start: i64) -> i64 {
        let before = self.batches.iter().filter(|batch| batch.next() > start);
        let mut end = start.min(self.batches.last().map_or(0, DiskBatch::next));
        for (old, new) in before.zip(disk.from(start)) {
            if old.identity() != new.identity() {
                break;
            }
            end = old.next();
        }
        end.max(start)
    }

    /// Whether something was dropped; an error when that is more than may be, or when something
    /// is there that was not.
    ///
    /// A log start that was not checkpointed may have gone back, and removed segments with it. A
    /// log that `grows` has perhaps been written to since it was recovered: a coordinator does not
    /// wait until its node serves clients, and may end a session before.
    fn compare(
        &self,
        (name, grows): (&str, bool),
        disk: &DiskLog,
        start: i64,
        end: i64,
    ) -> Result<bool, Violation> {
        let start = start.max(self.batches.first().map_or(start, DiskBatch::base));
        let cut = self.common_end(disk, start);
        let last = self.batches.last().map_or(start, DiskBatch::next);
        if cut < self.floor {
            let text = format!(
                "{name}: the same up to {cut} after recovery, {} was safe; log {start}..{end}, {}",
                self.floor,
                disk.damage.as_deref().unwrap_or("whole"),
            );
            return Err(Violation::new("L7", text));
        }
        if grows {
            return Ok(cut < last);
        }
        if end > cut.max(start) {
            let text = format!("{name}: {cut} to {end} was not there before the crash");
            return Err(Violation::new("L7", text));
        }
        Ok(end < last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dohle_wire::id::{Offset, Timestamp};
    use dohle_wire::record::{BatchBuilder, NoCodecs, RawBatch};

    /// A log of batches of one record each.
    fn batches(values: &[&str]) -> Vec<DiskBatch> {
        let batch = |(offset, value): (usize, &&str)| {
            let mut builder = BatchBuilder::new(Offset(offset as i64));
            builder.push(Timestamp(0), None, Some(value.as_bytes()), &[]).expect("it fits");
            let bytes = builder.build(&NoCodecs).expect("it fits");
            let header = RawBatch::parse(bytes).expect("a whole batch").header;
            DiskBatch { header, segment: 0, position: 0 }
        };
        values.iter().enumerate().map(batch).collect()
    }

    fn compare(floor: i64, before: &[&str], after: &[&str], grows: bool) -> Option<bool> {
        let before = BeforeLog { topic_id: None, batches: batches(before), floor };
        let disk = DiskLog { batches: batches(after), segments: vec![0], ..DiskLog::default() };
        before.compare(("t-0", grows), &disk, 0, after.len() as i64).ok()
    }

    #[test]
    fn a_recovered_log_is_a_prefix_that_holds_what_was_safe() {
        assert_eq!(compare(2, &["a", "b"], &["a", "b"], false), Some(false));
        assert_eq!(compare(1, &["a", "b"], &["a"], false), Some(true));
        assert_eq!(compare(2, &["a", "b"], &["a"], false), None);
        assert_eq!(compare(2, &["a", "b"], &["a", "b", "c"], false), None);
    }

    #[test]
    fn the_log_of_a_coordinator_may_have_grown_behind_that_prefix() {
        assert_eq!(compare(2, &["a", "b"], &["a", "b", "c"], true), Some(false));
        assert_eq!(compare(1, &["a", "b"], &["a", "c"], true), Some(true));
        assert_eq!(compare(2, &["a", "b"], &["a", "c"], true), None);
    }
}
