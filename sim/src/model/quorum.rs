//! A metadata quorum in which anything may happen that can: connections break, every timeout may
//! come at any time, writes end when they like, processes crash and lose what they had not synced.
//!
//! Between two nodes there is one connection, on which messages keep their order; those of
//! different connections come in any. Where one breaks, both sides know, and what was on it is
//! lost. Each node is [`Consensus`] itself, with a log in memory of which a part is durable. All times
//! are zero, so that a tick ends every wait there is. What is bounded is how often things happen
//! that could go on for ever ([`Bounds`]).
//!
//! What must hold: one leader in an epoch (Q1), which has all that is committed (Q4); no second
//! vote (Q2); what is committed once stays (Q5) and is durable on a majority (Q7); epoch and offset
//! stand for one record (Q14). The machine's own assertions say the rest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use dohle_core::fx::Fx;
use dohle_core::quorum::consensus::{
    Answer, Ballot, Consensus, Effect, Input, Kind, LogView, Outcome, Replica, Request, Settings,
    Token,
};
use dohle_core::time::{Instant, Now};
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp, Uuid};

use super::World;

const NOW: Now = Now { mono: Instant(0), wall: Timestamp(0) };

/// How often what could go on for ever may happen.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Voters.
    pub voters: u8,
    /// Crashes in all.
    pub crashes: u8,
    /// Connections that break without a crash.
    pub breaks: u8,
    /// Times that waiting ends.
    pub timeouts: u8,
    /// Epochs; in a later one nothing more happens.
    pub epochs: i32,
    /// Records that are proposed.
    pub records: u32,
}

/// One record: its epoch, and what tells it from others.
type Record = (LeaderEpoch, u32);

/// A node.
#[derive(Clone, Debug, Hash)]
struct Node {
    machine: Consensus,
    log: Log,
    stored: Ballot,
    storing: Option<Ballot>,
    /// Records may be proposed here.
    leads: bool,
}

#[derive(Clone, Debug, Default, Hash)]
struct Log {
    records: Vec<Record>,
    durable: usize,
}

/// What is on its way.
#[derive(Clone, Debug, Hash)]
enum Message {
    Request(Token, Request),
    Answer(Token, Answer),
}

/// The quorum.
#[derive(Clone, Debug, Hash)]
pub struct Quorum {
    bounds: Bounds,
    nodes: Vec<Node>,
    /// What is on its way from one node to another.
    ways: BTreeMap<(u8, u8), VecDeque<Message>>,
    /// How often the connection of two nodes has broken.
    broken: BTreeMap<(u8, u8), u8>,
    /// Requests that have not come to an end.
    open: BTreeSet<Token>,
    crashes: u8,
    breaks: u8,
    timeouts: u8,
    proposed: u32,
    /// Who led which epoch.
    leaders: BTreeMap<LeaderEpoch, u8>,
    /// What was committed, and in which epochs that was.
    committed: Vec<Record>,
    committed_in: Vec<LeaderEpoch>,
    /// What leaders wrote where.
    written: BTreeMap<(usize, LeaderEpoch), u32>,
}

/// What can happen.
#[derive(Clone, Debug)]
pub enum Action {
    /// The next message from one to another arrives.
    Deliver(u8, u8),
    /// The connection of two breaks.
    Break(u8, u8),
    /// All waits of a node are over.
    Tick(u8),
    /// Its ballot is durable.
    Store(u8),
    /// Its log is.
    Sync(u8),
    /// A record is proposed to it.
    Propose(u8),
    /// It crashes and starts again.
    Crash(u8),
}

impl LogView for Log {
    fn end(&self) -> Offset {
        Offset(self.records.len() as i64)
    }

    fn durable(&self) -> Offset {
        Offset(self.durable as i64)
    }

    fn last_epoch(&self) -> LeaderEpoch {
        self.records.last().map_or(LeaderEpoch(0), |(epoch, _)| *epoch)
    }

