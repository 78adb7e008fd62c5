//! Who leads the metadata quorum, and what is committed: KRaft's elections and replication
//! (KafkaRaftClient, QuorumState; KIP-595, KIP-996), without a disk and without a network.
//!
//! State: the ballot (epoch, leader, vote), which is durable before anybody hears of it; the role
//! and what belongs to it; which requests are under way; the high watermark.
//!
//! Inputs: requests of other voters, what became of own requests, the ends of writes, time. The log
//! is looked at through [`LogView`]; who owns it appends, cuts and syncs as the effects say.
//!
//! ```text
//!              fetch timeout            majority of          majority of
//!  ┌──────────┐  or refused  ┌───────────┐ pre-votes ┌─────────┐ votes ┌──────┐
//!  │ Follower ├─────────────▶│Prospective├──────────▶│Candidate├──────▶│Leader│
//!  └──────────┘              └───────────┘◀──────────┴─────────┘       └──┬───┘
//!        ▲                         ▲        outvoted, or too late         │ majority silent,
//!        │ a leader shows   ┌──────┴───┐        ┌────────┐                │ or asked to
//!        └──────────────────│Unattached│◀───────│Resigned│◀───────────────┘
//!                           └──────────┘        └────────┘
//! ```
//! Any message of a later epoch makes a node Unattached in it, or the Follower of its leader.
//!
//! Invariants:
//! * Nothing leaves a node that says more than its durable ballot (Q2, Q9): what it wants done waits
//!   for the write of a ballot that changed. Only that it leads no more is said at once.
//! * One leader in an epoch (Q1): a majority voted for it. A leader that restarts has resigned:
//!   what it had not synced may be gone (Q14).
//! * Only what is durable is counted, the leader's own log included (Q7): a follower asks from
//!   where its log ends once all of it is durable.
//! * The high watermark never falls (Q6), passes nothing before the leader's first record of its
//!   epoch (Q12), and nothing below it is cut off (Q8).
//! * Only voters stand for election (Q16).
//!
//! The driver promises: each request comes to exactly one end, an answer or a failure, and none
//! comes after that. So at most one Fetch is under way to a leader, and its answer is about the
//! log as it is.
//!
//! Must never know: what records mean, how they are read, where voters can be reached.

mod elect;
mod follow;
mod lead;
mod role;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Uuid};

pub use self::role::Ballot;
use self::role::{Role, Tally};
use crate::fx::Fx;
use crate::time::{Deadline, Instant, Now};

/// A replica of the metadata log: a node, and the directory that holds its log. With
/// `kraft.version` 0 the directory is zero, and stands for any.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// The node.
    pub node: NodeId,
    /// The directory.
    pub directory: Uuid,
}

impl Replica {
    /// Whether both are the same one, as far as is known.
    fn is(self, other: Self) -> bool {
        let unknown = self.directory == Uuid::ZERO || other.directory == Uuid::ZERO;
        self.node == other.node && (unknown || self.directory == other.directory)
    }
}

/// What a node is told of the quorum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// This node.
    pub own: Replica,
    /// The voters.
    pub voters: Vec<Replica>,
    /// `controller.quorum.election.timeout.ms`; as much again is drawn on top.
    pub election_ms: i64,
    /// `controller.quorum.fetch.timeout.ms`.
    pub fetch_ms: i64,
    /// `controller.quorum.election.backoff.max.ms`.
    pub backoff_ms: i64,
    /// `controller.quorum.retry.backoff.ms`.
    pub retry_ms: i64,
    /// A Fetch that brings nothing waits for so long (KafkaRaftClient's MAX_FETCH_WAIT_MS).
    pub wait_ms: i64,
    /// Timeouts are drawn from it.
    pub seed: u64,
}

