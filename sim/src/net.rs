//! The network between clients and nodes: connections that carry whole frames.
//!
//! Each direction of a connection keeps its order and loses nothing silently, as TCP does; what
//! can happen is delay with a heavy tail, a reset (what was under way is lost, with or without
//! having been handled), a connection of which only one end knows that it is dead, and a link
//! that is clogged for a while. A whole request can also arrive once more on another connection,
//! as if an impatient middlebox had sent it again.
//!
//! Must never know: what frames mean, except that key 0 is Produce.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use dohle_wire::codec::Part;
use serde::{Deserialize, Serialize};

use crate::choice::Stream;
use crate::clock::{MS, SEC, US};
use crate::disk::Crash;
use crate::kernel::Kernel;
use crate::world::Event;

/// How the network behaves: times in nanoseconds, chances in a million.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSpeed {
    /// A typical one-way delay.
    pub delay: u64,
    /// A request and its connection are lost.
    pub reset: u32,
    /// A response and its connection are lost.
    pub response_lost: u32,
    /// A connection goes dead and nobody is told.
    pub half_open: u32,
    /// A produce request arrives once more, later, on a connection of its own.
    pub replay: u32,
}

/// A connection, never used again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// Who opened a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Opener {
    /// A client, which knows it by a token of its own.
    Client {
        /// Which client.
        client: usize,
        /// Its name for the connection.
        token: u64,
    },
    /// Nobody waits for answers: a request sent once more.
    Replay,
}

/// What travels.
#[derive(Clone, Debug)]
pub enum NetEvent {
    /// A client wants to connect.
    Syn(ConnId),
    /// The client hears that the node accepted.
    Accepted(ConnId),
    /// A request arrives.
    ToServer(ConnId, Bytes),
    /// The node hands a response to its socket.
    Flush(ConnId, Vec<Part>),
    /// A response arrives.
    ToClient(ConnId, Bytes),
    /// The client notices the end.
    ClientEnd(ConnId),
    /// The node notices the end.
    ServerEnd(ConnId),
    /// A request sent once more: to this node, as long as it has lost no power since.
    Again {
        /// Whither.
        node: usize,
        /// How often it had lost power when the request was first sent.
        losses: u32,
        /// The request.
        frame: Bytes,
    },
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Conn {
    /// Who opened it.
    pub opener: Opener,
    /// To which node.
    pub node: usize,
    /// The process there, once it accepted.
    pub life: Option<u32>,
    /// The client holds it open.
    pub client_open: bool,
    /// The node holds it open.
    pub server_open: bool,
    /// The node reads no more frames for now.
    pub paused: bool,
    /// Frames that arrived meanwhile.
    pub inbox: VecDeque<Bytes>,
    /// Sent as soon as the connection stands ([`Opener::Replay`]).
    pub first: Option<Bytes>,
    to_server: u64,
    to_client: u64,
    flushed: u64,
    /// Nothing arrives at the node any more.
    deaf: bool,
    /// Nothing arrives at the client any more.
    mute: bool,
}

/// All connections of a world.
pub struct Net {
    speed: NetSpeed,
    /// Faults are over: from now on only delays are left.
    healed: bool,
    conns: BTreeMap<ConnId, Conn>,
    clogged: BTreeMap<(Option<usize>, usize), u64>,
    last: u64,
}

impl Net {
    /// A network without connections.
    #[must_use]
    pub fn new(speed: NetSpeed) -> Self {
        Self { speed, healed: false, conns: BTreeMap::new(), clogged: BTreeMap::new(), last: 0 }
    }

    /// Ends all faults: links are clear, what is half-open will be noticed.
    pub fn heal(&mut self, kernel: &mut Kernel) {
        self.healed = true;
        self.clogged.clear();
        let dead: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.deaf || conn.mute)
            .map(|(id, _)| *id)
            .collect();
        for id in dead {
            self.end_both(kernel, id);
        }
    }

    /// Nothing gets through between a client (or all) and a node until `until`; then it does.
    pub fn clog(&mut self, client: Option<usize>, node: usize, until: u64) {
        let end = self.clogged.entry((client, node)).or_default();
        *end = until.max(*end);
    }

