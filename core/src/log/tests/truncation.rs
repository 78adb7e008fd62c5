//! Logs that are cut, in peace and with a crash between any two disk operations, and what
//! followers append.

use super::*;
use crate::log::follow::FollowError;
use crate::log::names::TRUNCATED_TO;
use crate::log::truncate::{Truncating, Truncation};

/// How far a truncation is let go.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Let {
    Finish,
    /// Only so many of its disk operations happen.
    Do(usize),
}

impl World {
    fn begin_cut(&mut self, to: i64, whole: bool, fx: &mut Fx<DiskOp>) -> Truncating {
        let log = self.log.clone();
        let generation = log.generation() + 1;
        match whole {
            true => log.truncate_fully_and_start_at(Offset(to), generation, fx),
            false => log.truncate_to(Offset(to), generation, fx),
        }
    }

    /// Whether the truncation came to its end.
    fn cut(&mut self, to: i64, whole: bool, limit: Let) -> bool {
        let mut fx = Fx::new();
        let done = match self.begin_cut(to, whole, &mut fx) {
            Truncating::Done(log) => Some(log),
            Truncating::Working(truncation) => self.drive(*truncation, limit, &mut fx),
        };
        let Some(log) = done else { return false };
        self.log = *log;
        self.run(&mut fx);
        self.appended.retain(|header| header.next_offset() <= self.log.end() && !whole);
        true
    }

    fn drive(
        &mut self,
        mut truncation: Truncation,
        limit: Let,
        fx: &mut Fx<DiskOp>,
    ) -> Option<Box<Log>> {
        let mut left = if let Let::Do(ops) = limit { ops } else { usize::MAX };
        loop {
            let ops: Vec<_> = fx.drain().collect();
            assert!(!ops.is_empty(), "the truncation waits for nothing");
            for op in ops {
                left = left.checked_sub(1)?;
                let Some(done) = self.disk.run(op) else { continue };
                match truncation.step(NOW, done, &mut self.files, fx) {
                    Recovered::Working => {}
                    Recovered::Done(log, _) => return Some(log),
                    Recovered::Failed(why) | Recovered::Full(why) => panic!("{why}"),
                }
            }
        }
    }

    fn end(&self) -> i64 {
        self.log.end().0
    }
}

/// Thirty batches of two records, in segments of several, everything synced and checkpointed.
fn filled() -> World {
    let mut world = World::new(LogSettings { segment_bytes: 700, ..settings() });
    for n in 0..30 {
        world.append(n, Some((1 + n % 3, (n / 3 * 2) as i32)), 2);
    }
    world.flush();
    world.take_checkpoint();
    assert!(world.log.segments().len() > 4);
    world
}

#[test]
fn a_log_is_cut_at_a_batch_and_everything_follows() {
    for to in 0..=62 {
        let mut world = filled();
        assert!(world.cut(to, false, Let::Finish));
        assert_eq!(world.end(), (to / 2 * 2).min(60), "cut at {to}");
        world.check();
        world.append(99, None, 3);
        world.kill();
        world.lose_power();
        assert!(world.end() >= (to / 2 * 2).min(60));
    }
}

#[test]
fn a_crash_between_any_two_operations_leaves_a_prefix() {
    for (to, whole) in [(0, false), (17, false), (38, false), (59, false), (20, true), (90, true)] {
        let mut ops = 0;
        loop {
            let finished = ["kill", "power"].map(|crash| {
                let mut world = filled();
                let finished = world.cut(to, whole, Let::Do(ops));
                if crash == "kill" {
                    world.disk.kill();
                } else {
                    world.disk.lose_power();
                }
                let plan = plan(&world.settings, false, world.checkpoint, None);
                world.log = recover(&mut world.disk, &mut world.files, plan).expect("it opens");
                let (start, end) = (world.log.log_start().0, world.end());
                let old = start == 0 && (if whole { 0 } else { to / 2 * 2 }..=60).contains(&end);
                let new = if whole { start == to && end == to } else { end == to / 2 * 2 };
                assert!(old && !finished || new, "{crash} after {ops}: {start} to {end}");
                if start == 0 {
                    world.appended.retain(|header| header.next_offset().0 <= end);
                    world.check();
                }
                finished
            });
            if finished == [true, true] {
                break;
            }
            ops += 1;
        }
        assert!(ops > 5, "{ops} operations");
    }
}

