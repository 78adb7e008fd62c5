//! The folder of one partition: what is in it, file by file, and how the files fit together.

use std::collections::BTreeMap;

use dohle_wire::id::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};

use super::context::{Checkpoint, Context};
use super::finding::{Problem, Problems, Severity};
use super::index::Merge;
use super::segment::{self, Content, Plan};
use super::{Entry, Files, Survey, directory, join, producers, sums, text};
use crate::disk::Stamp;
use crate::log::epoch::EpochCache;
use crate::log::names::{
    FileKind, LEADER_EPOCHS, LOG_START, PARTITION_METADATA, TRUNCATED_TO, is_leftover,
};
use crate::log::producer::ProducerTable;
use crate::log::sums::Hasher;

const QUORUM_STATE: &str = "quorum-state";

/// What is in the log of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its folder.
    pub folder: String,
    /// Topic and partition, by the name of the folder.
    pub key: Option<(String, PartitionIndex)>,
    /// The id of the topic, by `partition.metadata`.
    pub topic_id: Option<TopicId>,
    /// How many segments it has.
    pub segments: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// First offset there is.
    pub log_start: Offset,
    /// Offset after the last sound batch.
    pub end: Offset,
    /// After a crash, up to where checkpoints are believed that may be from before the log was cut.
    pub believed: Option<Offset>,
    /// Sound batches.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// How many of the batches are compressed by what.
    pub codecs: BTreeMap<&'static str, u64>,
    /// The first time in it.
    pub first_timestamp: Option<Timestamp>,
    /// The latest time in it.
    pub last_timestamp: Option<Timestamp>,
    /// Leader epochs, and where each begins.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    /// The latest snapshot of producers, and the offset that it goes up to.
    pub producers: Option<(Offset, ProducerTable)>,
}

/// Whether a file of this name belongs into a partition's folder.
#[must_use]
pub fn is_log_file(name: &str) -> bool {
    let own =
        [PARTITION_METADATA, LEADER_EPOCHS, LOG_START, TRUNCATED_TO, QUORUM_STATE].contains(&name);
    let left = is_leftover(name) || [".swap", ".part"].iter().any(|end| name.ends_with(end));
    own || left || name.ends_with(".checkpoint") || FileKind::parse(name).is_some()
}

/// What a partition is held against while its files are gone through.
pub(super) struct Scope<'a> {
    pub(super) folder: &'a str,
    context: &'a Context,
    dense: bool,
    /// Below, everything was durable once.
    recovery: Offset,
    /// Segments below are being removed.
    start: Offset,
    epochs: EpochCache,
    /// The segment in use.
    last: Option<Offset>,
    /// Whose it is.
    pub(super) topic: Option<TopicId>,
    pub(super) partition: Option<PartitionIndex>,
}

impl Scope<'_> {
    /// How bad it is if something at `offset` is not there or not right any more.
    fn severity(&self, offset: Offset) -> Severity {
        let lost = !self.context.clean && offset >= self.recovery;
        if lost { Severity::Torn } else { Severity::Damage }
    }
}

/// Leader epochs with the positions of their lines.
type Epochs = Vec<(u64, LeaderEpoch, Offset)>;

/// A file of a segment.
#[derive(Copy, Clone, Debug)]
pub(super) struct Side {
    pub(super) len: u64,
    pub(super) stamp: Stamp,
}

/// The files of a segment.
pub(super) type Sides = BTreeMap<FileKind, Side>;

