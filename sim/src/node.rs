//! One node: its disks, its clock and, while it lives, its process: the core's units and the mail
//! between them.
//!
//! Mail between two units keeps its order and takes a drawn time; between different pairs it
//! overtakes. A process ends without destructors: its units are dropped, what they had under way
//! on disk is the disk's affair.

mod brief;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_core::config::broker::BrokerConfig;
use dohle_core::control::{self, Control, ControlSettings, FreshIds};
use dohle_core::disk::{DiskOp, FilePath, IoDone, What};
use dohle_core::fx::Fx;
use dohle_core::group::place::OFFSETS_TOPIC;
use dohle_core::image::Image;
use dohle_core::log::names::future_of;
use dohle_core::mail::{PartitionId, ReplyTo, SessionId, ShardId, ToControl, ToSession, ToShard};
use dohle_core::mutant::Mutants;
use dohle_core::session::{self, CloseReason, Session, SessionSettings};
use dohle_core::shard::{self, Shard};
use dohle_core::time::{Deadline, Now};
use dohle_wire::codec::Part;
use dohle_wire::id::{Offset, Uuid};
use dohle_wire::record::Codecs;

use self::brief::{brief, brief_op, who};
use crate::choice::Stream;
use crate::clock::Clock;
use crate::disk::{Crash, SimDisk};
use crate::kernel::Kernel;
use crate::world::Event;

/// A unit of a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitId {
    /// The control unit.
    Control,
    /// A shard.
    Shard(u16),
    /// A session.
    Session(u64),
}

/// An input on its way to a unit.
#[derive(Clone, Debug)]
pub enum Letter {
    /// To the control unit.
    Control(ToControl),
    /// To a shard.
    Shard(ToShard),
    /// To a session.
    Session(ToSession),
    /// Newer metadata for a session.
    Image(Arc<Image>),
    /// A disk operation ended.
    Io(IoDone),
}

/// What happens inside a node.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// Mail arrives.
    Letter(UnitId, Letter),
    /// A deadline may have passed.
    Tick(UnitId),
    /// A disk operation takes effect.
    Disk(UnitId, u64),
}

/// What a node wants of the world.
#[derive(Debug)]
pub enum NodeEffect {
    /// Send a frame to a client.
    Send(SessionId, Vec<Part>),
    /// Stop or go on reading a connection.
    Read(SessionId, bool),
    /// Close a connection.
    Close(SessionId, CloseReason),
    /// A coordinator writes.
    Coordinates(Bytes),
    /// Records could not be written: what is behind the end of their log was never there.
    GivenUp,
    /// Clients may connect.
    Ready,
    /// The process ended of itself.
    Stopped,
    /// The process gave up.
    Fatal(String),
}

/// What does not change from one life of a node to the next.
#[derive(Clone)]
pub struct NodeSettings {
    /// Its configuration.
    pub config: Arc<BrokerConfig>,
    /// How many shards it has.
    pub shards: u16,
    /// Codecs.
    pub codecs: Arc<dyn Codecs>,
    /// Where clients reach it.
    pub address: (Arc<str>, u16),
    /// A typical delay of mail between units, in nanoseconds.
    pub mail_delay: u64,
    /// Planted bugs.
    pub mutants: Mutants,
}

struct Cell<M> {
    machine: M,
    /// When its next tick is scheduled.
    armed: Option<u64>,
}

struct Process {
    control: Cell<Control>,
    shards: Vec<Cell<Shard>>,
    sessions: BTreeMap<u64, Cell<Session>>,
    image: Option<Arc<Image>>,
    ready: bool,
    mail: BTreeMap<(UnitId, UnitId), u64>,
}

/// One node.
pub struct Node {
    index: usize,
    /// Counts its processes.
    pub life: u32,
    /// Counts losses of power.
    pub losses: u32,
    /// Its disks.
    pub disk: SimDisk,
    /// Its clocks.
    pub clock: Clock,
    settings: NodeSettings,
    process: Option<Process>,
    effects: Vec<NodeEffect>,
}

