//! The world: nodes, the network between them and their clients, faults, and the oracles that
//! watch. One thread, one queue; a run is a pure function of its choices.
//!
//! Must never know: what clients want, what the machines decide.

mod actors;
mod network;

use std::collections::BTreeMap;

use dohle_jepsen::{Action, Key, Op};

use crate::actor::{Actor, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{Clock, MS, SEC};
use crate::disk::{Ailment, Crash, Sickness};
use crate::fault::{Fault, Nemesis, STRIKES_AFTER};
use crate::kernel::Kernel;
use crate::net::{ConnId, Net, NetEvent, NetSpeed};
use crate::node::{Node, NodeEffect, NodeEvent};
use crate::oracle::{Loss, Oracles, Violation};

/// Everything that can happen.
#[derive(Clone, Debug)]
pub enum Event {
    /// Inside the process that is this node's n-th.
    Node(usize, u32, NodeEvent),
    /// On the network.
    Net(NetEvent),
    /// To an actor.
    Actor(usize, ActorInput),
    /// A node's machine starts its process.
    Boot(usize),
    /// The nemesis does something to a node.
    Fault(usize, Fault),
    /// A crash that was armed has waited long enough.
    Strike(usize),
    /// By now this process serves, or has stopped.
    Overdue(usize, u32, Lifecycle),
    /// There is space on a node's disks again.
    Space(usize),
    /// A node's disks are in order again; if one has failed it has to start anew.
    Repair(usize),
    /// Time to look at what nodes believe.
    Look,
}

/// What a process is expected to come to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// It serves clients.
    Serving,
    /// It has stopped.
    Stopped,
}

/// Why a run ended before its scenario did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A property did not hold.
    Violation(Violation),
    /// The event was reached up to which the run was asked for.
    Until,
}

impl From<Violation> for Halt {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

struct Cell {
    actor: Box<dyn Actor>,
    clock: Clock,
    armed: Option<u64>,
    connections: BTreeMap<u64, ConnId>,
}

/// One world.
pub struct World {
    /// Time, events and choices.
    pub kernel: Kernel,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// What watches.
    pub oracles: Oracles,
    /// What strikes, one for each node.
    pub nemeses: Vec<Nemesis>,
    net: Net,
    actors: Vec<Cell>,
    until: Option<u64>,
    paranoid: bool,
}

/// A process serves clients within this time of its start, and stops within it when asked.
const LIFECYCLE_LIMIT: u64 = 60 * SEC;
/// How often the oracles look at what nodes believe.
const LOOK_EVERY: u64 = SEC;

/// What is not on the disks is added up at one of so many events.
const UNSYNCED_EVERY: u64 = 64;

impl World {
    /// A world without inhabitants.
    #[must_use]
    pub fn new(choices: Choices, net: NetSpeed, oracles: Oracles) -> Self {
        let mut kernel = Kernel::new(choices);
        kernel.at(LOOK_EVERY, Event::Look);
        Self {
            kernel,
            nodes: Vec::new(),
            oracles,
            nemeses: Vec::new(),
            net: Net::new(net),
            actors: Vec::new(),
            until: None,
            paranoid: false,
        }
    }

    /// Ends the run after this event.
    pub fn stop_at(&mut self, event: u64) {
        self.until = Some(event);
    }

    /// Checks everything that can be checked at every event.
    pub fn be_paranoid(&mut self) {
        self.paranoid = true;
    }

    /// Adds a node, which boots at once.
    pub fn add_node(&mut self, node: Node) {
        self.nodes.push(node);
        self.nemeses.push(Nemesis::default());
        self.kernel.after(0, Event::Boot(self.nodes.len() - 1));
    }

    /// Adds an actor that starts after a delay.
    pub fn add_actor(&mut self, actor: Box<dyn Actor>, clock: Clock, delay: u64) {
        self.actors.push(Cell { actor, clock, armed: None, connections: BTreeMap::new() });
        self.kernel.after(delay, Event::Actor(self.actors.len() - 1, ActorInput::Start));
    }

    /// The actors that have something left to do, and what.
    #[must_use]
    pub fn busy(&self) -> Vec<String> {
        let busy = self.actors.iter().filter(|cell| !cell.actor.is_done());
        busy.map(|cell| format!("{} ({})", cell.actor.name(), cell.actor.status())).collect()
    }

    /// Whether all actors have done what they wanted.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.actors.iter().all(|cell| cell.actor.is_done())
    }

