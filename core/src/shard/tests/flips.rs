//! Ten thousand bytes are changed, one at a time, in files of closed segments: the offline check
//! and the search in the running broker each find every one.

use std::convert::Infallible;

use super::*;
use crate::disk::{FileIds, IoDone};
use crate::log::epoch::EpochCache;
use crate::log::names::FileKind;
use crate::log::sums::Owner;
use crate::scrub::job::{Job, Progress, Report, Target};
use crate::scrub::walk::Around;
use crate::verify::{Entry, Files, Severity, Survey};

const FLIPS: u64 = 10_000;

impl Files for &mut MemoryDisk {
    type Error = Infallible;

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Infallible> {
        let id = IoId { owner: 0, generation: 0, what: What::Meta, end: 0 };
        let list = DiskOp::List { id, path: FilePath::new(0, folder) };
        let Ok(IoOk::Listing(Some(found))) = self.run(list).unwrap().result else {
            return Ok(Vec::new());
        };
        let entry = |found: crate::disk::DirEntry| Entry {
            name: found.name,
            is_dir: found.is_dir,
            len: found.len,
            stamp: found.stamp,
        };
        Ok(found.into_iter().map(entry).collect())
    }

    fn read(&mut self, path: &str, position: u64, len: u32) -> Result<Bytes, Infallible> {
        let content = self.files.get(&FilePath::new(0, path)).map_or(&[][..], Vec::as_slice);
        let from = content.len().min(usize::try_from(position).unwrap());
        let upto = content.len().min(from + len as usize);
        Ok(Bytes::copy_from_slice(&content[from..upto]))
    }
}

/// A directory that was stopped cleanly, and what the log in it knew.
struct Stopped {
    disk: MemoryDisk,
    targets: Vec<Target>,
    epochs: EpochCache,
}

/// A log of several epochs and producers, in closed segments that have sums.
fn stopped() -> Stopped {
    let mut world = World::new();
    world.topic("t", 1, &[("internal.segment.bytes", "800"), ("index.interval.bytes", "0")]);
    for at in 0..60 {
        if at % 25 == 24 {
            world.next_epoch();
        }
        world.produce(1, 1, Acks::All, batch(1_000 + i64::from(at / 2), 3, Some(at * 3)));
        base(world.produced(1));
        world.answers.remove(&1);
    }
    world.pass(3_600_000);
    let partition = world.shard.partitions().next().unwrap();
    let (log, id) = (partition.log(), partition.id());
    let epochs = log.epochs().clone();
    let (settled, all) = (log.settled(), log.segments());
    let targets: Vec<Target> = (0..settled.len())
        .map(|at| Target {
            folder: log.folder().clone(),
            owner: Owner { topic: id.topic, partition: id.index, base: all[at].base },
            next: all[at + 1].base,
            size: all[at].size,
            file: all[at].file,
        })
        .collect();
    let end = log.end();
    world.stop();
    for (name, text) in [
        ("recovery-point-offset-checkpoint", format!("0\n1\nt 0 {end}\n")),
        ("replication-offset-checkpoint", format!("0\n1\nt 0 {end}\n")),
        ("log-start-offset-checkpoint", "0\n0\n".to_owned()),
        ("dohle-recovery-point-checkpoint", format!("0\n1\n{} 0 {end}\n", id.topic)),
        ("meta.properties", "version=1\ncluster.id=c\nnode.id=1\n".to_owned()),
        (".kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":5}".to_owned()),
    ] {
        world.disk.files.insert(FilePath::new(0, name), text.into_bytes());
    }
    assert!(targets.len() > 5, "{} segments", targets.len());
    assert_eq!(epochs.entries().len(), 3, "{epochs:?}");
    Stopped { disk: world.disk, targets, epochs }
}

impl World {
    fn next_epoch(&mut self) {
        let mut topic = TopicImage::clone(&self.image.topics["t"]);
        let mut state = PartitionImage::clone(&topic.partitions[0]);
        state.leader_epoch = LeaderEpoch(state.leader_epoch.0 + 1);
        topic.partitions = vec![Arc::new(state)];
        self.image.topics.insert_mut(Arc::clone(&topic.name), Arc::new(topic));
        self.publish();
    }
}

impl Stopped {
    /// Damage that `dohle log verify` tells, by file.
    fn verify(&mut self) -> Vec<String> {
        let mut damaged = Vec::new();
        let mut on_finding = |finding: crate::verify::Finding| {
            if finding.problem.severity == Severity::Damage {
                damaged.push(finding.file);
            }
        };
        let mut disk = &mut self.disk;
        let mut survey = Survey::new(&mut disk, &NoCodecs, true, &mut on_finding);
        let Ok(_) = survey.directory();
        damaged
    }

    /// What the search tells of a segment.
    fn scrub(&mut self, target: &Target) -> Report {
        let mut job = Job::new(target.clone());
        let mut files = FileIds::of_unit(9);
        let around = Around { epochs: &self.epochs, start: Offset(0) };
        let id = IoId { owner: 0, generation: 0, what: What::Scrub, end: 0 };
        loop {
            let mut fx: Fx<DiskOp> = Fx::new();
            job.ask(id, &mut files, &mut fx);
            let dones: Vec<IoDone> = fx.drain().filter_map(|op| self.disk.run(op)).collect();
            for done in dones {
                if let Progress::Done(report) = job.on_io(done, &around, &mut fx) {
                    return *report;
                }
            }
        }
    }

    /// The files of a segment.
    fn files(target: &Target) -> [(FileKind, FilePath); 5] {
        use FileKind::{Index, Log, Snapshot, Sums, TimeIndex};
        [Log, Index, TimeIndex, Snapshot, Sums]
            .map(|kind| (kind, target.folder.join(&target.name(kind))))
    }

    /// One flip of one byte: who does not find it.
    fn flip(&mut self, target: &Target, kind: FileKind, path: &FilePath, at: usize, mask: u8) {
        let before = self.disk.files[path].clone();
        self.disk.files.get_mut(path).unwrap()[at] ^= mask;
        let place = format!("{} at {at}, {mask:#04x}", path.path);
        assert!(self.verify().contains(&path.path.to_string()), "verify: {place}");
        let stamp = self.disk.stamp(path);
        let report = self.scrub(target);
        let found = match kind {
            FileKind::Sums => report.bad_sums.is_some(),
            kind => report.damages.list().iter().any(|damage| damage.kind == kind),
        };
        assert!(found, "scrub: {place}");
        let anew = kind == FileKind::Sums;
        assert_eq!(self.disk.stamp(path) != stamp, anew, "{place}: only sums are written");
        self.disk.files.insert(path.clone(), before);
    }
}

#[test]
fn ten_thousand_flips_are_found() {
    let mut stopped = stopped();
    assert_eq!(stopped.verify(), [""; 0]);
    for target in stopped.targets.clone() {
        let report = stopped.scrub(&target);
        assert!(report.damages.is_empty() && !report.sealed, "{report:?}");
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut dice = move |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % sides as u64).unwrap()
    };
    for _ in 0..FLIPS {
        let target = stopped.targets[dice(stopped.targets.len())].clone();
        let (kind, path) = Stopped::files(&target)[dice(5)].clone();
        let at = dice(stopped.disk.files[&path].len());
        let mask = u8::try_from(1 + dice(255)).unwrap();
        stopped.flip(&target, kind, &path, at, mask);
    }
}
