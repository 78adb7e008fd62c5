//! Scenario `log`: one log of the core on one disk, and nobody else.
//!
//! What a partition would do to its log is drawn from the seed: appends as leader and as follower,
//! leader epochs, high watermarks, truncations, moves of the log start, reads and look-ups,
//! checkpoints, clean stops. What befalls it too: kills and losses of power between any two disk
//! operations, operations that fail, stall, or overtake each other, and disks that are wrong without
//! a word ([`damage`]).
//!
//! Two oracles watch. The [`model`] knows everything that was appended; whatever the log derives
//! has to be a fold over it. The [`black_box`] knows only what was acknowledged and read.
//!
//! Invariants: the promise table (a kill takes nothing that was written, a loss of power nothing
//! that was synced, and what is left is a prefix), L1, L3, L6, L7, L8, L10, R14, P4, T4.

mod acts;
mod append;
mod black_box;
mod checks;
mod cut;
mod damage;
mod kafka;
mod life;
mod model;
mod read;
mod scrub;
mod shape;

use std::collections::{BTreeMap, VecDeque};

use dohle_core::disk::{DiskOp, FileIds, FilePath, IoDone, What};
use dohle_core::fx::Fx;
use dohle_core::log::Log;
use dohle_core::log::recover::Recovery;
use dohle_core::log::truncate::Truncation;
use dohle_core::mutant::Mutants;
use dohle_core::time::Now;
use dohle_wire::id::{TopicId, Uuid};

use self::black_box::BlackBox;
use self::life::Saved;
use self::model::Model;
use self::read::Wish;
pub use self::shape::{LogSwarm, Mix};
use crate::choice::{Choices, Stream};
use crate::clock::{Clock, MS, SEC, US};
use crate::disk::{Flaw, Scar, Sickness, SimDisk};
use crate::fault::{Fault, Nemesis};
use crate::kernel::Kernel;
use crate::oracle::Violation;
use crate::scenario::Gates;
use crate::world::Halt;

/// What happens.
#[derive(Clone, Debug)]
pub enum LogEvent {
    /// An operation of that life takes effect.
    Effect(u32, u64),
    /// Its end is told.
    Told(u32, Box<IoDone>),
    /// The workload does something.
    Act(u32),
    /// The process begins.
    Boot(u32),
}

/// What the process is doing.
#[derive(Debug)]
enum Phase {
    Down,
    /// It reads its checkpoint.
    Reading,
    /// It takes back that it was stopped cleanly.
    Marking(Saved),
    Opening(Box<Recovery>),
    Serving(Box<Log>),
    Cutting(Box<Truncation>),
    Closing(Box<Log>),
    /// It writes that it stopped cleanly.
    Leaving(Box<Log>),
}

/// Who writes the log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Role {
    Leader,
    Follower,
}

/// How often what happened.
#[derive(Copy, Clone, Debug, Default)]
struct Tally {
    appended: u64,
    acknowledged: u64,
    followed: u64,
    markers: u64,
    rolls: u64,
    reads: u64,
    times: u64,
    cuts: u64,
    empties: u64,
    starts: u64,
    checkpoints: u64,
    recoveries: u64,
    compared: u64,
    disk_failures: u64,
    struck_opening: u64,
    struck_cutting: u64,
    /// Openings and truncations that were refused for damage, and those that were cut for it.
    refused: u64,
    damage_cut: u64,
    fooled: u64,
    /// Reads that could not be served, and those whose checksum was wrong.
    unread: u64,
    bad_crc: u64,
    /// Segments that were searched for damage, sums made, and damage told.
    searched: u64,
    sealed: u64,
    damage_told: u64,
    /// Logs that were opened anew on a full disk.
    reopened: u64,
    /// Compactions of Kafka's that were not finished.
    compacted: u64,
}

