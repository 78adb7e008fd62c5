//! The checkpoint files of all data directories: what is in them, and when they are written.
//!
//! Kafka's files name topics by their names, so what they say may be of an earlier topic of the
//! same name. How far logs are durable is written beside, by topic id: that was durable of this
//! very topic, and has to be there.
//!
//! Invariant L10: an entry leaves only when its partition does. What a shard does not report
//! keeps its last value, and a topic made anew under an old name inherits nothing.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_wire::id::{Offset, PartitionIndex, TopicId};

use super::Effect;
use super::checkpoint_file::{self as file, Key};
use super::io::{CheckpointKind, Token, id};
use crate::disk::{DiskOp, FilePath};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{Checkpoints, Directories, LogCheckpoint, PartitionId};
use crate::quorum::FOLDER;

/// What is known of one log.
#[derive(Clone, Debug)]
struct Entry {
    dir: u16,
    topic: TopicId,
    recovery_point: Offset,
    durable: Offset,
    log_start: Option<Offset>,
    high_watermark: Offset,
}

/// One file: at most one write of it is under way.
#[derive(Clone, Debug, Default)]
struct File {
    /// Its content as far as known.
    on_disk: Option<String>,
    writing: Option<String>,
}

/// Keeps the checkpoint files.
#[derive(Clone, Debug)]
pub(super) struct Keeper {
    metadata_dir: u16,
    dirs: u16,
    /// Entries found at start, by file.
    found: BTreeMap<(u16, CheckpointKind), BTreeMap<Key, Offset>>,
    logs: BTreeMap<Key, Entry>,
    files: BTreeMap<(u16, CheckpointKind), File>,
    /// How far the metadata log is durable, so that a start notices when the disk lost some.
    metadata: Offset,
    /// Directories that are not written to any more.
    failed: BTreeSet<u16>,
    /// Directories with logs that were not closed.
    open: BTreeSet<u16>,
    /// Files that are not up to date, because a write failed.
    stale: BTreeSet<(u16, CheckpointKind)>,
}

impl Keeper {
    pub(super) fn new(metadata_dir: u16, dirs: u16) -> Self {
        Self {
            metadata_dir,
            dirs,
            found: BTreeMap::new(),
            logs: BTreeMap::new(),
            files: BTreeMap::new(),
            metadata: Offset(0),
            failed: BTreeSet::new(),
            open: BTreeSet::new(),
            stale: BTreeSet::new(),
        }
    }

    /// Takes in a file as found at start.
    ///
    /// # Errors
    /// That it is damaged, and means nothing.
    pub(super) fn load(
        &mut self,
        dir: u16,
        kind: CheckpointKind,
        content: &[u8],
    ) -> Result<(), String> {
        let mut entries = file::parse(content)?;
        let metadata = entries.remove(&metadata_key());
        if kind == CheckpointKind::RecoveryPoints && dir == self.metadata_dir {
            self.metadata = metadata.unwrap_or(Offset(0));
        }
        self.found.insert((dir, kind), entries);
        let on_disk = Some(String::from_utf8_lossy(content).into_owned());
        self.files.insert((dir, kind), File { on_disk, writing: None });
        Ok(())
    }

    /// How far the metadata log was durable once.
    pub(super) fn metadata_recovery_point(&self) -> Offset {
        self.metadata
    }

    /// The metadata log is durable below `offset`.
    pub(super) fn metadata_durable(&mut self, offset: Offset) {
        self.metadata = self.metadata.max(offset);
    }

    fn checkpoints(&self, clean: bool) -> Checkpoints {
        let of = |kind: CheckpointKind| {
            let files = self.found.iter().filter(|((_, of), _)| *of == kind);
            let entries = files.flat_map(|(_, entries)| entries);
            entries.map(|((topic, index), at)| (format!("{topic}-{index}"), *at)).collect()
        };
        Checkpoints {
            clean,
            recovery_points: of(CheckpointKind::RecoveryPoints),
            log_starts: of(CheckpointKind::LogStarts),
            high_watermarks: of(CheckpointKind::HighWatermarks),
            durable: self.durable(),
            cleaned: of(CheckpointKind::Cleaned),
            directories: Directories::default(),
        }
    }

    /// Recovery points by topic id; none if no directory has them (only Kafka was there).
    fn durable(&self) -> Option<BTreeMap<PartitionId, Offset>> {
        let mut files = self.found.iter().filter(|((_, kind), _)| *kind == CheckpointKind::Durable);
        let first = files.next()?;
        let entries = std::iter::once(first).chain(files).flat_map(|(_, entries)| entries);
        let by_id = entries.filter_map(|((topic, index), at)| {
            let topic = TopicId(topic.parse().ok()?);
            Some((PartitionId { topic, index: *index }, *at))
        });
        Some(by_id.collect())
    }

    /// Attributes what was found to the partitions there are and forgets the rest. Gives what
    /// shards are told at the start.
    pub(super) fn begin(&mut self, image: &Image, clean: bool) -> Checkpoints {
        let told = self.checkpoints(clean);
        let found = std::mem::take(&mut self.found);
        let by_name = found.into_iter().filter(|((_, kind), _)| *kind != CheckpointKind::Durable);
        for ((dir, kind), entries) in by_name {
            for (key, at) in entries {
                let Some(topic) = topic_of(image, &key) else { continue };
                let durable = told.durable_of(PartitionId { topic, index: key.1 });
                let entry = self.logs.entry(key).or_insert(Entry {
                    dir,
                    topic,
                    recovery_point: Offset(0),
                    durable: durable.unwrap_or(Offset(0)),
                    log_start: None,
                    high_watermark: Offset(0),
                });
                match kind {
                    CheckpointKind::RecoveryPoints => {
                        entry.recovery_point = at;
                        // Of Kafka's it is not known whether it closes a segment.
                        entry.durable = durable.unwrap_or(Offset((at.0 - 1).max(0)));
                    }
                    CheckpointKind::LogStarts => entry.log_start = Some(at),
                    CheckpointKind::HighWatermarks => entry.high_watermark = at,
                    CheckpointKind::Durable | CheckpointKind::Cleaned => {}
                }
            }
        }
        told
    }

