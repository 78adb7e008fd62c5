//! Transactions that another broker left in the logs: what readers and coordinators make of them.

use bytes::BytesMut;
use dohle_wire::record::control::{ControlRecord, EndTransaction};
use dohle_wire::record::{BatchHeader, RecordIter};

use super::groups::{commit_of, coordinating};
use super::*;
use crate::mail::Readable;

const LOG: &str = "00000000000000000000.log";
const COMMIT: ControlRecord = ControlRecord::Commit(EndTransaction { coordinator_epoch: 3 });
const ABORT: ControlRecord = ControlRecord::Abort(EndTransaction { coordinator_epoch: 3 });

/// A batch of a transaction of producer `id` at `base`.
fn written(id: i64, base: i64, key: Option<&[u8]>, value: &[u8], control: bool) -> Bytes {
    let mut builder = BatchBuilder::new(Offset(base)).leader_epoch(LeaderEpoch(0)).transactional();
    builder = builder.producer(ProducerId(id), ProducerEpoch(0), Sequence(0));
    if control {
        builder = builder.control();
    }
    builder.push(Timestamp(5), key, Some(value), &[]).unwrap();
    builder.build(&NoCodecs).unwrap()
}

fn marker(id: i64, base: i64, record: &ControlRecord) -> Bytes {
    written(id, base, Some(&record.key()), &record.value().unwrap(), true)
}

impl World {
    /// Starts anew, as after a crash, with these batches in a log.
    fn find(&mut self, folder: &str, batches: &[Bytes]) {
        self.stop();
        let path = FilePath::new(0, format!("{folder}/{LOG}"));
        self.disk.files.insert(path, batches.concat());
        self.restart(Checkpoints::default());
    }

