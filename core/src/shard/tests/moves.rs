//! Replicas that move from one data directory to another.

use super::groups::{OFFSETS, commit_in, coordinating_with, join};
use super::*;
use crate::controller::brokers::place;
use crate::group::place::OFFSETS_TOPIC;
use crate::group::request::Answer as GroupAnswer;

const DIRS: &[(&str, &str)] = &[("log.dirs", "/a,/b")];
const SMALL: &[(&str, &str)] = &[("internal.segment.bytes", "250"), ("index.interval.bytes", "1")];
const SYNCED: &[(&str, &str)] = &[("internal.segment.bytes", "250"), ("flush.messages", "1")];

impl World {
    fn alter_dir(&mut self, request: u64, topic: u128, dir: u16) -> Result<(), ErrorCode> {
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let (seen, partition) = (self.image.offset, partition(topic));
        self.mail(ToShard::AlterDir { reply, seen, partition, dir });
        match self.answers.remove(&request) {
            Some(Answer::DirAltered(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// Control writes down where replicas are.
    fn place(&mut self) {
        while let Some(at) = self.control.iter().position(|m| matches!(m, ToControl::Placed { .. }))
        {
            let ToControl::Placed { partition, dir } = self.control.remove(at) else { return };
            self.set_place(partition, dir);
        }
    }

    fn set_place(&mut self, id: PartitionId, dir: u16) {
        let name = self.image.topic_names[&id.topic].clone();
        let mut topic = (*self.image.topics[&name]).clone();
        let mut state = (*topic.partitions[0]).clone();
        let wanted = vec![dir_id(dir)];
        if state.directories != wanted {
            state.directories = wanted;
            topic.partitions[0] = Arc::new(state);
            self.image.topics.insert_mut(name, Arc::new(topic));
            self.publish();
        }
    }

    /// Starts again after a crash, as control does.
    fn reboot(&mut self) {
        let mut directories = Directories { ids: dir_ids(2), ..Directories::default() };
        for path in self.disk.files.keys() {
            let Some((folder, _)) = path.path.split_once('/') else { continue };
            if folder == "t-0" {
                directories.folders.entry(folder.to_owned()).or_default().insert(path.dir);
            }
            if let Some(name) = crate::log::names::future_of(folder) {
                let futures = directories.futures.entry(name.to_owned()).or_default();
                let folder = FilePath::new(path.dir, folder);
                if !futures.contains(&folder) {
                    futures.push(folder);
                }
            }
        }
        let here = self.image.topics["t"].partitions[0].directories[0];
        let there = place(here, &directories, "t-0").expect("both are there");
        let dir = u16::from(there == dir_id(1));
        let (name, mut topic) = ("t".into(), (*self.image.topics["t"]).clone());
        let state = PartitionImage { directories: vec![there], ..(*topic.partitions[0]).clone() };
        topic.partitions[0] = Arc::new(state);
        self.image.topics.insert_mut(name, Arc::new(topic));
        self.restart(Checkpoints { directories, ..Checkpoints::default() });
        assert_eq!(self.dir(), Some(dir), "{:?}", self.notes);
    }

    fn dir(&self) -> Option<u16> {
        self.shard.partitions().next().map(|partition| partition.log().folder().dir)
    }

    /// The folders of a directory.
    fn folders(&self, dir: u16) -> Vec<String> {
        let here = self.disk.files.keys().filter(|path| path.dir == dir);
        let mut folders: Vec<String> =
            here.filter_map(|path| Some(path.path.split_once('/')?.0.to_owned())).collect();
        folders.dedup();
        folders
    }

    fn wait_ms(&mut self, ms: u64) {
        self.mono += ms * 1_000_000;
        self.step(Input::Tick);
    }

    fn sizes(&mut self) -> Vec<DirSizes> {
        let reply = ReplyTo { session: SESSION, request: 8_888, part: 0 };
        self.mail(ToShard::LogSizes { reply });
        match self.answers.remove(&8_888) {
            Some(Answer::Sizes(sizes)) => sizes,
            other => panic!("{other:?}"),
        }
    }

    /// A topic with ten batches in several segments, the first of them deleted.
    fn filled(configs: &[(&str, &str)]) -> Self {
        Self::with_batches(10, configs)
    }

    fn with_batches(count: u64, configs: &[(&str, &str)]) -> Self {
        let mut world = Self::with(DIRS);
        world.topic("t", 1, configs);
        for n in 0..count {
            world.produce(100 + n, 1, Acks::All, batch(5, 2, Some(2 * n as i32)));
            assert_eq!(base(world.produced(100 + n)), 2 * n as i64);
        }
        world
    }
}

fn name(folder: &[String]) -> bool {
    folder.len() == 1 && folder[0] == "t-0"
}

#[test]
fn a_log_moves_with_all_that_is_known_of_it() {
    let mut world = World::filled(SMALL);
    let delete = ReplyTo { session: SESSION, request: 1, part: 0 };
    let (seen, before) = (world.image.offset, Some(Offset(7)));
    let partition = partition(1);
    world.mail(ToShard::DeleteRecords { reply: delete, seen, partition, before });
    assert_eq!(world.alter_dir(2, 1, 1), Ok(()));
    assert_eq!(world.alter_dir(3, 1, 1), Ok(()), "it is on its way there already");
    let old = world.shard.partitions().next().unwrap().log().clone();
    let sizes = world.sizes();
    assert_eq!(sizes[1].logs.len(), 1, "{:?} {:?}", world.notes, world.control);
    let future = &sizes[1].logs[0];
    assert_eq!((sizes[1].dir, future.future, future.bytes), (1, Some(0), old.size()));
    // Nothing is appended any more, until it is known where.
    world.produce(4, 1, Acks::All, batch(5, 2, Some(20)));
    assert_eq!((world.produced(4), world.dir()), (None, Some(0)));
    assert_eq!(world.bases(1, 18), [18], "what is there can be read");
    world.place();
    assert_eq!((base(world.produced(4)), world.dir()), (20, Some(1)));
    assert!(world.folders(0).is_empty() && name(&world.folders(1)), "{:?}", world.disk.names());
    let new = world.shard.partitions().next().unwrap().log();
    assert_eq!((new.log_start(), new.epochs().entries()), (Offset(7), old.epochs().entries()));
    let segments =
        |log: &crate::log::Log| log.segments().iter().map(|s| s.base).collect::<Vec<_>>();
    assert_eq!(segments(new), [segments(&old), vec![Offset(20)]].concat());
    for offset in 7..21 {
        let base = offset / 2 * 2;
        assert_eq!(world.bases(1, offset).first(), Some(&base), "batches keep their places");
    }
    world.produce(5, 1, Acks::All, batch(5, 2, Some(14)));
    assert_eq!(base(world.produced(5)), 14, "a retry is known as one");
    assert_eq!(world.alter_dir(6, 1, 0), Ok(()));
    world.place();
    assert!(world.folders(1).is_empty() && name(&world.folders(0)), "and back");
}

/// Who waits for others to join waits on, and for no longer than without the move.
#[test]
fn no_member_notices_that_its_coordinator_moves() {
    let mut world = coordinating_with(DIRS);
    world.ask(1, join());
    world.wait_ms(3_000);
    let joined = |answer: Option<GroupAnswer>| match answer {
        Some(GroupAnswer::Joined(Ok(joined))) => (joined.generation, joined.members.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(joined(world.told(1)), (1, 1));
    world.ask(2, join());
    assert_eq!(world.alter_dir(3, OFFSETS, 1), Ok(()));
    world.ask(4, commit_in("another", 7));
    assert_eq!(world.told(4), None, "records wait");
    world.place();
    assert_eq!(world.told(4), Some(GroupAnswer::Committed(Ok(vec![ErrorCode::None]))));
    assert_eq!(
        (world.folders(1).contains(&format!("{OFFSETS_TOPIC}-0")), world.told(2)),
        (true, None)
    );
    // The first one is silent.
    world.wait_ms(60_000);
    assert_eq!(joined(world.told(2)), (2, 1));
}

#[test]
fn a_log_without_records_moves() {
    let mut world = World::with(DIRS);
    world.topic("t", 1, &[]);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.place();
    assert_eq!(world.dir(), Some(1));
    world.produce(2, 1, Acks::All, batch(5, 2, None));
    assert_eq!(base(world.produced(2)), 0);
    assert!(world.folders(0).is_empty() && name(&world.folders(1)));
}

#[test]
fn what_cannot_be_written_down_holds_nobody_up_for_long() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.produce(2, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.produced(2), None);
    world.wait_ms(1001);
    assert_eq!(base(world.produced(2)), 20);
    let last = world.control.last().unwrap();
    assert!(matches!(last, ToControl::Placed { dir: 0, .. }), "it stays for now: {last:?}");
    world.control.clear();
    world.wait_ms(2001);
    world.produce(3, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.produced(3), None, "tried again");
    world.place();
    assert_eq!((base(world.produced(3)), world.dir()), (21, Some(1)));
    assert_eq!(world.bases(1, 20), [20, 21]);
}

#[test]
fn a_move_back_calls_it_off() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    assert_eq!(world.folders(1).len(), 1);
    assert_eq!(world.alter_dir(2, 1, 0), Ok(()));
    assert_eq!((world.folders(1).len(), world.shard.moving()), (0, 0));
    world.place();
    assert_eq!(world.dir(), Some(0), "the last word counts");
    world.produce(3, 1, Acks::All, batch(5, 1, None));
    assert_eq!(base(world.produced(3)), 20);
}

#[test]
fn refusals() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 9, 1), Err(ErrorCode::UnknownTopicOrPartition));
    assert_eq!(world.alter_dir(2, 1, 0), Ok(()), "there is nothing to do");
    assert_eq!(world.shard.moving(), 0);
    world.disk.broken_dirs.insert(1);
    assert_eq!(world.alter_dir(3, 1, 1), Ok(()));
    let failed = |mail: &ToControl| matches!(mail, ToControl::DirFailed { dir: 1, .. });
    assert!(world.control.iter().any(failed), "{:?}", world.control);
    assert_eq!(world.alter_dir(4, 1, 1), Err(ErrorCode::KafkaStorageError));
    world.produce(5, 1, Acks::All, batch(5, 1, None));
    assert_eq!(base(world.produced(5)), 20, "only the other directory failed");
}

#[test]
fn damage_is_not_carried_along() {
    let mut world = World::filled(SMALL);
    let path = FilePath::new(0, "t-0/00000000000000000000.log");
    *world.disk.files.get_mut(&path).unwrap().last_mut().unwrap() ^= 1;
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    assert!(world.notes.iter().any(|note| note.contains("given up")), "{:?}", world.notes);
    assert_eq!((world.folders(1).len(), world.shard.moving()), (0, 0));
}

#[test]
fn a_deleted_topic_takes_its_copy_along() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.drop_topic("t");
    world.publish();
    assert!(world.disk.files.is_empty(), "{:?}", world.disk.names());
}

