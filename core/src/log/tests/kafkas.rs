//! Folders in which Apache Kafka has been at work.

use super::*;

const KEPT: &str = "t-0/log-start";

/// A log of `count` records, a segment for each two.
pub(super) fn segments_of_two(count: i64) -> World {
    let two = batch(0, None, 1).bytes().len() as u64 * 2;
    let mut world = World::new(LogSettings { segment_bytes: two, ..settings() });
    for n in 0..count {
        world.append(n, None, 1);
    }
    world
}

impl World {
    pub(super) fn file(&self, name: &str) -> FilePath {
        self.log.folder().join(name)
    }

    fn remove(&mut self, name: &str) {
        let path = self.file(name);
        assert!(self.disk.files.remove(&path).is_some(), "{name}");
    }

    fn put_text(&mut self, name: &str, text: &str) {
        let path = self.file(name);
        self.disk.files.insert(path, text.as_bytes().to_vec());
    }

    /// Where the log starts and ends when it is opened after a crash.
    fn found(&mut self, cleaned: Option<i64>, start: Option<i64>) -> (i64, i64) {
        let plan = plan(&self.settings, false, Offset(0), start.map(Offset));
        let gaps = cleaned.map_or(Gaps::None, |at| Gaps::Cleaned(Offset(at)));
        let plan = RecoveryPlan { gaps, durable: Offset(0), ..plan };
        self.log = recover(&mut self.disk, &mut self.files, plan).expect("it opens");
        (self.log.log_start().0, self.log.end().0)
    }
}

/// A segment in the middle is gone, of a log that Dohle made or another.
fn check_gap(kafkas: bool, cleaned: Option<i64>, deleted: bool, expect: i64) {
    let mut world = segments_of_two(10);
    world.remove(&FileKind::Log.name(Offset(4)));
    if kafkas {
        world.disk.files.remove(&FilePath::new(0, KEPT)).expect("it was there");
    }
    if deleted {
        world.put_text("00000000000000000004.log.deleted", "x");
    }
    assert_eq!(world.found(cleaned, None), (0, expect), "{kafkas} {cleaned:?} {deleted}");
    // And so it is once more, when the disk is full under it.
    let again =
        RecoveryPlan { durable: Offset(0), recovery_point: Offset(0), ..world.log.reopening() };
    let log = recover(&mut world.disk, &mut world.files, again).expect("it opens");
    assert_eq!(log.end(), Offset(expect));
}

#[test]
fn what_compaction_took_out_is_no_torn_end() {
    check_gap(false, None, false, 4);
    check_gap(false, Some(4), false, 4);
    check_gap(false, Some(6), false, 10);
    check_gap(false, None, true, 10);
    check_gap(true, Some(2), false, 10);
    check_gap(true, None, false, 4);
}

#[test]
fn a_start_that_kafka_moved_is_the_start() {
    // By all of a segment, and to the middle of one: the first epoch begins there.
    for (start, gone) in [(4, &[0, 2][..]), (5, &[0, 2])] {
        let mut world = segments_of_two(10);
        gone.iter().for_each(|base| world.remove(&FileKind::Log.name(Offset(*base))));
        world.put_text("leader-epoch-checkpoint", &format!("0\n1\n3 {start}\n"));
        assert_eq!(world.found(None, Some(start)), (start, 10));
    }
}

/// Epochs tell of a start that Kafka moved; should they be lost, the folder itself has to tell.
#[test]
fn a_start_that_was_moved_is_written_down() {
    let mut world = segments_of_two(10);
    world.put_text("leader-epoch-checkpoint", "0\n1\n3 5\n");
    assert_eq!(world.found(None, Some(5)), (5, 10));
    assert_eq!(world.disk.files[&FilePath::new(0, KEPT)], offset_file::encode(Offset(5)));
    world.remove("leader-epoch-checkpoint");
    assert_eq!(world.found(None, None), (5, 10));
}

#[test]
fn a_folder_that_kafka_made_says_where_it_starts_once_it_is_written_to() {
    let mut world = segments_of_two(4);
    world.remove("log-start");
    assert_eq!(world.found(None, Some(1)), (1, 4));
    world.append(9, None, 1);
    assert_eq!(world.disk.files[&FilePath::new(0, KEPT)], offset_file::encode(Offset(1)));
}

/// Segments 0, 2 and 4 were compacted into one with the records 0 and 3, under the name `ending`;
/// of the old ones some are gone already.
fn compacting(ending: &str, gone: &[i64]) -> World {
    let mut world = segments_of_two(10);
    let content = |base: i64| {
        let path = world.file(&FileKind::Log.name(Offset(base)));
        Bytes::copy_from_slice(&world.disk.files[&path])
    };
    let batches: Vec<_> = split_batches(content(0)).chain(split_batches(content(2))).collect();
    let kept: Vec<_> = [0, 3].map(|at: usize| batches[at].clone().unwrap().bytes).concat();
    let index = world.file(&format!("{}{ending}", FileKind::Index.name(Offset(0))));
    let log = world.file(&format!("{}{ending}", FileKind::Log.name(Offset(0))));
    world.disk.files.extend([(index, Vec::new()), (log, kept)]);
    for base in gone {
        world.remove(&FileKind::Log.name(Offset(*base)));
    }
    world
}

fn check_compaction(ending: &str, gone: &[i64], expect: &[i64]) {
    let mut world = compacting(ending, gone);
    assert_eq!(world.found(Some(0), None), (0, 10), "{ending} {gone:?}");
    let (mut at, mut bases) = (0, Vec::new());
    while at < 10 {
        let batch = split_batches(world.read(Offset(at))).next().unwrap().unwrap();
        bases.push(batch.header.base_offset.0);
        at = batch.header.next_offset().0;
    }
    assert_eq!(bases, expect, "{ending} {gone:?}");
    let left = world.disk.files.keys().filter(|path| path.path.contains(".log."));
    assert_eq!(left.count(), 0, "{ending} {gone:?}");
}

#[test]
fn a_compaction_that_kafka_did_not_finish_is_finished() {
    for gone in [&[][..], &[0], &[0, 2]] {
        check_compaction(".swap", gone, &[0, 3, 4, 5, 6, 7, 8, 9]);
    }
    check_compaction(".cleaned", &[], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_damaged_one_is_left_alone() {
    let mut world = compacting(".swap", &[0]);
    let path = world.file("00000000000000000000.log.swap");
    *world.disk.files.get_mut(&path).unwrap().last_mut().unwrap() ^= 1;
    let files = world.disk.files.clone();
    let plan = plan(&world.settings, false, Offset(0), None);
    let why = recover(&mut world.disk, &mut world.files, plan).unwrap_err();
    assert!(why.contains("damaged"), "{why}");
    assert_eq!(world.disk.files, files);
}

/// Kafka lengthens a segment to its full size when `preallocate` says so; a crash leaves the rest.
#[test]
fn zeros_behind_the_records_are_no_damage() {
    let mut world = World::new(settings());
    world.append(1, None, 3);
    world.append(2, None, 3);
    world.flush();
    world.take_checkpoint();
    let (path, segment) =
        world.disk.files.iter_mut().find(|(path, _)| path.path.ends_with(".log")).expect("one");
    let (path, len) = (path.clone(), segment.len());
    segment.resize(2_000, 0);
    world.kill();
    assert_eq!(world.log.end(), Offset(6));
    assert_eq!(world.disk.files[&path].len(), len, "cut where the records end");
    world.append(3, None, 1);
    world.close();
    world.reopen();
}