    /// A connection, if either end still holds it.
    pub fn conn(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&id)
    }

    /// The connection that a client knows by a token.
    #[must_use]
    pub fn of_client(&self, client: usize, token: u64) -> Option<ConnId> {
        let opener = Opener::Client { client, token };
        self.conns.iter().rev().find(|(_, conn)| conn.opener == opener).map(|(id, _)| *id)
    }

    /// Begins to open a connection.
    pub fn open(&mut self, kernel: &mut Kernel, opener: Opener, node: usize) -> ConnId {
        self.last += 1;
        let id = ConnId(self.last);
        let conn = Conn {
            opener,
            node,
            life: None,
            client_open: true,
            server_open: false,
            paused: false,
            inbox: VecDeque::new(),
            first: None,
            to_server: 0,
            to_client: 0,
            flushed: 0,
            deaf: false,
            mute: false,
        };
        self.conns.insert(id, conn);
        let arrival = self.arrival(kernel, id, true);
        kernel.at(arrival, Event::Net(NetEvent::Syn(id)));
        id
    }

    /// The node takes a connection on, or refuses it.
    pub fn answer_syn(&mut self, kernel: &mut Kernel, id: ConnId, life: Option<u32>) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.life = life;
        conn.server_open = life.is_some();
        let arrival = self.arrival(kernel, id, false);
        let event = if life.is_some() { NetEvent::Accepted(id) } else { NetEvent::ClientEnd(id) };
        kernel.at(arrival, Event::Net(event));
    }

    /// A client sends a request.
    pub fn client_send(&mut self, kernel: &mut Kernel, id: ConnId, frame: Bytes, losses: u32) {
        let Some(conn) = self.conns.get(&id).filter(|conn| conn.client_open) else { return };
        let node = conn.node;
        self.maybe_replay(kernel, node, losses, &frame);
        if self.faulty(kernel, "reset", self.speed.reset) {
            return self.end_both(kernel, id);
        }
        if self.faulty(kernel, "half-open", self.speed.half_open)
            && let Some(conn) = self.conns.get_mut(&id)
        {
            (conn.deaf, conn.mute) = (true, true);
        }
        let arrival = self.arrival(kernel, id, true);
        kernel.at(arrival, Event::Net(NetEvent::ToServer(id, frame)));
    }

    fn maybe_replay(&self, kernel: &mut Kernel, node: usize, losses: u32, frame: &Bytes) {
        const PRODUCE: &[u8] = &[0, 0];
        if frame.starts_with(PRODUCE) && self.faulty(kernel, "replay", self.speed.replay) {
            let delay = kernel.choices.heavy(Stream::Network, "replay-delay", 50 * MS);
            let again = NetEvent::Again { node, losses, frame: frame.clone() };
            kernel.after(delay, Event::Net(again));
        }
    }

    fn faulty(&self, kernel: &mut Kernel, label: &'static str, per_million: u32) -> bool {
        !self.healed && kernel.choices.chance(Stream::Network, label, per_million)
    }

    /// A client gives a connection up. What it sent still arrives.
    pub fn client_close(&mut self, kernel: &mut Kernel, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.client_open = false;
        let arrival = self.arrival(kernel, id, true);
        kernel.at(arrival, Event::Net(NetEvent::ServerEnd(id)));
        self.forget(id);
    }

    /// A node's session has a response; it leaves a moment later.
    pub fn server_send(&mut self, kernel: &mut Kernel, id: ConnId, parts: Vec<Part>) {
        let delay = kernel.choices.heavy(Stream::Schedule, "flush", 5 * US);
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.flushed = conn.flushed.max(kernel.time + delay);
        kernel.at(conn.flushed, Event::Net(NetEvent::Flush(id, parts)));
    }

    /// The bytes of a response are on their way.
    pub fn flush(&mut self, kernel: &mut Kernel, id: ConnId, frame: Bytes) {
        if self.faulty(kernel, "response-lost", self.speed.response_lost) {
            return self.end_both(kernel, id);
        }
        let arrival = self.arrival(kernel, id, false);
        kernel.at(arrival, Event::Net(NetEvent::ToClient(id, frame)));
    }

    /// A node closes a connection once everything sent before has left.
    pub fn server_close(&mut self, kernel: &mut Kernel, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.server_open = false;
        let flushed = conn.flushed;
        let arrival = self.arrival(kernel, id, false).max(flushed);
        kernel.at(arrival, Event::Net(NetEvent::ClientEnd(id)));
    }

    /// Resets a connection: what is under way is lost, both ends hear of it at some time.
    pub fn end_both(&mut self, kernel: &mut Kernel, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        (conn.deaf, conn.mute) = (true, true);
        for event in [NetEvent::ClientEnd(id), NetEvent::ServerEnd(id)] {
            let delay = kernel.choices.heavy(Stream::Network, "notice", self.speed.delay);
            kernel.after(delay, Event::Net(event));
        }
    }

    /// A node's process ended. Clients are told by resets, if at all: a machine without power
    /// tells nobody, and what it sent last may be lost.
    pub fn node_down(&mut self, kernel: &mut Kernel, node: usize, crash: Option<Crash>) {
        let held: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.node == node && conn.life.is_some())
            .map(|(id, _)| *id)
            .collect();
        for id in held {
            let silent =
                crash == Some(Crash::Power) && self.faulty(kernel, "silent-death", 500_000);
            let Some(conn) = self.conns.get_mut(&id) else { continue };
            conn.server_open = false;
            conn.deaf = true;
            conn.mute |= crash == Some(Crash::Power);
            conn.inbox.clear();
            if !silent {
                let arrival = self.arrival(kernel, id, false);
                kernel.at(arrival, Event::Net(NetEvent::ClientEnd(id)));
            }
            self.forget(id);
        }
    }

    /// Whether a frame that arrives at the node is seen there.
    #[must_use]
    pub fn reaches_server(&self, id: ConnId) -> bool {
        self.conns.get(&id).is_some_and(|conn| conn.server_open && !conn.deaf)
    }

    /// Whether a frame that arrives at the client is seen there.
    #[must_use]
    pub fn reaches_client(&self, id: ConnId) -> bool {
        self.conns.get(&id).is_some_and(|conn| conn.client_open && !conn.mute)
    }

    /// An end has noticed; the connection goes when both have.
    pub fn ended(&mut self, id: ConnId, at_client: bool) -> bool {
        let Some(conn) = self.conns.get_mut(&id) else { return false };
        let open = if at_client { &mut conn.client_open } else { &mut conn.server_open };
        let was_open = std::mem::replace(open, false);
        self.forget(id);
        was_open
    }

    fn forget(&mut self, id: ConnId) {
        let is_over = |conn: &Conn| !conn.client_open && !conn.server_open && conn.life.is_some();
        if self.conns.get(&id).is_some_and(is_over) {
            self.conns.remove(&id);
        }
    }

    /// When something sent now arrives: after a delay, behind what was sent before it, and not
    /// while the link is clogged.
    fn arrival(&mut self, kernel: &mut Kernel, id: ConnId, to_server: bool) -> u64 {
        let delay = kernel.choices.heavy(Stream::Network, "delay", self.speed.delay);
        let Some(conn) = self.conns.get_mut(&id) else { return kernel.time + delay };
        let client = match conn.opener {
            Opener::Client { client, .. } => Some(client),
            Opener::Replay => None,
        };
        let clog = |client| self.clogged.get(&(client, conn.node)).copied().unwrap_or(0);
        let clear = clog(None).max(client.map_or(0, |client| clog(Some(client))));
        let last = if to_server { &mut conn.to_server } else { &mut conn.to_client };
        let jitter = if clear > kernel.time { delay % MS } else { 0 };
        *last = (*last).max(kernel.time + delay).max(clear + jitter);
        *last
    }
}

/// A bound on how long a healed network can hold something back.
pub const NET_SETTLES: u64 = 10 * SEC;