/// The log, as far as elections and replication look at it.
pub trait LogView {
    /// Where it ends.
    fn end(&self) -> Offset;
    /// All below is on the disk.
    fn durable(&self) -> Offset;
    /// The epoch of its last record, 0 if there is none.
    fn last_epoch(&self) -> LeaderEpoch;
    /// The greatest epoch in it that is not above `epoch`, and where its records end.
    fn end_of(&self, epoch: LeaderEpoch) -> (LeaderEpoch, Offset);
    /// It is not being cut, and all of it is durable.
    fn is_settled(&self) -> bool;
}

/// A request between voters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Vote.
    Vote(Vote),
    /// BeginQuorumEpoch: `leader` leads `epoch`.
    Begin {
        /// The epoch.
        epoch: LeaderEpoch,
        /// Its leader.
        leader: NodeId,
    },
    /// EndQuorumEpoch: `leader` leads `epoch` no more.
    End {
        /// The epoch.
        epoch: LeaderEpoch,
        /// Who led it.
        leader: NodeId,
        /// Who should stand for election, the one with the most records first.
        candidates: Vec<Replica>,
    },
    /// Fetch.
    Fetch(Fetch),
}

/// Asks for a vote.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vote {
    /// Only asks whether one would be given (KIP-996).
    pub pre: bool,
    /// Who stands.
    pub candidate: Replica,
    /// Who is asked.
    pub voter: Replica,
    /// The epoch of the candidacy; for a pre-vote the one before it.
    pub epoch: LeaderEpoch,
    /// Epoch of the candidate's last record.
    pub last_epoch: LeaderEpoch,
    /// Where its log ends.
    pub end: Offset,
}

/// Asks a leader for records. What is below `from` is durable where it comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fetch {
    /// Who asks.
    pub replica: Replica,
    /// The leader's epoch, as known there.
    pub epoch: LeaderEpoch,
    /// Where the log there ends.
    pub from: Offset,
    /// The epoch of its last record.
    pub last_epoch: LeaderEpoch,
    /// The high watermark known there (KIP-1166).
    pub high_watermark: Offset,
}

/// What is wrong with a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// FENCED_LEADER_EPOCH: the epoch is over.
    Fenced,
    /// UNKNOWN_LEADER_EPOCH: the epoch is not known here.
    Unknown,
    /// NOT_LEADER_OR_FOLLOWER.
    NotLeader,
    /// INVALID_VOTER_KEY: somebody else is meant.
    NotMeant,
    /// INVALID_REQUEST.
    Invalid,
}

/// An answer between voters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The epoch of whoever answers.
    pub epoch: LeaderEpoch,
    /// Its leader, as known there.
    pub leader: Option<NodeId>,
    /// The rest.
    pub outcome: Result<Outcome, Refusal>,
}

/// What an answer says besides who leads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// To Vote: whether it is given.
    Voted(bool),
    /// To Begin and End.
    Noted,
    /// To Fetch: batches, and how far the log is committed.
    Records {
        /// Whole batches from where was asked, perhaps none.
        batches: Bytes,
        /// Everything below is committed.
        high_watermark: Option<Offset>,
    },
    /// To Fetch: the logs differ before where was asked.
    Diverging {
        /// The greatest epoch of the leader's log not above the follower's last.
        epoch: LeaderEpoch,
        /// Where that ends in the leader's log.
        end: Offset,
    },
}

/// Stands for a request until it is answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// What of a voter a request is about, of which one is under way at a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Vote.
    Vote,
    /// BeginQuorumEpoch.
    Begin,
    /// EndQuorumEpoch.
    End,
    /// Fetch.
    Fetch,
}

/// What a quorum reacts to.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// Somebody asks.
    Request(Token, Request),
    /// An own request was answered.
    Answer(NodeId, Kind, Answer),
    /// An own request came to nothing.
    Failed {
        /// Whom it was for.
        to: NodeId,
        /// What it was.
        kind: Kind,
        /// Nobody listens there: the process is gone.
        refused: bool,
    },
    /// The ballot is durable.
    Stored,
    /// The log has changed: more of it is durable, or what was to be cut off is.
    Log,
    /// This node is about to stop: somebody else should lead.
    Resign,
}

