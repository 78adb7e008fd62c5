//! Logs against a model: whatever happens, what comes back is a prefix that holds all that was
//! durable, and everything derived equals a replay.

mod kafkas;
mod props;
mod recovery;
mod truncation;
mod txn;

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp, Uuid};
use dohle_wire::record::{BatchBuilder, BatchHeader, NoCodecs, RawBatch, split_batches};

use super::producer::Verdict;
use super::recover::{Gaps, Recovered, Recovery, RecoveryPlan};
use super::*;
use crate::disk::IoOk;
use crate::memory_disk::MemoryDisk;
use crate::mutant::Mutants;

mod derived;

const NOW: Now = Now { mono: Instant(0), wall: Timestamp(1_000) };

fn settings() -> LogSettings {
    LogSettings {
        segment_bytes: 2_000,
        segment_ms: i64::MAX,
        index_bytes: 10_000,
        index_interval: 100,
        flush_messages: i64::MAX,
        flush_ms: i64::MAX,
        gaps: true,
        preallocate: false,
        mutants: Mutants::default(),
    }
}

fn batch(seed: i64, producer: Option<(i64, i32)>, records: i64) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Offset(0));
    if let Some((id, sequence)) = producer {
        builder = builder.producer(ProducerId(id), ProducerEpoch(0), Sequence(sequence));
    }
    for n in 0..records {
        let value = format!("value {seed} {n}");
        builder.push(Timestamp(100 + seed), None, Some(value.as_bytes()), &[]).unwrap();
    }
    let raw = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
    CheckedBatch::trusted(raw.header, raw.bytes, None)
}

/// What a checkpoint says of a log.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Checkpoint {
    recovery_point: Offset,
    durable: Offset,
}

impl Checkpoint {
    fn of(log: &Log) -> Self {
        Self { recovery_point: log.stated_recovery_point(), durable: log.recovery_point() }
    }
}

impl From<Offset> for Checkpoint {
    fn from(at: Offset) -> Self {
        Self { recovery_point: at, durable: at }
    }
}

/// A log on a disk, with what was appended to it.
struct World {
    disk: MemoryDisk,
    files: FileIds,
    settings: LogSettings,
    log: Log,
    appended: Vec<BatchHeader>,
    clean: bool,
    checkpoint: Checkpoint,
    log_start: Offset,
}

impl World {
    fn new(settings: LogSettings) -> Self {
        let mut disk = MemoryDisk::default();
        let mut files = FileIds::of_unit(1);
        let plan = plan(&settings, false, Offset(0), None);
        let log = recover(&mut disk, &mut files, plan).expect("an empty folder opens");
        Self {
            disk,
            files,
            settings,
            log,
            appended: Vec::new(),
            clean: false,
            checkpoint: Checkpoint::default(),
            log_start: Offset(0),
        }
    }

    fn run(&mut self, fx: &mut Fx<DiskOp>) {
        while !fx.is_empty() {
            let ops: Vec<_> = fx.drain().collect();
            for done in ops.into_iter().filter_map(|op| self.disk.run(op)) {
                self.log.on_io(&done, fx);
            }
        }
    }

    fn append(&mut self, seed: i64, producer: Option<(i64, i32)>, records: i64) -> LogAppend {
        self.put(&batch(seed, producer, records))
    }

    fn put(&mut self, checked: &CheckedBatch) -> LogAppend {
        let mut fx = Fx::new();
        let epoch = LeaderEpoch(3);
        let appended =
            self.log.append(NOW, checked, epoch, &mut self.files, &mut fx).expect("it fits");
        let mut header = *checked.header();
        header.base_offset = appended.base;
        header.partition_leader_epoch = epoch;
        self.appended.push(header);
        self.run(&mut fx);
        appended
    }

    fn flush(&mut self) {
        let mut fx = Fx::new();
        self.log.flush(&mut fx);
        self.run(&mut fx);
    }

    fn take_checkpoint(&mut self) {
        self.checkpoint = Checkpoint::of(&self.log);
        self.log_start = self.log.log_start();
    }

    fn close(&mut self) {
        let mut fx = Fx::new();
        self.log.close(&mut fx);
        self.run(&mut fx);
        assert!(self.log.is_closed());
        self.take_checkpoint();
        self.clean = true;
    }

    fn reopen(&mut self) {
        let start = (self.log_start.0 > 0).then_some(self.log_start);
        let plan = plan(&self.settings, self.clean, self.checkpoint, start);
        self.log = recover(&mut self.disk, &mut self.files, plan).expect("it opens");
        self.clean = false;
        self.check();
    }