#[test]
fn copying_keeps_to_the_rate_that_is_allowed() {
    let mut world = World::filled(SMALL);
    let rate = ("replica.alter.log.dirs.io.max.bytes.per.second".to_owned(), "0".to_owned());
    let configs = Arc::new(BTreeMap::from([rate]));
    world.image.configs.insert_mut((crate::image::resource::BROKER, "".into()), configs);
    world.publish();
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    assert_eq!(world.sizes()[1].logs[0].future, Some(20), "nothing may be copied");
    world.image.configs = rpds::RedBlackTreeMapSync::new_sync();
    world.publish();
    assert_eq!(world.sizes()[1].logs[0].future, Some(0));
}

/// Begins a move, writes in the middle of it, and ends it. Gives the requests that were answered.
fn run(world: &mut World) -> u64 {
    let mut answered = 0;
    let reply = ReplyTo { session: SESSION, request: 1, part: 0 };
    let (seen, id) = (world.image.offset, partition(1));
    world.mail(ToShard::AlterDir { reply, seen, partition: id, dir: 1 });
    world.produce(200, 1, Acks::All, batch(5, 2, Some(8)));
    world.wait_ms(1001);
    world.produce(201, 1, Acks::All, batch(5, 2, Some(10)));
    world.wait_ms(2001);
    world.produce(202, 1, Acks::All, batch(5, 2, Some(12)));
    world.place();
    world.produce(203, 1, Acks::All, batch(5, 2, Some(14)));
    for request in 200..204 {
        answered += u64::from(matches!(world.produced(request), Some(Ok(_))));
    }
    answered
}

