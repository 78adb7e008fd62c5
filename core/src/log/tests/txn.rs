//! Aborted transactions: what is known of them equals a replay of the log, whatever happens.

use dohle_wire::id::PartitionIndex;
use dohle_wire::record::control::{ControlRecord, EndTransaction};

use super::*;
use crate::disk::Stamp;
use crate::log::sums::{FileSums, Hasher, Owner, SUMMED, Sums};
use crate::log::txn::Aborted;

/// A batch of a transaction of producer `id`, or the marker that ends it.
fn transactional(id: i64, sequence: i32, marker: Option<&ControlRecord>) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Offset(0));
    builder = builder.producer(ProducerId(id), ProducerEpoch(0), Sequence(sequence));
    builder = builder.transactional();
    let (key, value) = match marker {
        Some(marker) => (Some(marker.key()), marker.value().unwrap()),
        None => (None, Bytes::from_static(b"value")),
    };
    let time = if marker.is_some() { 1 } else { 100 };
    if marker.is_some() {
        builder = builder.control();
    }
    builder.push(Timestamp(time), key.as_deref(), Some(&value), &[]).unwrap();
    let raw = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
    CheckedBatch::trusted(raw.header, raw.bytes, None)
}

fn marker(aborts: bool) -> ControlRecord {
    let end = EndTransaction { coordinator_epoch: -1 };
    if aborts { ControlRecord::Abort(end) } else { ControlRecord::Commit(end) }
}

/// A world, and which of its markers abort.
struct Model {
    world: World,
    aborts: BTreeMap<Offset, bool>,
    aborted: usize,
}

impl Model {
    fn new() -> Self {
        let world = World::new(settings());
        Self { world, aborts: BTreeMap::new(), aborted: 0 }
    }

    fn write(&mut self, id: i64) {
        let known = self.world.log.producers().iter().find(|(known, _)| known.0 == id);
        let last = known.and_then(|(_, entry)| entry.batches.back());
        let next = last.map_or(0, |batch| batch.last_sequence.0 + 1);
        self.world.put(&transactional(id, next, None));
    }

    fn end(&mut self, id: i64, aborts: bool) {
        let at = self.world.put(&transactional(id, -1, Some(&marker(aborts)))).base;
        self.aborts.insert(at, aborts);
    }

    /// What a replay of all that is in the log says.
    fn expected(&self) -> Vec<Aborted> {
        let mut open: BTreeMap<ProducerId, Offset> = BTreeMap::new();
        let mut expected = Vec::new();
        let end = self.world.log.end();
        for header in self.world.appended.iter().filter(|header| header.next_offset() <= end) {
            let (producer, marker) = (header.producer_id, header.base_offset);
            if !header.is_control() {
                open.entry(producer).or_insert(marker);
            } else if let Some(first) = open.remove(&producer).filter(|_| self.aborts[&marker]) {
                let last_stable = open.values().min().copied().unwrap_or(header.next_offset());
                expected.push(Aborted { producer, first, marker, last_stable });
            }
        }
        expected
    }

    fn check(&mut self) {
        let expected = self.expected();
        self.aborted = self.aborted.max(expected.len());
        let end = self.world.log.end();
        for from in (0..end.0).step_by(7).map(Offset) {
            let found = self.world.log.committed(from, end);
            let overlaps = |each: &&Aborted| each.marker >= from;
            let mut told: Vec<_> = expected.iter().filter(overlaps).collect();
            told.sort_by_key(|each| each.first);
            let told: Vec<_> = told.into_iter().map(|each| (each.producer, each.first)).collect();
            assert_eq!(found.aborted, told, "from {from}");
        }
    }

    fn step(&mut self, dice: &mut Dice) {
        let id = i64::try_from(dice.roll(4)).unwrap();
        match dice.roll(30) {
            0 => self.world.kill(),
            1 => self.world.lose_power(),
            2 => {
                self.world.close();
                self.world.reopen();
            }
            3 => self.world.flush(),
            4 => self.world.take_checkpoint(),
            5..=9 => self.end(id, dice.roll(3) > 0),
            _ => self.write(id),
        }
    }

