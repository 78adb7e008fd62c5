//! The world: nodes, the network between them and their clients, faults, and the oracles that
//! watch. One thread, one queue; a run is a pure function of its choices.
//!
//! Must never know: what clients want, what the machines decide.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use dohle_core::mail::SessionId;
use dohle_jepsen::{Action, Key, Op};
use dohle_wire::codec::Part;

use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::{Clock, MS, SEC};
use crate::disk::Crash;
use crate::fault::{Fault, Nemesis, STRIKES_AFTER};
use crate::kernel::Kernel;
use crate::net::{ConnId, Net, NetEvent, NetSpeed, Opener};
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
    Overdue(usize, u32, &'static str),
    /// Time to look at what nodes believe.
    Look,
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
        for nemesis in &mut self.nemeses {
            nemesis.stop();
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
            Event::Look => self.on_look(),
        }
    }

    fn on_look(&mut self) -> Result<(), Violation> {
        self.kernel.after(LOOK_EVERY, Event::Look);
        for node in self.nodes.iter().filter(|node| node.is_ready()) {
            self.oracles.look(node)?;
        }
        Ok(())
    }

    fn on_boot(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].boot(&mut self.kernel);
        let life = self.nodes[node].life;
        self.kernel.after(LIFECYCLE_LIMIT, Event::Overdue(node, life, "serving"));
        self.settle(node)
    }

    fn on_overdue(&mut self, node: usize, life: u32, what: &str) -> Result<(), Violation> {
        let node = &self.nodes[node];
        let late = match what {
            "serving" => !node.is_ready(),
            _ => true,
        };
        if node.is_up() && node.life == life && late {
            let text = format!("not {what} after {} s", LIFECYCLE_LIMIT / SEC);
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
        self.nodes[node].on(&mut self.kernel, life, event);
        self.settle(node)
    }

    /// Does what a node wants done.
    fn settle(&mut self, node: usize) -> Result<(), Violation> {
        for effect in self.nodes[node].effects() {
            match effect {
                NodeEffect::Send(to, parts) => {
                    self.net.server_send(&mut self.kernel, ConnId(to.0), parts);
                }
                NodeEffect::Read(from, on) => self.on_read(node, from, on)?,
                NodeEffect::Close(session, why) => {
                    self.kernel
                        .note(|| format!("n{node}"), || format!("close {session:?} {why:?}"));
                    self.net.server_close(&mut self.kernel, ConnId(session.0));
                    self.nodes[node].hang_up(&mut self.kernel, session);
                    self.oracles.tap.hang_up(ConnId(session.0));
                }
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
        self.kernel.after(LIFECYCLE_LIMIT, Event::Overdue(node, life, "stopped"));
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
        }
        Ok(())
    }

    /// A crash strikes.
    fn strike(&mut self, node: usize, fault: Fault) -> Result<(), Violation> {
        let Some(crash) = fault.crash().filter(|_| self.nodes[node].is_up()) else { return Ok(()) };
        self.oracles.on_crash(&self.nodes[node], crash)?;
        self.nodes[node].crash(&mut self.kernel, crash);
        self.net.node_down(&mut self.kernel, node, Some(crash));
        self.nemeses[node].count(fault);
        self.nemeses[node].arm_for_recovery(&mut self.kernel.choices, fault);
        self.boot_later(node);
        Ok(())
    }

    fn on_net(&mut self, event: NetEvent) -> Result<(), Violation> {
        match event {
            NetEvent::Syn(id) => self.on_syn(id),
            NetEvent::Accepted(id) => self.on_accepted(id),
            NetEvent::ToServer(id, frame) => self.on_request(id, frame),
            NetEvent::Flush(id, parts) => self.on_flush(id, parts),
            NetEvent::ToClient(id, frame) => match self.net.reaches_client(id) {
                true => self.tell(id, |token| ActorInput::Frame(token, frame)),
                false => Ok(()),
            },
            NetEvent::ClientEnd(id) => self.on_client_end(id),
            NetEvent::ServerEnd(id) => self.on_server_end(id),
            NetEvent::Again { node, losses, frame } => {
                if self.nodes[node].is_ready() && self.nodes[node].losses == losses {
                    let id = self.net.open(&mut self.kernel, Opener::Replay, node);
                    if let Some(conn) = self.net.conn(id) {
                        conn.first = Some(frame);
                    }
                }
                Ok(())
            }
        }
    }

    fn on_syn(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(index) = self.net.conn(id).map(|conn| conn.node) else { return Ok(()) };
        let node = &mut self.nodes[index];
        let life = node.is_ready().then_some(node.life);
        self.net.answer_syn(&mut self.kernel, id, life);
        if life.is_some() {
            node.accept(&mut self.kernel, SessionId(id.0));
        }
        self.settle(index)
    }

    fn on_accepted(&mut self, id: ConnId) -> Result<(), Violation> {
        if !self.net.reaches_client(id) {
            return Ok(());
        }
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        if let Some(frame) = conn.first.take() {
            let losses = self.nodes[conn.node].losses;
            self.net.client_send(&mut self.kernel, id, frame, losses);
            return Ok(());
        }
        self.tell(id, ActorInput::Opened)
    }

    fn on_request(&mut self, id: ConnId, frame: Bytes) -> Result<(), Violation> {
        if !self.net.reaches_server(id) {
            return Ok(());
        }
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        if conn.paused {
            conn.inbox.push_back(frame);
            return Ok(());
        }
        let node = conn.node;
        let image = self.nodes[node].image().map(|image| &**image);
        self.oracles.tap.on_request(id, &frame, image);
        self.nodes[node].frame(&mut self.kernel, SessionId(id.0), frame);
        self.settle(node)
    }

    /// A session stops reading or goes on; then it is given what arrived meanwhile.
    fn on_read(&mut self, node: usize, from: SessionId, on: bool) -> Result<(), Violation> {
        let id = ConnId(from.0);
        if let Some(conn) = self.net.conn(id) {
            conn.paused = !on;
            let waiting = if on { std::mem::take(&mut conn.inbox) } else { Default::default() };
            for frame in waiting {
                self.kernel.at(self.kernel.time, Event::Net(NetEvent::ToServer(id, frame)));
            }
        }
        assert!(node < self.nodes.len(), "sessions live on nodes");
        Ok(())
    }

    fn on_flush(&mut self, id: ConnId, parts: Vec<Part>) -> Result<(), Violation> {
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        let (node, life) = (conn.node, conn.life);
        if !self.nodes[node].is_up() || life != Some(self.nodes[node].life) {
            return Ok(());
        }
        let mut frame = BytesMut::new();
        for part in parts {
            match part {
                Part::Bytes(bytes) => frame.extend_from_slice(&bytes),
                Part::Hole(hole) => match self.nodes[node].disk.hole(&hole) {
                    Some(bytes) => frame.extend_from_slice(&bytes),
                    None => {
                        return Err(Violation::new("hole", format!("{hole:?} is past the file")));
                    }
                },
            }
        }
        let frame = frame.freeze();
        let announced = frame.first_chunk().map_or(0, |len| u32::from_be_bytes(*len) as usize);
        if announced + 4 != frame.len() {
            let text = format!("a frame of {} bytes announces {announced}", frame.len());
            return Err(Violation::new("wire", text));
        }
        self.kernel.digest.bytes(&frame);
        let image = self.nodes[node].image().map(|image| &**image);
        self.oracles.tap.on_response(id, &frame, image, &mut self.oracles.armed)?;
        self.net.flush(&mut self.kernel, id, frame.slice(4..));
        Ok(())
    }

    fn on_client_end(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(opener) = self.net.conn(id).map(|conn| conn.opener) else { return Ok(()) };
        match opener {
            Opener::Client { client, token } if self.net.ended(id, true) => {
                self.actors[client].connections.remove(&token);
                self.on_actor(client, ActorInput::Closed(token))
            }
            Opener::Client { .. } | Opener::Replay => Ok(()),
        }
    }

    fn on_server_end(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(node) = self.net.conn(id).map(|conn| conn.node) else { return Ok(()) };
        if self.net.ended(id, false) {
            self.nodes[node].hang_up(&mut self.kernel, SessionId(id.0));
            self.oracles.tap.hang_up(id);
            return self.settle(node);
        }
        Ok(())
    }

    fn tell(&mut self, id: ConnId, input: impl FnOnce(u64) -> ActorInput) -> Result<(), Violation> {
        match self.net.conn(id).map(|conn| conn.opener) {
            Some(Opener::Client { client, token }) => self.on_actor(client, input(token)),
            Some(Opener::Replay) | None => Ok(()),
        }
    }

    fn on_actor(&mut self, index: usize, input: ActorInput) -> Result<(), Violation> {
        let time = self.kernel.time;
        let cell = &mut self.actors[index];
        let now = cell.clock.now(time);
        if matches!(input, ActorInput::Tick) {
            if cell.armed != Some(time) {
                return Ok(());
            }
            cell.armed = None;
        }
        self.kernel.note(|| cell.actor.name(), || format!("{input:?}").chars().take(120).collect());
        let mut fx = Vec::new();
        cell.actor.on(now, input, &mut self.kernel.choices, &mut fx);
        for effect in fx {
            self.on_actor_effect(index, effect)?;
        }
        let cell = &mut self.actors[index];
        if let Some((at, _)) = cell.actor.deadline() {
            let time = cell.clock.when(at).max(time + 1);
            if cell.armed.is_none_or(|armed| time < armed) {
                cell.armed = Some(time);
                self.kernel.at(time, Event::Actor(index, ActorInput::Tick));
            }
        }
        Ok(())
    }

    fn on_actor_effect(&mut self, index: usize, effect: ActorEffect) -> Result<(), Violation> {
        match effect {
            ActorEffect::Open { token, host, port } => self.open(index, token, &host, port),
            ActorEffect::Send(token, frame) => {
                if let Some(id) = self.actors[index].connections.get(&token).copied() {
                    let node = self.net.conn(id).map_or(0, |conn| conn.node);
                    let losses = self.nodes[node].losses;
                    self.net.client_send(&mut self.kernel, id, frame, losses);
                }
            }
            ActorEffect::Close(token) => {
                if let Some(id) = self.actors[index].connections.remove(&token) {
                    self.net.client_close(&mut self.kernel, id);
                }
            }
            ActorEffect::Did(op) => {
                let op = Op { time: self.kernel.time, ..op };
                self.kernel.note(|| self.actors[index].actor.name(), || format!("{:?}", op.action));
                self.oracles.observe(&op)?;
            }
            ActorEffect::Note(text) => {
                self.kernel.note(|| self.actors[index].actor.name(), || text);
            }
        }
        Ok(())
    }

    fn open(&mut self, index: usize, token: u64, host: &str, port: u16) {
        let at = |node: &Node| {
            let (name, number) = &node.settings().address;
            **name == *host && *number == port
        };
        match self.nodes.iter().position(at) {
            Some(node) => {
                let opener = Opener::Client { client: index, token };
                let id = self.net.open(&mut self.kernel, opener, node);
                self.actors[index].connections.insert(token, id);
            }
            None => self.kernel.after(MS, Event::Actor(index, ActorInput::Closed(token))),
        }
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