/// What a quorum wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Make the ballot durable; one write is under way at a time.
    Store(Ballot),
    /// Send a request.
    Send(NodeId, Request),
    /// Answer a request.
    Answer(Token, Answer),
    /// Answer a Fetch with the batches from an offset on, as many as fit, and the high watermark.
    Serve {
        /// The Fetch.
        token: Token,
        /// The first.
        from: Offset,
        /// What else to say: without records.
        answer: Answer,
    },
    /// Begin the epoch: append LeaderChange, and from now on what is proposed.
    Lead(LeaderEpoch),
    /// Nothing may be proposed any more.
    Follow,
    /// Append what a leader has, and sync it.
    Append(Bytes),
    /// Cut the log here.
    Truncate(Offset),
    /// The high watermark has come here.
    Committed(Offset),
}

impl Effect {
    fn changes_log(&self) -> bool {
        matches!(self, Self::Append(_) | Self::Truncate(_))
    }
}

/// The quorum as one node takes part in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consensus {
    settings: Settings,
    ballot: Ballot,
    /// The ballot on the disk.
    stored: Ballot,
    /// The ballot that is being written.
    storing: Option<Ballot>,
    /// Effects that wait for that.
    held: Vec<Effect>,
    role: Role,
    high_watermark: Option<Offset>,
    /// Requests under way.
    asked: BTreeSet<(NodeId, Kind)>,
    /// Requests that failed are not repeated before.
    retry: BTreeMap<(NodeId, Kind), Instant>,
    /// How often a timeout was drawn.
    draws: u64,
}

impl Consensus {
    /// A node as it comes up with what it had stored.
    #[must_use]
    pub fn new(settings: Settings, stored: Ballot, now: Now) -> Self {
        let mut all = Self {
            settings,
            ballot: stored,
            stored,
            storing: None,
            held: Vec::new(),
            role: Role::Unattached { until: None },
            high_watermark: None,
            asked: BTreeSet::new(),
            retry: BTreeMap::new(),
            draws: 0,
        };
        all.role = all.first_role(now);
        all
    }

    /// A leader has resigned with its process; a candidate may stand again, as nobody else has its
    /// vote; all others wait for a leader.
    fn first_role(&mut self, now: Now) -> Role {
        let own = self.settings.own;
        match self.ballot {
            Ballot { leader: Some(leader), .. } if leader == own.node && self.is_voter() => {
                let (until, candidates) = (self.election_timeout(now), self.others());
                Role::Resigned { until, candidates, told: BTreeSet::new() }
            }
            Ballot { leader: Some(leader), .. } if leader != own.node => {
                self.follower_of(leader, now)
            }
            Ballot { voted: Some(voted), .. } if voted == own && self.is_voter() => {
                Role::Candidate { tally: Tally::of(own), until: self.election_timeout(now) }
            }
            _ => Role::Unattached { until: self.standing_timeout(now) },
        }
    }

    /// Takes in one input.
    pub fn step(&mut self, now: Now, input: Input, log: &impl LogView, fx: &mut Fx<Effect>) {
        let mut own = Fx::new();
        self.retry.retain(|_, at| *at > now.mono);
        match input {
            Input::Tick => self.on_tick(now, log, &mut own),
            Input::Request(token, request) => self.on_request(now, token, request, log, &mut own),
            Input::Answer(from, kind, answer) => {
                self.on_answer(now, from, kind, answer, log, &mut own);
            }
            Input::Failed { to, kind, refused } => self.on_failed(now, to, kind, refused),
            Input::Stored => self.on_stored(),
            Input::Log => self.on_log(log, &mut own),
            Input::Resign => self.on_resign(now, &mut own),
        }
        // What the log is about to become is seen in the next step.
        if !own.as_slice().iter().any(Effect::changes_log) {
            self.drive(now, log, &mut own);
        }
        self.release(own, fx);
        self.invariants(log);
    }

