//! The quorum machine by itself.

use dohle_wire::id::Timestamp;
use dohle_wire::message::{FeatureLevelRecord, MetadataRecord};

use super::batches::data_batch;
use super::state_file::StoredVoters;
use super::*;
use crate::config::topic::TopicConfig;
use crate::fx::Fx;
use crate::memory_disk::MemoryDisk;
use crate::mutant::Mutants;
use crate::time::Instant;

const NODE: NodeId = NodeId(1);
const NOW: Now = Now { mono: Instant(1), wall: Timestamp(1000) };

struct Bench {
    quorum: Quorum,
    files: FileIds,
    disk: MemoryDisk,
    /// Operations asked for and not carried out.
    ops: Vec<DiskOp>,
    told: Vec<Effect>,
}

fn settings() -> QuorumSettings {
    let none = std::collections::BTreeMap::new();
    let config = TopicConfig::resolve(&none, &none, &none, &Default::default());
    let log = LogSettings::from_topic(&config, Mutants::default());
    QuorumSettings {
        node: NODE,
        dir: 0,
        clean: false,
        recovery_point: Offset(0),
        generation: 0,
        log,
    }
}

impl Bench {
    fn on(disk: MemoryDisk) -> Self {
        let quorum = Quorum::new(settings());
        let files = FileIds::of_unit(0);
        let mut bench = Self { quorum, files, disk, ops: Vec::new(), told: Vec::new() };
        bench.input(Input::Open);
        bench
    }

    /// A quorum that leads, with a disk on which all is done.
    fn leading() -> Self {
        let mut bench = Self::on(MemoryDisk::default());
        bench.settle();
        bench.input(Input::Lead);
        bench.propose("first");
        bench.flush();
        bench.settle();
        bench
    }

    fn input(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.quorum.step(NOW, input, &mut self.files, &mut fx);
        self.take(fx);
    }

    fn take(&mut self, mut fx: Fx<Effect>) {
        for effect in fx.drain() {
            match effect {
                Effect::Disk(op) => self.ops.push(op),
                other => self.told.push(other),
            }
        }
    }

    /// Carries out the operations under way, but not what they lead to.
    fn finish(&mut self) {
        for op in std::mem::take(&mut self.ops) {
            if let Some(done) = self.disk.run(op) {
                self.input(Input::Io(done));
            }
        }
    }

    fn settle(&mut self) {
        while !self.ops.is_empty() {
            self.finish();
        }
    }

    fn propose(&mut self, name: &str) -> Offset {
        let feature = FeatureLevelRecord { name: name.to_owned(), feature_level: 1 };
        let batch = data_batch(NOW.wall, &[(MetadataRecord::from(feature), 0)]).unwrap();
        let mut fx = Fx::new();
        let base = self.quorum.propose(NOW, &batch, &mut self.files, &mut fx);
        self.take(fx);
        base
    }

    fn flush(&mut self) {
        let mut fx = Fx::new();
        self.quorum.flush(&mut fx);
        self.take(fx);
    }

    fn syncs(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op, DiskOp::Sync { .. })).count()
    }

    fn committed(&self) -> Vec<i64> {
        let offset = |effect: &Effect| match effect {
            Effect::Committed(offset) => Some(offset.0),
            _ => None,
        };
        self.told.iter().filter_map(offset).collect()
    }

    fn elected(&self) -> Option<i32> {
        self.told.iter().find_map(|effect| match effect {
            Effect::Elected(epoch) => Some(epoch.0),
            _ => None,
        })
    }

    /// Starts again on what is left after a loss of power.
    fn again(self) -> Self {
        let mut disk = self.disk;
        disk.lose_power();
        let mut bench = Self::on(disk);
        bench.settle();
        bench
    }
}

#[test]
fn nothing_is_committed_before_its_sync_ended() {
    let mut bench = Bench::on(MemoryDisk::default());
    bench.settle();
    assert_eq!(bench.elected(), Some(1));
    bench.input(Input::Lead);
    assert_eq!(bench.propose("a"), Offset(1));
    assert_eq!(bench.ops.iter().filter(|op| matches!(op, DiskOp::Write { .. })).count(), 2);
    assert_eq!(bench.syncs(), 0);
    bench.finish();
    assert_eq!((bench.quorum.high_watermark(), bench.quorum.end()), (None, Some(Offset(2))));
    bench.flush();
    bench.settle();
    assert_eq!(bench.committed(), [2]);
}

