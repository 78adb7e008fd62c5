//! How the process of the log lives: it reads its checkpoint, opens the log, serves, is struck,
//! stops. What a broker's control unit does, reduced to one log.

use std::collections::VecDeque;

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FilePath, IoDone, IoId, IoOk, What};
use dohle_core::fx::Fx;
use dohle_core::log::recover::{Gaps, Recovered, Recovery, RecoveryPlan};
use dohle_core::log::{Log, LogProgress};
use dohle_wire::id::{LeaderEpoch, Offset};

use super::damage::Told;
use super::{DOWN_MAX, LogEvent, LogSwarm, LogWorld, Phase, Role, folder, topic_id};
use crate::choice::{Choices, Stream};
use crate::disk::{Ailment, Crash, Sickness};
use crate::fault::Fault;
use crate::oracle::Violation;

/// What the checkpoints of a data directory say of the log.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    recovery_point: i64,
    durable: i64,
    start: i64,
    clean: bool,
}

/// What an opening has to find.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Expects {
    /// Everything below is still there.
    pub(super) floor: i64,
    /// What lies past that may be gone, although it was acknowledged.
    lossy: bool,
    pub(super) crashed: bool,
    /// What lies past the floor was damaged.
    pub(super) damaged: bool,
}

/// Where that is written.
fn path() -> FilePath {
    FilePath::new(0, "checkpoint")
}

/// Which operations of the disk fail, and when.
pub(super) fn sicknesses(choices: &mut Choices, swarm: &LogSwarm) -> VecDeque<(u64, Sickness)> {
    let mut list = VecDeque::new();
    if swarm.failing_disk {
        let count = choices.range(Stream::Faults, "failures", 2, 4);
        for index in 0..count {
            let within = choices.below(Stream::Faults, "failure-when", swarm.acts / count);
            let ailment = choices.pick(Stream::Faults, "ailment", &Ailment::ALL);
            let salt = choices.below(Stream::Faults, "salt", 1 << 32);
            if choices.fault() {
                list.push_back((index * swarm.acts / count + within, Sickness { ailment, salt }));
            }
        }
    }
    list
}

impl Saved {
    fn of(log: &Log, clean: bool) -> Self {
        let recovery_point = log.stated_recovery_point().0;
        let (durable, start) = (log.recovery_point().0, log.log_start().0);
        Self { recovery_point, durable, start, clean }
    }

    fn encode(self) -> Bytes {
        let Self { recovery_point, durable, start, clean } = self;
        Bytes::from(format!("{recovery_point} {durable} {start} {clean}\n"))
    }

    fn parse(text: Option<Bytes>) -> Self {
        let text = text.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut words = text.split_whitespace();
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let (recovery_point, durable, start) = (number(), number(), number());
        Self { recovery_point, durable, start, clean: text.contains("true") }
    }
}

impl LogWorld {
    pub(super) fn boot(&mut self) {
        self.clock.start(self.kernel.time);
        self.perhaps_compacted();
        self.files = dohle_core::disk::FileIds::of_unit(super::UNIT);
        self.phase = Phase::Reading;
        let id = self.meta_id();
        self.submit_one(DiskOp::Get { id, path: path() });
    }

    fn meta_id(&self) -> IoId {
        IoId { owner: IoId::UNIT, generation: self.life, what: What::Meta, end: 0 }
    }

    fn submit_one(&mut self, op: DiskOp) {
        let mut fx = Fx::new();
        fx.push(op);
        self.submit(&mut fx);
    }

    fn save(&mut self, saved: Saved) {
        self.saving = Some(saved);
        let (id, data) = (self.meta_id(), saved.encode());
        self.submit_one(DiskOp::Put { id, path: path(), data, durable: true });
    }

    /// Writes a checkpoint, unless one is on its way.
    pub(super) fn checkpoint(&mut self) {
        let Phase::Serving(log) = &self.phase else { return };
        if self.saving.is_none() {
            let saved = Saved::of(log, false);
            self.save(saved);
        }
    }