    /// Takes in what a shard reported. It knew of `asked` at least; what has another topic id
    /// by now is not what it reported.
    pub(super) fn report(&mut self, asked: &Image, now: &Image, logs: Vec<LogCheckpoint>) {
        for log in logs {
            let Some(key) = file::key(&log.name) else { continue };
            let Some(topic) = topic_of(now, &key) else { continue };
            if topic_of(asked, &key) != Some(topic) {
                continue;
            }
            let entry = Entry {
                dir: log.dir,
                topic,
                recovery_point: log.recovery_point,
                durable: log.durable,
                log_start: log.log_start,
                high_watermark: log.high_watermark,
            };
            self.logs.insert(key, entry);
        }
    }

    /// Forgets partitions that are no more.
    pub(super) fn retain(&mut self, image: &Image) {
        self.logs.retain(|key, entry| topic_of(image, key) == Some(entry.topic));
    }

    /// Nothing is written to this directory any more.
    pub(super) fn fail_dir(&mut self, dir: u16) {
        self.failed.insert(dir);
    }

    /// Writes the files whose content changed.
    pub(super) fn write(&mut self, fx: &mut Fx<Effect>) {
        for dir in (0..self.dirs).filter(|dir| !self.failed.contains(dir)).collect::<Vec<_>>() {
            for kind in CheckpointKind::WRITTEN {
                self.write_file(dir, kind, fx);
            }
        }
    }

    fn write_file(&mut self, dir: u16, kind: CheckpointKind, fx: &mut Fx<Effect>) {
        let entries = self.entries(dir, kind);
        let nothing = entries.is_empty();
        let content = file::encode(&entries);
        let file = self.files.entry((dir, kind)).or_default();
        let same = file.on_disk.as_ref() == Some(&content);
        if same || file.writing.is_some() || (nothing && file.on_disk.is_none()) {
            return;
        }
        file.writing = Some(content.clone());
        fx.push(Effect::Disk(DiskOp::Put {
            id: id(Token::Checkpoint(kind), dir),
            path: FilePath::new(dir, kind.file()),
            data: Bytes::from(content),
            durable: true,
        }));
    }

    fn entries(&self, dir: u16, kind: CheckpointKind) -> BTreeMap<Key, Offset> {
        let value = |entry: &Entry| match kind {
            CheckpointKind::RecoveryPoints => Some(entry.recovery_point),
            CheckpointKind::Durable => Some(entry.durable),
            CheckpointKind::LogStarts => entry.log_start,
            CheckpointKind::HighWatermarks => Some(entry.high_watermark),
            CheckpointKind::Cleaned => None,
        };
        let here = self.logs.iter().filter(|(_, entry)| entry.dir == dir);
        let mut entries: BTreeMap<Key, Offset> =
            here.filter_map(|(key, entry)| Some((name(kind, key, entry), value(entry)?))).collect();
        let metadata = kind == CheckpointKind::RecoveryPoints && dir == self.metadata_dir;
        if metadata && self.metadata > Offset(0) {
            entries.insert(metadata_key(), self.metadata);
        }
        entries
    }

    /// A write ended; what changed meanwhile is written now, unless the disk failed: then the
    /// next round tries again.
    pub(super) fn on_written(
        &mut self,
        dir: u16,
        kind: CheckpointKind,
        ok: bool,
        fx: &mut Fx<Effect>,
    ) {
        let file = self.files.entry((dir, kind)).or_default();
        let written = file.writing.take();
        if ok {
            file.on_disk = written;
            self.stale.remove(&(dir, kind));
            self.write_file(dir, kind, fx);
        } else {
            self.stale.insert((dir, kind));
        }
    }

    /// A log in this directory was not closed.
    pub(super) fn leave_open(&mut self, dir: u16) {
        self.open.insert(dir);
    }

    /// Whether what is on this directory's disk may differ from what should be there.
    pub(super) fn is_unsound(&self, dir: u16) -> bool {
        let left = self.failed.contains(&dir) || self.open.contains(&dir);
        left || self.stale.iter().any(|(stale, _)| *stale == dir)
    }

    /// Whether no write is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.files.values().all(|file| file.writing.is_none())
    }
}

/// How a file names a partition.
fn name(kind: CheckpointKind, key: &Key, entry: &Entry) -> Key {
    match kind {
        CheckpointKind::Durable => (entry.topic.to_string(), key.1),
        CheckpointKind::RecoveryPoints
        | CheckpointKind::LogStarts
        | CheckpointKind::HighWatermarks
        | CheckpointKind::Cleaned => key.clone(),
    }
}

fn metadata_key() -> Key {
    file::key(FOLDER).expect("the metadata log is partition 0 of its topic")
}

/// The id of the topic that a log belongs to, if the log is one of its partitions.
fn topic_of(image: &Image, (topic, index): &(String, PartitionIndex)) -> Option<TopicId> {
    let topic = image.topic(topic)?;
    topic.partition(*index).map(|_| topic.id)
}
