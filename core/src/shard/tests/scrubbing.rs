//! The search for damage: when it reads what, what it tells, what it leaves alone.

use super::*;
use crate::log::sums::Sums;

const HOUR_MS: u64 = 3_600_000;
const WEEK_MS: u64 = 7 * 24 * HOUR_MS;

impl World {
    /// Time goes by, and the shard gets the ticks it wants.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.mono + ms * 1_000_000;
        while let Some((at, _)) = self.shard.deadline().filter(|(at, _)| at.0 <= end) {
            self.mono = self.mono.max(at.0);
            self.step(Input::Tick);
        }
        self.mono = end;
    }

    fn sums(&self) -> Vec<String> {
        let names = self.disk.names().into_iter();
        names.filter(|name| name.ends_with(".sum")).collect()
    }

    fn closed(&self, topic: u128) -> Vec<Offset> {
        let log = self.shard.partitions().find(|open| open.id() == partition(topic));
        log.unwrap().log().settled().iter().map(|segment| segment.base).collect()
    }

    fn append_some(&mut self, topic: u128, batches: i64) {
        for time in 0..batches {
            self.produce(1, topic, Acks::All, batch(1_000 + time, 2, None));
            self.answers.remove(&1);
        }
    }

    fn content(&mut self, name: &str) -> &mut Vec<u8> {
        self.disk.files.get_mut(&FilePath::new(0, name)).expect(name)
    }

    fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// A topic of small segments, some of them closed.
fn small(properties: &[(&str, &str)]) -> World {
    let mut world = World::with(properties);
    world.topic("t", 1, &[("internal.segment.bytes", "300"), ("index.interval.bytes", "0")]);
    world.append_some(1, 20);
    assert!(world.closed(1).len() > 3);
    world
}

const FIRST: &str = "t-0/00000000000000000000.log";
const TIMES: &str = "t-0/00000000000000000000.timeindex";
const SUMS: &str = "t-0/00000000000000000000.sum";

/// The same with sums.
fn sealed(properties: &[(&str, &str)]) -> World {
    let mut world = small(properties);
    world.pass(HOUR_MS);
    assert_eq!(world.sums().len(), world.closed(1).len());
    world.heard();
    world
}

#[test]
fn closed_segments_get_sums_some_time_after_the_start() {
    let mut world = small(&[]);
    world.pass(59_000);
    assert_eq!((world.sums(), world.disk.bytes_read), (Vec::new(), 0), "a start reads nothing");
    world.pass(HOUR_MS);
    let names = world.closed(1).into_iter().map(|base| format!("t-0/{:020}.sum", base.0));
    let names: Vec<_> = names.collect();
    assert_eq!(world.sums(), names);
    let sums = Sums::parse(world.content(&names[1]).as_slice()).unwrap();
    assert_eq!((sums.owner.topic, sums.files.len()), (topic_id(1), 3));
    let scrubbed = world.shard.scrubbed();
    assert_eq!((scrubbed.segments, scrubbed.sealed), (names.len() as u64, names.len() as u64));
    let told = world.heard();
    assert!(told.len() == 1 && told[0].contains("0 damaged ranges"), "{told:?}");
    // Those that are closed meanwhile do not wait for the next cycle.
    world.append_some(1, 6);
    world.pass(30_000);
    assert_eq!(world.sums().len(), world.closed(1).len());
    assert!(world.sums().len() > names.len());
    // Nothing else is read until then.
    let read = world.disk.bytes_read;
    world.pass(24 * HOUR_MS);
    assert_eq!(world.disk.bytes_read, read);
    world.pass(WEEK_MS);
    assert!(world.disk.bytes_read > read);
    assert_eq!(world.heard().len(), 1);
}

#[test]
fn damage_is_told_counted_and_served_on() {
    let mut world = sealed(&[]);
    // The leader epoch of a batch, and a time's offset in its batch: no checksum covers them.
    world.content(FIRST)[15] ^= 1;
    *world.content(TIMES).last_mut().unwrap() ^= 1;
    let files = world.disk.files.clone();
    world.pass(WEEK_MS);
    let told = world.heard();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains(&format!("{FIRST}: bytes 0 to ")), "{}", told[0]);
    assert!(told[0].contains("records from offset 0 to "), "{}", told[0]);
    assert!(told[1].contains(TIMES) && told[1].contains("Records are not concerned"));
    assert!(told[2].contains("2 damaged ranges"), "{}", told[2]);
    assert_eq!(world.shard.scrubbed().damages, 2);
    assert_eq!(world.disk.files, files, "nothing is changed");
    assert_eq!(world.bases(1, 0)[0], 0, "it is served");
}

