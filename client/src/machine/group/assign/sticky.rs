//! `sticky`: as even as the subscriptions allow, and what need not move stays where it is.
//!
//! Everybody keeps what it has, what is left goes to the member with the least, and then partitions
//! move from members with more to members with at least two less, over others in between if need be,
//! until there are none. Only what makes the plan more even moves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{Claims, Counts, Plan, empty, wanted};
use crate::machine::TopicPartition;

pub(super) fn assign(claims: &Claims, counts: &Counts) -> Plan {
    let topics = wanted(claims, counts);
    let mut plan = keep(claims, &topics);
    hand_out(claims, &topics, &mut plan);
    while let Some(path) = uneven(claims, &plan) {
        for (at, from, to) in path {
            assert!(plan.get_mut(&from).is_some_and(|parts| parts.remove(&at)), "it had it");
            plan.get_mut(&to).expect("a member").insert(at);
        }
    }
    plan
}

/// Who says of a partition that it has it, as far as there is no claim from a later generation.
pub(super) fn holders(claims: &Claims) -> BTreeMap<&TopicPartition, Vec<&String>> {
    let mut holders: BTreeMap<&TopicPartition, (i32, Vec<&String>)> = BTreeMap::new();
    for (member, claim) in claims {
        for at in &claim.owned {
            let (generation, list) = holders.entry(at).or_insert((claim.generation, Vec::new()));
            if claim.generation > *generation {
                *generation = claim.generation;
                list.clear();
            }
            if claim.generation == *generation {
                list.push(member);
            }
        }
    }
    holders.into_iter().map(|(at, (_, list))| (at, list)).collect()
}

/// What members keep: what they alone have, still want, and what still exists.
fn keep(claims: &Claims, topics: &BTreeMap<&Arc<str>, i32>) -> Plan {
    let mut plan = empty(claims);
    for (at, list) in holders(claims) {
        let exists = topics.get(&at.topic).is_some_and(|count| (0..*count).contains(&at.partition));
        if let [member] = list[..]
            && exists
            && claims[member].topics.contains(&at.topic)
        {
            plan.get_mut(member).expect("a member").insert(at.clone());
        }
    }
    plan
}

/// Gives what nobody has to the member with the least, topics with few readers first.
fn hand_out(claims: &Claims, topics: &BTreeMap<&Arc<str>, i32>, plan: &mut Plan) {
    let taken: BTreeSet<TopicPartition> = plan.values().flatten().cloned().collect();
    let mut loads: BTreeMap<String, usize> =
        plan.iter().map(|(member, parts)| (member.clone(), parts.len())).collect();
    let mut order: Vec<(usize, &Arc<str>, i32)> = topics
        .iter()
        .map(|(topic, count)| {
            let readers = claims.values().filter(|claim| claim.topics.contains(*topic)).count();
            (readers, *topic, *count)
        })
        .collect();
    order.sort_unstable();
    for (_, topic, count) in order {
        let readers = loads.iter().filter(|(id, _)| claims[*id].topics.contains(topic));
        let mut queue: BTreeSet<(usize, String)> =
            readers.map(|(id, load)| (*load, id.clone())).collect();
        for index in 0..count {
            let at = TopicPartition::new(Arc::clone(topic), index);
            if taken.contains(&at) {
                continue;
            }
            let (load, member) = queue.pop_first().expect("a wanted topic has a reader");
            plan.get_mut(&member).expect("a member").insert(at);
            loads.insert(member.clone(), load + 1);
            queue.insert((load + 1, member));
        }
    }
}

/// Moves that make the plan more even: from a member with much to one with at least two less.
fn uneven(claims: &Claims, plan: &Plan) -> Option<Vec<(TopicPartition, String, String)>> {
    let mut by_load: Vec<(usize, &String)> =
        plan.iter().map(|(member, parts)| (parts.len(), member)).collect();
    by_load.sort_unstable();
    let (least, _) = *by_load.first()?;
    for (load, from) in by_load.into_iter().rev() {
        if load < least + 2 {
            return None;
        }
        if let Some(path) = path(claims, plan, from) {
            return Some(path);
        }
    }
    None
}

/// The shortest way for one partition less at `from` and one more where there are two less.
fn path(
    claims: &Claims,
    plan: &Plan,
    from: &String,
) -> Option<Vec<(TopicPartition, String, String)>> {
    let load = plan[from].len();
    let mut came: BTreeMap<&String, (&String, &TopicPartition)> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(member) = queue.pop_front() {
        let topics: BTreeMap<&Arc<str>, &TopicPartition> =
            plan[member].iter().map(|at| (&at.topic, at)).collect();
        let mut next: Vec<(usize, &String)> = plan.iter().map(|(id, p)| (p.len(), id)).collect();
        next.sort_unstable();
        for (theirs, to) in next {
            let movable = topics.iter().find(|(topic, _)| claims[to].topics.contains(**topic));
            let Some((_, at)) = movable else { continue };
            if to == from || came.contains_key(to) {
                continue;
            }
            came.insert(to, (member, at));
            if theirs + 2 <= load {
                return Some(trace(&came, from, to));
            }
            queue.push_back(to);
        }
    }
    None
}

fn trace<'a>(
    came: &BTreeMap<&'a String, (&'a String, &TopicPartition)>,
    from: &String,
    mut to: &'a String,
) -> Vec<(TopicPartition, String, String)> {
    let mut moves = Vec::new();
    while to != from {
        let (member, at) = came[to];
        moves.push((at.clone(), member.clone(), to.clone()));
        to = member;
    }
    moves
}