/// The world of this scenario.
pub struct LogWorld {
    pub(crate) kernel: Kernel<LogEvent>,
    swarm: LogSwarm,
    mutants: Mutants,
    disk: SimDisk,
    clock: Clock,
    files: FileIds,
    phase: Phase,
    life: u32,
    generation: u32,
    role: Role,
    epoch: i32,
    /// Readers see what is below.
    watermark: i64,
    /// Batches below are acknowledged.
    acked: i64,
    model: Model,
    black_box: BlackBox,
    /// Whether only the black box watches.
    blind: bool,
    paranoid: bool,
    nemesis: Nemesis,
    faults: VecDeque<(u64, Fault)>,
    sicknesses: VecDeque<(u64, Sickness)>,
    flaws: VecDeque<damage::Planned>,
    /// What was read of the log in this life was wrong.
    misread: bool,
    /// What the opening under way goes by, and what was wrong when it began.
    told: damage::Told,
    before: Vec<damage::Wound>,
    /// What was when openings began that came to no end.
    earlier: Vec<damage::Wound>,
    /// Something was wrong with the records when the log was opened.
    opened_harmed: bool,
    /// Where the latest checkpoint says that the log was durable.
    saved_point: i64,
    /// The marker that was built last aborts.
    aborts: bool,
    /// A file of aborted transactions decayed: which were aborted is not known any more.
    unsure_aborted: bool,
    reopening: bool,
    search: Option<scrub::Search>,
    /// What was wrong already when sums were made.
    sealed_scars: Vec<(FilePath, Scar)>,
    tally: Tally,
    reads: BTreeMap<i64, Wish>,
    tokens: i64,
    /// A checkpoint on its way.
    saving: Option<Saved>,
    /// The log is opened after a clean stop, or what a crash may have left of it.
    expects: life::Expects,
    acts: u64,
    /// Those of them that were left out.
    left_out: u64,
    until: Option<u64>,
}

/// The only unit there is.
const UNIT: u16 = 1;

fn folder() -> FilePath {
    FilePath::new(0, "log-0")
}

fn topic_id() -> TopicId {
    TopicId(Uuid::from_u128(0x1009 << 64))
}

impl LogWorld {
    /// The world in its first moment.
    #[must_use]
    pub fn new(mut choices: Choices, swarm: LogSwarm, mutants: Mutants, blind: bool) -> Self {
        let faults = Nemesis::plan(&mut choices, &swarm.faults, swarm.acts);
        let sicknesses = life::sicknesses(&mut choices, &swarm);
        let flaws = damage::plan(&mut choices, &swarm);
        let mut world = Self {
            kernel: Kernel::new(choices),
            disk: SimDisk::new(swarm.disk),
            swarm,
            mutants,
            clock: Clock::exact(),
            files: FileIds::of_unit(UNIT),
            phase: Phase::Down,
            life: 0,
            generation: 0,
            role: Role::Leader,
            epoch: 0,
            watermark: 0,
            acked: 0,
            model: Model::default(),
            black_box: BlackBox::default(),
            blind,
            paranoid: false,
            nemesis: Nemesis::default(),
            faults: faults.into(),
            sicknesses,
            flaws: flaws.into(),
            misread: false,
            told: damage::Told::default(),
            before: Vec::new(),
            earlier: Vec::new(),
            opened_harmed: false,
            saved_point: 0,
            aborts: false,
            unsure_aborted: false,
            reopening: false,
            search: None,
            sealed_scars: Vec::new(),
            tally: Tally::default(),
            reads: BTreeMap::new(),
            tokens: 0,
            saving: None,
            expects: life::Expects::default(),
            acts: 0,
            left_out: 0,
            until: None,
        };
        world.kernel.at(0, LogEvent::Boot(0));
        world
    }

    /// Ends the run after this event.
    pub fn stop_at(&mut self, event: u64) {
        self.until = Some(event);
    }

    /// Checks everything that can be checked at every event.
    pub fn be_paranoid(&mut self) {
        self.paranoid = true;
    }

    /// Lets the run go its way: faults and work; then faults are over, and the log has to come
    /// back to rest, survive a clean stop and a kill, and be read from end to end.
    ///
    /// # Errors
    /// A violation, or the event to stop at.
    pub fn play(&mut self) -> Result<(), Halt> {
        let acts = self.swarm.acts;
        // A disk that stalls leaves little time for work, and some faults waiting.
        let looked = |world: &Self| world.acts >= acts && world.acts.is_multiple_of(16);
        match self.kernel.choices.is_limited() {
            true => self.play_script()?,
            false => self.run(|world| {
                looked(world) && world.gates().missed().is_none() || world.acts >= 8 * acts
            })?,
        }
        self.nemesis.stop();
        (self.faults, self.sicknesses) = (VecDeque::new(), VecDeque::new());
        self.flaws = VecDeque::new();
        self.disk.heal();
        self.disk.disarm();
        self.heal();
        self.settle("to come to rest")?;
        self.flush_all()?;
        self.stop();
        self.settle("to stop cleanly and start again")?;
        self.crash(Fault::Kill)?;
        self.settle("to start after a last kill")?;
        self.read_all()?;
        self.search_all()
    }

    /// Only what a script has happens: after that nothing more is waited for but what it led to.
    fn play_script(&mut self) -> Result<(), Halt> {
        let most = 8 * self.swarm.acts;
        self.run(|world| world.kernel.choices.is_spent() || world.acts >= most)?;
        let upto = self.left_out + LED_TO;
        self.run(|world| world.left_out >= upto || world.acts >= most)
    }