#[test]
fn a_crash_at_any_moment_leaves_one_whole_log() {
    let mut resumed = 0;
    for power in [false, true] {
        for at in 0.. {
            let mut world = World::with_batches(4, SYNCED);
            world.crash_after = Some(at);
            let answered = run(&mut world);
            let over = world.crash_after.is_some_and(|left| left > 0);
            match power {
                true => world.disk.lose_power(),
                false => world.disk.kill(),
            }
            world.reboot();
            let log = world.shard.partitions().next().unwrap().log();
            let (end, least) = (log.end().0, 8 + 2 * answered as i64);
            assert!(end >= least, "at {at}, power {power}: {end} of {least}");
            for n in 0..end / 2 {
                assert_eq!(world.bases(1, 2 * n).first(), Some(&(2 * n)), "at {at}");
            }
            // It goes on where it was.
            resumed += world.shard.moving();
            world.place();
            let request = 300;
            world.produce(request, 1, Acks::All, batch(5, 2, None));
            assert_eq!(base(world.produced(request)), end, "at {at}, power {power}");
            if over {
                assert_eq!(world.dir(), Some(1));
                break;
            }
        }
    }
    assert!(resumed > 20, "{resumed}");
}

/// What is set aside stays until somebody looks at it.
#[test]
fn a_stray_is_not_in_the_way_of_the_next() {
    let mut world = World::filled(SMALL);
    let strays = |world: &World| world.folders(1).iter().filter(|n| n.ends_with("-stray")).count();
    for count in 1..4 {
        let path = FilePath::new(1, "t-0/00000000000000000000.log");
        world.disk.files.insert(path, vec![0; 70]);
        world.reboot();
        assert_eq!((world.folders(1).len(), strays(&world)), (count, count), "{:?}", world.notes);
        assert!(world.shard.failed_dirs.is_empty(), "{:?}", world.notes);
    }
}