impl<F: Files> Survey<'_, F> {
    /// Goes through the folder of a partition; of its segments, through the one at `one` only.
    pub(super) fn partition(
        &mut self,
        folder: &str,
        context: &Context,
        one: Option<Offset>,
    ) -> Result<Facts, F::Error> {
        let mut entries = self.files.list(folder)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let key = directory::key(folder.rsplit('/').next().unwrap_or(folder));
        let (mut segments, mut snapshots) = (BTreeMap::<Offset, Sides>::new(), BTreeMap::new());
        for entry in entries.iter().filter(|entry| !entry.is_dir) {
            match FileKind::parse(&entry.name) {
                Some((FileKind::Snapshot, at)) => {
                    snapshots.insert(at, entry.len);
                }
                Some((kind, base)) => {
                    let side = Side { len: entry.len, stamp: entry.stamp };
                    segments.entry(base).or_default().insert(kind, side);
                }
                None if one.is_none() => self.stray(folder, entry),
                None => {}
            }
        }
        let (epochs, trusted) = self.epochs(folder, &entries)?;
        let believed = self.small(folder, &entries, TRUNCATED_TO, text::offset)?.flatten();
        let believed = believed.filter(|_| !context.clean);
        let recovery = context.get(Checkpoint::Recovery, key.as_ref()).unwrap_or(Offset(0));
        let mut with_log = segments.iter().filter(|(_, kinds)| kinds.contains_key(&FileKind::Log));
        let mut scope = Scope {
            folder,
            context,
            dense: context.is_dense(key.as_ref()),
            recovery: believed.map_or(recovery, |believed| recovery.min(believed)),
            start: Offset(0),
            epochs: if trusted { text::cache(&epochs) } else { EpochCache::default() },
            last: with_log.next_back().map(|(base, _)| *base),
            topic: None,
            partition: key.as_ref().map(|(_, partition)| *partition),
        };
        if let Some(one) = one {
            segments.retain(|base, _| *base == one);
        }
        let mut facts = Facts {
            folder: folder.to_owned(),
            topic_id: self.owner(folder, &entries, context)?,
            segments: 0,
            bytes: 0,
            log_start: Offset(0),
            end: Offset(0),
            believed,
            batches: 0,
            records: 0,
            codecs: BTreeMap::new(),
            first_timestamp: None,
            last_timestamp: None,
            epochs: epochs.iter().map(|(_, epoch, start)| (*epoch, *start)).collect(),
            producers: None,
            key,
        };
        scope.topic = facts.topic_id;
        let told = context.get(Checkpoint::LogStarts, facts.key.as_ref());
        // Kafka moves a start without saying so there: its checkpoint and the first epoch tell.
        let moved = epochs.first().filter(|_| trusted).map(|(_, _, start)| *start);
        let moved = moved.filter(|moved| told >= Some(*moved)).unwrap_or(Offset(0));
        let said = self.said_start(folder, &entries)?.map(|said| said.max(moved));
        let first = segments.keys().next().copied();
        facts.log_start = match (said, told) {
            (Some(said), _) => said,
            (None, told) => told.max(first).unwrap_or(Offset(0)),
        };
        scope.start = facts.log_start;
        facts.end = facts.log_start;
        self.segments(&mut scope, &segments, &mut facts)?;
        if let (Some(said), Some(first)) = (said, first) {
            self.check_start(&scope, said, first);
        }
        self.check_end(&scope, &epochs, &facts);
        self.snapshots(&scope, &snapshots, &mut facts)?;
        Ok(facts)
    }

    fn stray(&mut self, folder: &str, entry: &Entry) {
        if is_log_file(&entry.name) {
            return;
        }
        let path = join(folder, &entry.name);
        let problem = Problem::new("stray", "files of a log", "something else");
        self.tell(&path, problem.is(Severity::Warning).into());
    }

    /// The content of one of the small files.
    fn small<T>(
        &mut self,
        folder: &str,
        entries: &[Entry],
        name: &str,
        read: impl FnOnce(&[u8], &mut Problems) -> T,
    ) -> Result<Option<T>, F::Error> {
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        let path = join(folder, name);
        let Some(bytes) = self.whole(&path, entry.len)? else { return Ok(None) };
        let mut problems = Problems::default();
        let found = read(&bytes, &mut problems);
        self.tell(&path, problems);
        Ok(Some(found))
    }

    /// The leader epochs with the positions of their lines, and whether all of it is sound.
    fn epochs(&mut self, folder: &str, entries: &[Entry]) -> Result<(Epochs, bool), F::Error> {
        let read = |bytes: &[u8], problems: &mut Problems| {
            let epochs = text::epochs(bytes, problems);
            (epochs, problems.is_empty())
        };
        Ok(self.small(folder, entries, LEADER_EPOCHS, read)?.unwrap_or_default())
    }

    fn owner(
        &mut self,
        folder: &str,
        entries: &[Entry],
        context: &Context,
    ) -> Result<Option<TopicId>, F::Error> {
        self.small(folder, entries, QUORUM_STATE, text::quorum_state)?;
        for entry in entries.iter().filter(|entry| entry.name.ends_with(".checkpoint")) {
            self.batches(&join(folder, &entry.name), entry.len)?;
        }
        let owner = self.small(folder, entries, PARTITION_METADATA, text::owner)?;
        let has_log = entries.iter().any(|entry| entry.name.ends_with(".log"));
        if owner.is_none() && context.known && has_log {
            let problem = Problem::new("missing", PARTITION_METADATA, "no such file");
            self.tell(folder, problem.is(Severity::Warning).into());
        }
        Ok(owner.flatten())
    }

    fn said_start(&mut self, folder: &str, entries: &[Entry]) -> Result<Option<Offset>, F::Error> {
        Ok(self.small(folder, entries, LOG_START, text::offset)?.flatten())
    }

    fn segments(
        &mut self,
        scope: &mut Scope<'_>,
        segments: &BTreeMap<Offset, Sides>,
        facts: &mut Facts,
    ) -> Result<(), F::Error> {
        let (mut next, mut epoch) = (None, LeaderEpoch(-1));
        for (base, sides) in segments {
            let Some(Side { len, .. }) = sides.get(&FileKind::Log) else {
                self.orphans(scope, *base, sides);
                continue;
            };
            let path = join(scope.folder, &FileKind::Log.name(*base));
            if let Some(problem) = next.and_then(|next| place(scope, *base, next)) {
                self.tell(&path, problem.into());
            }
            let content = self.segment(scope, *base, *len, sides, epoch)?;
            next = Some(content.end).filter(|_| !content.broken);
            epoch = content.epoch;
            facts.segments += 1;
            facts.bytes += len;
            facts.end = facts.end.max(content.end);
            facts.batches += content.batches;
            facts.records += content.records;
            facts.first_timestamp = facts.first_timestamp.or(content.first_timestamp);
            facts.last_timestamp = facts.last_timestamp.max(content.last_timestamp);
            for (codec, count) in content.codecs {
                *facts.codecs.entry(codec).or_default() += count;
            }
        }
        Ok(())
    }

    fn orphans(&mut self, scope: &Scope<'_>, base: Offset, sides: &Sides) {
        for kind in sides.keys() {
            let path = join(scope.folder, &kind.name(base));
            let problem = Problem::new("stray", "a segment beside it", "none");
            self.tell(&path, problem.is(Severity::Warning).into());
        }
    }

    /// Goes through a segment and its indexes.
    fn segment(
        &mut self,
        scope: &Scope<'_>,
        base: Offset,
        len: u64,
        sides: &Sides,
        epoch: LeaderEpoch,
    ) -> Result<Content, F::Error> {
        let mut merge = Merge::default();
        let closed = self.deep && scope.last.is_some_and(|last| base < last);
        let sums = if closed { self.sums(scope, base, sides)? } else { None };
        let indexes = [FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex];
        let deep = self.deep;
        for kind in indexes.into_iter().filter(|_| deep) {
            let path = join(scope.folder, &kind.name(base));
            let Some(side) = sides.get(&kind) else { continue };
            let Some(bytes) = self.whole(&path, side.len)? else { continue };
            if let Some(sums) = &sums {
                self.tell(&path, sums::compare(sums, kind, *side, &Hasher::of(&bytes)));
            }
            match kind {
                FileKind::Index => merge.add_offsets(&bytes, base),
                FileKind::TimeIndex => merge.add_times(&bytes, base),
                _ => merge.add_aborted(&bytes),
            }
        }
        let plan = Plan {
            base,
            size: len,
            torn_from: (!scope.context.clean && scope.last == Some(base)).then_some(scope.recovery),
            dense: scope.dense,
            epoch,
            epochs: (
                &scope.epochs,
                if scope.context.clean { Offset(i64::MAX) } else { scope.recovery },
            ),
            deep: self.deep,
        };
        let path = join(scope.folder, &FileKind::Log.name(base));
        let mut hasher = sums.as_ref().map(|_| Hasher::default());
        let content = self.walk(&path, &plan, &mut merge, hasher.as_mut())?;
        if let (Some(sums), Some(hasher)) = (&sums, hasher) {
            let side = sides[&FileKind::Log];
            self.tell(&path, sums::compare(sums, FileKind::Log, side, &hasher.finish()));
        }
        // The next start makes the indexes of these anew.
        let anew =
            !scope.context.clean && (scope.last == Some(base) || content.end > scope.recovery);
        let worst = if anew { Severity::Torn } else { Severity::Damage };
        let found = [merge.of_offsets, merge.of_times, merge.of_aborted];
        for (kind, problems) in indexes.into_iter().zip(found) {
            self.tell(&join(scope.folder, &kind.name(base)), problems.at_most(worst));
        }
        let needed = |kind: &FileKind| match kind {
            FileKind::TxnIndex => sums.as_ref().is_some_and(|sums| sums::say(sums, *kind, sides)),
            _ => true,
        };
        let missing = indexes.into_iter().filter(|kind| deep && !sides.contains_key(kind));
        for kind in missing.filter(needed) {
            if !anew && scope.context.known {
                let problem = Problem::new("missing", "an index of the segment", "no such file");
                self.tell(
                    &join(scope.folder, &kind.name(base)),
                    problem.is(Severity::Warning).into(),
                );
            }
        }
        Ok(content)
    }

    /// Goes through a file of batches.
    fn walk(
        &mut self,
        path: &str,
        plan: &Plan<'_>,
        merge: &mut Merge,
        mut hasher: Option<&mut Hasher>,
    ) -> Result<Content, F::Error> {
        self.tally.files += 1;
        let (files, tally) = (&mut *self.files, &mut self.tally);
        let read = |position: u64, len: u32| {
            let bytes = files.read(path, position, len)?;
            tally.bytes += bytes.len() as u64;
            // A walk reads every byte once, in their order.
            if let Some(hasher) = &mut hasher {
                hasher.feed(&bytes);
            }
            Ok(bytes)
        };
        let mut problems = Problems::default();
        let content = segment::check(plan, self.codecs, read, merge, &mut problems)?;
        self.tally.batches += content.batches;
        self.tally.records += content.records;
        self.tell(path, problems);
        Ok(content)
    }

    /// Goes through a file of batches that is no segment: a snapshot of the metadata.
    pub(super) fn batches(&mut self, path: &str, len: u64) -> Result<(), F::Error> {
        let epochs = EpochCache::default();
        let plan = Plan {
            base: Offset(0),
            size: len,
            torn_from: None,
            dense: true,
            epoch: LeaderEpoch(-1),
            epochs: (&epochs, Offset(0)),
            deep: self.deep,
        };
        self.walk(path, &plan, &mut Merge::default(), None).map(drop)
    }

    fn check_start(&mut self, scope: &Scope<'_>, said: Offset, first: Offset) {
        if first > said {
            let expected = format!("a segment that holds the log start {said}");
            let problem = Problem::new("gap", expected, format!("first segment {first}"));
            let problem = problem.about(said).is(scope.severity(said));
            self.tell(&join(scope.folder, LOG_START), problem.into());
        }
    }

    fn check_end(
        &mut self,
        scope: &Scope<'_>,
        epochs: &[(u64, LeaderEpoch, Offset)],
        facts: &Facts,
    ) {
        let mut problems = Problems::default();
        for (at, epoch, start) in epochs.iter().filter(|(_, _, start)| *start > facts.end) {
            let expected = format!("starts up to the end {}", facts.end);
            let problem = Problem::new("value", expected, format!("epoch {epoch} at {start}"));
            problems.push(problem.at(*at).about(*start).is(scope.severity(*start)));
        }
        self.tell(&join(scope.folder, LEADER_EPOCHS), problems);
    }

    fn snapshots(
        &mut self,
        scope: &Scope<'_>,
        snapshots: &BTreeMap<Offset, u64>,
        facts: &mut Facts,
    ) -> Result<(), F::Error> {
        for (upto, len) in snapshots {
            let path = join(scope.folder, &FileKind::Snapshot.name(*upto));
            let Some(bytes) = self.whole(&path, *len)? else { continue };
            let mut problems = Problems::default();
            if *upto > facts.end {
                let expected = format!("a snapshot up to the end {} at most", facts.end);
                let problem = Problem::new("name", expected, upto.to_string()).about(*upto);
                problems.push(problem);
            }
            let table = producers::check(&bytes, *upto, &mut problems);
            // A snapshot that is not durable is not used.
            self.tell(&path, problems.at_most(scope.severity(*upto)));
            facts.producers = table.map(|table| (*upto, table)).or(facts.producers.take());
        }
        Ok(())
    }
}

/// How a segment follows on the one before, which ends at `next`. A segment above the recovery
/// point may be missing as a whole.
fn place(scope: &Scope<'_>, base: Offset, next: Offset) -> Option<Problem> {
    let found = format!("a segment at {base}");
    if base < next {
        let expected = format!("nothing below {next}, where the segment before ends");
        return Some(Problem::new("order", expected, found).about(base));
    }
    (base > next && base > scope.start && scope.dense).then(|| {
        let problem = Problem::new("gap", format!("a segment at {next}"), found).about(next);
        problem.is(scope.severity(next))
    })
}