    fn kill(&mut self) {
        self.disk.kill();
        self.reopen();
    }

    fn lose_power(&mut self) {
        let durable = self.log.durable();
        self.disk.lose_power();
        self.reopen();
        assert!(self.log.end() >= durable, "durable {durable}, found {}", self.log.end());
        self.appended.retain(|header| header.next_offset() <= self.log.end());
    }

    /// L7 and P4: what is there is what was appended, and everything derived follows from it.
    fn check(&mut self) {
        let kept = self.appended.iter().filter(|header| header.next_offset() <= self.log.end());
        let kept: Vec<_> = kept.copied().collect();
        let mut producers = ProducerTable::default();
        let mut epochs = EpochCache::default();
        for header in &kept {
            producers.note(header);
            epochs.begin(header.partition_leader_epoch, header.base_offset);
        }
        epochs.cut_start(self.log.log_start());
        assert_eq!(self.log.end(), kept.last().map_or(Offset(0), BatchHeader::next_offset));
        assert_eq!(self.log.producers(), &producers, "P4");
        assert_eq!(self.log.epochs(), &epochs, "L3");
        let start = self.log.log_start();
        for header in kept.iter().filter(|header| header.base_offset >= start) {
            self.check_read(header);
        }
        self.check_times(&kept);
    }

    fn check_read(&mut self, header: &BatchHeader) {
        let bytes = self.read(header.last_offset());
        let found = split_batches(bytes).next().expect("one batch").expect("whole");
        assert_eq!(found.header.base_offset, header.base_offset);
        assert_eq!(found.header.crc, header.crc, "L5");
        assert!(found.crc_ok());
    }