    /// Ends all faults and asks all actors to finish.
    pub fn heal(&mut self) {
        for (index, nemesis) in self.nemeses.iter_mut().enumerate() {
            nemesis.stop();
            self.kernel.after(0, Event::Repair(index));
        }
        self.net.heal(&mut self.kernel);
        for index in 0..self.actors.len() {
            self.kernel.after(0, Event::Actor(index, ActorInput::Finish));
        }
    }

    /// Lets things happen until `over` says so or time `limit` is reached; whether it was `over`.
    ///
    /// # Errors
    /// A violation, or the event to stop at.
    pub fn run(&mut self, limit: u64, over: impl Fn(&Self) -> bool) -> Result<bool, Halt> {
        while !over(self) {
            let Some(event) = self.kernel.next(limit) else { return Ok(false) };
            self.kernel.check_progress()?;
            self.handle(event)?;
            if self.paranoid {
                self.check_everything()?;
            }
            if self.until.is_some_and(|until| self.kernel.event >= until) {
                return Err(Halt::Until);
            }
        }
        Ok(true)
    }

    fn check_everything(&mut self) -> Result<(), Violation> {
        for index in 0..self.nodes.len() {
            if self.nodes[index].is_ready() {
                self.oracles.look(&self.nodes[index])?;
                self.oracles.claims(&self.nodes[index])?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Node(node, life, event) => self.on_node(node, life, event),
            Event::Net(event) => self.on_net(event),
            Event::Actor(actor, input) => self.on_actor(actor, input),
            Event::Boot(node) => self.on_boot(node),
            Event::Fault(node, fault) => self.on_fault(node, fault),
            Event::Strike(node) => match self.nemeses[node].overdue() {
                Some(fault) => self.strike(node, fault),
                None => Ok(()),
            },
            Event::Overdue(node, life, what) => self.on_overdue(node, life, what),
            Event::Space(node) => {
                self.nodes[node].disk.limit(None);
                self.hinder(false)
            }
            Event::Repair(node) => self.on_repair(node),
            Event::Look => self.on_look(),
        }
    }

    fn on_look(&mut self) -> Result<(), Violation> {
        self.kernel.after(LOOK_EVERY, Event::Look);
        for node in self.nodes.iter().filter(|node| node.is_ready()) {
            self.oracles.look(node)?;
            self.oracles.searched(node)?;
        }
        Ok(())
    }

    fn on_boot(&mut self, node: usize) -> Result<(), Violation> {
        self.oracles.owners.restart();
        self.nodes[node].boot(&mut self.kernel);
        let life = self.nodes[node].life;
        self.kernel.after(LIFECYCLE_LIMIT, Event::Overdue(node, life, Lifecycle::Serving));
        self.settle(node)
    }

    fn on_overdue(&mut self, node: usize, life: u32, what: Lifecycle) -> Result<(), Violation> {
        let node = &self.nodes[node];
        let late = match what {
            Lifecycle::Serving => !node.is_ready(),
            Lifecycle::Stopped => true,
        };
        if node.is_up() && node.life == life && late {
            let text = format!("not {what:?} after {} s", LIFECYCLE_LIMIT / SEC);
            return Err(Violation::new("liveness", text));
        }
        Ok(())
    }

    fn on_node(&mut self, node: usize, life: u32, event: NodeEvent) -> Result<(), Violation> {
        let current = self.nodes[node].is_up() && self.nodes[node].life == life;
        if current
            && matches!(event, NodeEvent::Disk(..))
            && let Some(fault) = self.nemeses[node].on_disk_operation()
        {
            return self.strike(node, fault);
        }
        let written = current && matches!(event, NodeEvent::Disk(..));
        self.nodes[node].on(&mut self.kernel, life, event);
        if written && self.kernel.event.is_multiple_of(UNSYNCED_EVERY) {
            self.oracles.unsynced(&self.nodes[node])?;
        }
        self.settle(node)
    }

    /// Does what a node wants done.
    fn settle(&mut self, node: usize) -> Result<(), Violation> {
        for effect in self.nodes[node].effects() {
            match effect {
                NodeEffect::Send(to, parts) => {
                    self.net.server_send(&mut self.kernel, ConnId(to.0), parts);
                }
                NodeEffect::Read(from, on) => self.on_read(from, on),
                NodeEffect::Close(session, why) => {
                    self.kernel
                        .note(|| format!("n{node}"), || format!("close {session:?} {why:?}"));
                    self.net.server_close(&mut self.kernel, ConnId(session.0));
                    self.nodes[node].hang_up(&mut self.kernel, session);
                    self.oracles.tap.hang_up(ConnId(session.0));
                }
                NodeEffect::Coordinates(bytes) => self.oracles.owners.on_written(bytes)?,
                NodeEffect::GivenUp => self.oracles.owners.restart(),
                NodeEffect::Ready => self.on_ready(node)?,
                NodeEffect::Stopped => self.on_stopped(node)?,
                NodeEffect::Fatal(why) => return Err(Violation::new("fatal", why)),
            }
        }
        Ok(())
    }

    fn on_ready(&mut self, node: usize) -> Result<(), Violation> {
        self.kernel.note(|| format!("n{node}"), || "ready".to_owned());
        let losses = self.oracles.on_ready(&self.nodes[node])?;
        for Loss { topic, partition, from } in &losses {
            self.kernel
                .note(|| format!("n{node}"), || format!("lost {topic}-{partition} from {from}"));
            let action = Action::Forgotten { key: Key::new(topic, *partition), from: *from };
            self.oracles.observe(&Op { process: 0, time: self.kernel.time, action })?;
        }
        let lost: Vec<_> = losses.into_iter().map(|loss| (loss.topic, loss.partition)).collect();
        for actor in 0..self.actors.len() {
            self.on_actor(actor, ActorInput::Lost(lost.clone()))?;
        }
        Ok(())
    }

    fn on_stopped(&mut self, node: usize) -> Result<(), Violation> {
        self.oracles.on_crash(&self.nodes[node], Crash::Kill)?;
        self.nodes[node].ended(&mut self.kernel);
        self.net.node_down(&mut self.kernel, node, None);
        self.nemeses[node].count(Fault::Stop);
        self.boot_later(node);
        Ok(())
    }

    fn boot_later(&mut self, node: usize) {
        let downtime = self.nemeses[node].downtime(&mut self.kernel.choices);
        self.kernel.after(downtime, Event::Boot(node));
    }

    /// Asks a node to stop; it starts again after a while.
    pub fn shutdown(&mut self, node: usize) -> Result<(), Violation> {
        let life = self.nodes[node].life;
        self.kernel.after(LIFECYCLE_LIMIT, Event::Overdue(node, life, Lifecycle::Stopped));
        self.nodes[node].shutdown(&mut self.kernel);
        self.settle(node)
    }

    fn on_fault(&mut self, node: usize, fault: Fault) -> Result<(), Violation> {
        if self.nemeses[node].is_over() {
            return Ok(());
        }
        let choices = &mut self.kernel.choices;
        match fault {
            Fault::Kill | Fault::Power => {
                let armed =
                    self.nodes[node].is_ready() && self.nemeses[node].arm(choices, fault, 80);
                let event = if armed { Event::Strike(node) } else { Event::Fault(node, fault) };
                self.kernel.after(STRIKES_AFTER, event);
            }
            Fault::Stop if self.nodes[node].is_ready() => self.shutdown(node)?,
            Fault::Stop => self.kernel.after(SEC, Event::Fault(node, fault)),
            Fault::ClockJump => {
                self.nodes[node].clock.jump(choices);
                self.nemeses[node].count(fault);
            }
            Fault::Clog => {
                let length = choices.heavy(Stream::Faults, "clog", 300 * MS).min(10 * SEC);
                let whom = choices.below(Stream::Faults, "clogged", self.actors.len() as u64 + 1);
                let client = Some(whom as usize).filter(|client| *client < self.actors.len());
                self.net.clog(client, node, self.kernel.time + length);
                self.nemeses[node].count(fault);
            }
            Fault::Full if self.nodes[node].is_ready() && !self.nodes[node].disk.is_limited() => {
                let length = choices.heavy(Stream::Faults, "full", 2 * SEC).min(20 * SEC);
                let room = choices.below(Stream::Faults, "room", 64 << 10);
                self.nodes[node].disk.limit(Some(room));
                self.kernel.after(length, Event::Space(node));
                self.nemeses[node].count(fault);
                self.hinder(true)?;
            }
            Fault::Sick if self.nodes[node].is_ready() => self.sicken(node),
            Fault::Full | Fault::Sick => self.kernel.after(SEC, Event::Fault(node, fault)),
            Fault::Move => return self.move_replica(node),
        }
        Ok(())
    }

    /// Tells the history whether a node may put off what has a time limit.
    fn hinder(&mut self, hindered: bool) -> Result<(), Violation> {
        let action = Action::Hindered(hindered);
        self.oracles.observe(&Op { process: 0, time: self.kernel.time, action })
    }

    /// Moves a replica, and another one in a while.
    fn move_replica(&mut self, node: usize) -> Result<(), Violation> {
        let ready = self.nodes[node].is_ready();
        if ready && self.nodes[node].move_replica(&mut self.kernel) {
            self.nemeses[node].count(Fault::Move);
            self.strike_at_move(node);
        }
        let pause = self.kernel.choices.heavy(Stream::Faults, "move", SEC).min(8 * SEC);
        self.kernel.after(pause, Event::Fault(node, Fault::Move));
        self.settle(node)
    }

    /// Moves are where crashes hurt.
    fn strike_at_move(&mut self, node: usize) {
        let choices = &mut self.kernel.choices;
        if !choices.chance(Stream::Faults, "crash-in-move", 60_000) || !choices.fault() {
            return;
        }
        let fault = choices.pick(Stream::Faults, "crash", &[Fault::Kill, Fault::Power]);
        if self.nemeses[node].arm(choices, fault, 60) {
            self.kernel.after(STRIKES_AFTER, Event::Strike(node));
        }
    }

    /// An operation fails in a data directory that does not hold the metadata.
    fn sicken(&mut self, node: usize) {
        let dirs = self.nodes[node].settings().config.log_dirs.len() as u64;
        let choices = &mut self.kernel.choices;
        let dir = 1 + choices.below(Stream::Faults, "sick-dir", dirs - 1) as u16;
        let ailment = choices.pick(Stream::Faults, "ailment", &[Ailment::Write, Ailment::Name]);
        let salt = choices.below(Stream::Faults, "sick-salt", u64::MAX);
        let length = choices.heavy(Stream::Faults, "sick", 3 * SEC).min(12 * SEC);
        self.nodes[node].disk.sicken_dir(dir, Sickness { ailment, salt });
        self.kernel.after(length, Event::Repair(node));
        self.nemeses[node].count(Fault::Sick);
    }

    fn on_repair(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].disk.heal();
        let failed = self.nodes[node].disk.failed().is_some();
        match (failed, self.nodes[node].is_ready()) {
            (false, _) => Ok(()),
            (true, true) if self.nodes[node].disk.failed() == Some(Ailment::Write) => {
                self.strike(node, Fault::Kill)
            }
            (true, true) => self.shutdown(node),
            (true, false) => {
                self.kernel.after(SEC, Event::Repair(node));
                Ok(())
            }
        }
    }