    /// Handles events until a condition holds, or nothing more happens.
    fn run(&mut self, over: impl Fn(&Self) -> bool) -> Result<(), Halt> {
        while !over(self) {
            if self.until.is_some_and(|until| self.kernel.event >= until) {
                return Err(Halt::Until);
            }
            let Some(event) = self.kernel.next(u64::MAX) else { return Ok(()) };
            self.kernel.check_progress()?;
            self.on(event)?;
            if self.paranoid {
                self.look()?;
            }
        }
        Ok(())
    }

    /// No faults and no work any more: everything under way has to come to its end.
    fn settle(&mut self, what: &str) -> Result<(), Halt> {
        self.run(|_| false)?;
        match &self.phase {
            Phase::Serving(_) => {}
            other => {
                let text = format!("the log never came {what}: {}", name(other));
                return Err(Violation::new("liveness", text).into());
            }
        }
        self.look()?;
        self.sides()?;
        Ok(())
    }

    fn flush_all(&mut self) -> Result<(), Halt> {
        let mut fx = Fx::new();
        if let Phase::Serving(log) = &mut self.phase {
            log.flush(&mut fx);
        }
        self.submit(&mut fx);
        self.settle("to be durable")?;
        match &self.phase {
            Phase::Serving(log) if log.durable() < log.end() => {
                let text = format!("durable up to {} of {}", log.durable(), log.end());
                Err(Violation::new("liveness", text).into())
            }
            _ => Ok(()),
        }
    }

