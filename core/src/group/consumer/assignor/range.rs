//! The range assignor: members in line, static ones first by their instances, each with the next
//! few partitions of every topic that it reads. Of topics with as many partitions and the same
//! readers everyone has the same numbers, so that they can be joined.

use std::collections::BTreeSet;

use dohle_wire::id::PartitionIndex;

use super::{Spec, Subscriber};
use crate::group::topics::Part;

pub(super) fn assign(spec: &Spec<'_>) -> Vec<BTreeSet<Part>> {
    let mut line: Vec<usize> = (0..spec.subscribers.len()).collect();
    line.sort_by_key(|at| place(&spec.subscribers[*at]));
    let mut result = vec![BTreeSet::new(); line.len()];
    for (id, topic) in &spec.topics {
        let readers = line.iter().filter(|at| spec.subscribers[**at].topics.contains(id));
        let readers: Vec<usize> = readers.copied().collect();
        let count = usize::try_from(topic.partitions).unwrap_or(0);
        let (each, extras) = match readers.len() {
            0 => continue,
            readers => (count / readers, count % readers),
        };
        let mut next = 0;
        for (nth, at) in readers.into_iter().enumerate() {
            let upto = next + each + usize::from(nth < extras);
            let indexes = (next..upto).filter_map(|index| i32::try_from(index).ok());
            result[at].extend(indexes.map(|index| (*id, PartitionIndex(index))));
            next = upto;
        }
    }
    result
}

/// Where a member stands in line.
fn place<'a>(subscriber: &Subscriber<'a>) -> (bool, &'a str, &'a str) {
    let instance = subscriber.instance.map(|instance| &**instance);
    (instance.is_none(), instance.unwrap_or_default(), subscriber.member)
}
