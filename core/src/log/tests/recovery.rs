//! Crashes at moments of their own, and what recovery makes of them.

use super::kafkas::segments_of_two;
use super::*;
use crate::log::names::{LEADER_EPOCHS, LOG_START, PARTITION_METADATA};

impl World {
    fn begin_start(&mut self, start: i64) -> Vec<DiskOp> {
        let mut fx = Fx::new();
        self.log.advance_start(Offset(start), &mut fx);
        fx.drain().collect()
    }

    fn bytes_of(&mut self, name: &str) -> &mut Vec<u8> {
        self.disk.files.get_mut(&FilePath::new(0, format!("t-0/{name}"))).expect("it is there")
    }

    fn open(&mut self) -> Result<(), String> {
        let plan = plan(&self.settings, self.clean, self.checkpoint, None);
        self.log = recover(&mut self.disk, &mut self.files, plan)?;
        Ok(())
    }
}

/// Thirty batches of two records in several segments, nothing synced.
fn filled() -> World {
    let mut world = World::new(LogSettings { segment_bytes: 700, ..settings() });
    for n in 0..30 {
        world.append(n, None, 2);
    }
    world
}

#[test]
fn records_are_durably_deleted_when_the_start_is_durable() {
    let mut world = filled();
    world.log.durable = Offset(0);
    world.log.segments.iter_mut().for_each(|segment| segment.synced = segment.base);
    let ops = world.begin_start(40);
    assert!(world.log.segments()[0].base.0 > 0);
    assert_eq!(world.log.durable(), Offset(0), "the old start may come back, with what it lost");
    assert_eq!(world.log.epochs().epoch_at(Offset(10)), Some(LeaderEpoch(3)));
    let put = ops
        .into_iter()
        .find(|op| matches!(op, DiskOp::Put { path, .. } if path.path.ends_with(LOG_START)));
    let done = world.disk.run(put.expect("the start is written")).expect("it ends");
    let mut fx: Fx<DiskOp> = Fx::new();
    assert_eq!(world.log.on_io(&done, &mut fx), LogProgress::Durable);
    assert_eq!(world.log.durable(), Offset(40));
    assert_eq!(world.log.epochs().epoch_at(Offset(10)), None);
}

#[test]
fn damage_in_what_is_deleted_is_no_damage() {
    let mut world = filled();
    world.log.durable = Offset(0);
    world.log.segments.iter_mut().for_each(|segment| segment.synced = segment.base);
    for op in world.begin_start(59) {
        if let Some(done) = world.disk.run(op) {
            world.log.on_io(&done, &mut Fx::<DiskOp>::new());
        }
    }
    world.take_checkpoint();
    assert_eq!(world.checkpoint.durable, Offset(59));
    let base = world.log.segments().last().expect("one").base;
    world.bytes_of(&FileKind::Log.name(base)).fill(0);
    world.disk.kill();
    world.open().expect("nothing of it is wanted");
    assert_eq!((world.log.log_start().0, world.log.end().0), (59, 59));
}

#[test]
fn a_closed_segment_without_indexes_gets_them() {
    let mut world = filled();
    world.flush();
    world.take_checkpoint();
    let base = world.log.segments()[2].base;
    for kind in [FileKind::Index, FileKind::TimeIndex] {
        let path = FilePath::new(0, format!("t-0/{}", kind.name(base)));
        let whole = world.disk.files.remove(&path).expect("it is there");
        world.disk.kill();
        world.open().expect("it opens");
        assert_eq!(world.disk.files.get(&path), Some(&whole), "{kind:?}");
        world.check();
    }
}

#[test]
fn a_segment_is_not_read_again_once_a_checkpoint_says_that_it_was_closed() {
    let mut world = filled();
    world.flush();
    let active = world.log.segments().last().expect("one").base;
    assert!(world.log.end() > active);
    let stated = Offset(world.log.end().0 - 1);
    assert_eq!(
        Checkpoint::of(&world.log),
        Checkpoint { recovery_point: stated, durable: world.log.end() }
    );
    let before = world.log.segments().len();
    for n in 30.. {
        world.checkpoint = Checkpoint::of(&world.log);
        world.append(n, None, 2);
        if world.log.segments().len() > before {
            break;
        }
        world.flush();
    }
    let active = world.log.segments().last().expect("one").base;
    assert_eq!(world.checkpoint.durable, active, "it was said before the roll");
    let closed = world.log.segments()[before - 1].base;
    let damaged = |world: &mut World| world.bytes_of(&FileKind::Log.name(closed))[100] ^= 1;
    damaged(&mut world);
    world.disk.kill();
    assert!(world.open().is_err(), "it is read, since it may not have been closed");
    damaged(&mut world);
    world.open().expect("it is whole again");
    world.take_checkpoint();
    assert_eq!(world.checkpoint, Checkpoint::from(active));
    damaged(&mut world);
    world.disk.kill();
    world.open().expect("it is not read");
}

