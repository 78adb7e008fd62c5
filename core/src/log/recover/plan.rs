//! What a log's folder holds and what follows for its recovery.

use std::collections::BTreeMap;

use dohle_wire::id::Uuid;

use super::*;
use crate::log::offset_file;

/// The files of one segment.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentFiles {
    /// Bytes of records.
    pub(super) size: u64,
    /// Bytes of the time index, when it is there.
    pub(super) times: Option<u64>,
    /// Whether transactions were aborted in it.
    pub(super) aborted: bool,
    /// The offset index is there.
    pub(super) offsets: bool,
    /// Its sums, when they are there. Few segments have any while a log is small, and then ten
    /// thousand logs are opened at once.
    pub(super) sums: Option<Box<SumsFile>>,
}

/// The file of sums beside a segment.
#[derive(Copy, Clone, Debug)]
pub(super) struct SumsFile {
    /// Its bytes.
    pub(super) len: u64,
    /// The state of the file of records now.
    pub(super) records: Stamp,
}

/// The files of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub(super) segments: BTreeMap<Offset, SegmentFiles>,
    pub(super) snapshots: BTreeSet<Offset>,
    pub(super) leftovers: Vec<String>,
    pub(super) has_owner: bool,
    /// Kafka took segments out not long before the node went down.
    pub(super) has_deleted: bool,
    /// Which transactions were aborted has to be told by the records from this segment on.
    pub(super) untold: Option<Offset>,
}

impl Files {
    /// Sorts what a folder lists. Index files without a segment are leftovers too.
    pub(super) fn of(names: &[DirEntry]) -> Self {
        let mut files = Self::default();
        for entry in names {
            match FileKind::parse(&entry.name) {
                Some((FileKind::Log, base)) => {
                    let found = SegmentFiles { size: entry.len, ..SegmentFiles::default() };
                    files.segments.insert(base, found);
                }
                Some((FileKind::Snapshot, at)) => {
                    files.snapshots.insert(at);
                }
                None if is_leftover(&entry.name) => {
                    files.has_deleted |= entry.name.ends_with(".log.deleted");
                    files.leftovers.push(entry.name.clone());
                }
                _ => {}
            }
        }
        files.add_indexes(names);
        files.add_stamps(names);
        files
    }

    fn add_stamps(&mut self, names: &[DirEntry]) {
        for entry in names {
            let Some((FileKind::Log, base)) = FileKind::parse(&entry.name) else { continue };
            if let Some(sums) = self.segments.get_mut(&base).and_then(|s| s.sums.as_mut()) {
                sums.records = entry.stamp;
            }
        }
    }

    fn add_indexes(&mut self, names: &[DirEntry]) {
        for entry in names {
            let Some((kind, base)) = FileKind::parse(&entry.name) else { continue };
            match (kind, self.segments.get_mut(&base)) {
                (FileKind::TimeIndex, Some(segment)) => segment.times = Some(entry.len),
                (FileKind::TxnIndex, Some(segment)) => segment.aborted = true,
                (FileKind::Index, Some(segment)) => segment.offsets = true,
                (FileKind::Sums, Some(segment)) => {
                    let records = Stamp::default();
                    segment.sums = Some(Box::new(SumsFile { len: entry.len, records }));
                }
                (
                    FileKind::Index | FileKind::TimeIndex | FileKind::TxnIndex | FileKind::Sums,
                    None,
                ) => {
                    self.leftovers.push(entry.name.clone());
                }
                _ => {}
            }
        }
    }

    /// Takes out the segments that end at or below `start`, all but the last one.
    pub(super) fn take_below(&mut self, start: Offset) -> Vec<Offset> {
        let bases: Vec<_> = self.segments.keys().copied().collect();
        let below: Vec<_> =
            bases.windows(2).filter(|pair| pair[1] <= start).map(|pair| pair[0]).collect();
        for base in &below {
            self.segments.remove(base);
        }
        below
    }