    fn on(&mut self, event: LogEvent) -> Result<(), Violation> {
        match event {
            LogEvent::Effect(life, ticket) if life == self.life => self.on_effect(ticket),
            LogEvent::Told(life, done) if life == self.life => self.on_done(*done),
            LogEvent::Act(life) if life == self.life => self.on_act(),
            LogEvent::Boot(life) if life == self.life => {
                self.boot();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_effect(&mut self, ticket: u64) -> Result<(), Violation> {
        if let Some(fault) = self.nemesis.on_disk_operation() {
            return self.crash(fault);
        }
        let now = self.now();
        let Some((done, told)) = self.disk.effect(ticket, now.wall) else { return Ok(()) };
        if self.disk.take_misread() {
            match self.reads.get_mut(&done.id.end).filter(|_| done.id.what == What::Locate) {
                Some(wish) => wish.lenient = true,
                None => self.misread = true,
            }
        }
        // One that ended before may still have to be told of.
        if told <= self.kernel.time && self.swarm.disk.inline {
            return self.on_done(done);
        }
        self.kernel.at(told, LogEvent::Told(self.life, Box::new(done)));
        Ok(())
    }

    fn on_done(&mut self, done: IoDone) -> Result<(), Violation> {
        self.kernel.note(|| "disk".to_owned(), || format!("done {:?}", brief(&done)));
        match done.id.what {
            What::Meta => self.on_saved(&done),
            What::Locate => self.on_located(&done),
            What::Scrub => self.on_searched(done),
            _ => self.on_log(done),
        }
    }

    fn now(&self) -> Now {
        self.clock.now(self.kernel.time)
    }

    /// Asks the disk for what the log wants.
    fn submit(&mut self, fx: &mut Fx<DiskOp>) {
        for op in fx.drain() {
            self.kernel.note(|| "log".to_owned(), || brief_op(&op));
            let time = self.kernel.time;
            if let Some((ticket, due)) = self.disk.submit(UNIT, op, time, &mut self.kernel.choices)
            {
                self.kernel.at(due, LogEvent::Effect(self.life, ticket));
            }
        }
    }

    fn draw(&mut self, label: &'static str, bound: u64) -> u64 {
        self.kernel.choices.below(Stream::Workload, label, bound)
    }

    /// A violation that a checker with a view inside has found.
    fn inside(&self, oracle: &str, found: Result<(), String>) -> Result<(), Violation> {
        match found {
            Err(text) if !self.blind => Err(Violation::new(oracle, text)),
            _ => Ok(()),
        }
    }

    /// What the run had to do at least, and did.
    #[must_use]
    pub fn gates(&self) -> Gates {
        let tally = self.tally;
        let swarm = &self.swarm;
        let wanted = |wanted: bool, least: u64| if wanted { least } else { 0 };
        // What takes a sync's time to come about is cut short all the time where syncs are slow.
        let quick =
            swarm.disk.medium <= 20 * swarm.pause || swarm.mix.cuts + swarm.mix.empties == 0;
        let mut counts = BTreeMap::from([
            ("acknowledged", (150, tally.acknowledged)),
            ("followed", (wanted(swarm.mix.epochs + swarm.mix.cuts > 1, 1), tally.followed)),
            ("markers", (wanted(swarm.transactional > 0, 3), tally.markers)),
            ("rolls", (wanted(swarm.segment_bytes <= 2_000, 5), tally.rolls)),
            ("reads", (40, tally.reads)),
            ("times", (5, tally.times)),
            ("cuts", (wanted(swarm.mix.cuts > 0, 2), tally.cuts)),
            ("empties", (wanted(swarm.mix.empties > 0, 1), tally.empties)),
            ("starts", (wanted(swarm.mix.starts > 0, 1), tally.starts)),
            ("checkpoints", (5, tally.checkpoints)),
            ("recoveries", (3, tally.recoveries)),
            ("compared", (60, tally.compared)),
            ("disk_failures", (wanted(swarm.failing_disk && quick, 1), tally.disk_failures)),
            ("struck_opening", (0, tally.struck_opening)),
            ("struck_cutting", (0, tally.struck_cutting)),
            ("refused", (0, tally.refused)),
            ("damage_cut", (0, tally.damage_cut)),
            ("fooled", (0, tally.fooled)),
            ("unread", (0, tally.unread)),
            ("bad_crc", (0, tally.bad_crc)),
            (
                "searched",
                (
                    wanted(swarm.mix.searches > 0 && swarm.segment_bytes <= 2_000 && quick, 1),
                    tally.searched,
                ),
            ),
            ("sealed", (0, tally.sealed)),
            ("damage_told", (0, tally.damage_told)),
            ("reopened", (0, tally.reopened)),
            ("compacted", (0, tally.compacted)),
        ]);
        for flaw in swarm.flaws.iter().copied() {
            let least = wanted(flaw.strikes_reads() || flaw == Flaw::Rot || quick, 1);
            counts.insert(flaw.name(), (least, self.disk.flaws().happened[flaw as usize]));
        }
        for fault in swarm.faults.iter().copied() {
            let least = if fault == Fault::Stop { 1 } else { 2 };
            counts.insert(fault.name(), (least, self.nemesis.happened[fault as usize]));
        }
        Gates { counts }
    }

    /// How many batches were acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.tally.acknowledged
    }

    /// How many batches power took that it may take.
    #[must_use]
    pub fn allowed_losses(&self) -> u64 {
        self.black_box.losses
    }

    /// What the world looks like now, for a person.
    #[must_use]
    pub fn state(&self) -> String {
        let (time, model) = (self.kernel.time, &self.model);
        let mut text = format!(
            "event {} at {}.{:09} s, life {}, {}\nmodel start {} written {} durable {} end {} cut {:?}\n",
            self.kernel.event,
            time / SEC,
            time % SEC,
            self.life,
            name(&self.phase),
            model.start,
            model.written,
            model.durable,
            model.end(),
            model.cut,
        );
        if let Phase::Serving(log) | Phase::Closing(log) | Phase::Leaving(log) = &self.phase {
            let bases: Vec<i64> = log.segments().iter().map(|segment| segment.base.0).collect();
            text += &format!(
                "log start {} durable {} written {} end {} segments {bases:?}\n",
                log.log_start(),
                log.durable(),
                log.written(),
                log.end()
            );
        }
        text
    }
}

fn name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Down => "down",
        Phase::Reading => "reading",
        Phase::Marking(_) => "marking",
        Phase::Opening(_) => "opening",
        Phase::Serving(_) => "serving",
        Phase::Cutting(_) => "cutting",
        Phase::Closing(_) => "closing",
        Phase::Leaving(_) => "leaving",
    }
}

fn brief(done: &IoDone) -> String {
    let result = done.result.as_ref().map_or_else(ToString::to_string, |_| "ok".to_owned());
    format!("{:?} {} of {}: {result}", done.id.what, done.id.end, done.id.generation)
}

fn brief_op(op: &DiskOp) -> String {
    match op {
        DiskOp::Write { id, file, position, data } => {
            let len: usize = data.iter().map(|part| part.len()).sum();
            format!("Write {len} at {position} of {file:?} upto {}", id.end)
        }
        DiskOp::Put { path, data, durable, .. } => {
            format!("Put {} ({} bytes, durable {durable})", path.path, data.len())
        }
        DiskOp::Locate { plan, .. } => format!("Locate {:?} in {}", plan.target, plan.base),
        other => format!("{other:?}"),
    }
}

/// How long a process is down, at most.
const DOWN_MAX: u64 = 20 * MS;
/// What is left out after the last operation of a script, before the run comes to its end.
const LED_TO: u64 = 50;
/// The shortest pause between two things that the workload does.
const PAUSE_MIN: u64 = US;
