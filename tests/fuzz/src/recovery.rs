//! The opening of a log whose folder holds anything: it ends with a log or a refusal, after no more
//! operations than there are bytes to look at. A log that came of it is used, and opened again.

use bytes::Bytes;
use dohle_core::batch::CheckedBatch;
use dohle_core::disk::{DiskOp, FileIds, FilePath, IoDone};
use dohle_core::fx::Fx;
use dohle_core::log::recover::{Gaps, Recovered, Recovery, RecoveryPlan};
use dohle_core::log::{Log, LogSettings, Reading};
use dohle_core::memory_disk::MemoryDisk;
use dohle_core::mutant::Mutants;
use dohle_core::time::{Instant, Now};
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp, TopicId, Uuid};
use dohle_wire::record::{BatchBuilder, NoCodecs, RawBatch};

use super::folder::Folder;

const NOW: Now = Now { mono: Instant(0), wall: Timestamp(1_000) };

fn settings() -> LogSettings {
    LogSettings {
        segment_bytes: 2_000,
        segment_ms: i64::MAX,
        index_bytes: 10_000,
        index_interval: 100,
        flush_messages: i64::MAX,
        flush_ms: i64::MAX,
        preallocate: false,
        gaps: true,
        mutants: Mutants::default(),
    }
}

/// The topic that the folder names, so that it is not just set aside.
fn topic(folder: &Folder) -> TopicId {
    let metadata = folder.files.iter().rfind(|file| file.kind() == "partition.metadata");
    let text = metadata.map(|file| String::from_utf8_lossy(&file.content).into_owned());
    let text = text.unwrap_or_default();
    let id = text.lines().find_map(|line| line.strip_prefix("topic_id:"));
    TopicId(id.and_then(|id| id.trim().parse().ok()).unwrap_or(Uuid::from_u128(77 << 64)))
}

fn plan(folder: &Folder) -> RecoveryPlan {
    let cleaned = Gaps::Cleaned(Offset(folder.recovery_point.into()));
    RecoveryPlan {
        owner: 0,
        generation: 1,
        folder: FilePath::new(0, "t-0"),
        topic_id: topic(folder),
        own: false,
        anonymous: true,
        clean: folder.flags & 1 > 0,
        recovery_point: Offset(folder.recovery_point.into()),
        durable: Offset(folder.durable.min(folder.recovery_point).into()),
        gaps: if folder.flags & 4 > 0 { cleaned } else { Gaps::None },
        log_start: (folder.flags & 2 > 0).then_some(Offset(folder.log_start.into())),
        settings: settings(),
    }
}

/// A disk, and how much is asked of it.
struct World {
    disk: MemoryDisk,
    files: FileIds,
    operations: usize,
    operations_max: usize,
}

impl World {
    fn new(folder: &Folder) -> Self {
        let mut disk = MemoryDisk::default();
        for file in &folder.files {
            let path = FilePath::new(0, format!("t-0/{}", file.name()));
            disk.files.insert(path, file.content.clone());
        }
        let bytes: usize = folder.files.iter().map(|file| file.content.len()).sum();
        let operations_max = 1_000 + 20 * folder.files.len() + 4 * bytes;
        Self { disk, files: FileIds::of_unit(1), operations: 0, operations_max }
    }

    fn run(&mut self, op: DiskOp) -> Option<IoDone> {
        self.operations += 1;
        assert!(self.operations < self.operations_max, "{} operations", self.operations);
        if let DiskOp::Read { len, .. } = &op {
            assert!(*len as usize <= self.disk.used().max(1 << 16), "a read of {len} bytes");
        }
        self.disk.run(op)
    }

