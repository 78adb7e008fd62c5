//! Who reads what: the strategies of Kafka's assignors, as functions of what the members said.
//!
//! Invariants, whatever the strategy: each partition of a topic that somebody subscribed to goes to
//! exactly one member, one that subscribed to the topic; equal claims give equal plans.
//! [`cooperative`] alone may leave a partition out: the one who has it must give it up first.

mod range;
mod round_robin;
mod sticky;
#[cfg(test)]
mod tests;
mod user_data;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) use self::user_data::{from_claim, of_member};
use crate::config::Strategy;
use crate::machine::TopicPartition;

/// What a member says when it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Topics that it wants to read.
    pub(crate) topics: BTreeSet<Arc<str>>,
    /// Partitions that it has, or had last.
    pub(crate) owned: BTreeSet<TopicPartition>,
    /// The generation in which it got them; -1 if unknown.
    pub(crate) generation: i32,
    /// Its name, if it is a static member.
    pub(crate) instance_id: Option<String>,
}

/// All members, by id.
pub(crate) type Claims = BTreeMap<String, Claim>;

/// Number of partitions of each topic that exists.
pub(crate) type Counts = BTreeMap<Arc<str>, i32>;

/// The partitions of each member, all members included.
pub(crate) type Plan = BTreeMap<String, BTreeSet<TopicPartition>>;

/// Assigns all partitions.
pub(crate) fn assign(strategy: Strategy, claims: &Claims, counts: &Counts) -> Plan {
    match strategy {
        Strategy::Range => range::assign(claims, counts),
        Strategy::RoundRobin => round_robin::assign(claims, counts),
        Strategy::Sticky => sticky::assign(claims, counts),
        Strategy::CooperativeSticky => cooperative(claims, sticky::assign(claims, counts)),
    }
}

/// Holds back what someone else still reads; that member gives it up now, and the next round hands
/// it over.
fn cooperative(claims: &Claims, mut plan: Plan) -> Plan {
    let holders = sticky::holders(claims);
    for (member, parts) in &mut plan {
        parts.retain(|at| match holders.get(at) {
            Some(list) => list.iter().all(|holder| *holder == member),
            None => true,
        });
    }
    plan
}

fn empty(claims: &Claims) -> Plan {
    claims.keys().map(|member| (member.clone(), BTreeSet::new())).collect()
}

/// Members in the order in which they are served: static ones by name first, which does not change
/// when they start anew.
fn in_order(claims: &Claims) -> Vec<(&String, &Claim)> {
    let mut list: Vec<_> = claims.iter().collect();
    list.sort_by_key(|(id, claim)| {
        (claim.instance_id.is_none(), claim.instance_id.as_ref().unwrap_or(id).clone())
    });
    list
}

/// The topics that exist and that somebody wants.
fn wanted<'a>(claims: &'a Claims, counts: &'a Counts) -> BTreeMap<&'a Arc<str>, i32> {
    let topics = claims.values().flat_map(|claim| &claim.topics);
    topics.filter_map(|topic| Some((topic, *counts.get(topic)?))).collect()
}
