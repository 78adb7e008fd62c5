//! A machine, a broker, the network between them, and time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::id::Timestamp;

use super::broker::{Broker, PORT, Served};
use crate::machine::{ConnId, Fx, Machine, NetEffect, NetInput, Now};

/// An effect that may be about connections.
pub(crate) trait Split: Sized {
    /// The part about connections, or else the effect itself.
    fn split(self) -> Result<NetEffect, Self>;
}

impl Split for crate::machine::producer::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        if let Self::Net(effect) = self { Ok(effect) } else { Err(self) }
    }
}

impl Split for crate::machine::consumer::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        if let Self::Net(effect) = self { Ok(effect) } else { Err(self) }
    }
}

impl Split for crate::machine::admin::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        if let Self::Net(effect) = self { Ok(effect) } else { Err(self) }
    }
}

/// Whoever answers the machine's requests.
pub(crate) trait Serve {
    /// What comes of a request.
    fn serve(&mut self, node: i32, frame: Bytes) -> Served;

    /// The broker that serves what everybody asks for.
    fn common(&self) -> &Broker;

    /// The same, to change it.
    fn common_mut(&mut self) -> &mut Broker;
}

impl Serve for Broker {
    fn serve(&mut self, node: i32, frame: Bytes) -> Served {
        Self::serve(self, node, frame)
    }

    fn common(&self) -> &Broker {
        self
    }

    fn common_mut(&mut self) -> &mut Broker {
        self
    }
}

/// One connection.
struct Conn {
    node: i32,
    /// The machine knows that it is up.
    up: bool,
    /// The machine still has it.
    open: bool,
    /// Each with whether the machine is told that it was sent.
    requests: VecDeque<(Bytes, bool)>,
    answers: VecDeque<Pending>,
}

/// An answer on its way.
enum Pending {
    /// It is there at this time.
    At(Duration, Bytes),
    /// The broker holds it back.
    Parked(u64),
}

impl Conn {
    fn has_answer(&self, now: Duration, broker: &Broker) -> bool {
        self.answers.front().is_some_and(|pending| match pending {
            Pending::At(at, _) => *at <= now,
            Pending::Parked(ticket) => broker.groups.is_ready(*ticket),
        })
    }
}

/// See the module.
pub(crate) struct World<M: Machine, B = Broker> {
    pub(crate) machine: M,
    pub(crate) broker: B,
    pub(crate) now: Duration,
    /// Effects that are not about connections.
    pub(crate) out: Vec<M::Effect>,
    /// Nodes that cannot be reached.
    pub(crate) dark: Vec<i32>,
    fx: Fx<M::Effect>,
    conns: BTreeMap<ConnId, Conn>,
}

/// Start of the wall clock.
const WALL: i64 = 1_700_000_000_000;

