//! The table of producers against plain lists of what each has written, and its file.

use std::collections::VecDeque;

use dohle_wire::record::Attributes;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::log::producer::{ProducerBatch, ProducerEntry, REMEMBERED};
use crate::tests::props;

/// Sequences begin anew after so many.
const SEQUENCES: i64 = 1 << 31;

const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

/// Where a batch begins in the sequence of its producer.
#[derive(Clone, Debug)]
enum Begins {
    Next,
    /// As the one before the latest, or before that one.
    Like(usize),
    At(i32),
    Skipping(i32),
}

#[derive(Clone, Debug)]
enum Change {
    Send { id: usize, later: i16, begins: Begins, records: i32, transactional: bool, time: i64 },
    Mark { id: usize, later: i16, time: i64 },
    Expire(i64),
    Restart,
}

fn begins() -> impl Strategy<Value = Begins> {
    prop_oneof![
        6 => Just(Begins::Next),
        3 => (0..7usize).prop_map(Begins::Like),
        1 => prop_oneof![Just(0), i32::MAX - 12..=i32::MAX, 0..40].prop_map(Begins::At),
        1 => (1..5i32).prop_map(Begins::Skipping),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let later = prop_oneof![10 => Just(0i16), 1 => Just(-1), 1 => Just(1), 1 => Just(3)];
    let send = (0..3usize, later.clone(), begins(), 1..9i32, any::<bool>(), 0..100i64);
    let send = send.prop_map(|(id, later, begins, records, transactional, time)| Change::Send {
        id,
        later,
        begins,
        records,
        transactional,
        time,
    });
    let mark = (0..3usize, 0..2i16, 0..100i64);
    prop_oneof![
        20 => send,
        2 => mark.prop_map(|(id, later, time)| Change::Mark { id, later, time }),
        1 => (0..60i64).prop_map(Change::Expire),
        2 => Just(Change::Restart),
    ]
}

/// A batch: its sequences, its offsets, its time.
#[derive(Copy, Clone, Debug)]
struct Written {
    first: i64,
    last: i64,
    base: i64,
    end: i64,
    time: i64,
}

/// What one producer has written in its epoch.
#[derive(Clone, Debug)]
struct Naive {
    epoch: i16,
    written: Vec<Written>,
    open: Option<i64>,
    heard: i64,
}

impl Naive {
    fn latest(&self) -> impl Iterator<Item = &Written> {
        self.written.iter().rev().take(REMEMBERED)
    }

    /// The offset of the record that ends the same batch, or whether it may follow.
    fn judge(&self, header: &BatchHeader, records: i64) -> Verdict {
        let (epoch, first) = (header.producer_epoch.0, i64::from(header.base_sequence.0));
        let last = (first + records - 1) % SEQUENCES;
        let same =
            |batch: &&Written| epoch == self.epoch && (batch.first, batch.last) == (first, last);
        if let Some(batch) = self.latest().find(same) {
            return Verdict::Duplicate(remembered(batch));
        }
        let expected = self.written.last().map_or(first, |batch| (batch.last + 1) % SEQUENCES);
        match epoch {
            epoch if epoch < self.epoch => Verdict::Refused(ErrorCode::InvalidProducerEpoch),
            epoch if epoch > self.epoch && first == 0 => Verdict::New,
            epoch if epoch == self.epoch && first == expected => Verdict::New,
            _ => Verdict::Refused(ErrorCode::OutOfOrderSequenceNumber),
        }
    }

    fn enter(&mut self, epoch: i16) {
        if epoch != self.epoch {
            (self.epoch, self.written) = (epoch, Vec::new());
        }
    }
}

fn remembered(batch: &Written) -> ProducerBatch {
    ProducerBatch {
        last_sequence: Sequence(i32::try_from(batch.last).unwrap()),
        last_offset: Offset(batch.end - 1),
        offset_delta: i32::try_from(batch.end - batch.base - 1).unwrap(),
        timestamp: Timestamp(batch.time),
    }
}

#[derive(Default)]
struct World {
    table: ProducerTable,
    naive: BTreeMap<i64, Naive>,
    end: i64,
}

impl World {
    fn header(&self, id: usize, epoch: i16, first: i32, records: i32, time: i64) -> BatchHeader {
        BatchHeader {
            base_offset: Offset(self.end),
            batch_length: 49,
            partition_leader_epoch: LeaderEpoch(0),
            magic: 2,
            crc: 0,
            attributes: Attributes(0),
            last_offset_delta: records - 1,
            base_timestamp: Timestamp(time),
            max_timestamp: Timestamp(time),
            producer_id: ProducerId(id as i64),
            producer_epoch: ProducerEpoch(epoch),
            base_sequence: Sequence(first),
            records_count: records,
        }
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Send { id, later, ref begins, records, transactional, time } => {
                let known = self.naive.get(&(id as i64));
                let epoch = known.map_or(0, |known| known.epoch) + later;
                let first = first(known, begins, later);
                let mut header = self.header(id, epoch.max(0), first, records, time);
                header.attributes = Attributes(if transactional { TRANSACTIONAL } else { 0 });
                self.send(&header);
            }
            Change::Mark { id, later, time } => {
                let Some(known) = self.naive.get_mut(&(id as i64)) else { return };
                known.enter(known.epoch + later);
                (known.open, known.heard) = (None, time);
                let mut header = self.header(id, self.naive[&(id as i64)].epoch, -1, 1, time);
                header.attributes = Attributes(TRANSACTIONAL | CONTROL);
                self.table.note(&header);
                self.end += 1;
            }
            Change::Expire(horizon) => {
                self.table.expire(Timestamp(horizon));
                self.naive.retain(|_, known| known.open.is_some() || known.heard > horizon);
            }
            Change::Restart => {
                let file = snapshot::encode(&self.table);
                assert_eq!(snapshot::parse(&file).as_ref(), Some(&self.table));
            }
        }
    }

    fn send(&mut self, header: &BatchHeader) {
        let (id, records) = (header.producer_id.0, i64::from(header.records_count));
        let expected = match self.naive.get(&id) {
            Some(known) => known.judge(header, records),
            None => Verdict::New,
        };
        assert_eq!(self.table.judge(header, Mutants::default()), expected, "{header:?}");
        if expected != Verdict::New {
            return;
        }
        self.table.note(header);
        let epoch = header.producer_epoch.0;
        let known = self.naive.entry(id);
        let known = known.or_insert(Naive { epoch, written: Vec::new(), open: None, heard: 0 });
        known.enter(epoch);
        let (first, base) = (i64::from(header.base_sequence.0), self.end);
        let last = (first + records - 1) % SEQUENCES;
        let time = header.max_timestamp.0;
        known.written.push(Written { first, last, base, end: base + records, time });
        known.heard = time;
        if header.is_transactional() && known.open.is_none() {
            known.open = Some(base);
        }
        self.end += records;
    }

    fn check(&self) {
        let ids: Vec<i64> = self.table.iter().map(|(id, _)| id.0).collect();
        assert_eq!(ids, self.naive.keys().copied().collect::<Vec<_>>());
        for ((_, entry), known) in self.table.iter().zip(self.naive.values()) {
            let mut batches: Vec<_> = known.latest().map(remembered).collect();
            batches.reverse();
            let expected = ProducerEntry {
                epoch: ProducerEpoch(known.epoch),
                coordinator_epoch: -1,
                open_transaction: known.open.map(Offset),
                last_timestamp: Timestamp(known.heard),
                batches: batches.into(),
            };
            assert_eq!(*entry, expected);
            let first = |batch: &ProducerBatch| i64::from(batch.first_sequence().0);
            assert!(entry.batches.iter().rev().map(first).eq(known.latest().map(|b| b.first)));
            let base = |batch: &ProducerBatch| batch.base_offset().0;
            assert!(entry.batches.iter().rev().map(base).eq(known.latest().map(|b| b.base)));
        }
        let open = self.naive.values().filter_map(|known| known.open).min();
        assert_eq!(self.table.first_open(), open.map(Offset));
    }
}

