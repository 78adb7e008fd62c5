//! The consumer protocol (KIP-848): the broker assigns, and one request says and brings everything.
//!
//! State: what was said last, the assignment that is still to be carried out. A partition that the
//! assignment no longer has is given up before anything else is said; then the coordinator hears
//! what is owned, and hands the rest over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{TopicId, Uuid};
use dohle_wire::message::consumer_group_heartbeat_request::TopicPartitions;
use dohle_wire::message::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use dohle_wire::{ApiKey, ErrorCode};

use super::io::{GroupError, Subscription};
use super::{Ask, Group, Tags, by_topic};
use crate::machine::cluster::{Answer, Cluster, Peer};
use crate::machine::time::Earliest;
use crate::machine::{Now, TopicPartition};

/// Epochs that are no epochs.
const JOIN: i32 = 0;
const LEAVE: i32 = -1;
const LEAVE_FOR_NOW: i32 = -2;

/// First version with patterns, and in which the member chooses its id.
const PATTERNS: i16 = 1;

/// What the coordinator was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    names: Option<BTreeSet<Arc<str>>>,
    pattern: Option<String>,
    owned: Option<BTreeSet<TopicPartition>>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Modern {
    id: String,
    asked: bool,
    beat_at: Duration,
    failures: u32,
    not_before: Duration,
    said: Said,
    /// The assignment, while it is not carried out.
    target: Option<BTreeMap<TopicId, Vec<i32>>>,
    /// The coordinator waits to hear what is owned, even if that is what it heard last: meanwhile it
    /// may have given, and taken back.
    unsaid: bool,
    /// Ids of topics that were assigned.
    ids: BTreeMap<Arc<str>, TopicId>,
}

impl Modern {
    /// A member with an id made of random bits.
    pub(super) fn new(draw: u128) -> Self {
        // The bits that make it a random UUID (RFC 9562, version 4).
        let bits = (draw & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        Self {
            id: Uuid::from_u128(bits).to_string(),
            asked: false,
            beat_at: Duration::ZERO,
            failures: 0,
            not_before: Duration::ZERO,
            said: Said::default(),
            target: None,
            unsaid: false,
            ids: BTreeMap::new(),
        }
    }

    /// The next heartbeat does not wait.
    pub(super) const fn resubscribed(&mut self) {
        self.beat_at = Duration::ZERO;
    }

    pub(super) fn reset(&mut self) {
        self.asked = false;
        self.beat_at = Duration::ZERO;
        self.said = Said::default();
        self.target = None;
        self.unsaid = false;
    }

    pub(super) fn waits(&self, earliest: &mut Earliest) {
        if !self.asked {
            earliest.at(self.beat_at, "heartbeat");
            earliest.at(self.not_before, "heartbeat back-off");
        }
    }
}

impl Group {
    pub(super) fn drive_modern<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        if self.is_member() {
            self.reconcile(cluster);
        } else if !self.invited || !self.handover.is_idle() {
            return;
        }
        let rests = self.modern.asked || self.modern.not_before > now.mono;
        if rests || (self.modern.beat_at > now.mono && !self.has_to_say()) {
            return;
        }
        if let Some(peer) = self.coordinator(now, cluster) {
            self.beat(now, cluster, peer);
        }
    }

    /// Whether the coordinator has to hear something before the next heartbeat is due.
    fn has_to_say(&self) -> bool {
        let said = &self.modern.said;
        if said.names.is_none() && said.pattern.is_none() {
            return true;
        }
        let resubscribed = match &self.subscription {
            Some(Subscription::Pattern(pattern)) if said.pattern.is_some() => {
                said.pattern.as_deref() != Some(pattern.text())
            }
            _ => said.names.as_ref() != Some(&self.topics),
        };
        let owned = said.owned.as_ref() == Some(self.handover.owned()) && !self.modern.unsaid;
        resubscribed || (!owned && self.handover.is_idle())
    }

    /// Carries the assignment out, as far as the topics are known.
    fn reconcile<T: Tags>(&mut self, cluster: &mut Cluster<T>) {
        if !self.handover.is_idle() {
            return;
        }
        let Some(target) = &self.modern.target else { return };
        let mut parts: BTreeSet<TopicPartition> = BTreeSet::new();
        let mut unknown = false;
        for (id, partitions) in target {
            let known = self.modern.ids.iter().find(|(_, known)| *known == id);
            let name = known.map(|(name, _)| name).or_else(|| cluster.view().name_of(*id)).cloned();
            let Some(name) = name else {
                unknown = true;
                continue;
            };
            let of = |index: &i32| TopicPartition::new(Arc::clone(&name), *index);
            parts.extend(partitions.iter().map(of));
            self.modern.ids.insert(name, *id);
        }
        if unknown {
            cluster.want_metadata();
        } else {
            self.modern.target = None;
            self.modern.unsaid = true;
        }
        let owned = self.handover.owned();
        let gone: BTreeSet<TopicPartition> = owned.difference(&parts).cloned().collect();
        let fresh: BTreeSet<TopicPartition> = parts.difference(owned).cloned().collect();
        if gone.is_empty() && fresh.is_empty() {
            return;
        }
        self.handover.revoke(gone);
        self.handover.assign(fresh);
    }