impl<M: Machine<Effect: Split>, B: Serve> World<M, B> {
    pub(crate) fn new(machine: M, broker: B) -> Self {
        Self {
            machine,
            broker,
            now: Duration::from_secs(1),
            out: Vec::new(),
            dark: Vec::new(),
            fx: Fx::new(),
            conns: BTreeMap::new(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        Now { mono: self.now, wall: Timestamp(WALL + self.now.as_millis() as i64) }
    }

    /// Steps the machine.
    pub(crate) fn input(&mut self, input: impl Into<M::Input>) {
        let now = self.now();
        self.machine.step(now, input.into(), &mut self.fx);
        let effects: Vec<M::Effect> = self.fx.drain().collect();
        for effect in effects {
            match effect.split() {
                Ok(effect) => self.on_net(effect),
                Err(effect) => self.out.push(effect),
            }
        }
    }

    fn on_net(&mut self, effect: NetEffect) {
        match effect {
            NetEffect::Connect { conn, port, .. } => {
                let node = i32::from(port - PORT);
                let fresh = Conn {
                    node,
                    up: false,
                    open: true,
                    requests: VecDeque::new(),
                    answers: VecDeque::new(),
                };
                assert!(self.conns.insert(conn, fresh).is_none(), "ids are never used again");
            }
            NetEffect::Disconnect { conn } => {
                self.conns.get_mut(&conn).expect("a connection").open = false;
            }
            NetEffect::Transmit { conn, frame, told } => {
                let conn = self.conns.get_mut(&conn).expect("a connection");
                assert!(conn.open && conn.up, "frames are for open connections");
                let prefix = i32::from_be_bytes(frame.parts()[0][..].try_into().expect("4 bytes"));
                assert_eq!(prefix as usize + 4, frame.len());
                conn.requests.push_back((frame.content(), told));
            }
        }
    }

    /// Connections on which something can happen.
    pub(crate) fn busy(&self) -> Vec<ConnId> {
        let busy = self.conns.iter().filter(|(_, conn)| {
            (conn.open && (!conn.up || conn.has_answer(self.now, self.broker.common())))
                || !conn.requests.is_empty()
        });
        busy.map(|(id, _)| *id).collect()
    }

    /// Connections that the machine has.
    pub(crate) fn open(&self) -> Vec<ConnId> {
        self.conns.iter().filter(|(_, conn)| conn.open).map(|(id, _)| *id).collect()
    }

    /// The broker takes the next request of a connection, even if the machine has given it up.
    pub(crate) fn serve(&mut self, id: ConnId) -> bool {
        let conn = self.conns.get_mut(&id).expect("a connection");
        let Some((request, told)) = conn.requests.pop_front() else { return false };
        let told = told && conn.open;
        self.broker.common_mut().groups.tick(self.now);
        match self.broker.serve(conn.node, request) {
            Served::Silence => {}
            Served::Answer(answer, wait) => {
                conn.answers.push_back(Pending::At(self.now + wait, answer));
            }
            Served::Parked(ticket) => conn.answers.push_back(Pending::Parked(ticket)),
        }
        if told {
            self.input(NetInput::Sent { conn: id });
        }
        true
    }

    /// The machine gets the next thing from a connection: that it is up, or an answer.
    pub(crate) fn hear(&mut self, id: ConnId) -> bool {
        let conn = self.conns.get_mut(&id).expect("a connection");
        if !conn.open {
            return false;
        }
        if !conn.up {
            if self.dark.contains(&conn.node) || !self.broker.common().nodes.contains(&conn.node) {
                conn.open = false;
                self.input(NetInput::Down { conn: id });
            } else {
                conn.up = true;
                self.input(NetInput::Up { conn: id });
            }
            return true;
        }
        if !conn.has_answer(self.now, self.broker.common()) {
            return false;
        }
        let bytes = match conn.answers.pop_front().expect("just seen") {
            Pending::At(_, bytes) => bytes,
            Pending::Parked(ticket) => {
                self.broker.common_mut().groups.take(ticket).expect("just seen")
            }
        };
        self.input(NetInput::Frame { conn: id, bytes });
        true
    }

    /// A connection breaks. What the machine sent may still arrive at the broker; answers are lost.
    pub(crate) fn cut(&mut self, id: ConnId, requests_arrive: bool) {
        let conn = self.conns.get_mut(&id).expect("a connection");
        conn.answers.clear();
        if !requests_arrive {
            conn.requests.clear();
        }
        if std::mem::replace(&mut conn.open, false) {
            self.input(NetInput::Down { conn: id });
        }
    }

    /// Lets everything happen that can happen without time passing.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            let busy = self.busy();
            if busy.is_empty() {
                return;
            }
            for id in busy {
                self.serve(id);
                self.hear(id);
            }
        }
        panic!("the machine and the broker never rest");
    }

    /// Moves time to the next deadline and ticks. Gives whether there was one.
    pub(crate) fn wait(&mut self) -> bool {
        let Some((at, why)) = self.machine.deadline() else { return false };
        assert!(at > self.now, "a deadline ({why}) lies ahead of the last step");
        self.now = at;
        self.input(M::tick());
        true
    }

    /// When the next answer that the broker held back is there.
    fn next_answer(&self) -> Option<Duration> {
        let open = self.conns.values().filter(|conn| conn.open);
        let answers = open.filter_map(|conn| match conn.answers.front()? {
            Pending::At(at, _) => Some(*at),
            Pending::Parked(_) => None,
        });
        answers.chain(self.broker.common().groups.deadline().filter(|at| *at > self.now)).min()
    }

    /// Lets time pass, with everything that happens meanwhile.
    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        self.settle();
        loop {
            let deadline = self.machine.deadline().map(|(at, _)| at);
            let answer = self.next_answer();
            match (deadline, answer) {
                (at, Some(answer)) if answer <= end && at.is_none_or(|at| answer < at) => {
                    self.now = self.now.max(answer);
                    self.broker.common_mut().groups.tick(self.now);
                }
                (Some(at), _) if at <= end => {
                    self.wait();
                    self.broker.common_mut().groups.tick(self.now);
                }
                _ => break,
            }
            self.settle();
        }
        self.now = end;
        self.broker.common_mut().groups.tick(self.now);
        self.input(M::tick());
        self.settle();
    }
}