#[test]
fn the_log_contradicts_an_epoch_that_nobody_wrote_in() {
    let mut world = filled();
    *world.bytes_of(LEADER_EPOCHS) = b"0\n2\n3 0\n9 50\n".to_vec();
    world.disk.kill();
    world.open().expect("it opens");
    assert_eq!(world.log.epochs().encode(), "0\n1\n3 0\n");
}

/// All of it is closed with indexes, and half of it is below the recovery point.
fn half_durable() -> World {
    let mut world = filled();
    world.flush();
    world.take_checkpoint();
    for n in 30..60 {
        world.append(n, None, 2);
    }
    world
}

#[test]
fn a_read_that_brings_little_is_not_the_end_of_a_file() {
    for clean in [false, true] {
        for piece in [1, 60, 100] {
            let mut world = half_durable();
            world.disk.piece = Some(piece);
            if clean {
                world.close();
            }
            world.disk.kill();
            world.open().unwrap_or_else(|why| panic!("in pieces of {piece}: {why}"));
            world.disk.piece = None;
            world.check();
            assert_eq!(world.log.end(), Offset(120), "in pieces of {piece}");
        }
    }
}

#[test]
fn a_segment_that_is_shorter_than_its_folder_says_is_not_cut() {
    let mut world = half_durable();
    let names = world.disk.names();
    world.disk.piece = Some(0);
    world.disk.kill();
    let why = world.open().expect_err("no record can be read");
    assert!(why.contains("shorter than its folder says"), "{why}");
    world.disk.piece = None;
    world.open().expect("nothing was changed");
    assert_eq!((world.log.end(), world.disk.names()), (Offset(120), names));
}

#[test]
fn nothing_is_cut_for_bytes_that_came_wrong_once() {
    let world = half_durable();
    let mut misread = 0;
    for before in 0..20 {
        // In a batch: its offset, its length, its checksum, what that covers.
        for at in [7, 11, 18, 25, 70, 400] {
            let mut world =
                World { disk: world.disk.clone(), log: world.log.clone(), ..half_durable() };
            world.disk.misread = Some((before, at));
            world.disk.kill();
            world
                .open()
                .unwrap_or_else(|why| panic!("byte {at} of the read after {before}: {why}"));
            misread += u32::from(world.disk.misread.take().is_none());
            world.check();
            assert_eq!(world.log.end(), Offset(120), "byte {at} of the read after {before}");
        }
    }
    assert!(misread > 30, "{misread} reads were wrong");
}

#[test]
fn an_epoch_is_written_down_though_the_folder_does_not_say_whose_it_is() {
    let mut world = filled();
    let (mut fx, path) = (Fx::new(), FilePath::new(0, "t-0/partition.metadata"));
    assert!(world.disk.files.remove(&path).is_some());
    world.kill();
    world.log.begin_epoch(LeaderEpoch(7), &mut fx);
    world.run(&mut fx);
    assert!(world.bytes_of(LEADER_EPOCHS).ends_with(b"7 60\n"));
}

/// The last batch of a segment says, under a right checksum, that it goes on far into later ones.
fn overreaching(durable: bool) -> (World, Result<(), String>) {
    let mut world = filled();
    if durable {
        world.flush();
        world.take_checkpoint();
    }
    // Without its epochs the whole log is read.
    world.disk.files.remove(&FilePath::new(0, format!("t-0/{LEADER_EPOCHS}")));
    let content = world.bytes_of(&FileKind::Log.name(Offset(0)));
    let mut at = 0;
    while let Some(next) = BatchHeader::parse(&content[at..]).ok().map(|h| at + h.total_len()) {
        if next == content.len() {
            break;
        }
        at = next;
    }
    let batch = &mut content[at..];
    batch[23..27].copy_from_slice(&1_000_i32.to_be_bytes());
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    world.disk.kill();
    let opened = world.open();
    (world, opened)
}

#[test]
fn an_end_that_jumps_takes_no_durable_records_away() {
    let (world, opened) = overreaching(false);
    opened.expect("nothing of it was durable");
    assert!(world.log.end() > Offset(1_000), "{}", world.log.end());
    let (mut world, opened) = overreaching(true);
    let why = opened.expect_err("the segment behind was on the disk");
    assert!(why.contains("lies in what comes before it"), "{why}");
    assert!(why.contains("nothing was changed"), "{why}");
    let segments = world.disk.files.keys().filter(|path| path.path.ends_with(".log")).count();
    assert!(segments > 1, "{segments} segments");
    assert!(!world.bytes_of(&FileKind::Log.name(Offset(0))).is_empty());
}