    /// Does what there is to do in this role and was not done yet.
    fn drive(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        match &self.role {
            Role::Unattached { .. } => self.look_for_leader(now, log, fx),
            Role::Prospective { .. } | Role::Candidate { .. } => self.ask_for_votes(now, log, fx),
            Role::Leader(_) => self.announce(now, fx),
            Role::Follower(_) => self.fetch(now, log, fx),
            Role::Resigned { .. } => self.tell_of_end(now, fx),
        }
    }

    /// Lets effects out once the ballot that they go by is durable. Whoever leads no more stops at
    /// once.
    fn release(&mut self, mut own: Fx<Effect>, fx: &mut Fx<Effect>) {
        for effect in own.drain() {
            match effect {
                Effect::Follow => fx.push(effect),
                _ => self.held.push(effect),
            }
        }
        if self.storing.is_some() {
            return;
        }
        if self.ballot == self.stored {
            return fx.extend(self.held.drain(..));
        }
        self.storing = Some(self.ballot);
        fx.push(Effect::Store(self.ballot));
    }

    fn on_stored(&mut self) {
        self.stored = self.storing.take().expect("a ballot was being written");
    }

    fn on_tick(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        self.answer_late_fetches(now, fx);
        if self.role.until().is_some_and(|until| until <= now.mono) {
            self.on_timeout(now, log, fx);
        }
    }

    fn on_request(
        &mut self,
        now: Now,
        token: Token,
        request: Request,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) {
        let outcome = match request {
            Request::Vote(vote) => self.on_vote(now, &vote, log, fx),
            Request::Begin { epoch, leader } => self.on_begin(now, epoch, leader, fx),
            Request::End { epoch, leader, candidates } => {
                self.on_end(now, epoch, leader, &candidates, fx)
            }
            Request::Fetch(fetch) => match self.on_fetch(now, token, &fetch, log, fx) {
                None => return,
                Some(outcome) => outcome,
            },
        };
        let answer = self.answer(outcome);
        fx.push(Effect::Answer(token, answer));
    }

    fn answer(&self, outcome: Result<Outcome, Refusal>) -> Answer {
        Answer { epoch: self.ballot.epoch, leader: self.ballot.leader, outcome }
    }

    fn on_answer(
        &mut self,
        now: Now,
        from: NodeId,
        kind: Kind,
        answer: Answer,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) {
        assert!(self.asked.remove(&(from, kind)), "{kind:?} answered that {from} was not asked");
        let asked_in = answer.epoch;
        self.see(now, answer.epoch, answer.leader, fx);
        if asked_in < self.ballot.epoch {
            return;
        }
        match answer.outcome {
            Ok(Outcome::Voted(granted)) => self.on_voted(now, from, granted, log, fx),
            Ok(Outcome::Noted) => self.on_noted(from),
            Ok(Outcome::Records { batches, high_watermark }) => {
                self.on_records(now, from, batches, high_watermark, log, fx);
            }
            Ok(Outcome::Diverging { epoch, end }) => {
                self.on_diverging(now, from, epoch, end, log, fx);
            }
            Err(_) => self.put_off(now, from, kind),
        }
    }

    fn on_failed(&mut self, now: Now, to: NodeId, kind: Kind, refused: bool) {
        assert!(self.asked.remove(&(to, kind)), "{kind:?} failed that {to} was not asked");
        self.put_off(now, to, kind);
        if refused && kind == Kind::Fetch {
            self.on_leader_gone(now, to);
        }
    }

    fn put_off(&mut self, now: Now, to: NodeId, kind: Kind) {
        self.retry.insert((to, kind), now.mono.plus_ms(self.settings.retry_ms));
    }

    /// Sends a request, unless one of its kind is under way there or has just failed.
    fn ask(&mut self, now: Now, to: NodeId, kind: Kind, request: Request, fx: &mut Fx<Effect>) {
        let early = self.retry.get(&(to, kind)).is_some_and(|at| *at > now.mono);
        if early || !self.asked.insert((to, kind)) {
            return;
        }
        self.retry.remove(&(to, kind));
        fx.push(Effect::Send(to, request));
    }

