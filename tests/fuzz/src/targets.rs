//! Decoders, each with what must hold of whatever it accepts.

use bytes::Bytes;
use dohle_codec::NativeCodecs;
use dohle_core::batch::{Budget, check};
use dohle_core::config::topic::TopicConfig;
use dohle_core::control::checkpoint_file;
use dohle_core::disk::{FileId, FilePath, IoError, Stamp};
use dohle_core::log::epoch::EpochCache;
use dohle_core::log::index::{parse_offsets, parse_times, search, search_times};
use dohle_core::log::locate::{LocatePlan, ReadAt, Target, locate as look_up};
use dohle_core::log::snapshot as producers;
use dohle_core::log::sums::Sums;
use dohle_core::verify::{Entry, Files, Survey};
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::control::ControlRecord;
use dohle_wire::record::{RecordIter, split_batches};

use super::folder::Folder;

/// Bytes that a batch may decompress to here.
const RECORDS_MAX: usize = 1 << 20;

/// A search in an index reads so often at most.
const READS_MAX: u32 = 64;

/// Batches one after the other, their records, the markers among them.
pub fn batches(bytes: &[u8]) {
    for batch in split_batches(Bytes::copy_from_slice(bytes)).map_while(Result::ok) {
        assert!(
            batch.header.next_offset() > batch.header.base_offset
                || batch.header.base_offset.0 > i64::MAX >> 1
        );
        let _ = batch.crc_ok();
        let Ok(records) = batch.records(&NativeCodecs, RECORDS_MAX) else { continue };
        assert!(records.len() <= RECORDS_MAX.max(bytes.len()));
        let mut count = 0;
        for record in RecordIter::new(&records, batch.header.records_count) {
            count += 1;
            let Ok(record) = record else { break };
            let _ = (record.offset(&batch.header), record.timestamp(&batch.header));
            assert!(record.headers.clone().count() <= records.len());
            if let (Some(key), Some(value)) = (record.key, record.value) {
                let _ = ControlRecord::decode(key, value);
            }
        }
        assert!(count <= records.len() + 1, "a record has a length");
    }
}

/// What a client wants appended.
pub fn produce(bytes: &[u8]) {
    let topic = TopicConfig::default();
    for version in [3, 12] {
        let (bytes, now) = (Bytes::copy_from_slice(bytes), Timestamp(1_700_000_000_000));
        let mut budget = Budget::new(1 << 20);
        let Ok(checked) = check(bytes, &topic, now, version, &NativeCodecs, &mut budget) else {
            continue;
        };
        assert_eq!(checked.header().total_len(), checked.bytes().len());
        let again =
            check(checked.bytes().clone(), &topic, now, version, &NativeCodecs, &mut budget);
        assert_eq!(again.as_ref(), Ok(&checked), "what was checked once is right");
    }
}

fn reader(file: &[u8]) -> impl FnMut(u64, u32) -> Result<Bytes, ()> {
    let mut reads = 0;
    move |position, len| {
        reads += 1;
        assert!(reads < READS_MAX, "a search has an end");
        Ok(Bytes::copy_from_slice(part(file, position, len)))
    }
}

fn part(file: &[u8], position: u64, len: u32) -> &[u8] {
    let from = usize::try_from(position).map_or(file.len(), |at| at.min(file.len()));
    &file[from..file.len().min(from.saturating_add(len as usize))]
}

/// The offset index of a segment.
pub fn offset_index(file: &[u8]) {
    let size = file.len() as u64;
    let entries = parse_offsets(file, u64::MAX);
    for target in (-3..40).chain([i64::MIN, i64::MAX - 1, i64::MAX]) {
        let found = search(size, Offset(7), Offset(target), reader(file)).unwrap_or_default();
        let below = |relative: u32| i64::from(relative) <= Offset(target).minus(Offset(7));
        if let Some(entries) = &entries {
            let expected = entries.iter().rfind(|entry| below(entry.relative));
            assert_eq!(found, expected.map_or(0, |entry| entry.position.into()), "{target}");
        }
    }
}

/// The time index of a segment.
pub fn time_index(file: &[u8]) {
    let size = file.len() as u64;
    let _ = parse_times(file);
    for time in (-3..40).chain([i64::MIN, 1_700_000_000_000, i64::MAX]) {
        let found = search_times(size, Timestamp(time), reader(file)).unwrap_or_default();
        assert!(found.is_none_or(|entry| entry.timestamp.0 < time));
    }
}

/// The file of leader epochs.
pub fn epochs(file: &[u8]) {
    let text = String::from_utf8_lossy(file);
    if let Some(epochs) = EpochCache::parse(&text) {
        epochs.invariants();
        assert!(epochs.entries().iter().all(|(epoch, start)| epoch.0 >= 0 && start.0 >= 0));
        assert_eq!(EpochCache::parse(&epochs.encode()), Some(epochs));
    }
}