/// The last batch lies where an earlier one should. (All are of one length.)
fn misplaced(durable: bool, gaps: bool) -> (World, Result<(), String>) {
    let mut world = World::new(LogSettings { gaps, ..settings() });
    for n in 0..9 {
        world.append(n, None, 1);
    }
    if durable {
        world.flush();
        world.take_checkpoint();
    }
    let content = world.bytes_of(&FileKind::Log.name(Offset(0)));
    let len = content.len() / 9;
    let last = content[8 * len..].to_vec();
    content[4 * len..5 * len].copy_from_slice(&last);
    content[8 * len..].fill(0);
    world.disk.kill();
    let opened = world.open();
    (world, opened)
}

#[test]
fn a_batch_at_a_wrong_place_ends_the_log_before_it() {
    for gaps in [false, true] {
        let (world, opened) = misplaced(false, gaps);
        opened.expect("nothing of it was durable");
        assert_eq!(world.log.end(), Offset(4));
        let (mut world, opened) = misplaced(true, gaps);
        let why = opened.expect_err("it was durable up to there");
        assert!(
            why.contains("damaged at offset 4") && why.contains("nothing was changed"),
            "{why}"
        );
        assert_eq!(world.bytes_of(&FileKind::Log.name(Offset(0))).len() % 9, 0);
    }
}

#[test]
fn nothing_counts_behind_records_that_are_missing() {
    let mut world = World::new(LogSettings { gaps: false, ..settings() });
    for n in 0..6 {
        world.append(n, None, 2);
    }
    let bytes = world.bytes_of(&FileKind::Log.name(Offset(0)));
    let batch = bytes.len() / 6;
    bytes.drain(3 * batch..4 * batch);
    world.disk.kill();
    world.open().expect("nothing of it was durable");
    assert_eq!(world.log.end(), Offset(6));
    world.check();
}

#[test]
fn what_comes_back_past_the_end_of_a_clean_stop_is_nothing() {
    let mut world = segments_of_two(10);
    world.close();
    let path = world.file(&FileKind::Snapshot.name(Offset(10)));
    let later = world.file(&FileKind::Snapshot.name(Offset(99)));
    let snapshot = world.disk.files[&path].clone();
    world.disk.files.insert(later, snapshot);
    world.reopen();
    assert_eq!(world.log.end(), Offset(10));
}

#[test]
fn a_log_that_is_opened_anew_is_no_other_topics() {
    let mut world = segments_of_two(2);
    let path = world.file(PARTITION_METADATA);
    let text = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAaQ\n";
    world.disk.files.insert(path, text.as_bytes().to_vec());
    let plan = RecoveryPlan { durable: Offset(0), ..world.log.reopening() };
    let refused = recover(&mut world.disk, &mut world.files, plan).unwrap_err();
    assert!(refused.contains("belongs to topic"), "{refused}");
}

#[test]
fn a_clean_stop_without_its_snapshot_has_producers_learnt_from_the_records() {
    let mut world = World::new(LogSettings { index_interval: 1, ..settings() });
    for end in [5, 10] {
        for n in end - 5..end {
            world.append(n, Some((n, 0)), 1);
        }
        world.close();
        if end == 5 {
            world.reopen();
        }
    }
    let path = FilePath::new(0, format!("t-0/{}", FileKind::Snapshot.name(Offset(10))));
    world.disk.files.remove(&path).expect("it was there");
    world.reopen();
    assert_eq!(world.log.producers().iter().count(), 10);
}

#[test]
fn no_record_is_written_before_the_folder_says_whose_it_is() {
    let mut world = World::new(LogSettings { flush_messages: 1, ..settings() });
    let (mut fx, mut files) = (Fx::new(), FileIds::of_unit(3));
    for n in 0..2 {
        let appended =
            world.log.append(NOW, &batch(n, None, 1), LeaderEpoch(3), &mut files, &mut fx);
        appended.expect("it fits");
    }
    let touches = |op: &DiskOp| matches!(op, DiskOp::Write { .. } | DiskOp::Sync { .. });
    let ops: Vec<DiskOp> = fx.drain().collect();
    assert!(!ops.iter().any(touches), "{ops:?}");
    for done in ops.into_iter().filter_map(|op| world.disk.run(op)).collect::<Vec<_>>() {
        world.log.on_io(&done, &mut fx);
    }
    let kinds: Vec<bool> = fx.as_slice().iter().map(touches).collect();
    assert_eq!(kinds, [true; 3], "two writes and a sync, in order: {:?}", fx.as_slice());
    assert!(matches!(fx.as_slice()[0], DiskOp::Write { position: 0, .. }));
    for done in fx.drain().filter_map(|op| world.disk.run(op)).collect::<Vec<_>>() {
        world.log.on_io(&done, &mut Fx::<DiskOp>::new());
    }
    assert_eq!(world.log.written(), Offset(2));
}