    /// An operation on the checkpoint has ended.
    pub(super) fn on_saved(&mut self, done: &IoDone) -> Result<(), Violation> {
        if let Err(error) = &done.result {
            return self.failed(&error.to_string());
        }
        let saved = self.saving.take();
        self.saved_point = saved.map_or(self.saved_point, |saved| saved.durable);
        self.tally.checkpoints += u64::from(saved.is_some());
        match (std::mem::replace(&mut self.phase, Phase::Down), &done.result) {
            (Phase::Reading, Ok(IoOk::Content(text))) => {
                let saved = Saved::parse(text.clone());
                self.phase = Phase::Marking(saved);
                match saved.clean {
                    true => self.save(Saved { clean: false, ..saved }),
                    false => self.open(saved),
                }
            }
            (Phase::Marking(saved), _) => self.open(saved),
            (Phase::Serving(mut log), _) => {
                let mut fx = Fx::new();
                if let Some(saved) = saved {
                    let Saved { recovery_point, durable, .. } = saved;
                    log.on_checkpoint(Offset(recovery_point), Offset(durable), &mut fx);
                }
                self.phase = Phase::Serving(log);
                self.submit(&mut fx);
            }
            (Phase::Leaving(log), _) if saved.is_some_and(|saved| saved.clean) => self.left(&log),
            // An earlier checkpoint was still on its way.
            (Phase::Leaving(log), _) => self.leave(log),
            (phase, _) => self.phase = phase,
        }
        Ok(())
    }

    fn open(&mut self, saved: Saved) {
        self.generation += 1;
        self.begin_opening(self.told(saved.durable, saved.clean));
        let plan = RecoveryPlan {
            owner: 0,
            generation: self.generation,
            folder: folder(),
            topic_id: topic_id(),
            own: false,
            anonymous: true,
            clean: saved.clean,
            recovery_point: Offset(saved.recovery_point),
            durable: Offset(saved.durable),
            gaps: Gaps::None,
            log_start: (saved.start > 0).then_some(Offset(saved.start)),
            settings: self.swarm.settings(self.mutants),
        };
        let mut fx = Fx::new();
        self.phase = Phase::Opening(Box::new(Recovery::begin(plan, &mut fx)));
        self.submit(&mut fx);
    }

    /// What is wrong now may be found.
    fn begin_opening(&mut self, told: Told) {
        // An opening that was struck may have cut the log already.
        let now = self.wounds();
        if !now.is_empty() {
            self.kernel.note(|| "nemesis".to_owned(), || format!("damaged: {now:?}"));
        }
        let before = std::mem::replace(&mut self.before, now);
        self.earlier.extend(before);
        self.told = told;
        self.misread = false;
    }

    /// An operation of the log has ended.
    pub(super) fn on_log(&mut self, done: IoDone) -> Result<(), Violation> {
        let (now, mut fx) = (self.now(), Fx::new());
        match std::mem::replace(&mut self.phase, Phase::Down) {
            Phase::Opening(mut recovery) => {
                let came = recovery.step(now, done, &mut self.files, &mut fx);
                self.phase = Phase::Opening(recovery);
                self.submit(&mut fx);
                self.on_recovered(came)
            }
            Phase::Cutting(mut truncation) => {
                let came = truncation.step(now, done, &mut self.files, &mut fx);
                self.phase = Phase::Cutting(truncation);
                self.submit(&mut fx);
                self.on_recovered(came)
            }
            Phase::Serving(mut log) => {
                let progress = log.on_io(&done, &mut fx);
                self.phase = Phase::Serving(log);
                self.submit(&mut fx);
                self.on_progress(progress)
            }
            Phase::Closing(mut log) => {
                let progress = log.on_io(&done, &mut fx);
                self.submit(&mut fx);
                self.close_on(log);
                self.on_progress(progress)
            }
            phase => {
                self.phase = phase;
                Ok(())
            }
        }
    }

    fn on_recovered(&mut self, came: Recovered) -> Result<(), Violation> {
        match (came, matches!(self.phase, Phase::Cutting(_))) {
            (Recovered::Working, _) => Ok(()),
            (Recovered::Failed(why) | Recovered::Full(why), _) => self.failed(&why),
            (Recovered::Done(log, note), true) => {
                self.tell(note.as_ref());
                self.cut_done(log)
            }
            (Recovered::Done(log, note), false) => {
                self.tell(note.as_ref());
                self.opened(log, note.as_ref())
            }
        }
    }

    /// What the operator would read.
    fn tell(&mut self, note: Option<&String>) {
        if let Some(text) = note {
            self.kernel.note(|| "log".to_owned(), || text.clone());
        }
    }

    fn on_progress(&mut self, progress: LogProgress) -> Result<(), Violation> {
        match progress {
            LogProgress::Nothing => Ok(()),
            LogProgress::Full(error) if matches!(self.phase, Phase::Serving(_)) => {
                self.on_full(&error.to_string())
            }
            LogProgress::Failed(error) | LogProgress::Full(error) => {
                self.failed(&error.to_string())
            }
            _ => self.acknowledge(),
        }
    }

