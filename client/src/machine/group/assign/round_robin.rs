//! `roundrobin`: one partition after the other to one member after the other.

use std::sync::Arc;

use super::{Claims, Counts, Plan, empty, in_order, wanted};
use crate::machine::TopicPartition;

pub(super) fn assign(claims: &Claims, counts: &Counts) -> Plan {
    let mut plan = empty(claims);
    let members = in_order(claims);
    let mut turn = members.iter().cycle();
    for (topic, count) in wanted(claims, counts) {
        for index in 0..count {
            let (reader, _) = turn
                .find(|(_, claim)| claim.topics.contains(topic))
                .expect("a topic that is wanted has a reader, and the circle never ends");
            let parts = plan.get_mut(*reader).expect("every member has a place");
            parts.insert(TopicPartition::new(Arc::clone(topic), index));
        }
    }
    plan
}
