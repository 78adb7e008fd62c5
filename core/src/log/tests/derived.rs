//! Files that only repeat what the segments say: whatever they say, a log opens as it was.

use super::*;

/// A log of several epochs and producers in small segments, after a clean stop. The clock of one
/// producer is slow.
fn closed() -> World {
    let mut world = World::new(LogSettings { segment_bytes: 500, index_interval: 0, ..settings() });
    for n in 0..40_i64 {
        let epoch = [3, 4, 8][usize::try_from(n / 14).unwrap()];
        let time = if n % 3 == 1 { 60 + n } else { 100 + n };
        append_in(&mut world, epoch, time, n);
    }
    world.close();
    world.clean = false;
    world
}

fn append_in(world: &mut World, epoch: i32, time: i64, sequence: i64) {
    let mut builder = BatchBuilder::new(Offset(0)).producer(
        ProducerId(sequence % 3),
        ProducerEpoch(0),
        Sequence(i32::try_from(sequence / 3).unwrap()),
    );
    builder.push(Timestamp(time), None, Some(b"value"), &[]).unwrap();
    let raw = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
    let checked = CheckedBatch::trusted(raw.header, raw.bytes, None);
    let (epoch, mut fx) = (LeaderEpoch(epoch), Fx::new());
    let appended = world.log.append(NOW, &checked, epoch, &mut world.files, &mut fx).unwrap();
    let mut header = *checked.header();
    header.base_offset = appended.base;
    header.partition_leader_epoch = epoch;
    world.appended.push(header);
    world.run(&mut fx);
}

fn copy(world: &World) -> World {
    World {
        disk: world.disk.clone(),
        files: world.files.clone(),
        settings: world.settings.clone(),
        log: world.log.clone(),
        appended: world.appended.clone(),
        ..*world
    }
}

impl World {
    /// Opens the log after `change`, and looks at all there is to ask of it.
    fn check_after(
        &self,
        clean: bool,
        what: &str,
        change: impl FnOnce(&mut BTreeMap<FilePath, Vec<u8>>),
    ) -> Self {
        let mut world = copy(self);
        change(&mut world.disk.files);
        let plan = plan(&world.settings, clean, world.checkpoint, None);
        world.log = match recover(&mut world.disk, &mut world.files, plan) {
            Ok(log) => log,
            Err(why) => panic!("{what}: {why}"),
        };
        world.check();
        for time in 50..150 {
            let expected = world.appended.iter().find(|header| header.max_timestamp.0 >= time);
            let plan = world.log.read_time(Timestamp(time), world.log.end());
            let found = plan.and_then(|plan| world.disk.locate(&plan).unwrap());
            let found = found.map(|found| found.base);
            assert_eq!(found, expected.map(|header| header.base_offset), "{what}: time {time}");
        }
        world
    }
}

fn is_derived(path: &FilePath) -> bool {
    let ends = [".index", ".timeindex", ".snapshot", "-checkpoint"];
    ends.iter().any(|end| path.path.ends_with(end))
}

#[test]
fn no_flip_of_a_derived_file_is_believed() {
    let world = closed();
    assert!(world.log.segments().len() > 6);
    world.check_after(true, "nothing", |_| ());
    for (path, content) in world.disk.files.iter().filter(|(path, _)| is_derived(path)) {
        for at in 0..content.len() {
            for (bit, clean) in [(0, true), (1 + at % 7, true), (at % 8, false)] {
                let what = format!("{} at {at}, bit {bit}, clean {clean}", path.path);
                world.check_after(clean, &what, |files| {
                    files.get_mut(path).unwrap()[at] ^= 1 << bit;
                });
            }
        }
    }
}

