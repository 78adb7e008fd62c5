//! The cluster as every machine sees it: connections, versions, metadata, back-off.
//!
//! Owns: which connections exist, what each may be sent, which answer belongs to which request,
//! when to give up and when to try again, and the newest metadata. A machine sends requests with a
//! tag of its own and gets [`Event`]s back; each tag comes back exactly once.
//!
//! Must never know: what the requests of a machine mean.

mod conn;
mod metadata;
mod peers;
mod refresh;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, NodeId};
use dohle_wire::message::{ApiVersionsRequest, ApiVersionsResponse, Request};
use dohle_wire::{ApiKey, DecodeError, EncodeError, ErrorCode, Message, Reader};

use self::conn::{Conn, Purpose, Sent, Stage, Until, Versions};
pub use self::metadata::{BrokerInfo, ClusterView, PartitionInfo, TopicInfo};
use self::peers::Peers;
use self::refresh::Refresh;
use super::net::{ConnId, NetEffect, NetInput};
use super::rng::Rng;
use super::time::Earliest;
use super::{Deadline, Now};
use crate::config::ConnectionConfig;

/// Whom a connection leads to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// A broker that metadata named.
    Node(NodeId),
    /// One of `bootstrap.servers`, by its place in the list.
    Seed(usize),
    /// A broker as the coordinator of a group. It has a connection of its own: a broker holds
    /// requests to join back, and what came behind them on the same connection would wait too.
    Coordinator(NodeId),
}

/// What happened to a request of the machine.
#[derive(Clone, Debug)]
pub(crate) enum Event<T> {
    /// It was answered.
    Answer(Answer<T>),
    /// All of it was sent, and it has no answer.
    Sent {
        /// The machine's tag.
        tag: T,
    },
    /// It will never be answered, and may or may not have been carried out.
    Lost {
        /// The machine's tag.
        tag: T,
    },
    /// There is newer metadata.
    Metadata,
}

/// An answer to a request of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Answer<T> {
    /// The machine's tag.
    pub(crate) tag: T,
    /// Who answered.
    pub(crate) peer: Peer,
    key: ApiKey,
    version: i16,
    body: Reader,
}

impl<T> Answer<T> {
    /// The version of the request and of the answer.
    pub(crate) const fn version(&self) -> i16 {
        self.version
    }

    /// The answer to a request of type `R`.
    pub(crate) fn decode<R: Request>(&self) -> Result<R::Response, DecodeError> {
        assert_eq!(self.key, R::KEY, "an answer is read as what it answers");
        let mut body = self.body.clone();
        let response = R::Response::decode(&mut body, self.version)?;
        body.expect_end()?;
        Ok(response)
    }
}

/// Why a request was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SendError {
    /// There is no connection that takes requests now.
    NotReady,
    /// The broker does not speak a version of the request that this client speaks.
    Unsupported,
    /// The request does not fit the version.
    Encode(EncodeError),
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Cluster<T> {
    config: Arc<ConnectionConfig>,
    rng: Rng,
    view: ClusterView,
    peers: Peers,
    conns: BTreeMap<ConnId, Conn<T>>,
    next_conn: u64,
    refresh: Refresh,
    events: VecDeque<Event<T>>,
    effects: Vec<NetEffect>,
    closed: bool,
    last_step: Duration,
}

impl<T: Clone> Cluster<T> {
    pub(crate) fn new(config: ConnectionConfig, auto_create: bool, seed: u64) -> Self {
        let config = Arc::new(config);
        Self {
            peers: Peers::new(&config),
            rng: Rng::new(seed),
            view: ClusterView::default(),
            conns: BTreeMap::new(),
            next_conn: 0,
            refresh: Refresh::new(auto_create),
            events: VecDeque::new(),
            effects: Vec::new(),
            closed: false,
            last_step: Duration::ZERO,
            config,
        }
    }

    /// What is known of the cluster.
    pub(crate) const fn view(&self) -> &ClusterView {
        &self.view
    }

    /// Randomness for the machine.
    pub(crate) const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// The wait before the next attempt, after so many failures.
    pub(crate) fn retry_wait(&mut self, failures: u32) -> Duration {
        let (first, max) = (self.config.retry_backoff, self.config.retry_backoff_max);
        self.rng.backoff(first, max, failures)
    }

