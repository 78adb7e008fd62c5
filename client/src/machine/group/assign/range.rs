//! `range`: neighbouring partitions of each topic to one member.

use std::sync::Arc;

use super::{Claims, Counts, Plan, empty, in_order, wanted};
use crate::machine::TopicPartition;

pub(super) fn assign(claims: &Claims, counts: &Counts) -> Plan {
    let mut plan = empty(claims);
    let members = in_order(claims);
    for (topic, count) in wanted(claims, counts) {
        let readers: Vec<&String> = members
            .iter()
            .filter(|(_, claim)| claim.topics.contains(topic))
            .map(|(id, _)| *id)
            .collect();
        let count = usize::try_from(count).unwrap_or(0);
        let (each, more) = (count / readers.len(), count % readers.len());
        let mut next = 0;
        for (place, reader) in readers.into_iter().enumerate() {
            let upto = next + each + usize::from(place < more);
            let parts = plan.get_mut(reader).expect("every member has a place");
            parts.extend((next..upto).map(|index| {
                TopicPartition::new(Arc::clone(topic), i32::try_from(index).expect("below an i32"))
            }));
            next = upto;
        }
    }
    plan
}