    fn beat<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>, peer: Peer) {
        let Some(version) = cluster.version(peer, ApiKey::ConsumerGroupHeartbeat, i16::MAX) else {
            return self.die(GroupError::Unsupported);
        };
        let joins = !self.is_member();
        let full = joins || self.modern.said == Said::default();
        let pattern = match &self.subscription {
            Some(Subscription::Pattern(pattern)) if version >= PATTERNS => {
                Some(pattern.text().to_owned())
            }
            _ => None,
        };
        let names = pattern.is_none().then(|| self.topics.clone());
        // What is on its way out is still owned; what is on its way in is not said before it is in.
        let owned = match &self.modern.said.owned {
            Some(owned) if !self.handover.is_idle() => owned.clone(),
            _ => self.handover.owned().clone(),
        };
        let said = Said { names, pattern, owned: Some(owned) };
        let last = &self.modern.said;
        let confirms = self.modern.unsaid && self.handover.is_idle();
        let news = |same: bool| full || !same;
        let names = said.names.as_ref().filter(|_| news(said.names == last.names));
        let was_pattern = last.pattern.is_some() && said.pattern.is_none();
        let pattern = said.pattern.clone().filter(|_| news(said.pattern == last.pattern));
        let was_names = last.names.is_some() && said.names.is_none();
        let rack = &self.config.client_rack;
        let timeout = self.settings().max_poll_interval.as_millis();
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.id.clone(),
            member_id: match (joins, version) {
                (true, PATTERNS..) => self.modern.id.clone(),
                (true, _) => String::new(),
                (false, _) => self.member_id.clone(),
            },
            member_epoch: if joins { JOIN } else { self.generation },
            instance_id: self.settings().instance_id.clone(),
            rack_id: (full && !rack.is_empty()).then(|| rack.clone()),
            rebalance_timeout_ms: if full {
                i32::try_from(timeout).unwrap_or(i32::MAX)
            } else {
                -1
            },
            subscribed_topic_names: match names {
                Some(names) => Some(names.iter().map(ToString::to_string).collect()),
                None => was_names.then(Vec::new),
            },
            subscribed_topic_regex: pattern.or_else(|| was_pattern.then(String::new)),
            server_assignor: self.settings().remote_assignor.clone().filter(|_| full),
            topic_partitions: news(said.owned == last.owned && !confirms)
                .then(|| self.owned_ids(&said)),
        };
        if joins {
            // Whoever leaves before the answer is there has to name itself.
            self.member_id.clone_from(&request.member_id);
        }
        let tag = Ask::Beat(self.attempt).into();
        match cluster.send(now, peer, version, &request, tag) {
            Ok(()) => {
                self.modern.said = said;
                self.modern.asked = true;
                self.modern.unsaid &= !confirms;
            }
            Err(_) => self.die(GroupError::Refused(ErrorCode::InvalidRequest)),
        }
    }

    fn owned_ids(&self, said: &Said) -> Vec<TopicPartitions> {
        let owned = by_topic(said.owned.iter().flatten());
        let of = |(name, partitions): (&Arc<str>, Vec<i32>)| {
            let topic_id = self.modern.ids.get(name)?.0;
            Some(TopicPartitions { topic_id, partitions })
        };
        owned.into_iter().filter_map(of).collect()
    }

    pub(super) fn on_beat<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
        answer: &Answer<T>,
    ) {
        if attempt != self.attempt {
            return;
        }
        let Ok(response) = answer.decode::<ConsumerGroupHeartbeatRequest>() else {
            cluster.distrust(now, answer.peer);
            return self.on_beat_lost(now, cluster, attempt);
        };
        self.modern.asked = false;
        cluster.throttle(now, answer.peer, response.throttle_time_ms);
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => return self.on_epoch(now, response),
            code if self.mends(code) || code.is_retriable() => {}
            ErrorCode::FencedMemberEpoch | ErrorCode::UnknownMemberId => {
                self.reset(true);
                self.invited = true;
            }
            ErrorCode::FencedInstanceId => return self.die(GroupError::Fenced),
            ErrorCode::UnsupportedVersion => return self.die(GroupError::Unsupported),
            // It may be allowed later.
            code @ ErrorCode::TopicAuthorizationFailed => self.fail(GroupError::Refused(code)),
            code => return self.die(GroupError::Refused(code)),
        }
        self.on_beat_lost(now, cluster, self.attempt);
    }

    fn on_epoch(&mut self, now: Now, response: ConsumerGroupHeartbeatResponse) {
        if response.member_epoch <= 0 {
            return;
        }
        self.modern.failures = 0;
        self.generation = response.member_epoch;
        if let Some(id) = response.member_id {
            self.member_id = id;
        }
        let interval = u64::try_from(response.heartbeat_interval_ms).unwrap_or(0).max(1);
        self.modern.beat_at = now.mono.saturating_add(Duration::from_millis(interval));
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            self.modern.target =
                Some(topics.map(|of| (TopicId(of.topic_id), of.partitions)).collect());
        }
    }

    /// Says everything again, after a while.
    pub(super) fn on_beat_lost<T: Tags>(
        &mut self,
        now: Now,
        cluster: &mut Cluster<T>,
        attempt: u64,
    ) {
        if attempt != self.attempt {
            return;
        }
        self.modern.asked = false;
        self.modern.said = Said::default();
        let wait = cluster.retry_wait(self.modern.failures);
        self.modern.failures = self.modern.failures.saturating_add(1);
        self.modern.not_before = now.mono.saturating_add(wait);
    }

    pub(super) fn leave_modern<T: Tags>(
        &self,
        now: Now,
        cluster: &mut Cluster<T>,
        peer: Peer,
    ) -> bool {
        let Some(version) = cluster.version(peer, ApiKey::ConsumerGroupHeartbeat, i16::MAX) else {
            return false;
        };
        let instance_id = self.settings().instance_id.clone();
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: if instance_id.is_some() { LEAVE_FOR_NOW } else { LEAVE },
            instance_id,
            ..ConsumerGroupHeartbeatRequest::default()
        };
        let tag = Ask::Leave(self.attempt).into();
        cluster.send(now, peer, version, &request, tag).is_ok()
    }
}