#[test]
fn records_that_are_nobodys_are_not_given_to_a_new_topic() {
    for (anonymous, end) in [(true, 10), (false, 0)] {
        let mut world = segments_of_two(10);
        let owner = world.file(PARTITION_METADATA);
        world.disk.files.remove(&owner);
        let plan = RecoveryPlan { anonymous, ..plan(&world.settings, false, Offset(0), None) };
        world.log = recover(&mut world.disk, &mut world.files, plan).expect("it opens");
        assert_eq!(world.log.end(), Offset(end));
        let aside = world.disk.names().iter().any(|name| name.contains("-stray"));
        assert_eq!(aside, !anonymous);
    }
}

/// Closed segments that are not read again, and what an opening says of them.
fn closed_and_opened(change: impl FnOnce(&mut World, &[Offset])) -> (World, Option<String>) {
    let mut world = World::new(LogSettings { segment_bytes: 700, gaps: false, ..settings() });
    for n in 0..30 {
        world.append(n, None, 2);
    }
    world.close();
    let bases: Vec<Offset> = world.log.segments().iter().map(|segment| segment.base).collect();
    assert!(bases.len() > 3);
    change(&mut world, &bases);
    let plan = plan(&world.settings, true, world.checkpoint, None);
    let (log, note) = recover_with(&mut world.disk, &mut world.files, plan).expect("it opens");
    world.log = log;
    (world, note)
}

#[test]
fn a_closed_segment_that_is_missing_or_empty_is_told_of() {
    assert_eq!(closed_and_opened(|_, _| {}).1, None);
    let (_, note) = closed_and_opened(|world, bases| {
        for kind in [FileKind::Log, FileKind::Index, FileKind::TimeIndex] {
            let path = world.file(&kind.name(bases[1]));
            world.disk.files.remove(&path);
        }
    });
    let note = note.expect("records are missing");
    assert!(note.contains("are missing: the segment 0 ends before it"), "{note}");
    let (_, note) = closed_and_opened(|world, bases| {
        world.bytes_of(&FileKind::Log.name(bases[1])).clear();
    });
    assert!(note.is_some_and(|note| note.contains("are missing")));
}

#[test]
fn a_time_index_that_is_cut_short_is_made_anew() {
    for entries in 0..3 {
        let mut whole = Vec::new();
        let (mut world, note) = closed_and_opened(|world, bases| {
            let times = world.bytes_of(&FileKind::TimeIndex.name(bases[1]));
            whole.clone_from(times);
            assert!(whole.len() >= 36);
            times.truncate(12 * entries);
        });
        let base = world.log.segments()[1].base;
        assert_eq!(*world.bytes_of(&FileKind::TimeIndex.name(base)), whole, "{entries} {note:?}");
        world.check();
    }
}

#[test]
fn producers_of_what_was_deleted_are_known_when_nothing_else_is_left() {
    // The second segment is gone: alone, with a third that came through without it, or with the
    // first that is back, torn.
    for survivor in [None, Some(5), Some(0)] {
        let mut world = World::new(LogSettings { segment_bytes: 300, ..settings() });
        let rolled = |world: &World| world.log.segments().last().map_or(Offset(0), |it| it.base);
        let mut sequence = 0;
        while rolled(&world) == Offset(0) {
            world.append(0, Some((1, sequence)), 1);
            sequence += 1;
        }
        let start = rolled(&world);
        let mut fx = Fx::new();
        world.log.advance_start(start, &mut fx);
        world.run(&mut fx);
        world.take_checkpoint();
        let durable = world.disk.clone();
        world.disk.lose_power();
        assert!(!world.disk.names().iter().any(|name| name.contains(".log")));
        if let Some(distance) = survivor {
            let base = if distance > 0 { start.plus(distance) } else { Offset(0) };
            let path = world.file(&FileKind::Log.name(base));
            let bytes = &durable.files[&world.file(&FileKind::Log.name(start))];
            world.disk.files.insert(path, bytes[..bytes.len() - 1].to_vec());
        }
        world.open().expect("nothing that is missing was durable");
        assert_eq!((world.log.log_start(), world.log.end()), (start, start));
        let (id, found) = world.log.producers().iter().next().expect("it was answered");
        let last = found.batches.back().expect("the last one that was deleted");
        assert_eq!((id.0, last.last_offset), (1, start.plus(-1)));
    }
}

