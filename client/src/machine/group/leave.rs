//! Leaving: what is read is given up first, then the coordinator is told.

use std::time::Duration;

use dohle_wire::ApiKey;
use dohle_wire::message::LeaveGroupRequest;
use dohle_wire::message::leave_group_request::MemberIdentity;

use super::io::GroupError;
use super::{Ask, Group, Tags};
use crate::machine::Now;
use crate::machine::cluster::{Cluster, Peer};

/// Longest time that leaving may take once everything is given up.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// A member on its way out.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    pub(super) until: Duration,
    /// Nothing is left to be given up.
    bare: bool,
    asked: bool,
}

impl Group {
    /// Gives up the subscription and leaves.
    pub(crate) fn unsubscribe<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        if self.subscription.take().is_none() {
            return;
        }
        self.topics.clear();
        self.failed.clear();
        if !self.is_member() && self.member_id.is_empty() && self.handover.is_idle() {
            return;
        }
        self.interrupt(now, cluster);
        self.handover.revoke_all(&mut self.readings);
        let until = now.mono.saturating_add(self.settings().max_poll_interval);
        self.leaving = Some(Leaving { until, bare: false, asked: false });
    }

    /// Ends a join that the coordinator holds back: what follows it on its connection would wait.
    fn interrupt<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        if self.is_classic() && self.classic.is_joining() {
            self.attempt += 1;
            if let Some(peer) = self.coordinator(now, cluster) {
                cluster.distrust(now, peer);
            }
        }
        self.classic.reset();
    }

    /// Nobody waits for anything any more.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.commits.fail(GroupError::Closed, &mut self.effects);
        self.reads.fail(GroupError::Closed, &mut self.effects);
    }

    /// Leaves without giving anything up properly.
    pub(crate) fn abandon<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let was_member = self.leaving.take().is_some_and(|leaving| !leaving.asked)
            || self.subscription.take().is_some();
        self.topics.clear();
        self.handover.forget();
        if !was_member || self.member_id.is_empty() {
            return;
        }
        self.interrupt(now, cluster);
        let until = now.mono.saturating_add(LEAVE_MAX);
        self.leaving = Some(Leaving { until, bare: true, asked: false });
    }

    pub(super) fn drive_leaving<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let Some(leaving) = &mut self.leaving else { return };
        if leaving.until <= now.mono {
            return self.left();
        }
        if !leaving.bare {
            if !self.handover.is_idle() || !self.commits.is_idle() {
                return;
            }
            leaving.bare = true;
            leaving.until = now.mono.saturating_add(LEAVE_MAX);
        }
        if leaving.asked {
            return;
        }
        if self.is_silent() {
            return self.left();
        }
        if let Some(peer) = self.coordinator(now, cluster) {
            let sent = match self.is_classic() {
                true => self.leave_classic(now, cluster, peer, "the consumer is being closed"),
                false => self.leave_modern(now, cluster, peer),
            };
            match (&mut self.leaving, sent) {
                (Some(leaving), true) => leaving.asked = true,
                _ => self.left(),
            }
        }
    }

    /// Whether the coordinator is not told: a static member comes back, and its partitions wait.
    fn is_silent(&self) -> bool {
        match self.is_classic() {
            true => self.settings().instance_id.is_some() || self.member_id.is_empty(),
            false => self.member_id.is_empty(),
        }
    }

    fn leave_classic<T: Tags>(
        &self,
        now: Now,
        cluster: &mut Cluster<T>,
        peer: Peer,
        reason: &str,
    ) -> bool {
        let Some(version) = cluster.version(peer, ApiKey::LeaveGroup, i16::MAX) else {
            return false;
        };
        let mut request =
            LeaveGroupRequest { group_id: self.id.clone(), ..LeaveGroupRequest::default() };
        let member_id = self.member_id.clone();
        if version >= 3 {
            let reason = Some(reason.to_owned());
            request.members = vec![MemberIdentity { member_id, group_instance_id: None, reason }];
        } else {
            request.member_id = member_id;
        }
        let tag = Ask::Leave(self.attempt).into();
        cluster.send(now, peer, version, &request, tag).is_ok()
    }

    /// Tells the coordinator, if it can be told at once, and goes on without waiting.
    pub(super) fn send_leave<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, reason: &str) {
        if self.is_silent() {
            return;
        }
        if let Some(peer) = self.coordinator(now, cluster) {
            match self.is_classic() {
                true => self.leave_classic(now, cluster, peer, reason),
                false => self.leave_modern(now, cluster, peer),
            };
        }
    }

    pub(super) fn on_left(&mut self, attempt: u64) {
        if attempt == self.attempt && self.leaving.as_ref().is_some_and(|leaving| leaving.asked) {
            self.left();
        }
    }

    /// The membership is over.
    fn left(&mut self) {
        self.leaving = None;
        self.attempt += 1;
        self.generation = -1;
        self.member_id.clear();
        self.classic.reset();
        self.modern.reset();
        self.invited = self.polling;
        // What could not be given up in time is taken.
        self.handover.lose(&mut self.readings);
    }
}