    /// What is wanted of connections since the last call.
    pub(crate) fn take_effects(&mut self) -> std::vec::Drain<'_, NetEffect> {
        self.effects.drain(..)
    }

    /// The next thing the machine has to hear of.
    pub(crate) fn next_event(&mut self) -> Option<Event<T>> {
        self.events.pop_front()
    }

    /// Whether there is something the machine has to hear of.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Reacts to what the driver says.
    pub(crate) fn on_net(&mut self, now: Now, input: NetInput) {
        self.last_step = now.mono;
        match input {
            NetInput::Up { conn } => self.on_up(now, conn),
            NetInput::Down { conn } => self.on_down(now, conn),
            NetInput::Frame { conn, bytes } => self.on_frame(now, conn, bytes),
            NetInput::Sent { conn } => self.on_sent(conn),
        }
    }

    /// Does what time asks for. To be called in every step, after the input.
    pub(crate) fn on_time(&mut self, now: Now) {
        self.last_step = now.mono;
        if self.closed {
            return;
        }
        self.drop_late(now);
        self.fetch_metadata(now);
    }

    /// Closes everything. What is under way is reported as lost.
    pub(crate) fn close(&mut self, now: Now) {
        self.closed = true;
        let all: Vec<ConnId> = self.conns.keys().copied().collect();
        all.into_iter().for_each(|conn| self.disconnect(now, conn));
    }

    /// Starts a connection to a broker unless there is one, or it must wait.
    pub(crate) fn connect(&mut self, now: Now, peer: Peer) {
        if self.closed || !self.peers.may_connect(peer, now.mono) {
            return;
        }
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        let Some((host, port, failures)) = self.peers.connecting(peer, conn) else { return };
        let setup = (self.config.setup_timeout, self.config.setup_timeout_max);
        let patience = self.rng.backoff(setup.0, setup.1, failures);
        self.conns.insert(conn, Conn::new(peer, now.mono, patience));
        self.effects.push(NetEffect::Connect { conn, host, port });
    }

    /// Whether requests can be sent to a broker now.
    pub(crate) fn is_ready(&self, now: Now, peer: Peer) -> bool {
        !self.peers.is_throttled(peer, now.mono)
            && self.conn_of(peer).is_some_and(|(_, conn)| conn.stage == Stage::Ready)
    }

    /// The connection to a broker that takes requests.
    fn conn_of(&self, peer: Peer) -> Option<(ConnId, &Conn<T>)> {
        let id = self.peers.conn(peer)?;
        self.conns.get(&id).map(|conn| (id, conn))
    }

    /// Whether any broker takes requests.
    pub(crate) fn has_broker(&self) -> bool {
        self.conns.values().any(|conn| conn.stage == Stage::Ready)
    }

    /// Requests to a broker that have not ended.
    pub(crate) fn in_flight(&self, peer: Peer) -> usize {
        self.conn_of(peer).map_or(0, |(_, conn)| conn.in_flight())
    }

    /// The connection over which a broker is reached now.
    pub(crate) fn conn_id(&self, peer: Peer) -> Option<ConnId> {
        self.peers.conn(peer)
    }

    /// Any broker that takes requests now, one with little to do. If there is none a connection is
    /// started, to a broker that metadata named or else to a bootstrap server.
    pub(crate) fn any_ready(&mut self, now: Now) -> Option<Peer> {
        let for_any = |conn: &&Conn<T>| !matches!(conn.peer, Peer::Coordinator(_));
        let ready = self.conns.values().filter(for_any).filter(|conn| {
            conn.stage == Stage::Ready && !self.peers.is_throttled(conn.peer, now.mono)
        });
        let best = ready.min_by_key(|conn| (conn.in_flight(), conn.peer)).map(|conn| conn.peer);
        let mut others = self.conns.values().filter(for_any);
        if best.is_none() && others.all(|conn| conn.stage == Stage::Ready) {
            let draw = self.rng.below(u64::MAX);
            if let Some(peer) = self.peers.to_try(now.mono, draw) {
                self.connect(now, peer);
            }
        }
        best
    }

    /// The newest version of `key` that a broker and this client speak, at most `cap`.
    pub(crate) fn version(&self, peer: Peer, key: ApiKey, cap: i16) -> Option<i16> {
        self.conn_of(peer)?.1.versions.best(key, cap)
    }

    /// Sends a request in a version from [`Self::version`]. The answer comes as an event with `tag`.
    pub(crate) fn send<R: Request>(
        &mut self,
        now: Now,
        peer: Peer,
        version: i16,
        request: &R,
        tag: T,
    ) -> Result<(), SendError> {
        self.send_for(now, peer, version, request, Purpose::Machine(tag))
    }

    /// Sends a request that the broker does not answer. An event with `tag` tells when it was sent.
    pub(crate) fn send_unanswered<R: Request>(
        &mut self,
        now: Now,
        (peer, version): (Peer, i16),
        request: &R,
        tag: T,
    ) -> Result<(), SendError> {
        let deadline = now.mono.saturating_add(self.config.request_timeout);
        self.send_until(now, (peer, version), request, (Until::Sent(tag), deadline))
    }

    /// Sends a request that the broker may hold back for `patience`.
    pub(crate) fn send_patiently<R: Request>(
        &mut self,
        now: Now,
        (peer, version): (Peer, i16),
        request: &R,
        tag: T,
        patience: Duration,
    ) -> Result<(), SendError> {
        let deadline = now.mono.saturating_add(patience.max(self.config.request_timeout));
        let until = Until::Answered(Purpose::Machine(tag));
        self.send_until(now, (peer, version), request, (until, deadline))
    }

    fn send_for<R: Request>(
        &mut self,
        now: Now,
        peer: Peer,
        version: i16,
        request: &R,
        purpose: Purpose<T>,
    ) -> Result<(), SendError> {
        let deadline = now.mono.saturating_add(self.config.request_timeout);
        self.send_until(now, (peer, version), request, (Until::Answered(purpose), deadline))
    }

    fn send_until<R: Request>(
        &mut self,
        now: Now,
        (peer, version): (Peer, i16),
        request: &R,
        until: (Until<T>, Duration),
    ) -> Result<(), SendError> {
        let told = matches!(until.0, Until::Sent(_));
        let id = self.peers.conn(peer).ok_or(SendError::NotReady)?;
        let conn = self.conns.get_mut(&id).ok_or(SendError::NotReady)?;
        let frame = conn
            .request(now.mono, &self.config.client_id, (version, request), until)
            .map_err(SendError::Encode)?;
        self.effects.push(NetEffect::Transmit { conn: id, frame, told });
        Ok(())
    }

    /// Where a coordinator is.
    pub(crate) fn learn(&mut self, coordinator: NodeId, host: &str, port: u16) {
        self.peers.learn(Peer::Coordinator(coordinator), host, port);
    }

    /// Whether there is an address to connect to.
    pub(crate) fn knows(&self, peer: Peer) -> bool {
        self.peers.knows(peer)
    }

    /// A broker wants to be left alone for a while.
    pub(crate) fn throttle(&mut self, now: Now, peer: Peer, ms: i32) {
        if let Ok(ms @ 1..) = u64::try_from(ms) {
            self.peers.throttle(peer, now.mono.saturating_add(Duration::from_millis(ms)));
        }
    }

    /// An answer made no sense: the connection is of no more use.
    pub(crate) fn distrust(&mut self, now: Now, peer: Peer) {
        if let Some(conn) = self.peers.conn(peer) {
            self.disconnect(now, conn);
        }
    }

    /// A broker named the leader of a partition, and its address if it has one (KIP-951). Gives
    /// whether that was news.
    pub(crate) fn hint_leader(
        &mut self,
        (topic, index): (&str, i32),
        (leader, epoch): (i32, i32),
        endpoint: Option<(&str, i32)>,
    ) -> bool {
        let node = NodeId(leader);
        if leader < 0 || epoch < 0 {
            return false;
        }
        if let Some((host, port)) = endpoint {
            self.know_broker(node, host, port);
        }
        self.view.brokers.contains_key(&node)
            && self.view.hint(topic, index, node, LeaderEpoch(epoch))
    }

    /// A broker named another one, which metadata may not have named yet.
    pub(crate) fn know_broker(&mut self, node: NodeId, host: &str, port: i32) {
        if let Ok(port) = u16::try_from(port)
            && !self.view.brokers.contains_key(&node)
        {
            let broker = BrokerInfo { id: node, host: host.into(), port, rack: None };
            self.view.brokers.insert(node, broker);
            self.follow_view();
        }
    }

    /// Whether a broker cannot be tried now, because it could not be reached just before or nobody
    /// names it any more.
    pub(crate) fn is_out_of_reach(&self, now: Now, peer: Peer) -> bool {
        self.peers.conn(peer).is_none() && !self.peers.may_connect(peer, now.mono)
    }

    /// When [`Self::on_time`] next has something to do.
    pub(crate) fn deadline(&self) -> Deadline {
        let mut earliest = Earliest::after(self.last_step);
        if self.closed {
            return None;
        }
        for conn in self.conns.values() {
            earliest.or(conn.patience_ends());
            if conn.in_flight() == 0 {
                earliest.at(conn.last_used.saturating_add(self.config.max_idle), "idle connection");
            }
        }
        earliest.or(self.refresh.deadline(&self.config));
        // A broker that could not be reached, or that throttles, is of interest to someone only if
        // it still is in the list.
        self.peers.waits().for_each(|(at, why)| earliest.at(at, why));
        earliest.deadline()
    }

    pub(crate) fn invariants(&self) {
        for (id, conn) in &self.conns {
            assert_eq!(self.peers.conn(conn.peer), Some(*id), "a connection has its one peer");
        }
    }

    fn on_up(&mut self, now: Now, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        if !matches!(conn.stage, Stage::Connecting(_)) {
            return;
        }
        conn.stage = Stage::Negotiating;
        let newest = ApiVersionsRequest::VERSIONS.1;
        self.ask_versions(now, id, newest);
    }

    fn ask_versions(&mut self, now: Now, id: ConnId, version: i16) {
        let Some(peer) = self.conns.get(&id).map(|conn| conn.peer) else { return };
        let request = ApiVersionsRequest {
            client_software_name: "dohle".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ApiVersionsRequest::default()
        };
        let sent = self.send_for(now, peer, version, &request, Purpose::Versions);
        assert_eq!(sent, Ok(()), "every version of ApiVersions can be written");
    }

    fn on_down(&mut self, now: Now, id: ConnId) {
        if let Some(conn) = self.conns.remove(&id) {
            self.forget(now, id, conn);
        }
    }

    fn disconnect(&mut self, now: Now, id: ConnId) {
        if let Some(conn) = self.conns.remove(&id) {
            self.effects.push(NetEffect::Disconnect { conn: id });
            self.forget(now, id, conn);
        }
    }

    /// The end of a connection: whoever waits for an answer hears that there will be none.
    fn forget(&mut self, now: Now, id: ConnId, conn: Conn<T>) {
        let (first, max) = (self.config.reconnect_backoff, self.config.reconnect_backoff_max);
        let failures = self.peers.failures(conn.peer);
        let wait = self.rng.backoff(first, max, failures);
        self.peers.lost(conn.peer, id, now.mono.saturating_add(wait));
        // A broker that goes away may have handed its partitions to others.
        if conn.in_flight() > 0 || conn.stage != Stage::Ready {
            self.refresh.want();
        }
        for sent in conn.sent {
            self.on_lost(now, sent);
        }
        let lost = conn.leaving.into_iter().map(|leaving| Event::Lost { tag: leaving.tag });
        self.events.extend(lost);
    }

    fn on_sent(&mut self, id: ConnId) {
        let leaving = self.conns.get_mut(&id).and_then(|conn| conn.leaving.pop_front());
        self.events.extend(leaving.map(|leaving| Event::Sent { tag: leaving.tag }));
    }

    fn on_lost(&mut self, now: Now, sent: Sent<T>) {
        match sent.purpose {
            Purpose::Versions => {}
            Purpose::Metadata => self.refresh.failed(now.mono, &self.config, &mut self.rng),
            Purpose::Machine(tag) => self.events.push_back(Event::Lost { tag }),
        }
    }

    fn on_frame(&mut self, now: Now, id: ConnId, bytes: Bytes) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let peer = conn.peer;
        let Some((sent, body)) = conn.answer(now.mono, bytes) else {
            return self.disconnect(now, id);
        };
        let Sent { key, version, purpose, .. } = sent;
        match purpose {
            Purpose::Versions => self.on_versions(now, id, version, body),
            Purpose::Metadata => self.on_metadata(now, id, version, body),
            Purpose::Machine(tag) => {
                self.events.push_back(Event::Answer(Answer { tag, peer, key, version, body }));
            }
        }
    }

    /// A broker that does not know the version answers in version 0 and names those it knows
    /// (KIP-511); a very old one names none.
    fn on_versions(&mut self, now: Now, id: ConnId, version: i16, mut body: Reader) {
        let too_new = body.clone().i16() == Ok(ErrorCode::UnsupportedVersion.code());
        let version_of_body = if too_new { 0 } else { version };
        let Ok(answer) = ApiVersionsResponse::decode(&mut body, version_of_body) else {
            return self.disconnect(now, id);
        };
        if too_new {
            let key = ApiKey::ApiVersions.code();
            let theirs = answer.api_keys.iter().find(|row| row.api_key == key);
            let next = theirs.map_or(0, |row| row.max_version).min(version - 1);
            return match next {
                0.. => self.ask_versions(now, id, next),
                _ => self.disconnect(now, id),
            };
        }
        match ErrorCode::from(answer.error_code) {
            ErrorCode::None => {}
            ErrorCode::RebootstrapRequired => return self.rebootstrap(now),
            _ => return self.disconnect(now, id),
        }
        let Some(conn) = self.conns.get_mut(&id) else { return };
        conn.versions = Versions::common(&answer.api_keys);
        conn.stage = Stage::Ready;
        let peer = conn.peer;
        self.peers.succeeded(peer);
        self.throttle(now, peer, answer.throttle_time_ms);
    }

    /// Closes connections whose answers are late, and those that nobody uses.
    fn drop_late(&mut self, now: Now) {
        let late: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, conn)| match conn.patience_ends() {
                Some((at, _)) => at <= now.mono,
                None => conn.last_used.saturating_add(self.config.max_idle) <= now.mono,
            })
            .map(|(id, _)| *id)
            .collect();
        late.into_iter().for_each(|id| self.disconnect(now, id));
    }
}
