//! Which broker coordinates which group.
//!
//! Owns: what the brokers said of it, and the lookup under way. Invariant: a group is known, or
//! asked for, or neither, never both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::message::{Coordinator, FindCoordinatorRequest};
use dohle_wire::{DecodeError, ErrorCode};

use super::super::{ItemError, Tag};
use crate::config::ConnectionConfig;
use crate::machine::Now;
use crate::machine::cluster::{Answer, Cluster};
use crate::machine::rng::Rng;
use dohle_wire::id::NodeId;

/// Groups whose coordinators are remembered; beyond them all are looked up again.
const REMEMBERED: usize = 10_000;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(in crate::machine::admin) struct Coordinators {
    known: BTreeMap<Arc<str>, NodeId>,
    /// Groups that a call waits for.
    wanted: BTreeSet<Arc<str>>,
    asked: BTreeSet<Arc<str>>,
    /// Groups that no broker will ever name a coordinator of.
    refused: BTreeMap<Arc<str>, ItemError>,
    /// Why the last lookup of a group gave nothing.
    trouble: BTreeMap<Arc<str>, ErrorCode>,
    failures: u32,
    not_before: Duration,
}

impl Coordinators {
    /// The coordinator of a group, if it is known.
    pub(in crate::machine::admin) fn of(&self, group: &str) -> Option<NodeId> {
        self.known.get(group).copied()
    }

    /// Why a group has no coordinator and will have none.
    pub(in crate::machine::admin) fn refusal(&self, group: &str) -> Option<&ItemError> {
        self.refused.get(group)
    }

    /// Why the coordinator of a group was not found when it was last looked up.
    pub(in crate::machine::admin) fn trouble(&self, group: &str) -> Option<ErrorCode> {
        self.trouble.get(group).copied()
    }

    /// A call waits for the coordinator of a group.
    pub(in crate::machine::admin) fn want(&mut self, group: &Arc<str>) {
        if !self.asked.contains(group) {
            self.wanted.insert(Arc::clone(group));
        }
    }

    /// What calls wait for is found out anew; each has heard what was refused.
    pub(in crate::machine::admin) fn want_anew(&mut self) {
        self.wanted.clear();
        if self.known.len().max(self.trouble.len()) > REMEMBERED {
            self.known.clear();
            self.trouble.clear();
        }
    }

    /// Every call has heard what was refused.
    pub(in crate::machine::admin) fn told(&mut self) {
        self.refused.clear();
    }

    /// Whether there is something that no call has heard yet.
    pub(in crate::machine::admin) fn has_news(&self) -> bool {
        !self.refused.is_empty()
    }

    /// A broker turned out not to be the coordinator, or to be out of reach.
    pub(in crate::machine::admin) fn forget(&mut self, group: &str) {
        self.known.remove(group);
    }

    /// The groups to look up now.
    pub(in crate::machine::admin) fn take_wanted(&mut self, now: Now) -> Vec<Arc<str>> {
        if self.not_before > now.mono {
            return Vec::new();
        }
        std::mem::take(&mut self.wanted).into_iter().collect()
    }

    /// The lookup of these is under way.
    pub(in crate::machine::admin) fn ask(&mut self, groups: Vec<Arc<str>>) {
        self.asked.extend(groups);
    }

    /// Nobody can be asked for these.
    pub(in crate::machine::admin) fn refuse(&mut self, groups: &[Arc<str>], code: ErrorCode) {
        for group in groups {
            self.refused.insert(Arc::clone(group), ItemError { code, message: None });
        }
    }

    /// The lookup of these was lost.
    pub(in crate::machine::admin) fn lost(
        &mut self,
        now: Now,
        groups: &[Arc<str>],
        config: &ConnectionConfig,
        rng: &mut Rng,
    ) {
        self.asked.retain(|group| !groups.contains(group));
        self.pause(now, config, rng);
    }

    fn pause(&mut self, now: Now, config: &ConnectionConfig, rng: &mut Rng) {
        let wait = rng.backoff(config.retry_backoff, config.retry_backoff_max, self.failures);
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.mono.saturating_add(wait);
    }

    /// When the next lookup may be made, if one is wanted.
    pub(in crate::machine::admin) fn deadline(&self) -> Option<Duration> {
        (!self.wanted.is_empty()).then_some(self.not_before)
    }

    /// Takes over what a broker answered to the lookup of `groups`.
    pub(in crate::machine::admin) fn answered(
        &mut self,
        now: Now,
        groups: &[Arc<str>],
        answer: &Answer<Tag>,
        config: &ConnectionConfig,
        cluster: &mut Cluster<Tag>,
    ) -> Result<(), DecodeError> {
        let response = answer.decode::<FindCoordinatorRequest>()?;
        let mut found = response.coordinators;
        if found.is_empty() {
            // Versions before 4 name the one that was asked for without its key.
            found.push(Coordinator {
                key: groups.first().map_or_else(String::new, |group| group.to_string()),
                node_id: response.node_id,
                host: response.host,
                port: response.port,
                error_code: response.error_code,
                error_message: response.error_message,
            });
        }
        let mut failed = false;
        for group in groups {
            self.asked.remove(group);
            let of = found.iter().find(|of| *of.key == **group);
            failed |= !self.take(group, of, cluster);
        }
        if failed {
            self.pause(now, config, cluster.rng());
        } else {
            self.failures = 0;
        }
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        Ok(())
    }

    /// Takes one coordinator over; gives whether there is no need to ask again.
    fn take(
        &mut self,
        group: &Arc<str>,
        found: Option<&Coordinator>,
        cluster: &mut Cluster<Tag>,
    ) -> bool {
        let unmentioned = ErrorCode::UnknownServerError;
        let code = found.map_or(unmentioned, |of| ErrorCode::from(of.error_code));
        self.trouble.remove(group);
        match found {
            Some(of) if code == ErrorCode::None => {
                let node = NodeId(of.node_id);
                cluster.know_broker(node, &of.host, of.port);
                self.known.insert(Arc::clone(group), node);
                true
            }
            _ if code.is_retriable() => {
                self.trouble.insert(Arc::clone(group), code);
                false
            }
            _ => {
                let message = found.and_then(|of| of.error_message.clone());
                self.refused.insert(Arc::clone(group), ItemError { code, message });
                true
            }
        }
    }

    pub(in crate::machine::admin) fn invariants(&self) {
        assert!(
            self.asked.iter().all(|group| !self.known.contains_key(group)),
            "what is known is not asked for"
        );
    }
}