    fn read(&mut self, from: Offset) -> Bytes {
        let end = self.log.end();
        let span = match self.log.read(from, end) {
            Reading::Empty => return Bytes::new(),
            Reading::At(span) => span,
            Reading::Locate(plan) => {
                let found = self.disk.locate(&plan).unwrap().expect("it is there");
                tail::Span::located(&plan, &found)
            }
        };
        let hole = span.hole(1);
        let id = io_id(0, 1, What::Recover, 0);
        let file = crate::disk::FileId(hole.file);
        let read = DiskOp::Read { id, file, position: hole.position, len: hole.len };
        match self.disk.run(read).unwrap().result {
            Ok(IoOk::Read(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    fn check_times(&mut self, kept: &[BatchHeader]) {
        let there = |h: &&BatchHeader| h.last_offset() >= self.log.log_start() && !h.is_control();
        let Some(newest) = kept.iter().filter(there).map(|h| h.max_timestamp).max() else { return };
        assert_eq!(self.log.max_timestamp(), Some(newest));
        let plan = self.log.read_time(newest, self.log.end()).expect("a segment has it");
        let found = self.disk.locate(&plan).unwrap().expect("a batch has it");
        let first = kept.iter().filter(there).find(|h| h.max_timestamp >= newest).unwrap();
        assert_eq!(found.base, first.base_offset);
    }
}

fn plan(
    settings: &LogSettings,
    clean: bool,
    checkpoint: impl Into<Checkpoint>,
    log_start: Option<Offset>,
) -> RecoveryPlan {
    let Checkpoint { recovery_point, durable } = checkpoint.into();
    RecoveryPlan {
        owner: 0,
        generation: 1,
        folder: FilePath::new(0, "t-0"),
        topic_id: TopicId(Uuid::from_u128(77 << 64)),
        own: false,
        anonymous: true,
        clean,
        recovery_point,
        durable,
        gaps: Gaps::None,
        log_start,
        settings: settings.clone(),
    }
}

fn recover(disk: &mut MemoryDisk, files: &mut FileIds, plan: RecoveryPlan) -> Result<Log, String> {
    recover_with(disk, files, plan).map(|(log, _)| log)
}

/// The log, and what people should know of it.
fn recover_with(
    disk: &mut MemoryDisk,
    files: &mut FileIds,
    plan: RecoveryPlan,
) -> Result<(Log, Option<String>), String> {
    let mut fx: Fx<DiskOp> = Fx::new();
    let mut recovery = Recovery::begin(plan, &mut fx);
    loop {
        let ops: Vec<_> = fx.drain().collect();
        assert!(!ops.is_empty(), "recovery waits for nothing");
        for done in ops.into_iter().filter_map(|op| disk.run(op)) {
            match recovery.step(NOW, done, files, &mut fx) {
                Recovered::Working => {}
                Recovered::Done(log, note) => return Ok((*log, note)),
                Recovered::Failed(why) | Recovered::Full(why) => return Err(why),
            }
        }
    }
}

/// A small generator for test schedules.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn check_schedule(seed: u64, settings: LogSettings) {
    let mut dice = Dice(seed);
    let mut world = World::new(settings);
    for step in 0..150_i64 {
        match dice.roll(40) {
            0 => world.kill(),
            1 => world.lose_power(),
            2 => {
                world.close();
                world.reopen();
            }
            3 => {
                world.close();
                world.clean = false;
                world.lose_power();
            }
            4..=6 => world.flush(),
            7..=8 => world.take_checkpoint(),
            9 => advance_start(&mut world, &mut dice),
            _ => append_something(&mut world, &mut dice, step),
        }
    }
    world.check();
}

fn append_something(world: &mut World, dice: &mut Dice, step: i64) {
    let records = 1 + i64::try_from(dice.roll(6)).unwrap();
    let id = i64::try_from(dice.roll(4)).unwrap();
    let known = world.log.producers().iter().find(|(known, _)| known.0 == id);
    let next = known.and_then(|(_, e)| e.batches.back()).map_or(0, |b| b.last_sequence.0 + 1);
    let producer = (id > 0).then_some((id, next));
    world.append(step, producer, records);
}

fn advance_start(world: &mut World, dice: &mut Dice) {
    // Producers whose batches leave the log are forgotten only by a restart from the log alone;
    // the model keeps them, so a snapshot has to cover them first.
    let end = world.log.end().0;
    let start = world.log.log_start().0;
    let segments = world.log.segments();
    let bound = segments.last().map_or(start, |active| active.base.0.max(start));
    if bound > start && bound < end && world.log.recovery_point().0 >= bound {
        let span = u64::try_from(bound - start).unwrap();
        let to = start + i64::try_from(dice.roll(span + 1)).unwrap();
        let mut fx = Fx::new();
        world.log.advance_start(Offset(to), &mut fx);
        world.run(&mut fx);
        world.take_checkpoint();
    }
}

#[test]
fn any_schedule_of_crashes_keeps_the_log() {
    for seed in 0..300 {
        check_schedule(seed, settings());
    }
}

#[test]
fn with_a_sync_before_each_answer_nothing_is_lost() {
    let mut world = World::new(LogSettings { flush_messages: 1, ..settings() });
    for n in 0..50 {
        let appended = world.append(n, None, 2);
        assert_eq!(world.log.durable(), appended.next);
        if n % 7 == 0 {
            world.lose_power();
            assert_eq!(world.log.end(), appended.next);
        }
    }
}

#[test]
fn a_torn_tail_is_cut_at_every_byte() {
    let mut world = World::new(LogSettings { segment_bytes: 100_000, ..settings() });
    for n in 0..4 {
        world.append(n, Some((9, i32::try_from(n).unwrap() * 2)), 2);
    }
    let path = FilePath::new(0, "t-0/00000000000000000000.log");
    let whole = world.disk.files[&path].clone();
    let last = whole.len() - batch(3, Some((9, 6)), 2).bytes().len();
    for len in last..whole.len() {
        for filler in [None, Some(0), Some(0xa5)] {
            let mut torn = whole[..len].to_vec();
            torn.resize(filler.map_or(len, |_| whole.len()), filler.unwrap_or(0));
            if torn == whole {
                continue;
            }
            world.disk.files.insert(path.clone(), torn);
            world.kill();
            assert_eq!(world.log.end(), Offset(6), "cut at {len}, filled with {filler:?}");
            assert_eq!(world.disk.files[&path].len(), last);
        }
    }
}

#[test]
fn damage_below_the_recovery_point_is_refused_and_left_alone() {
    let mut world = World::new(LogSettings { segment_bytes: 100_000, ..settings() });
    for n in 0..4 {
        world.append(n, None, 2);
    }
    world.flush();
    let path = FilePath::new(0, "t-0/00000000000000000000.log");
    let before = {
        let content = world.disk.files.get_mut(&path).unwrap();
        content[70] ^= 1;
        content.clone()
    };
    let plan = plan(&world.settings, false, world.log.recovery_point(), None);
    let refused = recover(&mut world.disk, &mut world.files, plan).unwrap_err();
    assert!(refused.contains("damaged at offset 0"), "{refused}");
    assert_eq!(world.disk.files[&path], before);
}

#[test]
fn five_batches_are_known_after_a_restart() {
    let mut world = World::new(settings());
    for n in 0..9 {
        world.append(n, Some((1, i32::try_from(n).unwrap())), 1);
    }
    world.close();
    world.reopen();
    for sequence in 4..9 {
        let verdict = world
            .log
            .producers()
            .judge(batch(0, Some((1, sequence)), 1).header(), Mutants::default());
        assert!(matches!(verdict, Verdict::Duplicate(b) if b.last_offset.0 == i64::from(sequence)));
    }
    let old = world.log.producers().judge(batch(0, Some((1, 3)), 1).header(), Mutants::default());
    assert_eq!(old, Verdict::Refused(ErrorCode::OutOfOrderSequenceNumber));
}

#[test]
fn a_folder_of_another_topic_is_set_aside() {
    let mut world = World::new(settings());
    world.append(1, None, 1);
    let other = RecoveryPlan {
        topic_id: TopicId(Uuid::from_u128(78 << 64)),
        ..plan(&world.settings, false, Offset(0), None)
    };
    let log = recover(&mut world.disk, &mut world.files, other).unwrap();
    assert_eq!(log.end(), Offset(0));
    let names = world.disk.names();
    assert!(
        names.iter().all(|name| name.starts_with("t-0.") && name.contains("-stray/")),
        "{names:?}"
    );
}

#[test]
fn a_batch_larger_than_a_segment_is_refused() {
    let mut world = World::new(settings());
    let mut fx: Fx<DiskOp> = Fx::new();
    let big = batch(1, None, 500);
    let refusal = world.log.append(NOW, &big, LeaderEpoch(0), &mut world.files, &mut fx);
    assert_eq!(refusal.unwrap_err().code, ErrorCode::RecordListTooLarge);
    assert!(fx.is_empty());
}

#[test]
fn writes_of_two_segments_may_end_in_any_order() {
    let mut world = World::new(LogSettings { segment_bytes: 100, ..settings() });
    let mut fx: Fx<DiskOp> = Fx::new();
    world.append(0, None, 1);
    for n in 1..3 {
        let epoch = LeaderEpoch(3);
        world.log.append(NOW, &batch(n, None, 1), epoch, &mut world.files, &mut fx).unwrap();
    }
    let dones: Vec<_> = fx.drain().filter_map(|op| world.disk.run(op)).collect();
    let writes: Vec<_> = dones.into_iter().filter(|done| done.id.what == What::Append).collect();
    world.log.on_io(&writes[1], &mut fx);
    assert_eq!(world.log.written(), Offset(1), "the first one is not written yet");
    world.log.on_io(&writes[0], &mut fx);
    assert_eq!(world.log.written(), Offset(3));
}

#[test]
fn there_is_no_second_segment_before_it_is_on_disk_where_the_log_starts() {
    let mut world = World::new(LogSettings { segment_bytes: 100, ..settings() });
    let mut fx: Fx<DiskOp> = Fx::new();
    for n in 0..3 {
        let epoch = LeaderEpoch(3);
        world.log.append(NOW, &batch(n, None, 1), epoch, &mut world.files, &mut fx).unwrap();
    }
    assert_eq!(world.log.segments().len(), 1);
    world.run(&mut fx);
    world.append(3, None, 1);
    assert_eq!(world.log.segments().len(), 2);
}

#[test]
fn an_empty_segment_takes_a_batch_however_small_its_index() {
    let mut world = World::new(LogSettings { index_bytes: 8, index_interval: 0, ..settings() });
    for n in 0..5 {
        world.append(n, None, 1);
    }
    world.kill();
    assert_eq!(world.log.end(), Offset(5));
}

#[test]
fn segments_that_come_back_from_a_removal_are_swept_away() {
    let mut world = World::new(LogSettings { segment_bytes: 200, ..settings() });
    for n in 0..12 {
        world.append(n, None, 1);
    }
    world.flush();
    let old: Vec<_> = world.disk.files.iter().map(|(p, c)| (p.clone(), c.clone())).collect();
    let first = world.log.segments()[0].base;
    let start = world.log.segments()[3].base;
    let mut fx = Fx::new();
    world.log.advance_start(start, &mut fx);
    world.run(&mut fx);
    let back = FileKind::Log.name(first);
    let (path, content) = old.into_iter().find(|(path, _)| path.path.ends_with(&back)).unwrap();
    assert!(!world.disk.files.contains_key(&path), "it was removed");
    world.disk.files.insert(path.clone(), content);
    world.kill();
    assert_eq!((world.log.log_start(), world.log.end()), (start, Offset(12)));
    assert!(!world.disk.files.contains_key(&path), "it does not belong to the log");
}

#[test]
fn after_a_clean_stop_only_the_end_is_read() {
    let mut world = World::new(LogSettings { segment_bytes: 100_000, ..settings() });
    for n in 0..100 {
        world.append(n, Some((1, i32::try_from(n).unwrap())), 1);
    }
    world.close();
    let size = world.log.size();
    world.disk.bytes_read = 0;
    let plan = plan(&world.settings, true, world.checkpoint, None);
    world.log = recover(&mut world.disk, &mut world.files, plan).expect("it opens");
    let read = world.disk.bytes_read;
    assert!(read < size / 4, "{read} bytes of {size} were read");
    world.check();
}

#[test]
fn what_is_missing_after_a_clean_stop_is_noticed() {
    let whole = |world: &mut World| {
        let plan = plan(&world.settings, true, world.checkpoint, None);
        recover(&mut world.disk, &mut world.files, plan).unwrap_err()
    };
    let mut world = World::new(LogSettings { segment_bytes: 100_000, ..settings() });
    for n in 0..4 {
        world.append(n, None, 1);
    }
    world.close();
    let path = FilePath::new(0, "t-0/00000000000000000000.log");
    let last = batch(3, None, 1).bytes().len();
    let content = world.disk.files.get_mut(&path).unwrap();
    content.truncate(content.len() - last);
    let why = whole(&mut world);
    assert!(why.contains("ends at offset 3, and records up to 4"), "{why}");
    world.disk.files.clear();
    let why = whole(&mut world);
    assert!(why.contains("the folder is gone"), "{why}");
}

#[test]
fn what_came_during_a_sync_is_synced_when_its_time_has_passed() {
    let mut world = World::new(LogSettings { flush_ms: 10, ..settings() });
    let at = |ms: u64| Now { mono: Instant(ms * 1_000_000), wall: Timestamp(1_000) };
    let mut fx: Fx<DiskOp> = Fx::new();
    world.append(0, None, 1);
    world.log.tick(at(20), &mut fx);
    let first: Vec<_> = fx.drain().collect();
    assert!(matches!(first[..], [DiskOp::Sync { .. }]), "{first:?}");
    world.append(1, None, 1);
    world.log.tick(at(40), &mut fx);
    assert!(fx.is_empty(), "one sync is under way");
    for done in first.into_iter().filter_map(|op| world.disk.run(op)) {
        world.log.on_io(&done, &mut fx);
    }
    world.run(&mut fx);
    assert_eq!(world.log.durable(), Offset(2));
}

#[test]
fn a_segment_that_comes_back_inside_another_is_swept_away() {
    let mut world = World::new(LogSettings { segment_bytes: 200, ..settings() });
    for n in 0..3 {
        world.append(n, None, 1);
    }
    let base = world.log.segments()[1].base;
    let zombie = FilePath::new(0, format!("t-0/{}", FileKind::Log.name(base)));
    let content = world.disk.files[&zombie].clone();
    let first = FilePath::new(0, "t-0/00000000000000000000.log");
    world.disk.files.retain(|path, _| *path != zombie);
    let torn = world.disk.files.get_mut(&first).unwrap();
    torn.truncate(torn.len() - 3);
    world.kill();
    world.appended.truncate(usize::try_from(world.log.end().0).unwrap());
    // The segment is roomier now, and takes records past where the lost one began.
    world.settings.segment_bytes = 10_000;
    world.log.configure(world.settings.clone());
    for n in 5..9 {
        world.append(n, None, 1);
    }
    world.disk.files.insert(zombie.clone(), content);
    let end = world.log.end();
    world.kill();
    assert_eq!(world.log.end(), end);
    assert!(!world.disk.files.contains_key(&zombie), "it does not belong to the log");
}

#[test]
fn a_folder_that_does_not_say_whose_it_is_says_so_again() {
    let mut world = World::new(settings());
    world.append(0, None, 1);
    let path = FilePath::new(0, "t-0/partition.metadata");
    assert!(world.disk.files.remove(&path).is_some());
    world.kill();
    world.append(1, None, 1);
    assert!(world.disk.files.contains_key(&path));
    world.disk.files.remove(&path);
    world.kill();
    let mut fx = Fx::new();
    world.log.advance_start(Offset(1), &mut fx);
    world.run(&mut fx);
    assert!(world.disk.files.contains_key(&path));
    world.kill();
    assert_eq!(world.log.log_start(), Offset(1));
}

#[test]
fn names_set_aside_are_cut_between_characters() {
    let id = TopicId(Uuid::from_u128(1));
    let name = recover::aside_name(&format!("{}-0", "ä".repeat(120)), id, "stray");
    assert!(name.len() <= 255 && name.ends_with("-stray"), "{name}");
}

/// What opening says after `change` to the files of a log of five small segments.
fn refusal(clean: bool, change: impl Fn(&mut BTreeMap<FilePath, Vec<u8>>)) -> String {
    let mut world = World::new(LogSettings { segment_bytes: 200, ..settings() });
    for n in 0..10 {
        world.append(n, None, 1);
    }
    world.close();
    world.clean = clean;
    change(&mut world.disk.files);
    let records = |world: &World| {
        let logs = world.disk.files.iter().filter(|(path, _)| path.path.ends_with(".log"));
        logs.map(|(path, content)| (path.clone(), content.len())).collect::<Vec<_>>()
    };
    let before = records(&world);
    let plan = plan(&world.settings, clean, world.checkpoint, None);
    let why = recover(&mut world.disk, &mut world.files, plan).expect_err("it is damaged");
    assert_eq!(records(&world), before, "no record was changed");
    why
}

#[test]
fn what_is_gone_from_below_the_recovery_point_is_missed() {
    for clean in [true, false] {
        let log = |base: &FilePath| base.path.ends_with(".log");
        let first = refusal(clean, |files| {
            let first = files.keys().find(|path| log(path)).cloned().unwrap();
            files.remove(&first);
        });
        assert!(first.contains("one is missing"), "{first}");
        let last = refusal(clean, |files| {
            let last = files.keys().rfind(|path| log(path)).cloned().unwrap();
            files.get_mut(&last).unwrap().clear();
        });
        assert!(last.contains("and records up to 10 were on the disk"), "{last}");
        let folder = refusal(clean, BTreeMap::clear);
        assert!(folder.contains("the folder is gone"), "{folder}");
        let start = refusal(clean, |files| {
            files.insert(FilePath::new(0, "t-0/log-start"), b"nonsense".to_vec());
        });
        assert!(start.contains("not an offset"), "{start}");
    }
    let decayed = refusal(false, |files| {
        let start = files.get_mut(&FilePath::new(0, "t-0/log-start")).unwrap();
        assert_eq!(start[0], b'0');
        start[0] = b'8';
    });
    assert!(decayed.contains("not an offset"), "{decayed}");
    let whose = refusal(false, |files| {
        let owner = files.get_mut(&FilePath::new(0, "t-0/partition.metadata")).unwrap();
        *owner.iter_mut().rev().nth(5).unwrap() ^= 2;
    });
    assert!(whose.contains("durable up to offset 10"), "{whose}");
    let start = refusal(true, |files| {
        files.insert(FilePath::new(0, "t-0/log-start"), b"99999".to_vec());
    });
    assert!(start.contains("starts at offset 99999"), "{start}");
}

#[test]
fn space_is_taken_with_a_segment_and_what_is_left_of_it_given_back() {
    let mut world = World::new(LogSettings { preallocate: true, ..settings() });
    let (mut sizes, mut fx) = (Vec::new(), Fx::new());
    for seed in 0..=40 {
        match seed {
            40 => world.log.close(&mut fx),
            _ => {
                let batch = batch(seed, None, 3);
                let put = world.log.append(NOW, &batch, LeaderEpoch(3), &mut world.files, &mut fx);
                put.expect("it fits");
            }
        }
        while !fx.is_empty() {
            let ops: Vec<DiskOp> = fx.drain().collect();
            for op in ops {
                match op {
                    DiskOp::Reserve { file, len, .. } => sizes.push((file, len, None)),
                    DiskOp::Truncate { file, len, .. } => {
                        let last = sizes.iter_mut().find(|(of, _, _)| *of == file);
                        last.expect("its space was taken").2 = Some(len);
                    }
                    _ => {}
                }
                let done = world.disk.run(op);
                done.map(|done| world.log.on_io(&done, &mut fx));
            }
        }
    }
    let segments: Vec<_> =
        world.log.segments.iter().map(|s| (s.file, 2_000, Some(s.size))).collect();
    assert!(segments.len() > 2 && world.log.is_closed());
    assert_eq!(sizes, segments);
}
