//! What the leader of a classic group does: assign.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::consumer_protocol::{decode_subscription, encode_assignment};
use dohle_wire::message::ConsumerProtocolAssignment;
use dohle_wire::message::consumer_protocol_assignment::TopicPartition as AssignedPartitions;
use dohle_wire::message::join_group_response::JoinGroupResponseMember;
use dohle_wire::message::sync_group_request::SyncGroupRequestAssignment;

use super::assign::{Claims, Counts, Plan, assign, from_claim};
use super::classic::Stage;
use super::{Group, Tags, by_topic};
use crate::config::Strategy;
use crate::machine::Now;
use crate::machine::cluster::Cluster;

/// Version of the assignments; every consumer reads it.
const ASSIGNMENT: i16 = 3;

/// An assignment to be made.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    strategy: Strategy,
    claims: Claims,
    /// All topics that members want.
    pub(super) topics: BTreeSet<Arc<str>>,
}

impl Lead {
    /// What the members said; `None` if one of them said something that cannot be read.
    pub(super) fn new(strategy: Strategy, members: Vec<JoinGroupResponseMember>) -> Option<Self> {
        let mut claims = Claims::new();
        for member in members {
            let (subscription, _) = decode_subscription(member.metadata).ok()?;
            let claim = from_claim(strategy, subscription, member.group_instance_id);
            claims.insert(member.member_id, claim);
        }
        let topics = claims.values().flat_map(|claim| claim.topics.iter().cloned()).collect();
        Some(Self { strategy, claims, topics })
    }

    /// Partitions of the topics that exist.
    pub(super) fn counts<T: Tags>(&self, cluster: &Cluster<T>) -> Counts {
        let count = |topic: &Arc<str>| Some((Arc::clone(topic), partitions(cluster, topic)?));
        self.topics.iter().filter_map(count).collect()
    }
}

/// The number of partitions of a topic, if it exists: brokers no longer knowing it is what tells that
/// it was deleted.
fn partitions<T: Tags>(cluster: &Cluster<T>, topic: &str) -> Option<i32> {
    let topic = cluster.view().topic(topic)?;
    let gone = topic.error == ErrorCode::UnknownTopicOrPartition;
    i32::try_from(topic.partitions.len()).ok().filter(|_| !gone)
}

impl Group {
    /// Assigns once all topics are known.
    pub(super) fn lead<T: Tags>(&mut self, now: Now, cluster: &mut Cluster<T>) {
        let Stage::Leading(lead) = &self.classic.stage else { return };
        let known = |topic: &Arc<str>| cluster.view().topics.contains_key(topic);
        if !self.wants_all() && !lead.topics.iter().all(known) {
            return;
        }
        let counts = lead.counts(cluster);
        let plan = assign(lead.strategy, &lead.claims, &counts);
        let assignments = encode(&plan);
        self.classic.led = Some(counts);
        self.sync(now, cluster, assignments);
    }

    /// Whether what an assignment was made from is no longer true.
    pub(super) fn led_otherwise<T: Tags>(&self, cluster: &Cluster<T>) -> bool {
        let Some(led) = &self.classic.led else { return false };
        let changed = led.iter().any(|(topic, count)| partitions(cluster, topic) != Some(*count));
        let mut fresh = self.topics.iter().filter(|topic| !led.contains_key(*topic));
        changed || fresh.any(|topic| partitions(cluster, topic).is_some())
    }
}

fn encode(plan: &Plan) -> Vec<SyncGroupRequestAssignment> {
    let of = |(member, parts): (&String, &BTreeSet<_>)| {
        let topics = by_topic(parts)
            .into_iter()
            .map(|(topic, partitions)| AssignedPartitions { topic: topic.to_string(), partitions });
        let assignment =
            ConsumerProtocolAssignment { assigned_partitions: topics.collect(), user_data: None };
        let assignment = encode_assignment(&assignment, ASSIGNMENT);
        SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: assignment.expect("names of topics are short"),
        }
    };
    plan.iter().map(of).collect()
}