    /// The disk is full: the process ends, or opens its log anew as a broker does. What was written
    /// before is there.
    fn on_full(&mut self, why: &str) -> Result<(), Violation> {
        if self.draw("on-full", 2) == 0 {
            return self.failed(why);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Down);
        let Phase::Serving(log) = phase else { return Ok(()) };
        self.kernel.note(|| "nemesis".to_owned(), || format!("full, opened anew: {why}"));
        self.tally.disk_failures += 1;
        self.tally.reopened += 1;
        self.disk.forgive();
        // What strikes while the log is opened is not known to have been there before.
        for (flaw, salt) in self.disk.spare() {
            self.flaws.push_back((self.acts + 20, flaw, salt));
        }
        self.drop_search();
        self.reads.clear();
        let floor = self.model.floor(false);
        self.expects = Expects { floor, lossy: false, crashed: true, damaged: false };
        self.begin_opening(Told { recovery_point: log.recovery_point().0, clean: false });
        self.reopening = true;
        let plan = log.reopening();
        self.generation = plan.generation;
        let mut fx = Fx::new();
        self.phase = Phase::Opening(Box::new(Recovery::begin(plan, &mut fx)));
        self.submit(&mut fx);
        Ok(())
    }

    /// What the log says is safe is promised from now on.
    pub(super) fn acknowledge(&mut self) -> Result<(), Violation> {
        let (Phase::Serving(log) | Phase::Closing(log) | Phase::Leaving(log)) = &self.phase else {
            return Ok(());
        };
        self.model.written = self.model.written.max(log.written().0);
        self.model.durable = self.model.durable.max(log.durable().0);
        let level = if self.swarm.fsync { log.durable().0 } else { log.written().0 };
        let from = self.acked;
        let ended = |header: &&dohle_wire::record::BatchHeader| header.next_offset().0 <= level;
        for header in self.model.batches.iter().rev().skip_while(|h| !ended(h)) {
            if header.next_offset().0 <= from {
                break;
            }
            self.tally.acknowledged += 1;
            let seen = self.black_box.acknowledged(header);
            seen.map_err(|text| Violation::new("R17", text))?;
        }
        self.acked = self.acked.max(level);
        Ok(())
    }

    /// Something did not work. A disk that fails is a reason; nothing else is.
    pub(super) fn failed(&mut self, why: &str) -> Result<(), Violation> {
        let Some(ailment) = self.disk.failed() else {
            if self.is_harmed() {
                return self.refuse(why);
            }
            return Err(Violation::new("L7", format!("without a failing disk: {why}")));
        };
        self.tally.disk_failures += 1;
        self.kernel.note(|| "nemesis".to_owned(), || format!("the disk failed: {ailment:?}"));
        self.end(Crash::Kill, ailment == Ailment::Sync)
    }

    /// The process ends against its will.
    pub(super) fn crash(&mut self, fault: Fault) -> Result<(), Violation> {
        self.nemesis.count(fault);
        match self.phase {
            Phase::Opening(_) => self.tally.struck_opening += 1,
            Phase::Cutting(_) => self.tally.struck_cutting += 1,
            _ => {}
        }
        self.kernel.note(|| "nemesis".to_owned(), || fault.name().to_owned());
        let crash = fault.crash().unwrap_or(Crash::Kill);
        // A sync may have failed of which nobody was told before the end.
        let unsynced = self.disk.failed() == Some(Ailment::Sync);
        self.end(crash, crash == Crash::Power || unsynced)?;
        self.nemesis.arm_for_recovery(&mut self.kernel.choices, fault);
        Ok(())
    }

    pub(super) fn end(&mut self, crash: Crash, power: bool) -> Result<(), Violation> {
        self.claims()?;
        // Several crashes before the log is open again take what each of them may take.
        let floor = self.model.floor(power).min(match self.expects.crashed {
            true => self.expects.floor,
            false => i64::MAX,
        });
        let lossy = self.expects.lossy || (power && !self.swarm.fsync);
        let damaged = self.expects.damaged;
        self.expects = Expects { floor, lossy, crashed: true, damaged };
        self.down(crash);
        Ok(())
    }

    fn down(&mut self, crash: Crash) {
        let wall = self.now().wall;
        self.disk.crash(crash, &mut self.kernel.choices, wall);
        self.phase = Phase::Down;
        self.drop_search();
        self.reopening = false;
        self.life += 1;
        self.reads.clear();
        self.saving = None;
        let time = self.kernel.time + self.nemesis.downtime(&mut self.kernel.choices).min(DOWN_MAX);
        self.kernel.at(time, LogEvent::Boot(self.life));
    }