    /// The base of the first segment whose records are looked at: the active one after a clean
    /// stop, the one that holds the recovery point otherwise, or one before that was closed and
    /// never got its indexes.
    pub(super) fn scan_from(&self, plan: &RecoveryPlan) -> Offset {
        let upto = if plan.clean { Offset(i64::MAX) } else { plan.recovery_point };
        // A segment that ends at the recovery point may have been closed later than that was
        // written, its side files need not be whole then; unless what is said is this broker's.
        let closed = plan.own || plan.recovery_point == plan.durable;
        let holding = match closed {
            true => self.segments.range(..=upto).next_back(),
            false => self.segments.range(..upto).next_back(),
        };
        let first = self.segments.keys().next().copied().unwrap_or(Offset(0));
        let from = holding.map_or(first, |(base, _)| *base);
        let bare = |files: &SegmentFiles| files.times.is_none() || !files.offsets;
        let unindexed = self.segments.range(..from).find(|(_, files)| bare(files));
        let from = match unindexed {
            Some((base, _)) if !plan.settings.mutants.has(Mutant::MissingIndexIgnored) => *base,
            _ => from,
        };
        self.untold.map_or(from, |untold| untold.min(from))
    }

    /// The base of the first segment whose records tell which transactions were aborted: all that
    /// come after it are scanned.
    pub(super) fn told_from(&self, plan: &RecoveryPlan) -> Offset {
        let all = plan.clean && self.untold.is_none();
        if all { Offset(i64::MAX) } else { self.scan_from(plan) }
    }

    /// Snapshots that a scan can build on, oldest first: those from the first segment on (what
    /// followed an earlier one is not there to be replayed) up to where the scan begins, and after
    /// a clean stop, or without a segment, the one at the end of the log.
    pub(super) fn usable_snapshots(&self, plan: &RecoveryPlan) -> Vec<Offset> {
        let beyond = plan.settings.mutants.has(Mutant::SnapshotBeyondScan);
        let upto = match plan.clean && self.untold.is_none() {
            _ if beyond => Offset(i64::MAX),
            // One past the end was removed, and came back when the power went off.
            true if plan.durable.0 > 0 => plan.durable,
            _ => self.told_from(plan),
        };
        // A log without segments ends where it starts. After a clean stop a snapshot further on
        // shows that some are missing.
        let Some(&first) = self.segments.keys().next() else {
            let forgets = plan.settings.mutants.has(Mutant::EmptyForgetsProducers);
            let start = plan.log_start.unwrap_or(Offset(0));
            let last = if plan.clean { upto.max(start) } else { start };
            let there = self.snapshots.range(start..=last).filter(|_| !forgets);
            return there.copied().collect();
        };
        let low = match plan.settings.mutants.has(Mutant::SnapshotBelowStart) {
            true => Offset(0),
            false => first,
        };
        self.snapshots.iter().copied().filter(|at| (low..=upto).contains(at)).collect()
    }
}

/// The offset that the file `name` holds. It is written as a whole, so there is nothing to guess.
pub(super) fn parse_offset(text: &[u8], name: &str, mutants: Mutants) -> Result<Offset, String> {
    let believed = mutants.has(Mutant::StartBelieved).then(|| text.split(|b| *b == b'\n').next());
    offset_file::parse(believed.flatten().unwrap_or(text))
        .ok_or_else(|| format!("{name} holds {:?}, not an offset", String::from_utf8_lossy(text)))
}

/// The topic id in a `partition.metadata` file.
pub(in crate::log) fn parse_owner(text: &[u8]) -> Result<TopicId, String> {
    let text = String::from_utf8_lossy(text);
    let id = text.lines().find_map(|line| line.strip_prefix("topic_id:"));
    let id = id.ok_or_else(|| format!("{PARTITION_METADATA} has no line topic_id: {text:?}"))?;
    let uuid = id.trim().parse();
    uuid.map(TopicId).map_err(|_| format!("{PARTITION_METADATA} has no valid topic id: {id:?}"))
}

/// The name of a folder that is set aside for its owner to look at, which none has that is `taken`:
/// one that was set aside before may still be there.
pub(crate) fn stray_name(name: &str, now: Now, taken: impl Fn(&str) -> bool) -> String {
    let wall = u128::from(now.wall.0.cast_unsigned()) << 64;
    let names = (0..)
        .map(|n: u64| aside_name(name, TopicId(Uuid::from_u128(wall | u128::from(n))), "stray"));
    names.into_iter().find(|name| !taken(name)).expect("some name is free")
}

/// The name of a folder that is no longer a log's: `<name>.<id>-<why>`, as long as names may be.
pub(crate) fn aside_name(name: &str, id: TopicId, why: &str) -> String {
    let hex: String = id.0.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let suffix = format!(".{hex}-{why}");
    let keep = name.floor_char_boundary(255 - suffix.len());
    format!("{}{suffix}", &name[..keep])
}