/// A checkpoint of a data directory.
pub fn checkpoint(file: &[u8]) {
    if let Ok(entries) = checkpoint_file::parse(file) {
        assert!(entries.values().all(|offset| offset.0 >= 0));
        assert_eq!(
            checkpoint_file::parse(checkpoint_file::encode(&entries).as_bytes()),
            Ok(entries)
        );
    }
}

/// A snapshot of producers.
pub fn snapshot(file: &[u8]) {
    let mut check = producers::Check::default();
    file.chunks(3).for_each(|piece| check.feed(piece));
    let found = producers::parse(file);
    assert!(found.is_none() || check.is_sound());
    if let Some(table) = found {
        let again = producers::encode(&table);
        assert_eq!(producers::parse(&again), Some(table));
    }
}

/// Sums of a segment.
pub fn sums(file: &[u8]) {
    if let Ok(sums) = Sums::parse(file) {
        assert_eq!(sums.encode(), file, "there is one way to write them");
    }
}

/// The first segment of a folder with its indexes.
struct Segment {
    log: Vec<u8>,
    index: Option<Vec<u8>>,
    times: Option<Vec<u8>>,
    reads: usize,
}

impl Segment {
    fn of(folder: &Folder) -> Self {
        let find = |kind: &str| {
            folder.files.iter().find(|file| file.kind() == kind).map(|file| file.content.clone())
        };
        let log = find(".log").unwrap_or_default();
        Self { log, index: find(".index"), times: find(".timeindex"), reads: 0 }
    }

    fn side(&self, path: &FilePath) -> Option<&Vec<u8>> {
        if &*path.path == "index" { self.index.as_ref() } else { self.times.as_ref() }
    }

    fn count(&mut self) {
        self.reads += 1;
        assert!(self.reads < 200 + self.log.len() / 8, "a look-up has an end");
    }
}

impl ReadAt for Segment {
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
        self.count();
        Ok(Bytes::copy_from_slice(part(&self.log, position, len)))
    }

    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
        Ok(self.side(path).map(|file| file.len() as u64))
    }

    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
        self.count();
        let file = self.side(path).map_or(&[][..], Vec::as_slice);
        Ok(Bytes::copy_from_slice(part(file, position, len)))
    }
}

/// Look-ups in a segment whose indexes say anything.
pub fn locate(bytes: &[u8]) {
    let folder = Folder::read(bytes);
    let mut segment = Segment::of(&folder);
    let base = Offset(0);
    let offsets = [0, 1, 5, 17, 39, i64::MAX].map(|at| Target::Offset(Offset(at)));
    let times = [0, 1, 1_700_000_000_000, i64::MAX].map(|at| Target::Timestamp(Timestamp(at)));
    for target in offsets.into_iter().chain(times) {
        let plan = LocatePlan {
            file: FileId(1),
            base,
            index: Some(FilePath::new(0, "index")),
            times: Some(FilePath::new(0, "times")),
            from: 0,
            older: None,
            size: segment.log.len() as u64,
            target,
            lower: Offset(folder.log_start.into()),
            upper: Offset(i64::MAX),
            next: Offset(i64::MAX),
        };
        segment.reads = 0;
        if let Ok(Some(found)) = look_up(&plan, &mut segment) {
            assert!(found.position < plan.size, "{found:?}");
        }
    }
}

/// A data directory of one folder.
struct Directory(Vec<(String, Vec<u8>)>);

impl Files for Directory {
    type Error = ();

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, ()> {
        if folder.is_empty() {
            let stamp = Stamp::default();
            return Ok(vec![Entry { name: "t-0".to_owned(), is_dir: true, len: 0, stamp }]);
        }
        let entry = |(name, content): &(String, Vec<u8>)| {
            let (name, len) = (name.clone(), content.len() as u64);
            Entry { name, is_dir: false, len, stamp: Stamp(1) }
        };
        Ok(self.0.iter().map(entry).collect())
    }

    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, ()> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let file = self.0.iter().find(|(known, _)| known == name);
        Ok(Bytes::copy_from_slice(file.map_or(&[], |(_, content)| part(content, position, len))))
    }
}

/// The search for damage that operators run offline.
pub fn verify(bytes: &[u8]) {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for file in Folder::read(bytes).files {
        files.retain(|(name, _)| *name != file.name());
        files.push((file.name(), file.content));
    }
    files.sort();
    for deep in [false, true] {
        let mut findings = 0;
        let mut tell = |_| findings += 1;
        let mut directory = Directory(files.clone());
        let mut survey = Survey::new(&mut directory, &NativeCodecs, deep, &mut tell);
        let facts = survey.directory().unwrap_or_default();
        assert!(facts.len() <= 1);
        assert!(findings <= 100 + bytes.len(), "{findings} findings in {} bytes", bytes.len());
    }
}
