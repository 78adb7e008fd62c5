//! Reads and look-ups over several segments, and over what is deleted.

use bytes::BytesMut;
use dohle_wire::record::{TimestampType, set_max_timestamp};

use super::*;

/// A batch with a record for each of `times`.
fn timed(times: &[i64], kind: TimestampType) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Offset(0));
    for time in times {
        builder.push(Timestamp(*time), None, Some(b"value"), &[]).unwrap();
    }
    let mut bytes = BytesMut::from(&builder.build(&NoCodecs).unwrap()[..]);
    let max = Timestamp(times.iter().copied().max().unwrap());
    set_max_timestamp(&mut bytes, kind, max).unwrap();
    let raw = RawBatch::parse(bytes.freeze()).unwrap();
    CheckedBatch::trusted(raw.header, raw.bytes, None)
}

/// A topic in one segment.
fn one_segment() -> World {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world
}

/// A topic whose segments hold three small batches each, and are indexed batch by batch.
fn small_segments() -> World {
    let mut world = World::new();
    world.topic("t", 1, &[("internal.segment.bytes", "230"), ("index.interval.bytes", "0")]);
    world
}

impl World {
    fn append(&mut self, batches: &[CheckedBatch]) {
        for batch in batches {
            self.produce(1, 1, Acks::All, batch.clone());
            self.answers.remove(&1);
        }
    }

    fn delete_before(&mut self, offset: i64) {
        let reply = ReplyTo { session: SESSION, request: 2, part: 0 };
        let (seen, partition, before) = (self.image.offset, partition(1), Some(Offset(offset)));
        self.mail(ToShard::DeleteRecords { reply, seen, partition, before });
        assert!(matches!(self.answers.remove(&2), Some(Answer::Deleted(Ok(_)))));
    }

    fn at(&mut self, time: i64) -> Option<i64> {
        self.list(3, OffsetSpec::At(Timestamp(time)))
    }
}

#[test]
fn times_are_found_behind_deleted_records() {
    for kind in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
        for mut world in [small_segments(), one_segment()] {
            let batches: Vec<_> = (1000..1010).map(|time| timed(&[time], kind)).collect();
            world.append(&batches);
            world.delete_before(5);
            for (time, found) in [(0, 5), (1000, 5), (1004, 5), (1006, 6), (1009, 9)] {
                assert_eq!(world.at(time), Some(found), "{kind:?} at {time}");
            }
            assert_eq!(world.at(1010), None);
            assert_eq!(world.list(3, OffsetSpec::MaxTimestamp), Some(9));
            world.delete_before(10);
            assert_eq!(world.at(1000), None);
        }
    }
}

#[test]
fn a_batch_whose_young_records_are_deleted_is_passed_over() {
    let mut world = one_segment();
    world.append(
        &[&[9, 1, 2][..], &[3], &[5, 7]].map(|times| timed(times, TimestampType::CreateTime)),
    );
    assert_eq!(world.at(4), Some(0));
    world.delete_before(1);
    for (time, found) in [(0, Some(1)), (2, Some(2)), (3, Some(3)), (4, Some(4)), (8, None)] {
        assert_eq!(world.at(time), found, "at {time}");
    }
}

/// Whether a read from `offset` that wants a byte more than it gets is told of what comes next.
fn waits(world: &mut World, offset: i64) -> bool {
    let found = world.read(4, 1, offset, None).result.expect("readable");
    let wanted = found.records.len() as u64 + 1;
    world.read(4, 1, offset, Some(wanted)).result.expect("readable");
    world.held = None;
    world.append(&[timed(&[99], TimestampType::CreateTime)]);
    world.wakes == [4]
}

#[test]
fn a_read_of_an_older_segment_does_not_wait() {
    for (offset, expected) in [(1, false), (2, false), (5, false), (6, true), (8, true)] {
        for restarts in [false, true] {
            let mut world = small_segments();
            let times = [1, 2, 3, 4, 5, 6, 7, 8];
            world.append(&times.map(|time| timed(&[time], TimestampType::CreateTime)));
            if restarts {
                let checkpoints = world.stop();
                world.restart(checkpoints);
            }
            assert_eq!(world.bases(1, 1), [1, 2], "the segment ends there");
            assert_eq!(waits(&mut world, offset), expected, "from {offset}, restarts {restarts}");
        }
    }
}

#[test]
fn a_read_does_not_wait_for_what_is_too_far_to_be_looked_for() {
    let mut world = one_segment();
    let value = vec![7; 3_000];
    let mut builder = BatchBuilder::new(Offset(0));
    builder.push(Timestamp(1), None, Some(&value), &[]).unwrap();
    let raw = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
    let large = CheckedBatch::trusted(raw.header, raw.bytes, None);
    world.append(&vec![large.clone(); 900]);
    world.held = Some(What::Append);
    world.produce(7, 1, Acks::All, large);
    let found = world.read(4, 1, 0, None).result.expect("readable");
    assert!(found.more && found.records.len() >= 1 << 20, "more than one look-up shows");
    assert!(!waits(&mut world, 0));
}

#[test]
fn a_reader_passes_over_what_is_gone() {
    let mut world = small_segments();
    let batches: Vec<_> =
        (0..9).map(|time| timed(&[1000 + time], TimestampType::CreateTime)).collect();
    world.append(&batches);
    let mut checkpoints = world.stop();
    checkpoints.clean = false;
    let middle = FilePath::new(0, "t-0/00000000000000000003.log");
    assert!(world.disk.files.remove(&middle).is_some());
    world.restart(checkpoints);
    for offset in 3..=6 {
        assert_eq!(world.bases(1, offset), [6, 7, 8], "from {offset}");
    }
}

#[test]
fn a_start_that_takes_long_tells_how_far_it_is() {
    let mut world = World::new();
    for id in 1..4 {
        world.topic(&format!("t{id}"), id, &[]);
        world.produce(u64::try_from(id).unwrap(), id, Acks::All, batch(5, 1, None));
    }
    world.shard = Shard::new(ShardId(0), 1, Arc::clone(&world.config), Arc::new(NoCodecs), 7);
    world.held = Some(What::Recover);
    world.mail(ToShard::Start(Arc::default()));
    world.mail(ToShard::Image(Arc::new(world.image.clone())));
    world.mono += 1_001_000_000;
    world.step(Input::Tick);
    assert_eq!(world.notes.last().map(String::as_str), Some("shard 0: 0 of 3 logs are open"));
    while !world.waiting.is_empty() {
        world.release();
    }
    let told = world.notes.len();
    world.mono += 10_000_000_000;
    world.step(Input::Tick);
    assert_eq!(world.notes.len(), told, "nothing more is to be told");
}
