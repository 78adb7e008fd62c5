//! Whom the client can connect to, and when it may try again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{BrokerInfo, Peer};
use crate::config::ConnectionConfig;
use crate::machine::ConnId;

/// What is known of one peer. A peer has at most one connection.
#[derive(Clone, Debug)]
struct State {
    host: Arc<str>,
    port: u16,
    conn: Option<ConnId>,
    /// Attempts since the last one that led to a usable connection.
    failures: u32,
    retry_at: Duration,
    throttled_until: Duration,
    /// Metadata no longer names it: it goes with its connection.
    gone: bool,
}

impl State {
    fn new(host: Arc<str>, port: u16) -> Self {
        Self {
            host,
            port,
            conn: None,
            failures: 0,
            retry_at: Duration::ZERO,
            throttled_until: Duration::ZERO,
            gone: false,
        }
    }

    fn is_free(&self, now: Duration) -> bool {
        self.conn.is_none() && self.retry_at <= now && !self.gone
    }
}

/// All peers.
#[derive(Clone, Debug)]
pub(super) struct Peers(BTreeMap<Peer, State>);

impl Peers {
    pub(super) fn new(config: &ConnectionConfig) -> Self {
        let seeds = config.bootstrap_servers.iter().enumerate();
        Self(
            seeds
                .map(|(at, (host, port))| (Peer::Seed(at), State::new(host.as_str().into(), *port)))
                .collect(),
        )
    }

    pub(super) fn conn(&self, peer: Peer) -> Option<ConnId> {
        self.0.get(&peer)?.conn
    }

    pub(super) fn failures(&self, peer: Peer) -> u32 {
        self.0.get(&peer).map_or(0, |state| state.failures)
    }

    pub(super) fn may_connect(&self, peer: Peer, now: Duration) -> bool {
        self.0.get(&peer).is_some_and(|state| state.is_free(now))
    }

    pub(super) fn knows(&self, peer: Peer) -> bool {
        self.0.contains_key(&peer)
    }

    /// The address of a peer, for the next connection.
    pub(super) fn learn(&mut self, peer: Peer, host: &str, port: u16) {
        let state = self.0.entry(peer).or_insert_with(|| State::new(host.into(), port));
        state.host = host.into();
        state.port = port;
    }

    pub(super) fn is_throttled(&self, peer: Peer, now: Duration) -> bool {
        self.0.get(&peer).is_some_and(|state| state.throttled_until > now)
    }

    pub(super) fn throttle(&mut self, peer: Peer, until: Duration) {
        if let Some(state) = self.0.get_mut(&peer) {
            state.throttled_until = until;
        }
    }

    /// An attempt to connect begins; gives where to, and how many failed before it.
    pub(super) fn connecting(&mut self, peer: Peer, conn: ConnId) -> Option<(Arc<str>, u16, u32)> {
        let state = self.0.get_mut(&peer)?;
        assert_eq!(state.conn, None, "a peer has at most one connection");
        state.conn = Some(conn);
        Some((Arc::clone(&state.host), state.port, state.failures))
    }

    /// A connection can be used.
    pub(super) fn succeeded(&mut self, peer: Peer) {
        if let Some(state) = self.0.get_mut(&peer) {
            state.failures = 0;
        }
    }

    /// A connection, or the attempt to make it, ended.
    pub(super) fn lost(&mut self, peer: Peer, conn: ConnId, retry_at: Duration) {
        let Some(state) = self.0.get_mut(&peer) else { return };
        assert_eq!(state.conn, Some(conn), "a connection belongs to its peer");
        state.conn = None;
        state.failures = state.failures.saturating_add(1);
        state.retry_at = retry_at;
        if state.gone {
            self.0.remove(&peer);
        }
    }

    /// A peer to connect to when any will do: a known broker, or a bootstrap server if no broker
    /// can be tried now (KIP-899). `draw` is a random number.
    pub(super) fn to_try(&self, now: Duration, draw: u64) -> Option<Peer> {
        let free = |want_seed: bool| -> Vec<Peer> {
            let of_kind = |peer: &Peer| match peer {
                Peer::Seed(_) => want_seed,
                Peer::Node(_) => !want_seed,
                Peer::Coordinator(_) => false,
            };
            let free = self.0.iter().filter(|(peer, state)| of_kind(peer) && state.is_free(now));
            free.map(|(peer, _)| *peer).collect()
        };
        let brokers = free(false);
        let choice = if brokers.is_empty() { free(true) } else { brokers };
        let at = usize::try_from(draw % (choice.len().max(1) as u64)).unwrap_or(0);
        choice.get(at).copied()
    }

    /// Takes over the brokers that metadata names. Gives the bootstrap servers whose connections
    /// turned out to lead to a broker, and which one.
    pub(super) fn follow<'a>(
        &mut self,
        brokers: impl Iterator<Item = &'a BrokerInfo> + Clone,
    ) -> Vec<(Peer, Peer)> {
        for (peer, state) in &mut self.0 {
            if let Peer::Node(id) = peer {
                state.gone = !brokers.clone().any(|broker| broker.id == *id);
            }
        }
        self.0.retain(|_, state| !state.gone || state.conn.is_some());
        let mut adopted = Vec::new();
        for broker in brokers {
            let fresh = || State::new(Arc::clone(&broker.host), broker.port);
            let state = self.0.entry(Peer::Node(broker.id)).or_insert_with(fresh);
            state.host = Arc::clone(&broker.host);
            state.port = broker.port;
            if state.conn.is_none()
                && let Some(pair) = self.adopt(broker)
            {
                adopted.push(pair);
            }
        }
        adopted
    }

    /// Hands the connection of a bootstrap server to the broker with the same address.
    fn adopt(&mut self, broker: &BrokerInfo) -> Option<(Peer, Peer)> {
        let same = |state: &State| state.host == broker.host && state.port == broker.port;
        let (seed, state) = self.0.iter_mut().find(|(peer, state)| {
            matches!(peer, Peer::Seed(_)) && state.conn.is_some() && same(state)
        })?;
        let (seed, conn) = (*seed, state.conn.take());
        let node = Peer::Node(broker.id);
        let throttled_until = state.throttled_until;
        let state = self.0.get_mut(&node).expect("the broker was just entered");
        state.conn = conn;
        state.throttled_until = throttled_until;
        Some((seed, node))
    }

    /// Forgets all brokers that have no connection.
    pub(super) fn forget_brokers(&mut self) {
        self.0.retain(|peer, state| matches!(peer, Peer::Seed(_)) || state.conn.is_some());
    }

    /// Bootstrap servers that have a connection.
    pub(super) fn connected_seeds(&self) -> Vec<ConnId> {
        let seeds = self.0.iter().filter(|(peer, _)| matches!(peer, Peer::Seed(_)));
        seeds.filter_map(|(_, state)| state.conn).collect()
    }

    /// The times at which peers can be used again.
    pub(super) fn waits(&self) -> impl Iterator<Item = (Duration, &'static str)> + '_ {
        self.0.values().flat_map(|state| {
            [(state.retry_at, "reconnect back-off"), (state.throttled_until, "throttled")]
        })
    }
}