    fn txn_files(&self) -> Vec<FilePath> {
        let names = self.world.disk.files.keys();
        names.filter(|name| name.path.ends_with(".txnindex")).cloned().collect()
    }
}

#[test]
fn any_schedule_of_crashes_keeps_what_was_aborted() {
    let mut most = 0;
    for seed in 0..100 {
        let (mut model, mut dice) = (Model::new(), Dice(seed));
        for _ in 0..200 {
            model.step(&mut dice);
            model.check();
        }
        most = most.max(model.aborted);
    }
    assert!(most > 20, "at most {most} transactions were aborted");
}

/// Three segments, in each of which transactions were aborted.
fn three_segments() -> Model {
    let mut model = Model::new();
    while model.world.log.segments().len() < 3 {
        model.write(1);
        model.end(1, true);
    }
    for id in [1, 2] {
        model.write(id);
        model.end(id, true);
    }
    model
}

#[test]
fn a_clean_stop_leaves_a_file_for_each_segment() {
    let mut model = three_segments();
    assert_eq!(model.txn_files().len(), 2);
    model.world.close();
    assert_eq!(model.txn_files().len(), 3);
    model.world.reopen();
    model.check();
}

#[test]
fn damage_to_a_file_has_the_records_tell() {
    for at in 0..3 {
        let mut model = three_segments();
        model.world.close();
        let path = model.txn_files()[at].clone();
        model.world.disk.files.get_mut(&path).unwrap()[1] = 9;
        model.world.reopen();
        model.check();
        model.world.close();
        assert_eq!(model.world.disk.files[&path][1], 0, "it was made anew");
    }
}

/// Puts sums of all files of a closed segment beside it, made so many changes ago.
fn put_sums(world: &mut World, base: Offset, ago: u64) {
    let files = SUMMED.map(|kind| {
        let path = world.file(&kind.name(base));
        let (content, stamp) = (&world.disk.files[&path], world.disk.stamp(&path));
        let (size, stamp) = (content.len() as u64, Stamp(stamp.0 - ago));
        FileSums { kind, size, stamp, blocks: Hasher::of(content) }
    });
    let owner = Owner { topic: world.log.store.topic_id, partition: PartitionIndex(0), base };
    let path = world.file(&FileKind::Sums.name(base));
    world.disk.files.insert(path, Sums { owner, files: files.to_vec() }.encode().to_vec());
}

#[test]
fn a_file_that_is_not_what_its_sums_say_has_the_records_tell() {
    let changes: [fn(&mut Vec<u8>); 3] = [
        |file| file.clear(),
        |file| file.truncate(34),
        // Another producer: what is left out then are the wrong records.
        |file| file[9] ^= 2,
    ];
    for change in changes.map(Some).into_iter().chain([None]) {
        let mut model = three_segments();
        model.world.close();
        let base = model.world.log.segments()[1].base;
        put_sums(&mut model.world, base, 0);
        let path = model.txn_files()[1].clone();
        let whole = model.world.disk.files[&path].clone();
        assert!(whole.len() > 34);
        match change {
            Some(change) => change(model.world.disk.files.get_mut(&path).unwrap()),
            None => drop(model.world.disk.files.remove(&path)),
        }
        model.world.reopen();
        model.check();
        assert_eq!(model.world.disk.files[&path], whole);
    }
}

#[test]
fn sums_that_cannot_be_read_say_nothing() {
    let mut model = three_segments();
    model.world.close();
    let base = model.world.log.segments()[1].base;
    put_sums(&mut model.world, base, 0);
    model.world.disk.unreadable = Some(model.world.file(&FileKind::Sums.name(base)));
    model.world.reopen();
    model.check();
}