    fn open(&mut self, plan: RecoveryPlan) -> Result<Log, String> {
        let mut fx: Fx<DiskOp> = Fx::new();
        let mut recovery = Recovery::begin(plan, &mut fx);
        loop {
            let ops: Vec<_> = fx.drain().collect();
            assert!(!ops.is_empty(), "a recovery waits for nothing");
            for op in ops {
                let Some(done) = self.run(op) else { continue };
                match recovery.step(NOW, done, &mut self.files, &mut fx) {
                    Recovered::Working => {}
                    Recovered::Done(log, _) => return Ok(*log),
                    Recovered::Failed(why) | Recovered::Full(why) => return Err(why),
                }
            }
        }
    }

    fn drive(&mut self, log: &mut Log, fx: &mut Fx<DiskOp>) {
        while !fx.is_empty() {
            let ops: Vec<_> = fx.drain().collect();
            for op in ops {
                if let Some(done) = self.run(op) {
                    log.on_io(&done, fx);
                }
            }
        }
    }

    /// Reads what a reader would, from a few offsets.
    fn read(&mut self, log: &Log) {
        let (start, end) = (log.log_start(), log.end());
        let span = end.minus(start);
        for from in [0, 1, span / 2, span - 1].map(|after| start.plus(after.max(0))) {
            if let Reading::Locate(plan) = log.read(from, end) {
                let _ = self.disk.locate(&plan).map(|found| found.map(|found| found.position));
            }
            let _ = log.committed(from, end);
        }
        for time in [0, 1_000, i64::MAX] {
            if let Some(plan) = log.read_time(Timestamp(time), end) {
                let _ = self.disk.locate(&plan);
            }
        }
    }

    fn append(&mut self, log: &mut Log) {
        let mut builder = BatchBuilder::new(Offset(0));
        builder.push(Timestamp(5), None, Some(b"after"), &[]).expect("it fits");
        let bytes: Bytes = builder.build(&NoCodecs).expect("a batch");
        let raw = RawBatch::parse(bytes).expect("whole");
        let checked = CheckedBatch::trusted(raw.header, raw.bytes, None);
        let epoch = log.epochs().latest().unwrap_or(LeaderEpoch(0));
        let mut fx: Fx<DiskOp> = Fx::new();
        log.append(NOW, &checked, epoch, &mut self.files, &mut fx).expect("it fits");
        self.drive(log, &mut fx);
    }
}

/// Opens, uses, closes, and opens what is there then.
pub fn recovery(bytes: &[u8]) {
    let folder = Folder::read(bytes);
    let mut world = World::new(&folder);
    let plan = plan(&folder);
    let Ok(mut log) = world.open(plan.clone()) else { return };
    log.invariants();
    world.read(&log);
    // Where offsets end there is no more room for records.
    if log.end().0 > i64::MAX / 2 {
        return;
    }
    let found = log.end();
    world.append(&mut log);
    world.read(&log);
    let (start, end) = (log.log_start(), log.end());
    let mut fx = Fx::new();
    log.close(&mut fx);
    world.drive(&mut log, &mut fx);
    assert!(log.is_closed(), "everything has been carried out");
    world.operations = 0;
    world.operations_max += 4 * world.disk.used();
    let again = RecoveryPlan {
        clean: true,
        recovery_point: log.recovery_point(),
        durable: log.recovery_point(),
        log_start: Some(start),
        // What was a gap of the cleaner's is none of a crash now.
        gaps: Gaps::Upto(end),
        ..plan
    };
    let again = match world.open(again.clone()) {
        Ok(log) => log,
        Err(why) => return assert_was_damaged(&folder, again, found, &why),
    };
    assert_eq!((again.log_start(), again.end()), (start, end), "nothing has changed since");
}

/// What was closed is refused only for damage that the first opening had no reason to look for:
/// a scan of the whole folder, as it was at first, finds it.
fn assert_was_damaged(folder: &Folder, again: RecoveryPlan, found: Offset, why: &str) {
    let zero = Offset(0);
    let plan =
        RecoveryPlan { clean: false, own: true, recovery_point: zero, durable: found, ..again };
    let before = World::new(folder).open(plan);
    assert!(before.is_err(), "a log that was closed opens: {why}");
}
