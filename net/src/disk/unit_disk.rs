//! The disk of one unit: where its operations happen, and in which order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_core::disk::{DiskOp, FileId, IoDone};
use dohle_core::time::Instant;

use super::blocking::Pool;
use super::files::Files;
use super::ops::Job;
use super::order::{Footprint, Manner};
use super::waiting::{Ready, Waiting};
use crate::clock::Clock;
use crate::note::{More, Seldom};

/// A page-cache write that took longer than this waited for the device.
const SLOW: Duration = Duration::from_millis(2);
/// For how long a directory that was slow is served by the pool.
const SLOW_FOR: Duration = Duration::from_secs(1);

/// Pause while there is no descriptor left.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(20);

static SELDOM_SHORTAGE: Seldom = Seldom::new(Duration::from_secs(10));

/// An operation that was carried out elsewhere ended.
pub struct Finished {
    ticket: u64,
    done: IoDone,
}

/// Carries out the disk operations of one unit.
pub struct UnitDisk {
    files: Arc<Files>,
    pool: Arc<Pool>,
    clock: Clock,
    tell: Arc<dyn Fn(Finished) + Send + Sync>,
    waiting: Waiting<Job>,
    slow_until: BTreeMap<u16, Instant>,
}

impl UnitDisk {
    /// `tell` brings what ended on the pool back to [`UnitDisk::on_finished`].
    pub fn new(
        files: Arc<Files>,
        pool: Arc<Pool>,
        clock: Clock,
        tell: Arc<dyn Fn(Finished) + Send + Sync>,
    ) -> Self {
        Self { files, pool, clock, tell, waiting: Waiting::default(), slow_until: BTreeMap::new() }
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
        if job.is_quick() && !self.is_slow(print.dir) {
            let began = self.clock.mono();
            let ran = job.run(&self.files);
            let took = self.clock.mono().since(began);
            if print.manner == Manner::Content && took > SLOW {
                self.slow_until.insert(print.dir, self.clock.mono().plus(SLOW_FOR));
            }
            if let Some(ran) = ran {
                done(ran);
                return true;
            }
        }
        self.waiting.begins(ticket, print);
        let (files, tell) = (Arc::clone(&self.files), Arc::clone(&self.tell));
        self.pool.run(move || tell(Finished { ticket, done: patiently(&job, &files) }));
        false
    }

    fn is_slow(&mut self, dir: u16) -> bool {
        let Some(until) = self.slow_until.get(&dir) else { return false };
        let slow = self.clock.mono() < *until;
        if !slow {
            self.slow_until.remove(&dir);
        }
        slow
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