    fn committed(&mut self, offset: i64) -> Readable {
        let part = ReadPart {
            slot: 0,
            partition: partition(1),
            offset: Offset(offset),
            max_bytes: 1 << 20,
            leader_epoch: None,
            last_fetched_epoch: None,
        };
        let reply = ReplyTo { session: SESSION, request: 77, part: 0 };
        let (seen, isolation) = (self.image.offset, Isolation::ReadCommitted);
        self.mail(ToShard::Read(Read { reply, seen, parts: vec![part], isolation, watch: None }));
        match self.answers.remove(&77) {
            Some(Answer::Read(mut outcomes)) => outcomes.remove(0).result.expect("readable"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn readers_of_committed_records_are_told_what_was_aborted() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.produce(1, 1, Acks::All, batch(5, 1, None));
    let data = |id, base| written(id, base, None, b"value", false);
    let batches = [data(1, 0), data(2, 1), marker(1, 2, &ABORT), data(1, 3), marker(1, 4, &COMMIT)];
    world.find("t-0", &batches);
    let readable = world.committed(0);
    assert_eq!((readable.last_stable, readable.high_watermark), (Offset(1), Offset(5)));
    assert_eq!(readable.aborted, [(ProducerId(1), Offset(0))]);
    assert_eq!(readable.records.len(), batches[0].len());
    assert_eq!(world.bases(1, 0), [0, 1, 2, 3, 4], "others read all of it");
    let more = [&batches[..], &[marker(2, 5, &ABORT)]].concat();
    world.find("t-0", &more);
    assert_eq!(
        world.committed(0).aborted,
        [(ProducerId(1), Offset(0)), (ProducerId(2), Offset(1))]
    );
    assert_eq!(world.committed(3).aborted, [(ProducerId(2), Offset(1))]);
    assert_eq!(world.committed(3).last_stable, Offset(6));
}

/// What is committed after `end` of a transaction that commits 9 over 5.
fn check_offset(end: Option<&ControlRecord>, expect: i64) {
    let mut world = coordinating();
    for (request, offset) in [(1, 5), (2, 9)] {
        world.ask(request, commit_of(offset));
    }
    let file = FilePath::new(0, format!("{OFFSETS_FOLDER}/{LOG}"));
    let log = Bytes::copy_from_slice(&world.disk.files[&file]);
    let found: Vec<_> = split_batches(log).map(Result::unwrap).collect();
    let [before, over] = &found[..] else { panic!("{found:?}") };
    let payload = over.payload();
    let record = RecordIter::new(&payload, 1).next().unwrap().unwrap();
    let value = record.value.unwrap();
    let mut batches = vec![before.bytes.clone(), written(4, 1, record.key, value, false)];
    batches.extend(end.map(|end| marker(4, 2, end)));
    world.find(OFFSETS_FOLDER, &batches);
    assert_eq!(world.fetched(), Some(expect), "{end:?}");
}

const OFFSETS_FOLDER: &str = "__consumer_offsets-0";

#[test]
fn offsets_of_a_transaction_count_once_it_is_committed() {
    check_offset(Some(&COMMIT), 9);
    check_offset(Some(&ABORT), 5);
    check_offset(None, 5);
}

#[test]
fn a_coordinator_reads_over_what_compaction_took_from_the_end_of_a_segment() {
    let mut world = coordinating();
    for (request, offset) in [(1, 5), (2, 9)] {
        world.ask(request, commit_of(offset));
    }
    let file = FilePath::new(0, format!("{OFFSETS_FOLDER}/{LOG}"));
    let log = Bytes::copy_from_slice(&world.disk.files[&file]);
    let mut found = split_batches(log).map(Result::unwrap);
    let (first, second) = (found.next().unwrap(), found.next().unwrap());
    let mut moved = BytesMut::from(&second.bytes[..]);
    dohle_wire::record::patch(&mut moved, Offset(900), LeaderEpoch(0)).unwrap();
    let later = FilePath::new(0, format!("{OFFSETS_FOLDER}/{:020}.log", 700));
    world.stop();
    world.disk.files.insert(file, first.bytes.to_vec());
    world.disk.files.insert(later, moved.to_vec());
    let name = OFFSETS_FOLDER.to_owned();
    let recovery_points = [(name, Offset(901))].into();
    world.restart(Checkpoints { clean: true, recovery_points, ..Checkpoints::default() });
    assert_eq!(world.fetched(), Some(9));
}

/// The header of a batch whose records were compacted away.
fn emptied(batch: &Bytes) -> Bytes {
    let mut header = BatchHeader::parse(batch).unwrap();
    (header.batch_length, header.records_count) = (49, 0);
    let mut out = BytesMut::new();
    header.write(&mut out);
    header.crc = crc32c::crc32c(&out[21..]);
    out.clear();
    header.write(&mut out);
    out.freeze()
}

#[test]
fn times_are_found_behind_emptied_batches_and_in_markers() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.produce(1, 1, Acks::All, batch(5, 1, None));
    let data = |base| written(1, base, None, b"value", false);
    let batches = [emptied(&data(0)), emptied(&data(1)), data(2), marker(1, 3, &COMMIT)];
    world.find("t-0", &batches);
    for spec in
        [OffsetSpec::At(Timestamp(0)), OffsetSpec::At(Timestamp(5)), OffsetSpec::MaxTimestamp]
    {
        assert_eq!(world.list(7, spec), Some(2), "{spec:?}");
    }
    world.find("t-0", &[marker(1, 0, &COMMIT)]);
    assert_eq!(world.list(7, OffsetSpec::MaxTimestamp), Some(0));
}

#[test]
fn what_another_broker_deleted_past_our_recovery_point_is_no_loss() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    for request in 1..=10 {
        world.produce(request, 1, Acks::All, batch(5, 1, None));
    }
    let reply = ReplyTo { session: SESSION, request: 50, part: 0 };
    let (seen, before) = (world.image.offset, Some(Offset(5)));
    world.mail(ToShard::DeleteRecords { reply, seen, partition: partition(1), before });
    let stopped = world.stop();
    // It stopped cleanly, and left our own file as it was.
    let durable = Some([(partition(1), Offset(3))].into());
    world.restart(Checkpoints { durable, ..stopped });
    assert_eq!(world.list(60, OffsetSpec::Earliest), Some(5));
}