    fn end_of(&self, epoch: LeaderEpoch) -> (LeaderEpoch, Offset) {
        let end = self.records.partition_point(|(found, _)| *found <= epoch);
        let found = end.checked_sub(1).map_or(LeaderEpoch(0), |at| self.records[at].0);
        (found, Offset(end as i64))
    }

    fn is_settled(&self) -> bool {
        self.durable == self.records.len()
    }
}

impl Quorum {
    /// A quorum that nothing has happened to.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let nodes = (0..bounds.voters).map(|id| Node {
            machine: Consensus::new(settings(bounds, id), Ballot::default(), NOW),
            log: Log::default(),
            stored: Ballot::default(),
            storing: None,
            leads: false,
        });
        Self {
            bounds,
            nodes: nodes.collect(),
            ways: BTreeMap::new(),
            broken: BTreeMap::new(),
            open: BTreeSet::new(),
            crashes: 0,
            breaks: 0,
            timeouts: 0,
            proposed: 0,
            leaders: BTreeMap::new(),
            committed: Vec::new(),
            committed_in: Vec::new(),
            written: BTreeMap::new(),
        }
    }

    /// How many records were committed, those that begin epochs included.
    #[must_use]
    pub fn committed(&self) -> usize {
        self.committed.len()
    }

    fn step(&mut self, id: u8, input: Input) -> Result<(), String> {
        let Node { machine, log, .. } = &mut self.nodes[usize::from(id)];
        let mut fx = Fx::new();
        let step = AssertUnwindSafe(|| machine.step(NOW, input, log, &mut fx));
        catch_unwind(step).map_err(|panic| said(panic.as_ref()))?;
        for effect in fx.drain().collect::<Vec<_>>() {
            self.carry_out(id, effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, id: u8, effect: Effect) -> Result<(), String> {
        let node = &mut self.nodes[usize::from(id)];
        match effect {
            Effect::Store(ballot) => {
                if node.stored.epoch == ballot.epoch && node.stored.voted.is_some() {
                    ensure(node.stored.voted == ballot.voted, || format!("Q2: {id} votes twice"))?;
                }
                node.storing = Some(ballot);
            }
            Effect::Send(to, request) => {
                let to = place(to);
                let token = token(id, to, kind(&request), self.breaks_of(id, to));
                self.open.insert(token);
                self.ways.entry((id, to)).or_default().push_back(Message::Request(token, request));
            }
            Effect::Answer(token, answer) => self.answer(id, token, answer),
            Effect::Serve { token, from, mut answer } => {
                let records = node.log.records.get(from.0 as usize..).unwrap_or_default();
                let found = encode(from, records);
                if let Ok(Outcome::Records { batches, .. }) = &mut answer.outcome {
                    *batches = found;
                }
                self.answer(id, token, answer);
            }
            Effect::Lead(epoch) => {
                node.leads = true;
                let other = self.leaders.insert(epoch, id).filter(|other| *other != id);
                ensure(other.is_none(), || format!("Q1: {other:?} and {id} lead {epoch}"))?;
                let before = self.committed_in.partition_point(|earlier| *earlier < epoch);
                let log = &self.nodes[usize::from(id)].log.records;
                let all = log.starts_with(&self.committed[..before]);
                ensure(all, || format!("Q4: {id} leads {epoch} without what is committed"))?;
                self.append(id, 0)?;
            }
            Effect::Follow => node.leads = false,
            Effect::Append(batches) => {
                let (from, records) = decode(&batches);
                let end = node.log.records.len();
                ensure(from == end, || format!("{id} ends at {end}, was sent what is at {from}"))?;
                node.log.records.extend(records);
                self.step(id, Input::Log)?;
            }
            Effect::Truncate(to) => {
                node.log.records.truncate(to.0 as usize);
                node.log.durable = node.log.durable.min(to.0 as usize);
                self.step(id, Input::Log)?;
            }
            Effect::Committed(high) => self.commit(id, high.0 as usize)?,
        }
        Ok(())
    }

    /// Sends an answer, if somebody waits for it.
    fn answer(&mut self, from: u8, token: Token, answer: Answer) {
        let (to, ..) = parts(token);
        if self.open.contains(&token) {
            self.ways.entry((from, to)).or_default().push_back(Message::Answer(token, answer));
        }
    }

    fn breaks_of(&self, one: u8, other: u8) -> u8 {
        self.broken.get(&(one.min(other), one.max(other))).copied().unwrap_or(0)
    }

    fn append(&mut self, id: u8, value: u32) -> Result<(), String> {
        let node = &mut self.nodes[usize::from(id)];
        let (at, epoch) = (node.log.records.len(), node.machine.ballot().epoch);
        node.log.records.push((epoch, value));
        let other = self.written.insert((at, epoch), value).filter(|other| *other != value);
        ensure(other.is_none(), || format!("Q14: two records at {at} of epoch {epoch}"))?;
        self.step(id, Input::Log)
    }

    fn commit(&mut self, id: u8, high: usize) -> Result<(), String> {
        let log = &self.nodes[usize::from(id)].log;
        let own = log.records.get(..high).ok_or_else(|| format!("Q8: {id} commits {high}"))?;
        let both = own.len().min(self.committed.len());
        let same = own[..both] == self.committed[..both];
        ensure(same, || format!("Q5: {id} commits {own:?} after {:?}", self.committed))?;
        let has = |node: &&Node| node.log.durable >= high && node.log.records[..high] == *own;
        let count = self.nodes.iter().filter(has).count();
        ensure(2 * count > self.nodes.len(), || format!("Q7: {high} is on {count} disks"))?;
        if own.len() > both {
            let epoch = self.nodes[usize::from(id)].machine.ballot().epoch;
            self.committed = own.to_vec();
            self.committed_in.resize(high, epoch);
        }
        Ok(())
    }

    fn deliver(&mut self, from: u8, to: u8) -> Result<(), String> {
        let way = self.ways.get_mut(&(from, to)).expect("something is on its way");
        let message = way.pop_front().expect("something is on its way");
        if way.is_empty() {
            self.ways.remove(&(from, to));
        }
        match message {
            Message::Request(token, request) => self.step(to, Input::Request(token, request)),
            Message::Answer(token, answer) => {
                self.open.remove(&token);
                let (_, _, kind, _) = parts(token);
                self.step(to, Input::Answer(name(from), kind, answer))
            }
        }
    }

    /// The connection of two nodes breaks; what is on it is lost, and those that live know.
    fn disconnect(&mut self, one: u8, other: u8, dead: Option<u8>) -> Result<(), String> {
        self.ways.retain(|way, _| *way != (one, other) && *way != (other, one));
        *self.broken.entry((one.min(other), one.max(other))).or_default() += 1;
        let between = |token: &Token| {
            let (from, to, ..) = parts(*token);
            (from, to) == (one, other) || (from, to) == (other, one)
        };
        let ended: Vec<Token> = self.open.iter().copied().filter(between).collect();
        for token in ended {
            self.open.remove(&token);
            let (from, to, kind, _) = parts(token);
            if Some(from) != dead {
                self.step(from, Input::Failed { to: name(to), kind, refused: true })?;
            }
        }
        Ok(())
    }

    fn crash(&mut self, id: u8) -> Result<(), String> {
        for other in (0..self.bounds.voters).filter(|other| *other != id) {
            self.disconnect(id, other, Some(id))?;
        }
        let bounds = self.bounds;
        let node = &mut self.nodes[usize::from(id)];
        node.log.records.truncate(node.log.durable);
        node.machine = Consensus::new(settings(bounds, id), node.stored, NOW);
        (node.storing, node.leads) = (None, false);
        Ok(())
    }
}

impl World for Quorum {
    type Action = Action;

    fn actions(&self) -> Vec<Action> {
        let late = self.nodes.iter().any(|node| node.machine.ballot().epoch.0 > self.bounds.epochs);
        if late {
            return Vec::new();
        }
        let mut all: Vec<Action> =
            self.ways.keys().map(|(from, to)| Action::Deliver(*from, *to)).collect();
        if self.breaks < self.bounds.breaks {
            let used: BTreeSet<(u8, u8)> = self
                .open
                .iter()
                .map(|token| parts(*token))
                .map(|(a, b, ..)| (a.min(b), a.max(b)))
                .collect();
            all.extend(used.into_iter().map(|(one, other)| Action::Break(one, other)));
        }
        for (id, node) in (0..).zip(&self.nodes) {
            all.extend((self.timeouts < self.bounds.timeouts).then_some(Action::Tick(id)));
            all.extend(node.storing.map(|_| Action::Store(id)));
            all.extend((!node.log.is_settled()).then_some(Action::Sync(id)));
            let proposes = node.leads && self.proposed < self.bounds.records;
            all.extend(proposes.then_some(Action::Propose(id)));
            all.extend((self.crashes < self.bounds.crashes).then_some(Action::Crash(id)));
        }
        all
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        match *action {
            Action::Deliver(from, to) => self.deliver(from, to),
            Action::Break(one, other) => {
                self.breaks += 1;
                self.disconnect(one, other, None)
            }
            Action::Tick(id) => {
                self.timeouts += 1;
                self.step(id, Input::Tick)
            }
            Action::Store(id) => {
                let node = &mut self.nodes[usize::from(id)];
                node.stored = node.storing.take().expect("it is being written");
                self.step(id, Input::Stored)
            }
            Action::Sync(id) => {
                let log = &mut self.nodes[usize::from(id)].log;
                log.durable = log.records.len();
                self.step(id, Input::Log)
            }
            Action::Propose(id) => {
                self.proposed += 1;
                self.append(id, self.proposed)
            }
            Action::Crash(id) => {
                self.crashes += 1;
                self.crash(id)
            }
        }
    }
}

fn settings(bounds: Bounds, id: u8) -> Settings {
    Settings {
        own: replica(id),
        voters: (0..bounds.voters).map(replica).collect(),
        election_ms: 0,
        fetch_ms: 0,
        backoff_ms: 0,
        retry_ms: 0,
        wait_ms: 0,
        seed: 0,
    }
}

fn replica(id: u8) -> Replica {
    Replica { node: name(id), directory: Uuid::ZERO }
}

fn name(id: u8) -> NodeId {
    NodeId(i32::from(id))
}

fn place(node: NodeId) -> u8 {
    u8::try_from(node.0).expect("one of the voters")
}

fn kind(request: &Request) -> Kind {
    match request {
        Request::Vote(_) => Kind::Vote,
        Request::Begin { .. } => Kind::Begin,
        Request::End { .. } => Kind::End,
        Request::Fetch(_) => Kind::Fetch,
    }
}

const KINDS: [Kind; 4] = [Kind::Vote, Kind::Begin, Kind::End, Kind::Fetch];

/// Stands for the one request of a kind that a node has under way on a connection.
fn token(from: u8, to: u8, kind: Kind, connection: u8) -> Token {
    let kind = KINDS.iter().position(|one| *one == kind).unwrap_or(0) as u8;
    Token(u64::from(u32::from_be_bytes([from, to, kind, connection])))
}

fn parts(token: Token) -> (u8, u8, Kind, u8) {
    let [.., from, to, kind, connection] = token.0.to_be_bytes();
    (from, to, KINDS[usize::from(kind)], connection)
}

fn encode(from: Offset, records: &[Record]) -> Bytes {
    if records.is_empty() {
        return Bytes::new();
    }
    let mut bytes = (from.0 as u64).to_be_bytes().to_vec();
    for (epoch, value) in records {
        bytes.extend(epoch.0.to_be_bytes());
        bytes.extend(value.to_be_bytes());
    }
    bytes.into()
}

fn decode(bytes: &[u8]) -> (usize, Vec<Record>) {
    let word = |at: usize| <[u8; 4]>::try_from(&bytes[at..at + 4]).expect("four bytes");
    let from = u32::from_be_bytes(word(4)) as usize;
    let record =
        |at: usize| (LeaderEpoch(i32::from_be_bytes(word(at))), u32::from_be_bytes(word(at + 4)));
    (from, (8..bytes.len()).step_by(8).map(record).collect())
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// What an assertion said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "an assertion did not hold".to_owned())
}