#[test]
fn what_is_told_anew_is_told_once() {
    let mut model = three_segments();
    model.world.close();
    let bases: Vec<Offset> = model.world.log.segments().iter().map(|each| each.base).collect();
    let index = model.world.file(&FileKind::Index.name(bases[0]));
    model.world.disk.files.remove(&index).expect("it was there");
    let damaged = model.txn_files()[1].clone();
    model.world.disk.files.get_mut(&damaged).unwrap()[1] = 9;
    model.world.reopen();
    model.check();
    let markers: Vec<_> = model.world.log.aborted.entries().iter().map(|e| e.marker).collect();
    assert!(markers.is_sorted_by(|a, b| a < b), "{markers:?}");
}

#[test]
fn sums_of_other_records_say_nothing() {
    let mut model = three_segments();
    model.world.close();
    let base = model.world.log.segments()[1].base;
    put_sums(&mut model.world, base, 1);
    let path = model.txn_files()[1].clone();
    model.world.disk.files.remove(&path);
    model.world.reopen();
    assert!(!model.world.disk.files.contains_key(&path), "as in Kafka it is believed");
}

#[test]
fn files_that_find_no_space_are_written_later() {
    let mut model = three_segments();
    model.world.kill();
    for path in model.txn_files() {
        model.world.disk.files.remove(&path);
    }
    model.world.disk.most = Some(0);
    model.world.kill();
    model.check();
    assert_eq!(model.txn_files(), []);
    model.world.disk.most = None;
    let mut fx = Fx::new();
    model.world.log.reseal(&mut fx);
    model.world.run(&mut fx);
    assert_eq!(model.txn_files().len(), 2);
    model.world.close();
    model.world.reopen();
    model.check();
}

#[test]
fn a_file_that_says_more_than_the_log_has_goes() {
    let mut model = Model::new();
    model.write(1);
    model.world.flush();
    model.end(1, true);
    model.world.close();
    let log = model.world.log.folder().join("00000000000000000000.log");
    let torn = model.world.disk.files.get_mut(&log).unwrap();
    torn.truncate(torn.len() - 1);
    (model.world.clean, model.world.checkpoint) = (false, Offset(1).into());
    model.world.reopen();
    assert_eq!(model.txn_files(), Vec::new());
    model.check();
    assert_eq!(model.expected(), Vec::new());
}

#[test]
fn what_was_deleted_is_no_longer_told() {
    let mut model = three_segments();
    let (before, second) = (model.world.log.clone(), model.world.log.segments()[1].base);
    let mut fx = Fx::new();
    model.world.log.advance_start(second, &mut fx);
    model.world.run(&mut fx);
    let (end, log) = (model.world.log.end(), &model.world.log);
    assert_eq!(log.committed(second, end), before.committed(second, end));
    let told = |log: &Log| log.committed(Offset(0), end).aborted.len();
    assert!(told(&before) > told(log));
    assert_eq!(model.txn_files().len(), 1);
}

#[test]
fn a_marker_says_which_coordinator_wrote_it() {
    let mut producers = ProducerTable::default();
    let end = EndTransaction { coordinator_epoch: 9 };
    for record in [None, Some(ControlRecord::Commit(end))] {
        let batch = transactional(5, 0, record.as_ref());
        assert_eq!(crate::log::txn::note(batch.header(), batch.bytes(), &mut producers), None);
    }
    let (_, entry) = producers.iter().next().unwrap();
    assert_eq!((entry.coordinator_epoch, entry.open_transaction), (9, None));
}

#[test]
fn a_segment_that_ends_at_the_recovery_point_may_have_been_closed_after_it_was_written() {
    let mut model = three_segments();
    model.world.flush();
    let active = model.world.log.segments().last().unwrap().base;
    // Kafka's, or from when the segment that ends there went on.
    model.world.checkpoint = Checkpoint { recovery_point: active, durable: Offset(active.0 - 1) };
    // It was on its way when the process ended.
    let last = model.txn_files().pop().unwrap();
    model.world.disk.files.remove(&last);
    model.world.kill();
    model.check();
}
