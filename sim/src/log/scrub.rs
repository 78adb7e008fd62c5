//! The search for damage, as the oracle of itself: one closed segment after the other is gone
//! through, and what is told has to be what is wrong.
//!
//! State: the segment that is being gone through, and what was wrong with it at the beginning.
//! Inputs: an act of the workload, ends of the search's operations. Effects: its operations.
//!
//! Invariants: what is wrong with a file that a checksum or sums cover is told; of a segment with
//! which nothing is wrong, nothing is.

use dohle_core::disk::{FilePath, IoDone, IoId, What};
use dohle_core::fx::Fx;
use dohle_core::log::names::FileKind;
use dohle_core::log::sums::{Owner, SUMMED, Sums};
use dohle_core::scrub::job::{Job, Progress, Report, Target};
use dohle_core::scrub::walk::Around;
use dohle_wire::id::{Offset, PartitionIndex};

use super::{LogWorld, Phase, folder, topic_id};
use crate::disk::Scar;
use crate::oracle::Violation;
use crate::world::Halt;

/// A segment that is being gone through.
#[derive(Debug)]
pub(super) struct Search {
    job: Job,
    token: i64,
    generation: u32,
    /// What has to be told.
    due: Vec<(FileKind, Scar)>,
    /// Something was wrong with one of its files.
    harmed: bool,
}

/// The files that a search looks at.
const LOOKED_AT: [FileKind; 6] = [
    FileKind::Log,
    FileKind::Index,
    FileKind::TimeIndex,
    FileKind::TxnIndex,
    FileKind::Snapshot,
    FileKind::Sums,
];

impl LogWorld {
    /// Begins with one of the closed segments.
    pub(super) fn begin_search(&mut self) {
        let Phase::Serving(log) = &self.phase else { return };
        let settled = log.settled();
        if self.search.is_some() || settled.is_empty() {
            return self.flush();
        }
        let count = settled.len() as u64;
        let at = self.draw("search", count) as usize;
        self.search(at);
    }

    /// Goes through every closed segment, which nothing disturbs any more.
    pub(super) fn search_all(&mut self) -> Result<(), Halt> {
        self.flush_all()?;
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        for at in 0..log.settled().len() {
            self.search(at);
            self.run(|world| world.search.is_none())?;
        }
        Ok(())
    }

    fn search(&mut self, at: usize) {
        let Phase::Serving(log) = &self.phase else { return };
        let Some(segment) = log.settled().get(at) else { return };
        let next = log.segments()[at + 1].base;
        let owner = Owner { topic: topic_id(), partition: PartitionIndex(0), base: segment.base };
        let (size, file) = (segment.size, segment.file);
        let target = Target { folder: folder(), owner, next, size, file };
        let (due, harmed) = (self.due(&target), self.is_segment_harmed(&target));
        self.tokens += 1;
        let (token, generation) = (self.tokens, self.generation);
        self.search = Some(Search { job: Job::new(target), token, generation, due, harmed });
        self.search_on();
    }

    fn search_on(&mut self) {
        let mut fx = Fx::new();
        if let Some(Search { job, token, generation, .. }) = &mut self.search {
            let (owner, end) = (IoId::UNIT, *token);
            let id = IoId { owner, generation: *generation, what: What::Scrub, end };
            job.ask(id, &mut self.files, &mut fx);
        }
        self.submit(&mut fx);
    }

    pub(super) fn on_searched(&mut self, done: IoDone) -> Result<(), Violation> {
        let this = |search: &mut Search| search.token == done.id.end;
        let Some(mut search) = self.search.take_if(this) else { return Ok(()) };
        let mut fx = Fx::new();
        let target = search.job.target().clone();
        search.harmed |= self.is_segment_harmed(&target);
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        let is_target = |at: usize| target.is(&log.segments()[at], log.segments()[at + 1].base);
        if !(0..log.settled().len()).any(is_target) {
            search.job.release(&mut fx);
            self.submit(&mut fx);
            return Ok(());
        }
        let around = Around { epochs: log.epochs(), start: log.log_start() };
        let progress = search.job.on_io(done, &around, &mut fx);
        self.submit(&mut fx);
        match progress {
            Progress::More(_) => {
                self.search = Some(search);
                self.search_on();
                Ok(())
            }
            Progress::Done(report) => self.on_report(&search, &target, &report),
        }
    }

