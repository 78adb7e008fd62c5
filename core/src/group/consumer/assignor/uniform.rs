//! The uniform assignor where everyone reads the same topics: each member has as many partitions
//! as any other, or one more, and keeps what it has as far as that goes.

use std::collections::BTreeSet;

use super::Spec;
use crate::group::topics::Part;

pub(super) fn assign(spec: &Spec<'_>) -> Vec<BTreeSet<Part>> {
    let members = spec.subscribers.len();
    let mut result = vec![BTreeSet::new(); members];
    if members == 0 {
        return result;
    }
    let all = spec.parts().count();
    let (least, mut extras) = (all / members, all % members);
    let mut taken = BTreeSet::new();
    for (at, kept) in result.iter_mut().enumerate() {
        for part in spec.keepable(at, &taken) {
            if kept.len() < least {
                kept.insert(part);
            } else if kept.len() == least && extras > 0 {
                extras -= 1;
                kept.insert(part);
            } else {
                break;
            }
        }
        taken.extend(&*kept);
    }
    deal(spec, &taken, least, extras, &mut result);
    result
}

/// Deals out what nobody has, one by one to those who have too little, so that the partitions of a
/// topic are spread.
fn deal(
    spec: &Spec<'_>,
    taken: &BTreeSet<Part>,
    least: usize,
    extras: usize,
    result: &mut [BTreeSet<Part>],
) {
    let mut free = spec.parts().filter(|part| !taken.contains(part));
    let mut poor: Vec<usize> = (0..result.len()).filter(|at| result[*at].len() < least).collect();
    while !poor.is_empty() {
        for at in &poor {
            result[*at].extend(free.next());
        }
        poor.retain(|at| result[*at].len() < least);
    }
    let modest = result.iter_mut().filter(|parts| parts.len() == least);
    for (parts, part) in modest.take(extras).zip(free) {
        parts.insert(part);
    }
}
