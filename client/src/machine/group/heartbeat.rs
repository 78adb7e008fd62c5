//! Heartbeats of the classic protocol: driven by time, whatever the application does.

use std::time::Duration;

use dohle_wire::message::HeartbeatRequest;
use dohle_wire::{ApiKey, ErrorCode};

use super::classic::{Classic, Stage};
use super::io::GroupError;
use super::{Ask, Group, Tags};
use crate::machine::Now;
use crate::machine::cluster::{Answer, Cluster};

/// The wait after a heartbeat that got lost.
const AGAIN: Duration = Duration::from_millis(100);

impl Classic {
    pub(super) fn heartbeat_lost(&mut self, now: Now) {
        self.heartbeat_asked = false;
        self.heartbeat_at = now.mono.saturating_add(AGAIN);
    }
}

impl Group {
    pub(super) fn heartbeat<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        if self.classic.heartbeat_asked || self.classic.heartbeat_at > now.mono {
            return;
        }
        let Some(peer) = self.coordinator(now, cluster) else { return };
        let Some(version) = cluster.version(peer, ApiKey::Heartbeat, i16::MAX) else {
            return self.die(GroupError::Unsupported);
        };
        let request = HeartbeatRequest {
            group_id: self.id.clone(),
            generation_id: self.generation,
            member_id: self.member_id.clone(),
            group_instance_id: self.instance_id(version >= 3),
        };
        let tag = Ask::Heartbeat(self.attempt).into();
        match cluster.send(now, peer, version, &request, tag) {
            Ok(()) => {
                self.classic.heartbeat_asked = true;
                let interval = self.settings().heartbeat_interval;
                self.classic.heartbeat_at = now.mono.saturating_add(interval);
            }
            Err(_) => self.classic.heartbeat_lost(now),
        }
    }

    pub(super) fn on_heartbeat<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
        answer: &Answer<T>,
    ) {
        if attempt != self.attempt {
            return;
        }
        self.classic.heartbeat_asked = false;
        let Ok(response) = answer.decode::<HeartbeatRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.classic.heartbeat_lost(now);
        };
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        let stable = matches!(self.classic.stage, Stage::Stable);
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => {}
            code if self.mends(code) => self.classic.heartbeat_lost(now),
            ErrorCode::RebalanceInProgress if stable => self.rejoin(),
            ErrorCode::RebalanceInProgress => {}
            code @ (ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration) => {
                self.reset(code == ErrorCode::IllegalGeneration);
            }
            ErrorCode::FencedInstanceId => self.die(GroupError::Fenced),
            code => self.fail(GroupError::Refused(code)),
        }
    }
}