    /// Learns of an epoch, and perhaps who leads it.
    fn see(&mut self, now: Now, epoch: LeaderEpoch, leader: Option<NodeId>, fx: &mut Fx<Effect>) {
        let known = self.ballot.epoch;
        let other = leader.filter(|leader| *leader != self.settings.own.node);
        match other {
            Some(leader) if epoch > known || epoch == known && self.ballot.leader.is_none() => {
                self.become_follower(now, epoch, leader, fx);
            }
            _ if epoch > known => self.become_unattached(now, epoch, fx),
            _ => {}
        }
    }

    fn is_voter(&self) -> bool {
        self.settings.voters.iter().any(|voter| voter.is(self.settings.own))
    }

    fn others(&self) -> Vec<Replica> {
        let own = self.settings.own.node;
        self.settings.voters.iter().copied().filter(|voter| voter.node != own).collect()
    }

    /// Whether these are more than a half of the voters.
    fn is_majority(&self, of: &BTreeSet<NodeId>) -> bool {
        let voters = &self.settings.voters;
        let count = voters.iter().filter(|voter| of.contains(&voter.node)).count();
        2 * count > voters.len()
    }

    /// A time between one and two election timeouts; a sole voter waits for nobody.
    fn election_timeout(&mut self, now: Now) -> Instant {
        let ms = if self.others().is_empty() { 0 } else { self.settings.election_ms };
        now.mono.plus_ms(ms + self.draw(ms))
    }

    /// When a node that waits for a leader stands itself; one that is no voter never does.
    fn standing_timeout(&mut self, now: Now) -> Option<Instant> {
        self.is_voter().then(|| self.election_timeout(now))
    }

    /// A number below `most`, or 0.
    fn draw(&mut self, most: i64) -> i64 {
        let Some(most) = u64::try_from(most).ok().filter(|most| *most > 0) else { return 0 };
        self.draws += 1;
        i64::try_from(mixed(self.settings.seed ^ mixed(self.draws)) % most).unwrap_or(0)
    }

    /// When the next tick is wanted.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let role = self.role.until().map(|until| (until, "quorum"));
        let retry = self.retry.values().min().map(|at| (*at, "quorum retries"));
        let waits = self.role.first_wait().map(|at| (at, "quorum fetch waits"));
        crate::time::earlier(role, crate::time::earlier(retry, waits))
    }

    /// The epoch, its leader and this node's vote.
    #[must_use]
    pub fn ballot(&self) -> Ballot {
        self.ballot
    }

    /// Everything below is committed, as far as known.
    #[must_use]
    pub fn high_watermark(&self) -> Option<Offset> {
        self.high_watermark
    }

    /// Whether this node leads its epoch.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    fn commit(&mut self, high: Offset, fx: &mut Fx<Effect>) {
        if self.high_watermark.is_none_or(|known| known < high) {
            self.high_watermark = Some(high);
            fx.push(Effect::Committed(high));
        }
    }

    /// Asserts what must always hold.
    pub fn invariants(&self, log: &impl LogView) {
        let Ballot { epoch, leader, .. } = self.ballot;
        assert!(epoch >= self.stored.epoch, "Q9: epoch {epoch} after {}", self.stored.epoch);
        assert!(epoch >= log.last_epoch(), "Q9: epoch {epoch} before the log's");
        let own = leader == Some(self.settings.own.node);
        let leads = matches!(self.role, Role::Leader(_) | Role::Resigned { .. });
        assert!(own == leads, "Q1: {leader:?} leads, this is {:?}", self.role);
        let stands = !matches!(self.role, Role::Prospective { .. } | Role::Candidate { .. });
        assert!(stands || self.is_voter(), "Q16: stands and is no voter");
        let high = self.high_watermark.unwrap_or(Offset(0));
        assert!(high <= log.end(), "Q8: high watermark {high}, end {}", log.end());
    }
}

/// Spreads a number over all numbers (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