#[test]
fn an_empty_time_index_is_believed_only_where_the_last_record_shows_that_it_may_be() {
    let times = |world: &World, at: usize| {
        let base = world.log.segments()[at].base;
        world.disk.files[&world.file(&FileKind::TimeIndex.name(base))].clone()
    };
    // Compacted, so that nobody looks at the last record.
    let mut world = World::new(LogSettings { segment_bytes: 700, ..settings() });
    for n in 0..30 {
        world.append(n, None, 2);
    }
    world.close();
    let whole = times(&world, 1);
    assert!(whole.len() >= 24);
    let base = world.log.segments()[1].base;
    world.bytes_of(&FileKind::TimeIndex.name(base)).clear();
    world.reopen();
    assert_eq!(times(&world, 1), whole);
}

#[test]
fn a_decayed_end_of_a_segment_without_times_does_not_stop_an_opening() {
    let mut world = World::new(LogSettings { segment_bytes: 300, gaps: false, ..settings() });
    for _ in 0..8 {
        world.append(-101, None, 1);
    }
    world.close();
    let bases: Vec<Offset> = world.log.segments().iter().map(|segment| segment.base).collect();
    let (closed, active) = (bases[bases.len() - 2], bases[bases.len() - 1]);
    let times = FileKind::TimeIndex.name(closed);
    assert!(world.bytes_of(&times).is_empty());
    // A follower was cut there, and the last batch before it decays.
    world.bytes_of(&FileKind::Log.name(active)).clear();
    for kind in [FileKind::Index, FileKind::TimeIndex] {
        world.bytes_of(&kind.name(active)).clear();
    }
    let records = world.bytes_of(&FileKind::Log.name(closed));
    let (len, batch) = (records.len(), records.len() / 3);
    records[len - batch + 16] ^= 0xff;
    let plan = plan(&world.settings, true, active, None);
    let opened = recover(&mut world.disk, &mut world.files, plan).expect("it opens");
    assert_eq!(opened.end(), active);
}

#[test]
fn a_beginning_that_was_durable_and_is_gone_is_missed_whatever_else_is() {
    let mut world = World::new(LogSettings { segment_bytes: 300, ..settings() });
    for n in 0..12 {
        world.append(n, None, 1);
    }
    let mut fx = Fx::new();
    let start = world.log.segments()[1].base;
    world.log.advance_start(start, &mut fx);
    world.run(&mut fx);
    world.close();
    let gone = [FileKind::Log.name(start), LEADER_EPOCHS.to_owned()];
    for name in gone {
        let path = world.file(&name);
        world.disk.files.remove(&path).expect("it was there");
    }
    let before = world.disk.files.clone();
    let why = world.open().expect_err("records are missing");
    assert!(why.contains("one is missing. Nothing was changed"), "{why}");
    let logs = |files: &BTreeMap<FilePath, Vec<u8>>| {
        files.keys().filter(|path| path.path.ends_with(".log")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(logs(&world.disk.files), logs(&before));
}

#[test]
fn a_clean_stop_waits_for_segments_that_are_being_deleted() {
    let mut world = World::new(LogSettings { segment_bytes: 300, ..settings() });
    let mut fx = Fx::new();
    // Files beside the closed segments are still being written when these are deleted.
    for n in 0..8 {
        let checked = batch(n, None, 1);
        let World { log, files, .. } = &mut world;
        log.append(NOW, &checked, LeaderEpoch(3), files, &mut fx).expect("it fits");
        for op in fx.drain().collect::<Vec<_>>() {
            let beside = matches!(&op, DiskOp::Put { path, .. } if path.path.contains("index"));
            if let Some(done) = world.disk.run(op).filter(|_| !beside) {
                world.log.on_io(&done, &mut fx);
            }
        }
    }
    let active = world.log.segments().last().unwrap().base;
    let late = world.begin_start(active.0);
    world.log.close(&mut fx);
    world.run(&mut fx);
    assert!(!world.log.is_closed(), "a start on its way");
    for op in late {
        if let Some(done) = world.disk.run(op) {
            world.log.on_io(&done, &mut fx);
        }
    }
    world.run(&mut fx);
    assert!(world.log.is_closed());
    assert_eq!(world.log.recovery_point(), world.log.end());
    world.take_checkpoint();
    world.clean = true;
    world.open().expect("it opens");
}