    fn on_report(
        &mut self,
        search: &Search,
        target: &Target,
        report: &Report,
    ) -> Result<(), Violation> {
        self.tally.searched += 1;
        self.tally.sealed += u64::from(report.sealed);
        if report.sealed {
            self.seal_scars(target);
        }
        let told = |kind: FileKind, scar: &Scar| {
            let upto = scar.at + scar.sound.len() as u64;
            let meets =
                report.damages.list().iter().any(|damage| {
                    damage.kind == kind && damage.from < upto && scar.at < damage.upto
                });
            meets || report.damages.more > 0
        };
        let still = |kind: FileKind, scar: &Scar| {
            self.disk.tree().scars(&path(target, kind)).contains(scar)
        };
        let missed =
            search.due.iter().find(|(kind, scar)| still(*kind, scar) && !told(*kind, scar));
        // Sums that came wrong count for nothing.
        if let Some((kind, scar)) = missed.filter(|_| report.bad_sums.is_none() || !self.misread) {
            let text = format!("segment {}: {kind:?} {scar:?} is not told", target.owner.base);
            return Err(Violation::new("scrub", text));
        }
        let quiet = report.damages.is_empty() && report.bad_sums.is_none();
        let harmed = search.harmed || self.is_segment_harmed(target);
        if !quiet && !harmed {
            let text = format!("segment {} is sound, told: {report:?}", target.owner.base);
            return self.inside("scrub", Err(text));
        }
        if !quiet {
            self.tally.damage_told += 1;
            self.heal();
        }
        Ok(())
    }

    /// What decayed before sums were made of it is in them, where nothing else covers it.
    fn seal_scars(&mut self, target: &Target) {
        for kind in LOOKED_AT {
            let path = path(target, kind);
            let scars = self.disk.tree().scars(&path).iter().cloned();
            self.sealed_scars.extend(scars.map(|scar| (path.clone(), scar)));
        }
    }

    fn is_segment_harmed(&self, target: &Target) -> bool {
        let harmed = |kind| !self.disk.tree().scars(&path(target, kind)).is_empty();
        LOOKED_AT.into_iter().any(harmed)
    }

    /// What is wrong with a segment and has to be told: what its sums cover, as far as they count,
    /// and what a checksum covers.
    fn due(&self, target: &Target) -> Vec<(FileKind, Scar)> {
        let tree = self.disk.tree();
        let sums = tree.content(&path(target, FileKind::Sums)).and_then(|f| Sums::parse(f).ok());
        let counts = |kind: FileKind| {
            let name = target.name(kind);
            let entry = tree.stat(&folder(), &[name]).into_iter().next();
            sums.as_ref().filter(|sums| sums.owner == target.owner).is_some_and(|sums| {
                entry.is_some_and(|entry| {
                    sums.of(kind, entry.len).is_some_and(|file| file.stamp.is_still(entry.stamp))
                })
            })
        };
        let covered = self.wounds();
        let mut due = Vec::new();
        for kind in LOOKED_AT {
            let all = SUMMED.contains(&kind) && counts(kind);
            for scar in tree.scars(&path(target, kind)) {
                let inside = |base: i64| (target.owner.base.0..target.next.0).contains(&base);
                let crc = match kind {
                    FileKind::Log => covered.iter().any(|w| w.covered && inside(w.base)),
                    FileKind::Snapshot => true,
                    _ => false,
                };
                let sealed = self
                    .sealed_scars
                    .iter()
                    .any(|(at, known)| *at == path(target, kind) && known == scar);
                if (all && !sealed) || (crc && tree.scars(&path(target, kind)).len() == 1) {
                    due.push((kind, scar.clone()));
                }
            }
        }
        due
    }

    /// What was being gone through is gone. Its sums may be on their way.
    pub(super) fn drop_search(&mut self) {
        if let Some(search) = self.search.take() {
            self.seal_scars(search.job.target());
        }
    }
}

fn path(target: &Target, kind: FileKind) -> FilePath {
    let base = if kind == FileKind::Snapshot { target.next } else { target.owner.base };
    folder().join(&kind.name(Offset(base.0)))
}