    /// A crash strikes.
    fn strike(&mut self, node: usize, fault: Fault) -> Result<(), Violation> {
        let Some(crash) = fault.crash() else { return Ok(()) };
        if !self.nodes[node].is_up() {
            // It stopped by itself meanwhile: what was promised to happen happens later.
            self.kernel.after(STRIKES_AFTER, Event::Fault(node, fault));
            return Ok(());
        }
        self.oracles.searched(&self.nodes[node])?;
        self.oracles.on_crash(&self.nodes[node], crash)?;
        self.nodes[node].crash(&mut self.kernel, crash);
        self.net.node_down(&mut self.kernel, node, Some(crash));
        self.nemeses[node].count(fault);
        self.nemeses[node].arm_for_recovery(&mut self.kernel.choices, fault);
        self.boot_later(node);
        Ok(())
    }

    /// What the world looks like now, for a person.
    #[must_use]
    pub fn state(&self) -> String {
        let mut text = format!(
            "event {} at {}.{:09} s\n",
            self.kernel.event,
            self.kernel.time / SEC,
            self.kernel.time % SEC
        );
        for (index, node) in self.nodes.iter().enumerate() {
            let state = match (node.is_up(), node.is_ready()) {
                (false, _) => "down",
                (true, false) => "starting",
                (true, true) => "serving",
            };
            text +=
                &format!("node {index}: {state}, life {}, power lost {}\n", node.life, node.losses);
            for partition in node.shards().flat_map(|shard| shard.partitions()) {
                let log = partition.log();
                text += &format!(
                    "  {:<24} start {} durable {} written {} end {} hw {} segments {} producers {}\n",
                    log.folder().path,
                    log.log_start(),
                    log.durable(),
                    log.written(),
                    log.end(),
                    partition.high_watermark(),
                    log.segments().len(),
                    log.producers().len(),
                );
            }
        }
        for cell in &self.actors {
            let state = if cell.actor.is_done() { "done" } else { "busy" };
            let (name, status) = (cell.actor.name(), cell.actor.status());
            text += &format!("{name}: {state}, {} connections, {status}\n", cell.connections.len());
        }
        text
    }
}