#[test]
fn damage_before_there_are_sums_is_found_and_not_sealed() {
    let mut world = small(&[]);
    world.content(FIRST)[70] ^= 1;
    world.pass(HOUR_MS);
    assert!(world.heard()[0].contains("the checksum of a batch is wrong"));
    assert_eq!(world.sums().len() + 1, world.closed(1).len());
    assert!(!world.sums().contains(&SUMS.to_owned()));
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_looked_at() {
    let mut world = sealed(&[]);
    world.disk.unreadable = Some(FilePath::new(0, FIRST));
    world.pass(WEEK_MS);
    let told = world.heard();
    assert!(told[0].contains(FIRST) && told[0].contains("cannot be read: decayed"), "{told:?}");
    assert_eq!(told.len(), 2);
    let before = world.shard.scrubbed();
    world.content(FIRST).truncate(100);
    world.disk.unreadable = None;
    world.pass(WEEK_MS);
    assert!(world.heard()[0].contains("the file has 100 bytes"));
    assert_eq!(world.shard.scrubbed().damages, before.damages + 1);
}

#[test]
fn what_another_broker_wrote_is_not_damaged() {
    let mut world = sealed(&[]);
    // As a compaction that takes nothing away, and marks batches.
    let mut raw = world.content(FIRST).clone();
    let len = batch(1_000, 2, None).bytes().len();
    for part in raw.chunks_mut(len) {
        part[22] ^= 0x40;
        let crc = crc32c::crc32c(&part[21..]);
        part[17..21].copy_from_slice(&crc.to_be_bytes());
    }
    *world.content(FIRST) = raw;
    world.disk.touch(&FilePath::new(0, FIRST));
    let old = world.content(SUMS).clone();
    world.pass(WEEK_MS);
    let told = world.heard();
    assert!(told.len() == 1 && told[0].contains("0 damaged ranges"), "{told:?}");
    assert_ne!(*world.content(SUMS), old, "the sums were made anew");
    // Those of another topic, in the folder of this one.
    let mut sums = Sums::parse(&old).unwrap();
    sums.owner.topic = topic_id(2);
    *world.content(SUMS) = sums.encode().to_vec();
    world.pass(WEEK_MS);
    assert_eq!(world.shard.scrubbed().damages, 0);
    assert_eq!(Sums::parse(world.content(SUMS)).unwrap().owner.topic, topic_id(1));
}

#[test]
fn damaged_sums_are_told_and_made_anew() {
    for harm in [|sums: &mut Vec<u8>| sums[50] ^= 1, |sums: &mut Vec<u8>| sums.truncate(20)] {
        let mut world = sealed(&[]);
        let old = world.content(SUMS).clone();
        harm(world.content(SUMS));
        world.pass(WEEK_MS);
        let told = world.heard();
        assert!(told[0].contains(SUMS) && told[0].contains("made anew"), "{told:?}");
        assert_eq!(*world.content(SUMS), old);
        let scrubbed = world.shard.scrubbed();
        assert_eq!((scrubbed.damages, scrubbed.bad_sums), (0, 1));
    }
    // What is larger than sums can be is not read.
    let mut world = sealed(&[]);
    world.content(SUMS).resize(1 << 20, 0);
    world.pass(WEEK_MS);
    assert!(world.content(SUMS).len() < 1_000);
}

#[test]
fn one_thing_at_a_time_no_faster_than_allowed() {
    let mut world = small(&[("dohle.scrub.max.bytes.per.second", "65536")]);
    world.held = Some(What::Scrub);
    world.pass(HOUR_MS);
    assert_eq!(world.waiting.len(), 1);
    world.held = None;
    let op = world.waiting.remove(0);
    let done = world.disk.run(op).unwrap();
    world.step(Input::Io(done));
    world.held = Some(What::Scrub);
    world.pass(999);
    assert_eq!(world.waiting.len(), 0, "a second for 64 KiB has not passed");
    world.pass(1);
    assert_eq!(world.waiting.len(), 1);
    // A stop waits for nothing, and nothing more is asked for.
    world.stop();
    world.release();
    world.held = Some(What::Scrub);
    world.pass(WEEK_MS);
    assert_eq!((world.waiting.len(), world.sums().len()), (0, 0));
}

#[test]
fn a_segment_that_goes_meanwhile_is_left_alone() {
    let steps = 7;
    for step in 0..steps {
        let mut world = small(&[]);
        for _ in 0..step {
            world.pass(60_000);
            // One operation after the other.
            world.held = Some(What::Scrub);
            world.pass(1_000);
            world.release();
            world.held = Some(What::Scrub);
        }
        world.held = Some(What::Scrub);
        world.pass(70_000);
        // What is written to a path and removed from it happens in the order in which it was asked.
        if matches!(world.waiting[..], [DiskOp::Put { .. }]) {
            world.release();
        }
        let reply = ReplyTo { session: SESSION, request: 2, part: 0 };
        let (seen, before) = (world.image.offset, world.closed(1).last().copied());
        world.mail(ToShard::DeleteRecords { reply, seen, partition: partition(1), before });
        world.release();
        world.pass(HOUR_MS);
        assert_eq!(world.shard.scrubbed().damages, 0);
        assert!(!world.sums().contains(&SUMS.to_owned()), "after {step} steps");
        world.drop_topic("t");
        world.publish();
        world.pass(WEEK_MS);
        assert_eq!(world.disk.names().len(), 0, "{:?}", world.disk.names());
    }
}

#[test]
fn partitions_take_turns() {
    let mut world = World::with(&[("dohle.scrub.max.bytes.per.second", "65536")]);
    for (name, topic, batches) in [("a", 1, 60), ("b", 2, 40), ("c", 3, 40)] {
        world.topic(name, topic, &[("internal.segment.bytes", "300")]);
        world.append_some(topic, batches);
    }
    world.pass(60_000);
    for _ in 0..10 {
        world.pass(9_000);
        let of = |name: &str| world.sums().iter().filter(|sum| sum.starts_with(name)).count();
        let (a, b) = (of("a-0/"), of("b-0/"));
        assert!(a.abs_diff(b) <= 1, "{a} and {b}");
    }
}

#[test]
fn it_can_be_switched_off() {
    let mut world = small(&[("dohle.scrub.max.bytes.per.second", "0")]);
    world.pass(WEEK_MS);
    assert_eq!((world.sums().len(), world.disk.bytes_read), (0, 0));
}

#[test]
fn after_a_restart_sums_still_count() {
    let mut world = sealed(&[]);
    let checkpoints = world.stop();
    world.restart(checkpoints);
    *world.content(TIMES).last_mut().unwrap() ^= 1;
    let sums = world.content(SUMS).clone();
    world.pass(HOUR_MS);
    assert_eq!(world.shard.scrubbed().damages, 1);
    assert_eq!(*world.content(SUMS), sums);
}
