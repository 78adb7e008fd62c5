//! A log against a plain list of batches, whatever is done to it and whenever the process ends.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use crate::log::truncate::Truncating;
use crate::tests::props;

/// How the process ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum End {
    Clean,
    Kill,
    Power,
}

/// A batch to be appended.
#[derive(Clone, Debug)]
struct Wanted {
    producer: i64,
    records: i64,
    time: i64,
    new_epoch: bool,
}

/// Offsets and places are parts of what there is, of 255.
#[derive(Clone, Debug)]
enum Act {
    Append(Wanted),
    Flush,
    Checkpoint,
    DeleteBelow(u8),
    CutAt(u8),
    EmptyFrom(u8),
    Restart(End),
    /// The process ends after some of the disk operations that appends have asked for.
    Struck(Vec<Wanted>, u8, End),
}

fn wanted() -> impl Strategy<Value = Wanted> {
    (0..4i64, 1..6i64, 0..60i64, prop::bool::weighted(0.1)).prop_map(
        |(producer, records, time, new_epoch)| Wanted { producer, records, time, new_epoch },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let end = || prop_oneof![Just(End::Clean), Just(End::Kill), Just(End::Power)];
    let crash = prop_oneof![Just(End::Kill), Just(End::Power)];
    prop_oneof![
        24 => wanted().prop_map(Act::Append),
        3 => Just(Act::Flush),
        2 => Just(Act::Checkpoint),
        2 => any::<u8>().prop_map(Act::DeleteBelow),
        2 => any::<u8>().prop_map(Act::CutAt),
        1 => any::<u8>().prop_map(Act::EmptyFrom),
        3 => end().prop_map(Act::Restart),
        2 => (vec(wanted(), 1..5), any::<u8>(), crash).prop_map(|(w, at, end)| Act::Struck(w, at, end)),
    ]
}

fn shape() -> impl Strategy<Value = LogSettings> {
    let bytes = prop_oneof![Just(300u64), Just(700), Just(2_500)];
    let interval = prop_oneof![Just(0u64), Just(200), Just(4_096)];
    let flush = prop_oneof![3 => Just(i64::MAX), 1 => Just(1), 1 => Just(7)];
    (bytes, interval, flush).prop_map(|(segment_bytes, index_interval, flush_messages)| {
        LogSettings { segment_bytes, index_interval, flush_messages, ..settings() }
    })
}

/// Part `of` of `whole`, which may be all of it.
fn part(of: u8, whole: i64) -> i64 {
    whole * i64::from(of) / 255
}

/// The log on its disk, and the list.
struct Pair {
    world: World,
    list: Vec<(BatchHeader, Bytes)>,
    start: i64,
    epoch: i32,
}

impl Pair {
    fn end(&self) -> i64 {
        self.list.last().map_or(self.start, |(header, _)| header.next_offset().0)
    }

    fn apply(&mut self, act: &Act) {
        match act {
            Act::Append(wanted) => {
                let mut fx = Fx::new();
                self.append(wanted, &mut fx);
                self.world.run(&mut fx);
            }
            Act::Flush => self.world.flush(),
            Act::Checkpoint => self.checkpoint(),
            Act::DeleteBelow(of) => self.delete_below(*of),
            Act::CutAt(of) => self.cut_at(self.start + part(*of, self.end() + 3 - self.start)),
            Act::EmptyFrom(of) => self.empty_from(part(*of, self.end() + 10)),
            Act::Restart(end) => self.restart(*end),
            Act::Struck(wanted, at, end) => self.strike(wanted, *at, *end),
        }
    }

    fn append(&mut self, wanted: &Wanted, fx: &mut Fx<DiskOp>) {
        self.epoch += i32::from(wanted.new_epoch);
        let known = self.world.log.producers().iter().find(|(id, _)| id.0 == wanted.producer);
        let last = known.and_then(|(_, entry)| entry.batches.back());
        let next = last.map_or(0, |batch| batch.last_sequence.plus(1).0);
        let producer = (wanted.producer > 0).then_some((wanted.producer, next));
        let checked = batch(wanted.time, producer, wanted.records);
        let (epoch, World { log, files, .. }) = (LeaderEpoch(self.epoch), &mut self.world);
        let appended = log.append(NOW, &checked, epoch, files, fx).expect("it fits");
        let mut bytes = checked.bytes().to_vec();
        dohle_wire::record::patch(&mut bytes, appended.base, epoch).expect("a header");
        let header = BatchHeader::parse(&bytes).expect("a header");
        assert_eq!((appended.base.0, appended.next), (self.end(), header.next_offset()));
        self.list.push((header, bytes.into()));
    }

    fn checkpoint(&mut self) {
        self.world.take_checkpoint();
        let mut fx = Fx::new();
        let Checkpoint { recovery_point, durable } = self.world.checkpoint;
        self.world.log.on_checkpoint(recovery_point, durable, &mut fx);
        self.world.run(&mut fx);
    }

    /// What deleted batches said of producers is kept in a snapshot, once it is durable.
    fn delete_below(&mut self, of: u8) {
        let log = &self.world.log;
        let active = log.segments().last().map_or(Offset(0), |active| active.base);
        if active.0 < self.start || log.recovery_point() < active {
            return;
        }
        self.start += part(of, active.0 - self.start);
        let mut fx = Fx::new();
        self.world.log.advance_start(Offset(self.start), &mut fx);
        self.world.run(&mut fx);
        self.checkpoint();
    }

    /// A cut that leaves nothing at or past the start empties the log, and is not made here.
    fn cut_at(&mut self, to: i64) {
        let holding = |(header, _): &&(BatchHeader, Bytes)| header.next_offset().0 > to;
        if self.list.iter().find(holding).is_some_and(|(h, _)| h.base_offset.0 < self.start) {
            return;
        }
        let mut fx = Fx::new();
        let (log, generation) = (self.world.log.clone(), self.world.log.generation() + 1);
        let cut = log.truncate_to(Offset(to), generation, &mut fx);
        self.finish(cut, &mut fx);
        self.list.retain(|(header, _)| header.next_offset().0 <= to);
    }

    fn empty_from(&mut self, start: i64) {
        let mut fx = Fx::new();
        let (log, generation) = (self.world.log.clone(), self.world.log.generation() + 1);
        let cut = log.truncate_fully_and_start_at(Offset(start), generation, &mut fx);
        self.finish(cut, &mut fx);
        (self.list, self.start) = (Vec::new(), start);
    }

    fn finish(&mut self, cut: Truncating, fx: &mut Fx<DiskOp>) {
        let mut truncation = match cut {
            Truncating::Done(log) => {
                self.world.log = *log;
                return self.world.run(fx);
            }
            Truncating::Working(truncation) => truncation,
        };
        loop {
            let ops: Vec<_> = fx.drain().collect();
            assert!(!ops.is_empty(), "a truncation waits for nothing");
            for done in ops.into_iter().filter_map(|op| self.world.disk.run(op)) {
                match truncation.step(NOW, done, &mut self.world.files, fx) {
                    Recovered::Working => {}
                    Recovered::Done(log, _) => {
                        self.world.log = *log;
                        return self.world.run(fx);
                    }
                    Recovered::Failed(why) | Recovered::Full(why) => panic!("{why}"),
                }
            }
        }
    }

    fn restart(&mut self, end: End) {
        let (written, durable) = (self.world.log.written().0, self.world.log.durable().0);
        match end {
            End::Clean => self.world.close(),
            End::Kill => self.world.disk.kill(),
            End::Power => self.world.disk.lose_power(),
        }
        self.open(match end {
            End::Clean => self.end(),
            End::Kill => written,
            End::Power => durable,
        });
    }

    fn strike(&mut self, wanted: &[Wanted], at: u8, end: End) {
        let mut fx = Fx::new();
        wanted.iter().for_each(|wanted| self.append(wanted, &mut fx));
        let ops: Vec<_> = fx.drain().collect();
        let happen = part(at, ops.len() as i64) as usize;
        for done in ops.into_iter().take(happen).filter_map(|op| self.world.disk.run(op)) {
            self.world.log.on_io(&done, &mut fx);
        }
        self.restart(end);
    }

    /// Opens the log, which has to hold what is below `least`. What it ends with is all there is.
    fn open(&mut self, least: i64) {
        let world = &mut self.world;
        let start = (world.log_start.0 > 0).then_some(world.log_start);
        let plan = plan(&world.settings, world.clean, world.checkpoint, start);
        world.log = recover(&mut world.disk, &mut world.files, plan).expect("it opens");
        world.clean = false;
        let end = world.log.end();
        assert!(end.0 >= least, "it ended at {least} and ends at {end}");
        self.list.retain(|(header, _)| header.next_offset() <= end);
    }

    fn check(&mut self) {
        let log = &self.world.log;
        assert_eq!((log.log_start().0, log.end().0), (self.start, self.end()), "L7");
        let (mut producers, mut epochs) = (ProducerTable::default(), EpochCache::default());
        for (header, _) in &self.list {
            producers.note(header);
            epochs.begin(header.partition_leader_epoch, header.base_offset);
        }
        epochs.cut_start(log.log_start());
        assert_eq!(log.producers(), &producers, "P4");
        assert!(
            has_forgotten(log) || *log.epochs() == epochs,
            "L3: {:?}, not {epochs:?}",
            log.epochs()
        );
        self.check_reads();
        self.check_times();
    }

    fn check_reads(&mut self) {
        let list: Vec<_> = self.list.clone();
        for (header, bytes) in &list {
            let inside = header.base_offset.0.max(self.start)..header.next_offset().0;
            for offset in inside {
                let found = self.world.read(Offset(offset));
                assert_eq!(found, bytes, "read at {offset}");
            }
        }
        assert_eq!(self.world.read(Offset(self.end())), Bytes::new());
    }

    /// The first batch that is young enough, in the first segment that is.
    fn check_times(&mut self) {
        if self.start > 0 {
            return;
        }
        for time in (90..170).step_by(7) {
            let young = |(header, _): &&(BatchHeader, Bytes)| header.max_timestamp.0 >= time;
            let expected = self.list.iter().find(young).map(|(header, _)| header.base_offset);
            let plan = self.world.log.read_time(Timestamp(time), self.world.log.end());
            let found = plan.and_then(|plan| self.world.disk.locate(&plan).expect("no disk fails"));
            assert_eq!(found.map(|found| found.base), expected, "time {time}");
        }
    }

    /// What is derived is what the records alone say.
    fn check_replay(&self) {
        let mut disk = self.world.disk.clone();
        disk.kill();
        let derived = [".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint"];
        disk.files.retain(|path, _| !derived.iter().any(|end| path.path.ends_with(end)));
        let plan = plan(&self.world.settings, false, Offset(0), None);
        let again = recover(&mut disk, &mut self.world.files.clone(), plan).expect("it opens");
        let log = &self.world.log;
        assert_eq!((again.log_start(), again.end()), (log.log_start(), log.end()));
        let forgot = has_forgotten(&again) || has_forgotten(log);
        assert!(forgot || again.epochs() == log.epochs(), "{:?}", again.epochs());
        if self.start == 0 {
            assert_eq!(again.producers(), log.producers());
        }
    }
}

/// A log that holds nothing may have forgotten who wrote what it held.
fn has_forgotten(log: &Log) -> bool {
    log.log_start() == log.end() && log.epochs().entries().is_empty()
}

proptest! {
    #![proptest_config(props(150))]

    #[test]
    fn a_log_is_its_list_of_batches(shape in shape(), acts in vec(act(), 1..60)) {
        let mut pair = Pair { world: World::new(shape), list: Vec::new(), start: 0, epoch: 0 };
        for act in &acts {
            pair.apply(act);
            pair.check();
        }
        pair.check_replay();
    }
}