fn first(known: Option<&Naive>, begins: &Begins, later: i16) -> i32 {
    let written = known.map_or(&[][..], |known| &known.written);
    let next = written.last().map_or(0, |batch| (batch.last + 1) % SEQUENCES);
    let next = if later > 0 { 0 } else { next };
    let first = match begins {
        Begins::Next => next,
        Begins::Like(back) => written.iter().rev().nth(*back).map_or(next, |batch| batch.first),
        Begins::At(first) => i64::from(*first),
        Begins::Skipping(few) => (next + i64::from(*few)) % SEQUENCES,
    };
    i32::try_from(first).unwrap()
}

fn entry() -> impl Strategy<Value = ProducerEntry> {
    let batch = (any::<i32>(), 0..i64::MAX, any::<i32>(), any::<i64>());
    let batch = batch.prop_map(|(last_sequence, last_offset, offset_delta, time)| ProducerBatch {
        last_sequence: Sequence(last_sequence),
        last_offset: Offset(last_offset),
        offset_delta,
        timestamp: Timestamp(time),
    });
    let batches = vec(batch, 0..=REMEMBERED).prop_map(VecDeque::from);
    let rest = (any::<i16>(), any::<i32>(), any::<Option<u32>>(), any::<i64>());
    (batches, rest).prop_map(|(batches, (epoch, coordinator_epoch, open, heard))| ProducerEntry {
        epoch: ProducerEpoch(epoch),
        coordinator_epoch,
        open_transaction: open.map(|open| Offset(open.into())),
        last_timestamp: Timestamp(heard),
        batches,
    })
}

proptest! {
    #![proptest_config(props(200))]

    #[test]
    fn a_retry_is_known_and_everything_else_continues(changes in vec(change(), 1..50)) {
        let mut world = World::default();
        for change in &changes {
            world.apply(change);
            world.check();
        }
    }

    #[test]
    fn any_table_survives_its_file_and_no_damage_to_it_does(
        entries in proptest::collection::btree_map(any::<i64>().prop_map(ProducerId), entry(), 0..5),
        at in any::<prop::sample::Index>(),
        bits in 1..=255u8,
    ) {
        let table = ProducerTable { entries };
        let mut file = snapshot::encode(&table).to_vec();
        prop_assert_eq!(snapshot::parse(&file), Some(table));
        let at = at.index(file.len());
        prop_assert_eq!(snapshot::parse(&file[..at]), None);
        file[at] ^= bits;
        prop_assert_eq!(snapshot::parse(&file), None);
    }
}
