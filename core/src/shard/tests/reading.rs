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
    world.topic("t", 1, &[("segment.bytes", "230"), ("index.interval.bytes", "0")]);
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
