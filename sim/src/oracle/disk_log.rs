//! A partition's log as it lies on a disk, read without the core's help.

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FilePath, What};
use dohle_core::log::names::{FileKind, PARTITION_METADATA};
use dohle_wire::id::Offset;
use dohle_wire::record::{BatchHeader, RawBatch, split_batches};

use crate::disk::{SimDisk, Tree};

/// Which image of a disk is meant.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// What processes see.
    Live,
    /// What is there for sure after a loss of power.
    Durable,
}

/// A batch and where it lies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct DiskBatch {
    pub(super) header: BatchHeader,
    /// Base offset of its segment.
    pub(super) segment: i64,
    /// Position in that segment's file.
    pub(super) position: u64,
}

impl DiskBatch {
    pub(super) fn base(&self) -> i64 {
        self.header.base_offset.0
    }

    pub(super) fn next(&self) -> i64 {
        self.header.next_offset().0
    }

    /// What must not change while the batch keeps its place.
    pub(super) fn identity(&self) -> (i64, i64, u32, i32) {
        (self.base(), self.next(), self.header.crc, self.header.partition_leader_epoch.0)
    }
}

/// The valid beginning of a log: whole batches without gaps from the first segment on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskLog {
    pub(super) topic_id: Option<String>,
    pub(super) segments: Vec<i64>,
    pub(super) batches: Vec<DiskBatch>,
    /// Valid batches behind a gap or damage.
    pub(super) beyond: Vec<DiskBatch>,
    /// Where and why reading stopped before the end of the last file.
    pub(super) damage: Option<String>,
}

impl DiskLog {
    /// Reads the log in `folder` from the segment on that holds offset `start`: what lies before
    /// it was removed or is about to be, in whatever order.
    pub(super) fn read(tree: &Tree, folder: &FilePath, view: View, start: i64) -> Self {
        let content = |name: &str| match view {
            View::Live => tree.content(&folder.join(name)),
            View::Durable => tree.durable_content(&folder.join(name)),
        };
        let topic_id = content(PARTITION_METADATA).and_then(topic_id);
        let segments: Vec<i64> = tree
            .names(folder, view == View::Durable)
            .into_iter()
            .filter_map(|name| FileKind::parse(&name))
            .filter(|(kind, _)| *kind == FileKind::Log)
            .map(|(_, base)| base.0)
            .collect();
        let first = segments.iter().rposition(|base| *base <= start).unwrap_or(0);
        let segments = segments[first..].to_vec();
        let mut log = Self { topic_id, segments: segments.clone(), ..Self::default() };
        let mut next = segments.first().copied().unwrap_or(0);
        for base in segments {
            let file = content(&FileKind::Log.name(Offset(base))).unwrap_or_default();
            log.read_segment(base, &mut next, file);
        }
        log
    }

    /// Takes in one segment, which `next` has to begin.
    fn read_segment(&mut self, segment: i64, next: &mut i64, file: &[u8]) {
        if *next != segment {
            self.damage.get_or_insert_with(|| format!("a gap before segment {segment}"));
        }
        *next = segment;
        let mut position = 0;
        for batch in split_batches(Bytes::copy_from_slice(file)) {
            let problem = match &batch {
                Err(error) => Some(error.to_string()),
                Ok(batch) if !batch.crc_ok() => Some("wrong checksum".to_owned()),
                Ok(batch) if batch.header.base_offset.0 != *next => {
                    Some(format!("offset {} where {next} is next", batch.header.base_offset))
                }
                Ok(_) => None,
            };
            let (None, Ok(RawBatch { header, bytes })) = (&problem, batch) else {
                let problem = problem.unwrap_or_default();
                self.damage
                    .get_or_insert_with(|| format!("segment {segment} at {position}: {problem}"));
                return;
            };
            let list = if self.damage.is_none() { &mut self.batches } else { &mut self.beyond };
            list.push(DiskBatch { header, segment, position });
            *next = header.next_offset().0;
            position += bytes.len() as u64;
        }
    }

    /// One past the last offset of the valid beginning.
    pub(super) fn end(&self) -> Option<i64> {
        let batches = self.batches.last().map(DiskBatch::next);
        match self.damage {
            Some(_) => batches.or(self.segments.first().copied()),
            // An empty active segment says where the log ends, too.
            None => batches.max(self.segments.last().copied()),
        }
    }

    /// Batches that have a record at or past `start`.
    pub(super) fn from(&self, start: i64) -> impl Iterator<Item = &DiskBatch> {
        self.batches.iter().filter(move |batch| batch.next() > start)
    }
}

/// Folders of partitions on a disk: every folder that holds a segment.
pub(super) fn folders(tree: &Tree) -> Vec<FilePath> {
    let mut folders: Vec<FilePath> = tree
        .paths()
        .filter(|path| path.path.ends_with(".log"))
        .filter_map(|path| {
            path.path.rsplit_once('/').map(|(folder, _)| FilePath::new(path.dir, folder))
        })
        .collect();
    folders.dedup();
    folders
}

/// Batches in writes that have not taken effect, by folder.
pub(super) fn under_way(disk: &SimDisk) -> BTreeMap<FilePath, Vec<DiskBatch>> {
    let mut found: BTreeMap<FilePath, Vec<DiskBatch>> = BTreeMap::new();
    for op in disk.under_way() {
        let DiskOp::Write { id, file, position, data } = op else { continue };
        let Some(path) = disk.path_of(*file).filter(|_| id.what == What::Append) else { continue };
        let Some((folder, name)) = path.path.rsplit_once('/') else { continue };
        let Some((FileKind::Log, Offset(segment))) = FileKind::parse(name) else { continue };
        let list = found.entry(FilePath::new(path.dir, folder)).or_default();
        let mut position = *position;
        for batch in split_batches(Bytes::from(data.concat())).flatten() {
            list.push(DiskBatch { header: batch.header, segment, position });
            position += batch.bytes.len() as u64;
        }
    }
    for list in found.values_mut() {
        list.sort_by_key(DiskBatch::base);
    }
    found
}

fn topic_id(file: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("topic_id:"))?;
    Some(line.trim().to_owned())
}