    /// The process is asked to stop.
    pub(super) fn stop(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Down) {
            Phase::Serving(mut log) => {
                let mut fx = Fx::new();
                log.close(&mut fx);
                self.submit(&mut fx);
                self.close_on(log);
            }
            phase => self.phase = phase,
        }
    }

    fn close_on(&mut self, log: Box<Log>) {
        match log.is_closed() {
            true => self.leave(log),
            false => self.phase = Phase::Closing(log),
        }
    }

    fn leave(&mut self, log: Box<Log>) {
        if self.saving.is_none() {
            self.save(Saved::of(&log, true));
        }
        self.phase = Phase::Leaving(log);
    }

    /// It has stopped; nothing is lost, whatever becomes of the machine.
    fn left(&mut self, log: &Log) {
        self.nemesis.count(Fault::Stop);
        self.kernel.note(|| "nemesis".to_owned(), || "stopped".to_owned());
        let end = log.end().0;
        (self.model.written, self.model.durable) = (end, end);
        self.expects = Expects { floor: end, ..Expects::default() };
        let off = self.kernel.choices.chance(Stream::Faults, "off-after-stop", 400_000);
        self.down(if off { Crash::Power } else { Crash::Kill });
    }

    /// The log is open.
    fn opened(&mut self, log: Box<Log>, note: Option<&String>) -> Result<(), Violation> {
        let (end, unsure) = (log.end().0, self.may_be_fooled());
        let known = unsure.then(|| (self.model.clone(), self.black_box.clone()));
        match (self.check_opened(log, note), known) {
            (Err(why), Some((model, black_box))) => {
                (self.model, self.black_box) = (model, black_box);
                self.phase = Phase::Down;
                self.fooled(end, &why)
            }
            (Err(why), None) => Err(why),
            (Ok(()), _) => self.go_on_serving(),
        }
    }

    fn check_opened(&mut self, log: Box<Log>, note: Option<&String>) -> Result<(), Violation> {
        let cut = self.weigh(&log, note)?;
        let Expects { mut floor, lossy, mut damaged, .. } = self.expects;
        if cut {
            (floor, damaged) = (floor.min(log.end().0), true);
        }
        self.tally.recoveries += 1;
        let (start, end) = (log.log_start().0, log.end().0);
        self.kernel.digest.word(end as u64);
        self.kernel.note(|| "log".to_owned(), || format!("opened: {start} to {end}"));
        let emptying = self.model.floor(false) == i64::MIN;
        if emptying && start == end {
            self.black_box.empties(start);
        }
        self.black_box.reopens(start);
        if damaged {
            self.black_box.damaged(end);
        }
        let told = self.black_box.opened(end, lossy);
        told.map_err(|text| Violation::new("lost", text))?;
        let found = self.model.recover(&log, floor);
        if let (Err(_), true) = (&found, self.blind) {
            // Nobody knows, but what is there counts from now on.
            self.model.adopt(start, end);
        }
        self.inside("L7", found)?;
        self.acked = self.acked.min(end);
        self.model.durable = self.model.durable.max(log.durable().0);
        self.watermark = end;
        self.phase = Phase::Serving(log);
        self.derived(true, true)?;
        self.sides()?;
        self.acknowledge()?;
        self.read_all()
    }

    fn go_on_serving(&mut self) -> Result<(), Violation> {
        let Expects { crashed, .. } = std::mem::take(&mut self.expects);
        self.earlier.clear();
        self.opened_harmed = !std::mem::take(&mut self.before).is_empty();
        if !std::mem::take(&mut self.reopening) {
            self.kernel.at(self.kernel.time, LogEvent::Act(self.life));
        }
        match crashed && self.draw("leads", 3) == 0 {
            true => self.follow(),
            false => {
                self.lead(i32::from(crashed));
                Ok(())
            }
        }
    }

    /// The log has a leader here, of an epoch later by `later`.
    pub(super) fn lead(&mut self, later: i32) {
        self.epoch += later;
        self.role = Role::Leader;
        let mut fx = Fx::new();
        if let Phase::Serving(log) = &mut self.phase {
            log.begin_epoch(LeaderEpoch(self.epoch), &mut fx);
            self.model.begin_epoch(self.epoch, log.end().0);
        }
        self.submit(&mut fx);
    }
}