#[test]
fn an_emptied_log_begins_where_it_is_told() {
    for start in [0, 20, 59, 90] {
        let mut world = filled();
        world.append(70, Some((9, 0)), 1);
        assert!(world.cut(start, true, Let::Finish));
        assert_eq!((world.log.log_start().0, world.end()), (start, start));
        assert_eq!(world.log.recovery_point().0, start);
        assert!(world.log.producers().is_empty());
        assert_eq!(world.log.epochs(), &EpochCache::default());
        let appended = world.append(71, Some((1, 5)), 2);
        assert_eq!(appended.base, Offset(start));
        world.kill();
        assert_eq!(world.log.log_start().0, start);
    }
}

#[test]
fn checkpoints_from_before_are_not_believed_until_they_are_made_anew() {
    let mut world = filled();
    let there = |world: &World| world.disk.names().iter().any(|name| name.contains(TRUNCATED_TO));
    assert!(world.cut(30, false, Let::Finish) && there(&world));
    world.kill();
    let mut fx = Fx::new();
    world.log.on_checkpoint(Offset(60), Offset(60), &mut fx);
    assert!(fx.is_empty(), "that checkpoint is from before");
    world.flush();
    world.take_checkpoint();
    let Checkpoint { recovery_point, durable } = world.checkpoint;
    world.log.on_checkpoint(recovery_point, durable, &mut fx);
    world.run(&mut fx);
    assert!(!there(&world));
    world.kill();
    assert_eq!(world.end(), 30);
}

#[test]
fn a_later_cut_does_not_make_older_checkpoints_credible() {
    let mut world = filled();
    assert!(world.cut(20, false, Let::Finish));
    for n in 0..20 {
        world.append(80 + n, None, 2);
    }
    assert!(world.cut(55, false, Let::Finish));
    assert_eq!((world.checkpoint.durable.0, world.end()), (60, 54));
    world.lose_power();
    assert!((20..=54).contains(&world.end()), "{}", world.end());
}

#[test]
fn an_epoch_without_records_does_not_outlive_a_cut_at_the_end() {
    let mut world = filled();
    let mut fx = Fx::new();
    world.log.begin_epoch(LeaderEpoch(7), &mut fx);
    world.run(&mut fx);
    assert!(world.cut(60, false, Let::Finish));
    assert_eq!(world.log.epochs().latest(), Some(LeaderEpoch(3)));
    world.kill();
    assert_eq!(world.log.epochs().latest(), Some(LeaderEpoch(3)));
}

fn follow(world: &mut World, base: i64, epoch: i32) -> Result<Option<LogAppend>, FollowError> {
    let made = batch(5, None, 2);
    let mut bytes = made.bytes().to_vec();
    dohle_wire::record::patch(&mut bytes, Offset(base), LeaderEpoch(epoch)).expect("a header");
    let raw = RawBatch::parse(Bytes::from(bytes)).expect("whole");
    let mut fx = Fx::new();
    let asked_in = LeaderEpoch(6);
    let got = world.log.append_as_follower(NOW, &raw, asked_in, &mut world.files, &mut fx);
    world.run(&mut fx);
    got
}

#[test]
fn a_follower_takes_batches_as_they_are_and_nothing_else() {
    let mut world = filled();
    let end = |log: &Log| log.end().0;
    assert_eq!(follow(&mut world, 58, 5).map(drop), Err(behind(58)));
    assert_eq!(follow(&mut world, 60, 7), Ok(None), "of a later epoch than asked in");
    assert_eq!(end(&world.log), 60);
    follow(&mut world, 60, 5).expect("the next one");
    follow(&mut world, 70, 5).expect("a gap is what compaction leaves");
    let (found, known) = (LeaderEpoch(4), LeaderEpoch(5));
    assert_eq!(follow(&mut world, 72, 4).map(drop), Err(FollowError::Epoch { found, known }));
    assert_eq!(end(&world.log), 72);
    assert_eq!(world.log.epochs().epoch_at(Offset(71)), Some(LeaderEpoch(5)));
}

fn behind(found: i64) -> FollowError {
    FollowError::Offset { found: Offset(found), end: Offset(60) }
}

#[test]
fn a_follower_refuses_a_batch_whose_checksum_is_wrong() {
    let mut world = filled();
    let mut bytes = batch(5, None, 2).bytes().to_vec();
    dohle_wire::record::patch(&mut bytes, Offset(60), LeaderEpoch(5)).expect("a header");
    *bytes.last_mut().expect("not empty") ^= 1;
    let raw = RawBatch::parse(Bytes::from(bytes)).expect("whole");
    let mut fx: Fx<DiskOp> = Fx::new();
    let got = world.log.append_as_follower(NOW, &raw, LeaderEpoch(6), &mut world.files, &mut fx);
    assert_eq!(got, Err(FollowError::Checksum(Offset(60))));
    assert!(fx.is_empty());
}