impl Node {
    /// A node that has never run.
    #[must_use]
    pub fn new(index: usize, settings: NodeSettings, disk: SimDisk, clock: Clock) -> Self {
        Self {
            index,
            life: 0,
            losses: 0,
            disk,
            clock,
            settings,
            process: None,
            effects: Vec::new(),
        }
    }

    /// Whether a process runs.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.process.is_some()
    }

    /// Whether clients are served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.ready)
    }

    /// Its configuration and address.
    #[must_use]
    pub fn settings(&self) -> &NodeSettings {
        &self.settings
    }

    /// The shards of the running process.
    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.process.iter().flat_map(|process| process.shards.iter().map(|cell| &cell.machine))
    }

    /// The metadata that the running process has published.
    #[must_use]
    pub fn image(&self) -> Option<&Arc<Image>> {
        self.process.as_ref().and_then(|process| process.image.as_ref())
    }

    /// What the clocks show.
    #[must_use]
    pub fn now(&self, kernel: &Kernel) -> Now {
        self.clock.now(kernel.time)
    }

    /// Starts a process.
    pub fn boot(&mut self, kernel: &mut Kernel) {
        assert!(self.process.is_none(), "a node runs one process at a time");
        self.life += 1;
        self.clock.start(kernel.time);
        kernel.note(|| who(self.index, None), || format!("boot, life {}", self.life));
        let mut uuid = || {
            let high = kernel.choices.below(Stream::Ids, "uuid", u64::MAX);
            Uuid::from_u128(u128::from(high) << 64 | u128::from(high ^ 0x5bd1_e995))
        };
        let (cluster, first) = (uuid(), uuid());
        let mut directories = vec![first];
        directories.resize_with(self.settings.config.log_dirs.len(), &mut uuid);
        let fresh = FreshIds { cluster, directories, incarnation: uuid() };
        let seed = kernel.choices.below(Stream::Ids, "control-seed", u64::MAX);
        let (config, shards) = (Arc::clone(&self.settings.config), self.settings.shards);
        let unusable = BTreeMap::new();
        let control = Control::new(ControlSettings { config, shards, fresh, seed, unusable });
        let shards = (0..shards).map(|id| self.new_shard(id, seed)).collect();
        self.process = Some(Process {
            control: Cell { machine: control, armed: None },
            shards,
            sessions: BTreeMap::new(),
            image: None,
            ready: false,
            mail: BTreeMap::new(),
        });
        self.step_control(kernel, control::Input::Boot);
    }

    fn new_shard(&self, id: u16, seed: u64) -> Cell<Shard> {
        let NodeSettings { config, shards, codecs, mutants, .. } = &self.settings;
        let (config, codecs) = (Arc::clone(config), Arc::clone(codecs));
        let mut machine = Shard::new(ShardId(id), *shards, config, codecs, seed ^ u64::from(id));
        machine.plant(*mutants);
        Cell { machine, armed: None }
    }

    /// Ends the process against its will.
    pub fn crash(&mut self, kernel: &mut Kernel, crash: Crash) {
        kernel.note(|| who(self.index, None), || format!("{crash:?}"));
        let now = self.now(kernel);
        self.process = None;
        self.losses += u32::from(crash == Crash::Power);
        self.disk.crash(crash, &mut kernel.choices, now.wall);
    }

    /// The process has ended of itself; the page cache survives.
    pub fn ended(&mut self, kernel: &mut Kernel) {
        let now = self.now(kernel);
        self.process = None;
        self.disk.crash(Crash::Kill, &mut kernel.choices, now.wall);
    }

    /// Asks the process to stop.
    pub fn shutdown(&mut self, kernel: &mut Kernel) {
        kernel.note(|| who(self.index, None), || "shutdown".to_owned());
        self.step_control(kernel, control::Input::Shutdown);
    }

    /// Has some replica moved to some data directory. False when there is nothing to move.
    pub fn move_replica(&mut self, kernel: &mut Kernel) -> bool {
        let shards = (0u16..).zip(self.shards());
        let open: Vec<(u16, PartitionId)> = shards
            .flat_map(|(id, shard)| shard.partitions().map(move |partition| (id, partition.id())))
            .collect();
        if open.is_empty() {
            return false;
        }
        let dirs = self.settings.config.log_dirs.len() as u64;
        let which = kernel.choices.below(Stream::Faults, "moved", open.len() as u64) as usize;
        let dir = kernel.choices.below(Stream::Faults, "moved-to", dirs) as u16;
        let (shard, partition) = open[which];
        // Nobody waits for the answer.
        let reply = ReplyTo { session: SessionId(u64::MAX), request: 0, part: 0 };
        let mail = ToShard::AlterDir { reply, seen: Offset(-1), partition, dir };
        self.step_shard(kernel, shard, shard::Input::Mail(mail));
        true
    }

    /// What the node wants done, in order.
    pub fn effects(&mut self) -> Vec<NodeEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Handles an event of the process `life`; one of an earlier process is nothing.
    pub fn on(&mut self, kernel: &mut Kernel, life: u32, event: NodeEvent) {
        if life != self.life || self.process.is_none() {
            return;
        }
        match event {
            NodeEvent::Letter(unit, letter) => self.on_letter(kernel, unit, letter),
            NodeEvent::Tick(unit) => self.on_tick(kernel, unit),
            NodeEvent::Disk(unit, ticket) => self.on_disk(kernel, unit, ticket),
        }
    }

    fn on_letter(&mut self, kernel: &mut Kernel, unit: UnitId, letter: Letter) {
        match (unit, letter) {
            (UnitId::Control, Letter::Control(mail)) => {
                self.step_control(kernel, control::Input::Mail(mail));
            }
            (UnitId::Control, Letter::Io(done)) => {
                self.step_control(kernel, control::Input::Io(done));
            }
            (UnitId::Shard(id), Letter::Shard(mail)) => {
                self.step_shard(kernel, id, shard::Input::Mail(mail));
            }
            (UnitId::Shard(id), Letter::Io(done)) => {
                self.step_shard(kernel, id, shard::Input::Io(done));
            }
            (UnitId::Session(id), Letter::Session(mail)) => {
                self.step_session(kernel, id, session::Input::Mail(mail));
            }
            (UnitId::Session(id), Letter::Image(image)) => {
                self.step_session(kernel, id, session::Input::Image(image));
            }
            (unit, letter) => unreachable!("{letter:?} for {unit:?}"),
        }
    }

    fn on_tick(&mut self, kernel: &mut Kernel, unit: UnitId) {
        let now = self.now(kernel);
        let Some(process) = &mut self.process else { return };
        let Some((armed, deadline)) = process.timer(unit) else { return };
        if *armed != Some(kernel.time) {
            return;
        }
        *armed = None;
        match deadline {
            Some((at, _)) if at <= now.mono => match unit {
                UnitId::Control => self.step_control(kernel, control::Input::Tick),
                UnitId::Shard(id) => self.step_shard(kernel, id, shard::Input::Tick),
                UnitId::Session(id) => self.step_session(kernel, id, session::Input::Tick),
            },
            _ => self.arm(kernel, unit),
        }
    }

    fn on_disk(&mut self, kernel: &mut Kernel, unit: UnitId, ticket: u64) {
        let now = self.now(kernel);
        if let Some((done, told)) = self.disk.effect(ticket, now.wall) {
            if done.result.is_err() && done.id.what == What::Append {
                self.effects.push(NodeEffect::GivenUp);
            }
            let event = NodeEvent::Letter(unit, Letter::Io(done));
            kernel.at(told, Event::Node(self.index, self.life, event));
        }
    }

    /// Takes on a connection.
    pub fn accept(&mut self, kernel: &mut Kernel, id: SessionId) {
        let seed = kernel.choices.below(Stream::Ids, "session-seed", u64::MAX);
        let settings = &self.settings;
        let listener = settings.config.listeners.first().map_or("PLAINTEXT", |l| l.name.as_str());
        let session = Session::new(
            id,
            SessionSettings {
                shards: settings.shards,
                codecs: Arc::clone(&settings.codecs),
                config: Arc::clone(&settings.config),
                peer: Arc::from("client"),
                local: settings.address.clone(),
                listener: Arc::from(listener),
                seed,
            },
            self.clock.now(kernel.time),
        );
        let Some(process) = &mut self.process else { return };
        process.sessions.insert(id.0, Cell { machine: session, armed: None });
        if let Some(image) = process.image.clone() {
            self.step_session(kernel, id.0, session::Input::Image(image));
        }
    }

    /// Gives a frame to a session.
    pub fn frame(&mut self, kernel: &mut Kernel, id: SessionId, frame: Bytes) {
        self.step_session(kernel, id.0, session::Input::Frame(frame));
    }

    /// A connection has ended.
    pub fn hang_up(&mut self, kernel: &mut Kernel, id: SessionId) {
        self.step_session(kernel, id.0, session::Input::Closed);
        if let Some(process) = &mut self.process {
            process.sessions.remove(&id.0);
        }
    }

    fn step_control(&mut self, kernel: &mut Kernel, input: control::Input) {
        let now = self.now(kernel);
        let Some(process) = &mut self.process else { return };
        kernel.digest.word(1);
        kernel.note(|| who(self.index, Some(UnitId::Control)), || brief(&input));
        let mut fx = Fx::new();
        process.control.machine.step(now, input, &mut fx);
        for effect in fx.drain() {
            self.on_control_effect(kernel, effect);
        }
        self.arm(kernel, UnitId::Control);
    }

    fn on_control_effect(&mut self, kernel: &mut Kernel, effect: control::Effect) {
        match effect {
            control::Effect::Disk(op) => self.submit(kernel, UnitId::Control, op),
            control::Effect::Session(to, mail) => {
                let to = UnitId::Session(to.0);
                self.post(kernel, UnitId::Control, to, Letter::Session(mail));
            }
            control::Effect::Shard(to, mail) => {
                let to = UnitId::Shard(to.0);
                self.post(kernel, UnitId::Control, to, Letter::Shard(mail));
            }
            control::Effect::Publish(image) => self.publish(kernel, &image),
            control::Effect::Ready => {
                if let Some(process) = &mut self.process {
                    process.ready = true;
                }
                self.effects.push(NodeEffect::Ready);
            }
            control::Effect::Stopped => self.effects.push(NodeEffect::Stopped),
            control::Effect::Fatal(why) => self.effects.push(NodeEffect::Fatal(why)),
            control::Effect::Note(note) => {
                kernel.note(|| who(self.index, Some(UnitId::Control)), || note.text.to_string());
            }
        }
    }

    fn publish(&mut self, kernel: &mut Kernel, image: &Arc<Image>) {
        let Some(process) = &mut self.process else { return };
        process.image = Some(Arc::clone(image));
        let sessions: Vec<u64> = process.sessions.keys().copied().collect();
        for id in sessions {
            let letter = Letter::Image(Arc::clone(image));
            self.post(kernel, UnitId::Control, UnitId::Session(id), letter);
        }
    }

    fn step_shard(&mut self, kernel: &mut Kernel, id: u16, input: shard::Input) {
        let now = self.now(kernel);
        let Some(process) = &mut self.process else { return };
        kernel.digest.word(2 + u64::from(id));
        let unit = UnitId::Shard(id);
        kernel.note(|| who(self.index, Some(unit)), || brief(&input));
        let mut fx = Fx::new();
        process.shards[usize::from(id)].machine.step(now, input, &mut fx);
        for effect in fx.drain() {
            match effect {
                shard::Effect::Disk(op) => self.submit(kernel, unit, op),
                shard::Effect::Session(to, mail) => {
                    self.post(kernel, unit, UnitId::Session(to.0), Letter::Session(mail));
                }
                shard::Effect::Control(mail) => {
                    self.post(kernel, unit, UnitId::Control, Letter::Control(mail));
                }
                shard::Effect::Note(note) => {
                    kernel.note(|| who(self.index, Some(unit)), || note.text.to_string());
                }
            }
        }
        self.arm(kernel, unit);
    }

    fn step_session(&mut self, kernel: &mut Kernel, id: u64, input: session::Input) {
        let now = self.now(kernel);
        let unit = UnitId::Session(id);
        let Some(cell) = self.process.as_mut().and_then(|p| p.sessions.get_mut(&id)) else {
            return;
        };
        kernel.digest.word(0x100 + id);
        if let session::Input::Frame(frame) = &input {
            kernel.digest.bytes(frame);
        }
        kernel.note(|| who(self.index, Some(unit)), || brief(&input));
        let mut fx = Fx::new();
        cell.machine.step(now, input, &mut fx);
        for effect in fx.drain() {
            match effect {
                session::Effect::Send(parts) => {
                    self.effects.push(NodeEffect::Send(SessionId(id), parts));
                }
                session::Effect::Pause => self.effects.push(NodeEffect::Read(SessionId(id), false)),
                session::Effect::Resume => self.effects.push(NodeEffect::Read(SessionId(id), true)),
                session::Effect::Close(why) => {
                    self.effects.push(NodeEffect::Close(SessionId(id), why));
                }
                session::Effect::Shard(to, mail) => {
                    self.post(kernel, unit, UnitId::Shard(to.0), Letter::Shard(mail));
                }
                session::Effect::Control(mail) => {
                    self.post(kernel, unit, UnitId::Control, Letter::Control(mail));
                }
                session::Effect::Count(_) => {}
            }
        }
        self.arm(kernel, unit);
    }

    /// Sends mail from one unit to another.
    fn post(&mut self, kernel: &mut Kernel, from: UnitId, to: UnitId, letter: Letter) {
        let delay = kernel.choices.heavy(Stream::Schedule, "mail", self.settings.mail_delay);
        let Some(process) = &mut self.process else { return };
        let last = process.mail.entry((from, to)).or_default();
        *last = (*last).max(kernel.time + delay);
        let event = NodeEvent::Letter(to, letter);
        kernel.at(*last, Event::Node(self.index, self.life, event));
    }

    fn submit(&mut self, kernel: &mut Kernel, unit: UnitId, op: DiskOp) {
        kernel.note(|| who(self.index, Some(unit)), || format!("disk {}", brief_op(&op)));
        if let DiskOp::Write { data, position, .. } = &op {
            kernel.digest.word(*position);
            data.iter().for_each(|part| kernel.digest.bytes(part));
        }
        if let DiskOp::Write { file, data, .. } = &op
            && self.disk.path_of(*file).is_some_and(is_log_of_groups)
        {
            self.effects.push(NodeEffect::Coordinates(data.concat().into()));
        }
        let number = match unit {
            UnitId::Control => 0,
            UnitId::Shard(id) => id + 1,
            UnitId::Session(_) => unreachable!("sessions have no files"),
        };
        let submitted = self.disk.submit(number, op, kernel.time, &mut kernel.choices);
        if let Some((ticket, due)) = submitted {
            kernel.at(due, Event::Node(self.index, self.life, NodeEvent::Disk(unit, ticket)));
        }
    }

    /// Schedules the tick that a unit asks for, unless an earlier one is scheduled.
    fn arm(&mut self, kernel: &mut Kernel, unit: UnitId) {
        let Some(process) = &mut self.process else { return };
        let Some((armed, deadline)) = process.timer(unit) else { return };
        let Some((at, _)) = deadline else { return };
        let time = self.clock.when(at).max(kernel.time + 1);
        if armed.is_none_or(|armed| time < armed) {
            *armed = Some(time);
            kernel.at(time, Event::Node(self.index, self.life, NodeEvent::Tick(unit)));
        }
    }
}

/// Whether a file holds what coordinators of groups write.
fn is_log_of_groups(path: &FilePath) -> bool {
    let folder = path.path.split('/').next().unwrap_or_default();
    let copied = future_of(folder).is_some();
    path.path.starts_with(OFFSETS_TOPIC) && path.path.ends_with(".log") && !copied
}

impl Process {
    /// When a unit's tick is scheduled, and what it asks for.
    fn timer(&mut self, unit: UnitId) -> Option<(&mut Option<u64>, Deadline)> {
        match unit {
            UnitId::Control => Some((&mut self.control.armed, self.control.machine.deadline())),
            UnitId::Shard(id) => {
                let cell = self.shards.get_mut(usize::from(id))?;
                Some((&mut cell.armed, cell.machine.deadline()))
            }
            UnitId::Session(id) => {
                let cell = self.sessions.get_mut(&id)?;
                Some((&mut cell.armed, cell.machine.deadline()))
            }
        }
    }
}