#[test]
fn what_comes_during_a_sync_shares_the_next_one() {
    let mut bench = Bench::leading();
    bench.propose("a");
    bench.flush();
    for name in ["b", "c", "d"] {
        bench.propose(name);
        bench.flush();
    }
    assert_eq!(bench.syncs(), 1);
    bench.finish();
    assert_eq!(bench.committed(), [2, 3]);
    assert_eq!(bench.syncs(), 1);
    bench.settle();
    assert_eq!(bench.committed(), [2, 3, 6]);
}

#[test]
fn the_vote_is_durable_before_anything_is_written_in_its_epoch() {
    let mut bench = Bench::on(MemoryDisk::default());
    while bench.elected().is_none() {
        assert!(bench.ops.iter().all(|op| !matches!(op, DiskOp::Write { .. })));
        let voted = bench.ops.iter().any(|op| match op {
            DiskOp::Put { path, durable, .. } => *durable && path.path.ends_with("quorum-state"),
            _ => false,
        });
        assert!(!bench.ops.is_empty(), "the start hangs");
        bench.finish();
        assert!(bench.elected().is_none() || voted, "elected without a vote on the disk");
    }
    bench.input(Input::Lead);
    assert!(bench.ops.iter().any(|op| matches!(op, DiskOp::Write { .. })));
}

fn check_epoch(stored: Option<i32>, in_log: bool, expected: i32) {
    let mut disk = if in_log { Bench::leading().disk } else { MemoryDisk::default() };
    disk.kill();
    disk.files.remove(&state_path(0));
    if let Some(epoch) = stored {
        let voters = StoredVoters::Static(vec![NODE]);
        let epoch = LeaderEpoch(epoch);
        let state = StoredState { epoch, leader: None, voted: Some(NODE), voters };
        disk.files.insert(state_path(0), state.encode().into_bytes());
    }
    let mut bench = Bench::on(disk);
    bench.settle();
    assert_eq!(bench.elected(), Some(expected));
    let stored = StoredState::parse(&bench.disk.files[&state_path(0)]).unwrap();
    assert_eq!(stored.epoch, LeaderEpoch(expected));
}

#[test]
fn the_epoch_goes_past_the_stored_one_and_the_log() {
    check_epoch(None, false, 1);
    check_epoch(Some(6), false, 7);
    check_epoch(None, true, 2);
    check_epoch(Some(6), true, 7);
    check_epoch(Some(0), true, 2);
}

#[test]
fn epochs_end_where_their_numbers_end() {
    let mut disk = MemoryDisk::default();
    let voters = StoredVoters::Static(vec![NODE]);
    let state = StoredState { epoch: LeaderEpoch(i32::MAX), leader: None, voted: None, voters };
    disk.files.insert(state_path(0), state.encode().into_bytes());
    let mut bench = Bench::on(disk);
    bench.settle();
    assert!(matches!(bench.told.last(), Some(Effect::Unusable(why)) if why.contains("the last")));
}

#[test]
fn a_start_hands_over_all_that_was_committed_in_order() {
    let mut bench = Bench::leading();
    for number in 0..20 {
        bench.propose(&format!("f{number}"));
    }
    bench.flush();
    bench.settle();
    bench.propose("lost");
    let bench = bench.again();
    let mut offsets = Vec::new();
    for effect in &bench.told {
        if let Effect::Replay(entries) = effect {
            offsets.extend(entries.iter().map(|entry| entry.offset.0));
        }
    }
    assert_eq!(offsets, (0..22).collect::<Vec<_>>());
    assert_eq!(bench.quorum.high_watermark(), None, "Q12: not in its own epoch yet");
}

#[test]
fn a_failed_sync_is_the_end() {
    let mut bench = Bench::leading();
    bench.propose("a");
    bench.flush();
    bench.disk.broken = true;
    bench.settle();
    assert!(matches!(bench.told.last(), Some(Effect::DiskFailed(_))));
    assert_eq!((bench.committed(), bench.quorum.leads()), (vec![2], None));
    bench.disk.broken = false;
    let ops = bench.ops.len();
    bench.flush();
    bench.input(Input::Close);
    assert_eq!(bench.ops.len(), ops, "nothing is tried again");
}

#[test]
fn closing_makes_the_rest_durable() {
    let mut bench = Bench::leading();
    bench.propose("a");
    bench.input(Input::Close);
    assert_eq!(bench.quorum.leads(), None, "nothing is proposed any more");
    bench.settle();
    assert!(matches!(bench.told.last(), Some(Effect::Closed(Offset(3)))));
    assert_eq!(bench.committed(), [2, 3]);
}
