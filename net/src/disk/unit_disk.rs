//! The disk of one unit: where its operations happen, and in which order.

use std::sync::Arc;
use std::time::Duration;

use dohle_core::disk::{DiskOp, FileId, IoDone};
use dohle_core::time::Instant;

use super::blocking::Pool;
use super::files::Files;
use super::ops::Job;
use super::order::{Footprint, Manner};
use super::pace::{Pace, Paces, Took};
use super::waiting::{Ready, Waiting};
use crate::clock::Clock;
use crate::note::{More, Seldom};

/// Pause while there is no descriptor left.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(20);

static SELDOM_SHORTAGE: Seldom = Seldom::new(Duration::from_secs(10));

/// An operation that was carried out elsewhere ended.
pub struct Finished {
    ticket: u64,
    done: IoDone,
    /// Of one that its slow directory had sent there: which, and how long it took.
    slow: Option<(u16, Took)>,
}

/// Carries out the disk operations of one unit.
pub struct UnitDisk {
    files: Arc<Files>,
    pool: Arc<Pool>,
    clock: Clock,
    tell: Arc<dyn Fn(Finished) + Send + Sync>,
    waiting: Waiting<Job>,
    paces: Paces,
}

impl UnitDisk {
    /// `tell` brings what ended on the pool back to [`UnitDisk::on_finished`].
    pub fn new(
        files: Arc<Files>,
        pool: Arc<Pool>,
        clock: Clock,
        tell: Arc<dyn Fn(Finished) + Send + Sync>,
    ) -> Self {
        Self { files, pool, clock, tell, waiting: Waiting::default(), paces: Paces::default() }
    }

    /// Takes on one operation. A completion that is there at once goes to `done`.
    pub fn submit(&mut self, op: DiskOp, done: &mut impl FnMut(IoDone)) {
        match op {
            DiskOp::Open { file, path } => self.files.open(file, &path),
            DiskOp::Close { file } => self.on_close(file),
            op => {
                let job = self.job(op);
                if let Some(ready) = self.waiting.admit(job) {
                    self.start(ready, done);
                }
            }
        }
    }

    fn on_close(&mut self, file: FileId) {
        let Some(slot) = self.files.slot(file) else { return };
        let print = Footprint::of_content(slot.dir(), slot.path());
        let settled = self.waiting.is_settled(&print);
        self.files.close(file, self.clock.mono(), settled);
    }

    /// Something ended on the pool: what waited for it goes on.
    pub fn on_finished(&mut self, finished: Finished, done: &mut impl FnMut(IoDone)) {
        self.waiting.ends(finished.ticket);
        if let Some((dir, took)) = finished.slow {
            self.paces.on_pool(dir, took, self.clock.mono());
        }
        done(finished.done);
        while let Some(ready) = self.waiting.next() {
            let print = ready.print.clone();
            if self.start(ready, done) {
                self.waiting.passed(&print);
            }
        }
    }

    /// When [`UnitDisk::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.files.expiry()
    }

    /// The deadline passed.
    pub fn tick(&mut self, now: Instant) {
        self.files.expire(now);
    }

    fn job(&self, op: DiskOp) -> Job {
        let file = match &op {
            DiskOp::Write { file, .. }
            | DiskOp::Sync { file, .. }
            | DiskOp::Reserve { file, .. }
            | DiskOp::Truncate { file, .. }
            | DiskOp::Read { file, .. } => Some(*file),
            DiskOp::Locate { plan, .. } => Some(plan.file),
            _ => None,
        };
        let slot = file.and_then(|file| self.files.slot(file));
        Job { op, slot, birth: self.files.birth() }
    }

    /// Carries an operation out here, or hands it to the pool. Whether it has ended.
    fn start(&mut self, ready: Ready<Job>, done: &mut impl FnMut(IoDone)) -> bool {
        let Ready { job, print, ticket } = ready;
        if job.is_quick()
            && let Some(ran) = self.run_here(&job, &print)
        {
            done(ran);
            return true;
        }
        let dir = (job.is_quick() && print.manner == Manner::Content).then_some(print.dir);
        if let Some(dir) = dir {
            self.paces.on_pooled(dir);
        }
        self.waiting.begins(ticket, print);
        let (files, tell, clock) = (Arc::clone(&self.files), Arc::clone(&self.tell), self.clock);
        self.pool.run(move || {
            let (done, took) = Took::of(&clock, dir.is_some(), || patiently(&job, &files));
            tell(Finished { ticket, done, slow: dir.map(|dir| (dir, took)) });
        });
        false
    }

    /// Carries a quick operation out, unless its directory is slow or there is no descriptor.
    fn run_here(&mut self, job: &Job, print: &Footprint) -> Option<IoDone> {
        let pace = self.paces.of(print.dir, self.clock.mono());
        if pace == Pace::Slow {
            return None;
        }
        let doubted = pace == Pace::Doubted;
        let (ran, took) = Took::of(&self.clock, doubted, || job.run(&self.files));
        if print.manner == Manner::Content {
            self.paces.on_here(print.dir, took, self.clock.mono());
        }
        ran
    }
}

/// Carries an operation out, however long it takes until there is a descriptor for it.
fn patiently(job: &Job, files: &Files) -> IoDone {
    loop {
        if let Some(done) = job.run(files) {
            return done;
        }
        if let Some(left_out) = SELDOM_SHORTAGE.now() {
            tracing::warn!(
                "no file can be opened, this process or the system has too many open: waiting{}",
                More(left_out)
            );
        }
        std::thread::sleep(SHORTAGE_PAUSE);
    }
}