/// Or a log that comes back would be met by what it once was.
#[test]
fn a_directory_fails_that_cannot_be_left() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.disk.broken_dirs.insert(0);
    world.place();
    let failed = |mail: &ToControl| matches!(mail, ToControl::DirFailed { dir: 0, .. });
    assert!(world.control.iter().any(failed), "{:?}", world.control);
    assert_eq!((world.dir(), world.shard.slots.iter().count()), (Some(1), 1));
    world.produce(2, 1, Acks::All, batch(5, 1, None));
    assert_eq!(base(world.produced(2)), 20);
}

#[test]
fn a_move_that_is_called_off_wants_nothing_more() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.wait_ms(1001);
    let waits = world.shard.moves.deadline();
    assert!(waits.is_some_and(|(at, _)| at > Instant(world.mono)), "it is to be tried again");
    assert_eq!(world.alter_dir(2, 1, 0), Ok(()));
    world.wait_ms(5000);
    assert_eq!(world.shard.moves.deadline(), None, "or ticks would follow one another");
}

#[test]
fn an_error_in_the_folder_that_was_left_is_not_blamed_on_the_new_one() {
    let mut met = 0;
    for at in 0..400 {
        let mut world = World::with_batches(4, SYNCED);
        world.crash_after = Some(at);
        run(&mut world);
        let found = world.shard.slots.iter().find(|(_, slot)| matches!(slot, Slot::Opening(_)));
        let Some((owner, _)) = found else { continue };
        met += 1;
        let id = IoId { owner, generation: 1, what: What::Side, end: -1 };
        let result = Err(crate::disk::IoError::Failed("the old disk".to_owned()));
        world.step(Input::Io(IoDone { id, result }));
        assert!(world.shard.failed_dirs.is_empty(), "at {at}: {:?}", world.notes);
    }
    assert!(met > 0, "it was being opened in its new place");
}