#[test]
fn what_was_damaged_or_is_missing_is_made_anew() {
    let world = closed();
    let first = FilePath::new(0, "t-0/00000000000000000000.timeindex");
    let epochs = FilePath::new(0, "t-0/leader-epoch-checkpoint");
    let sound = world.disk.files.clone();
    let last = sound[&first].len() - 5;
    let again =
        world.check_after(true, "a time", |files| files.get_mut(&first).unwrap()[last] ^= 1);
    assert_eq!(again.disk.files[&first], sound[&first]);
    for kind in ["index", "timeindex"] {
        let path = FilePath::new(0, format!("t-0/00000000000000000000.{kind}"));
        let again = world.check_after(true, kind, |files| drop(files.remove(&path)));
        assert_eq!(again.disk.files[&path], sound[&path]);
    }
    for text in
        ["0\n3\n3 0\n5 14\n8 28\n", "0\n3\n3 0\n4 15\n8 28\n", "0\n3\n3 0\n4 14\n8 99\n", "x"]
    {
        let again = world.check_after(true, text, |files| {
            files.insert(epochs.clone(), text.as_bytes().to_vec());
        });
        assert_eq!(again.disk.files[&epochs], sound[&epochs], "{text:?}");
    }
}

#[test]
fn a_log_that_is_read_from_its_beginning_says_its_epochs_itself() {
    let world = closed();
    let epochs = FilePath::new(0, "t-0/leader-epoch-checkpoint");
    for text in
        ["0\n3\n3 1\n4 14\n8 28\n", "0\n2\n4 20\n8 28\n", "0\n1\n8 0\n", "0\n2\n3 0\n8 30\n"]
    {
        let mut world = copy(&world);
        world.checkpoint = Checkpoint::default();
        let again = world.check_after(false, text, |files| {
            files.insert(epochs.clone(), text.as_bytes().to_vec());
        });
        assert_eq!(again.disk.files[&epochs], world.disk.files[&epochs], "{text:?}");
    }
}

#[test]
fn a_log_whose_epochs_are_damaged_is_not_cut_where_its_records_are() {
    for text in ["x", "0\n3\n3 0\n5 14\n8 28\n"] {
        let world = closed();
        let mut damaged = copy(&world);
        let first = FilePath::new(0, "t-0/00000000000000000000.log");
        damaged.disk.files.get_mut(&first).unwrap()[70] ^= 1;
        let epochs = FilePath::new(0, "t-0/leader-epoch-checkpoint");
        damaged.disk.files.insert(epochs.clone(), text.as_bytes().to_vec());
        let before = damaged.disk.files.clone();
        let plan = plan(&damaged.settings, true, damaged.checkpoint, None);
        let why = recover(&mut damaged.disk, &mut damaged.files, plan).unwrap_err();
        assert!(why.contains("damaged at offset 0"), "{why}");
        assert_eq!(damaged.disk.files, before);
    }
}

#[test]
fn sums_go_with_their_segment() {
    let mut world = closed();
    world.clean = true;
    let of = |at: usize, world: &World| {
        let base = world.log.segments()[at].base;
        FilePath::new(0, format!("t-0/{}", FileKind::Sums.name(base)))
    };
    let sums: Vec<_> = (0..5).map(|at| of(at, &world)).collect();
    for path in &sums {
        world.disk.files.insert(path.clone(), vec![1]);
    }
    let orphan = FilePath::new(0, "t-0/00000000000000000001.sum");
    world.disk.files.insert(orphan.clone(), vec![1]);
    world.reopen();
    assert!(!world.disk.files.contains_key(&orphan), "no segment is beside it");
    let start = world.log.segments()[1].base;
    let mut fx = Fx::new();
    world.log.advance_start(start, &mut fx);
    world.run(&mut fx);
    assert!(!world.disk.files.contains_key(&sums[0]));
    // Cut by a recovery, with all behind it.
    let torn = world.log.segments()[2].base;
    let path = FilePath::new(0, format!("t-0/{}", FileKind::Log.name(torn)));
    let content = world.disk.files.get_mut(&path).unwrap();
    content.truncate(content.len() - 3);
    let cut = plan(&world.settings, false, Offset(0), None);
    world.log = recover(&mut world.disk, &mut world.files, cut).unwrap();
    let left: Vec<_> = sums.iter().map(|path| world.disk.files.contains_key(path)).collect();
    assert_eq!(left, [false, true, true, false, false]);
}
