//! Finding the coordinator, and finding it again when it moved or is gone.

use std::time::Duration;

use dohle_wire::id::NodeId;
use dohle_wire::message::{FindCoordinatorRequest, FindCoordinatorResponse};
use dohle_wire::{ApiKey, ErrorCode};

use super::{Ask, Tags};
use crate::machine::Now;
use crate::machine::cluster::{Answer, Cluster, Peer};
use crate::machine::time::Earliest;

/// Who coordinates the group, as far as is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Coordinator {
    node: Option<NodeId>,
    asking: bool,
    /// A connection to it was begun.
    tried: bool,
    failures: u32,
    not_before: Duration,
    refused: Option<ErrorCode>,
}

impl Coordinator {
    /// The coordinator, if requests can be sent to it now; otherwise what is missing is begun.
    pub(super) fn ready<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        group: &str,
    ) -> Option<Peer> {
        let Some(node) = self.node else {
            self.find(now, cluster, group);
            return None;
        };
        let peer = Peer::Coordinator(node);
        if cluster.is_ready(now, peer) {
            self.tried = true;
            return Some(peer);
        }
        let has_conn = cluster.conn_id(peer).is_some();
        if !cluster.knows(peer) || (self.tried && !has_conn) {
            self.lost();
            self.find(now, cluster, group);
            return None;
        }
        self.tried |= has_conn;
        if !has_conn {
            cluster.connect(now, peer);
        }
        None
    }

    /// It is not where it was.
    pub(super) const fn lost(&mut self) {
        self.node = None;
        self.tried = false;
    }

    /// An error that repetition does not mend.
    pub(super) const fn take_refusal(&mut self) -> Option<ErrorCode> {
        self.refused.take()
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        earliest.at(self.not_before, "coordinator back-off");
    }

    fn find<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, group: &str) {
        if self.asking || self.not_before > now.mono {
            return;
        }
        let Some(peer) = cluster.any_ready(now) else { return };
        let Some(version) = cluster.version(peer, ApiKey::FindCoordinator, i16::MAX) else {
            return self.rest(now, cluster);
        };
        let batched = version >= 4;
        let request = FindCoordinatorRequest {
            key: if batched { String::new() } else { group.to_owned() },
            coordinator_keys: if batched { vec![group.to_owned()] } else { Vec::new() },
            ..FindCoordinatorRequest::default()
        };
        match cluster.send(now, peer, version, &request, Ask::Find.into()) {
            Ok(()) => self.asking = true,
            Err(_) => self.rest(now, cluster),
        }
    }

    pub(super) fn on_lost<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        self.asking = false;
        self.rest(now, cluster);
    }

    pub(super) fn on_found<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        answer: &Answer<T>,
    ) {
        self.asking = false;
        let Ok(response) = answer.decode::<FindCoordinatorRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.rest(now, cluster);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let (code, node, host, port) = place(response);
        match (code, u16::try_from(port)) {
            (ErrorCode::None, Ok(port)) => {
                cluster.learn(node, &host, port);
                self.node = Some(node);
                self.tried = false;
                // Whoever is not there after all is looked for again, at leisure.
                self.rest(now, cluster);
                self.failures = 0;
            }
            (code, _) => {
                if !matches!(code, ErrorCode::None) && !code.is_retriable() {
                    self.refused = Some(code);
                }
                self.rest(now, cluster);
            }
        }
    }

    fn rest<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let wait = cluster.retry_wait(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.mono.saturating_add(wait);
    }
}

fn place(response: FindCoordinatorResponse) -> (ErrorCode, NodeId, String, i32) {
    match response.coordinators.into_iter().next() {
        Some(one) => (one.error_code.into(), NodeId(one.node_id), one.host, one.port),
        None => {
            (response.error_code.into(), NodeId(response.node_id), response.host, response.port)
        }
    }
}
