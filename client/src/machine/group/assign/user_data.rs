//! What sticky members write beside their subscription, as Kafka's sticky assignors encode it.
//!
//! `sticky`: the partitions of the last assignment by topic, then its generation (version 1; version
//! 0 had no generation, and nothing says which one it is). `cooperative-sticky`: the generation alone,
//! for the partitions are in the subscription itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::message::ConsumerProtocolSubscription;
use dohle_wire::{DecodeError, Reader, Writer};

use super::Claim;
use crate::config::Strategy;
use crate::machine::TopicPartition;
use crate::machine::group::by_topic;

/// The user data of a member that had `owned` in `generation`.
pub(in crate::machine::group) fn of_member(
    strategy: Strategy,
    owned: &BTreeSet<TopicPartition>,
    generation: i32,
) -> Option<Bytes> {
    if generation < 0 {
        return None;
    }
    let mut w = Writer::new();
    match strategy {
        Strategy::Range | Strategy::RoundRobin => return None,
        Strategy::CooperativeSticky => w.i32(generation),
        Strategy::Sticky => {
            let topics = by_topic(owned);
            w.i32(i32::try_from(topics.len()).expect("few topics"));
            for (topic, partitions) in topics {
                w.i16(i16::try_from(topic.len()).expect("a topic's name is short"));
                w.raw(topic.as_bytes());
                w.i32(i32::try_from(partitions.len()).expect("few partitions"));
                partitions.into_iter().for_each(|partition| w.i32(partition));
            }
            w.i32(generation);
        }
    }
    w.into_bytes().ok()
}

/// What a member claims by its subscription under a strategy.
pub(in crate::machine::group) fn from_claim(
    strategy: Strategy,
    subscription: ConsumerProtocolSubscription,
    instance_id: Option<String>,
) -> Claim {
    let topics = subscription.topics.into_iter().map(Arc::from).collect();
    let owned = subscription.owned_partitions.into_iter().flat_map(|of| {
        let topic: Arc<str> = of.topic.into();
        of.partitions.into_iter().map(move |index| TopicPartition::new(Arc::clone(&topic), index))
    });
    let mut claim = Claim {
        topics,
        owned: owned.collect(),
        generation: subscription.generation_id,
        instance_id,
    };
    let data = subscription.user_data.unwrap_or_default();
    match strategy {
        Strategy::Range | Strategy::RoundRobin => {}
        // A member that writes nonsense is served as one that has nothing.
        Strategy::Sticky => {
            let (owned, generation) = read_sticky(data).unwrap_or((BTreeSet::new(), -1));
            claim.owned = owned;
            claim.generation = generation;
        }
        Strategy::CooperativeSticky if claim.generation < 0 => {
            claim.generation = Reader::new(data).i32().unwrap_or(-1);
        }
        Strategy::CooperativeSticky => {}
    }
    claim
}

fn read_sticky(data: Bytes) -> Result<(BTreeSet<TopicPartition>, i32), DecodeError> {
    let mut r = Reader::new(data);
    let mut owned = BTreeSet::new();
    for _ in 0..r.i32()?.max(0) {
        let len = usize::try_from(r.i16()?).unwrap_or(0);
        let name = r.take(len)?;
        let topic: Arc<str> = String::from_utf8_lossy(&name).into();
        for _ in 0..r.i32()?.max(0) {
            owned.insert(TopicPartition::new(Arc::clone(&topic), r.i32()?));
        }
    }
    let generation = r.i32().unwrap_or(-1);
    Ok((owned, generation))
}