/// What it is read from may go while it is looked for.
#[test]
fn a_copy_goes_on_behind_segments_that_were_removed() {
    // More than are remembered with their places.
    let mut world = World::with_batches(600, SMALL);
    world.held = Some(What::Load);
    assert_eq!(world.alter_dir(2, 1, 1), Ok(()));
    while !matches!(world.waiting[0], DiskOp::Locate { .. }) {
        let op = world.waiting.remove(0);
        let done = world.disk.run(op).expect("it ends");
        world.step(Input::Io(done));
    }
    let delete = ReplyTo { session: SESSION, request: 3, part: 0 };
    let (seen, before, partition) = (world.image.offset, Some(Offset(7)), partition(1));
    let found = world.disk.run(world.waiting.remove(0)).expect("it ends");
    world.mail(ToShard::DeleteRecords { reply: delete, seen, partition, before });
    world.held = None;
    world.step(Input::Io(found));
    world.place();
    assert_eq!(world.dir(), Some(1), "{:?}", world.notes);
    assert_eq!(world.bases(1, 7), [6], "{:?}", world.notes);
}

/// Allows so many batches to be unsynced.
fn with_allowance(batches: usize) -> (World, u64) {
    let allowed = batch(5, 2, None).bytes().len() * batches;
    let properties = [DIRS[0], ("dohle.unflushed.bytes", &allowed.to_string())];
    let mut world = World::with(&properties);
    world.topic("t", 1, SMALL);
    (0..40).for_each(|n| world.produce(100 + n, 1, Acks::All, batch(5, 2, None)));
    (world, allowed as u64)
}

/// What is not synced in the directory that copies go to.
fn unsynced(world: &World) -> u64 {
    let there = world.shard.slots.unflushed.by_dir().find(|(dir, _)| *dir == 1);
    there.map_or(0, |(_, bytes)| bytes)
}

#[test]
fn copies_wait_for_the_disk_as_producers_do() {
    let (mut world, allowed) = with_allowance(8);
    world.held = Some(What::Flush);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    let mut most = 0;
    for _ in 0..200 {
        most = most.max(unsynced(&world));
        for op in std::mem::take(&mut world.waiting) {
            let done = world.disk.run(op).expect("it ends");
            world.step(Input::Io(done));
        }
        world.place();
    }
    assert_eq!(world.dir(), Some(1), "{:?}", world.notes);
    assert!((allowed..=allowed * 5 / 4).contains(&most), "{most} unsynced, {allowed} allowed");
}

#[test]
fn a_copy_goes_on_after_a_crash_that_has_much_to_sync() {
    let (mut world, allowed) = with_allowance(8);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.disk.kill();
    world.held = Some(What::Flush);
    world.reboot();
    world.produce(1, 1, Acks::All, batch(5, 2, None));
    assert!(unsynced(&world) > 2 * allowed, "{}", unsynced(&world));
    world.release();
    world.place();
    assert_eq!(world.dir(), Some(1), "{:?}", world.notes);
    assert!(unsynced(&world) < allowed, "{}", unsynced(&world));
}

#[test]
fn a_copy_to_a_full_directory_gives_its_space_back() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    assert_eq!(world.folders(1).len(), 1);
    world.mail(ToShard::DirFull { dir: 1, why: "the metadata needs space".to_owned() });
    assert_eq!((world.folders(1).len(), world.shard.moving()), (0, 0));
    assert!(world.notes.iter().any(|note| note.contains("its disk is full")), "{:?}", world.notes);
    world.produce(2, 1, Acks::All, batch(5, 1, None));
    assert_eq!(base(world.produced(2)), 20);
}

/// It was begun, and may have been given up, before the node crashed.
#[test]
fn a_copy_to_a_full_directory_is_not_taken_up_again() {
    let mut world = World::filled(SMALL);
    assert_eq!(world.alter_dir(1, 1, 1), Ok(()));
    world.disk.kill();
    world.full = Some(1);
    world.reboot();
    assert_eq!((world.folders(1).len(), world.shard.moving()), (0, 0), "{:?}", world.notes);
}
