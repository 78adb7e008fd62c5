use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::message::ConsumerProtocolSubscription;
use proptest::prelude::*;

use super::*;
use crate::config::Strategy;

const ALL: [Strategy; 4] =
    [Strategy::Range, Strategy::RoundRobin, Strategy::Sticky, Strategy::CooperativeSticky];

fn claim(topics: &[&str]) -> Claim {
    let topics = topics.iter().map(|topic| Arc::from(*topic)).collect();
    Claim { topics, generation: -1, ..Claim::default() }
}

fn claims(list: &[(&str, &[&str])]) -> Claims {
    list.iter().map(|(id, topics)| ((*id).to_owned(), claim(topics))).collect()
}

fn counts(list: &[(&str, i32)]) -> Counts {
    list.iter().map(|(topic, count)| (Arc::from(*topic), *count)).collect()
}

fn check(strategy: Strategy, claims: &Claims, counts: &Counts, expected: &[(&str, &str)]) {
    let plan = assign(strategy, claims, counts);
    let text = |parts: &BTreeSet<TopicPartition>| {
        let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
        names.join(" ")
    };
    let plan: Vec<(&str, String)> = plan.iter().map(|(id, parts)| (&**id, text(parts))).collect();
    let expected: Vec<(&str, String)> =
        expected.iter().map(|(id, parts)| (*id, (*parts).to_owned())).collect();
    assert_eq!(plan, expected);
}

#[test]
fn range_gives_neighbours_and_more_to_the_first() {
    let claims = claims(&[("a", &["t", "u"]), ("b", &["t", "u"]), ("c", &["u"])]);
    let counts = counts(&[("t", 3), ("u", 3)]);
    check(
        Strategy::Range,
        &claims,
        &counts,
        &[("a", "t-0 t-1 u-0"), ("b", "t-2 u-1"), ("c", "u-2")],
    );
}

#[test]
fn round_robin_goes_on_with_the_next_member_over_topics() {
    let claims = claims(&[("a", &["t", "u"]), ("b", &["t", "u"]), ("c", &["u"])]);
    let counts = counts(&[("t", 3), ("u", 3)]);
    check(
        Strategy::RoundRobin,
        &claims,
        &counts,
        &[("a", "t-0 t-2 u-2"), ("b", "t-1 u-0"), ("c", "u-1")],
    );
}

#[test]
fn static_members_come_first_by_their_names() {
    let mut claims = claims(&[("a", &["t"]), ("b", &["t"]), ("c", &["t"])]);
    claims.get_mut("c").expect("a member").instance_id = Some("1".to_owned());
    claims.get_mut("b").expect("a member").instance_id = Some("2".to_owned());
    let counts = counts(&[("t", 3)]);
    for strategy in [Strategy::Range, Strategy::RoundRobin] {
        check(strategy, &claims, &counts, &[("a", "t-2"), ("b", "t-1"), ("c", "t-0")]);
    }
}

#[test]
fn a_chain_of_moves_evens_out_what_no_single_move_can() {
    // Only b can take from a, and only c from b.
    let mut claims = claims(&[("a", &["t"]), ("b", &["t", "u"]), ("c", &["u"])]);
    let owned = |list: &[(&str, i32)]| {
        list.iter().map(|(topic, index)| TopicPartition::new(*topic, *index)).collect()
    };
    claims.get_mut("a").expect("a member").owned = owned(&[("t", 0), ("t", 1), ("t", 2)]);
    claims.get_mut("b").expect("a member").owned = owned(&[("u", 0), ("u", 1)]);
    let plan = assign(Strategy::Sticky, &claims, &counts(&[("t", 3), ("u", 2)]));
    let loads: Vec<usize> = plan.values().map(BTreeSet::len).collect();
    assert_eq!(loads, [2, 2, 1]);
}

#[test]
fn user_data_has_the_bytes_of_kafka() {
    let owned = BTreeSet::from([TopicPartition::new("t", 1), TopicPartition::new("t", 2)]);
    let data = of_member(Strategy::Sticky, &owned, 7).expect("bytes");
    let expected = b"\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x07";
    assert_eq!(&data[..], expected);
    let read = |strategy, user_data: Bytes, generation_id| {
        let user_data = Some(user_data);
        let subscription =
            ConsumerProtocolSubscription { user_data, generation_id, ..Default::default() };
        let claim = from_claim(strategy, subscription, None);
        (claim.owned, claim.generation)
    };
    assert_eq!(read(Strategy::Sticky, data.clone(), -1), (owned.clone(), 7));
    // Without the generation it is version 0; cut short it is nothing.
    assert_eq!(read(Strategy::Sticky, data.slice(..19), -1), (owned.clone(), -1));
    assert_eq!(read(Strategy::Sticky, data.slice(..15), 3), (BTreeSet::new(), -1));
    let data = of_member(Strategy::CooperativeSticky, &owned, 7).expect("bytes");
    assert_eq!(&data[..], b"\0\0\0\x07");
    assert_eq!(read(Strategy::CooperativeSticky, data, -1).1, 7);
    assert_eq!(of_member(Strategy::Sticky, &owned, -1), None);
    assert_eq!(of_member(Strategy::Range, &owned, 7), None);
}

prop_compose! {
    /// A group of up to six members and four topics, after some earlier assignment.
    fn group()(
        counts in proptest::collection::vec(0..7i32, 4),
        wants in proptest::collection::vec(0..16u32, 1..7),
        strategy in 0..4usize,
        old in any::<bool>(),
        gone in any::<u64>(),
    ) -> (Claims, Counts) {
        let topics = ["t", "u", "v", "w"];
        // A topic with no partitions does not exist.
        let counts: Counts = topics
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(topic, count)| (Arc::from(*topic), count))
            .collect();
        let names = |mask: u32| {
            let wanted = topics.iter().enumerate().filter(move |(at, _)| mask & (1 << at) != 0);
            wanted.map(|(_, topic)| *topic).collect::<Vec<_>>()
        };
        let mut claims: Claims = wants
            .iter()
            .enumerate()
            .map(|(at, mask)| (format!("m{at}"), claim(&names(*mask))))
            .collect();
        if old {
            let plan = assign(ALL[strategy], &claims, &counts);
            for (id, owned) in plan {
                let claim = claims.get_mut(&id).expect("a member");
                claim.owned = owned;
                claim.generation = 1;
            }
            // Some members are new, some have other wishes by now.
            for (at, claim) in claims.values_mut().enumerate() {
                match (gone >> (2 * at)) & 3 {
                    0 => *claim = self::claim(&names(wants[at])),
                    1 => claim.topics = self::claim(&names(wants[at] ^ 5)).topics,
                    _ => {}
                }
            }
        }
        (claims, counts)
    }
}

fn readers<'a>(claims: &'a Claims, topic: &Arc<str>) -> Vec<&'a String> {
    let readers = claims.iter().filter(|(_, claim)| claim.topics.contains(topic));
    readers.map(|(id, _)| id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_partition_goes_to_one_member_that_wants_it((claims, counts) in group()) {
        for strategy in ALL {
            let plan = assign(strategy, &claims, &counts);
            prop_assert!(plan.keys().eq(claims.keys()));
            let mut given: BTreeMap<&TopicPartition, &String> = BTreeMap::new();
            for (id, parts) in &plan {
                for at in parts {
                    prop_assert!(claims[id].topics.contains(&at.topic));
                    prop_assert!((0..counts[&at.topic]).contains(&at.partition));
                    prop_assert!(given.insert(at, id).is_none(), "{at} is given twice");
                }
            }
            let wanted = counts.iter().filter(|(topic, _)| !readers(&claims, topic).is_empty());
            let total: i32 = wanted.map(|(_, count)| *count).sum();
            if strategy != Strategy::CooperativeSticky {
                prop_assert_eq!(given.len() as i32, total);
            }
        }
    }

    #[test]
    fn who_wants_the_same_gets_as_much((claims, counts) in group()) {
        let first = claims.values().next().expect("a member").topics.clone();
        let mut claims = claims;
        claims.values_mut().for_each(|claim| claim.topics.clone_from(&first));
        for strategy in [Strategy::RoundRobin, Strategy::Sticky] {
            let plan = assign(strategy, &claims, &counts);
            let loads = || plan.values().map(BTreeSet::len);
            prop_assert!(loads().max() <= loads().min().map(|least| least + 1));
        }
        let plan = assign(Strategy::Range, &claims, &counts);
        for topic in counts.keys() {
            let of = |parts: &BTreeSet<TopicPartition>| {
                parts.iter().filter(|at| at.topic == *topic).count()
            };
            let loads = || plan.values().map(of);
            prop_assert!(loads().max() <= loads().min().map(|least| least + 1));
        }
    }

    #[test]
    fn no_move_makes_a_sticky_plan_more_even((claims, counts) in group()) {
        let plan = assign(Strategy::Sticky, &claims, &counts);
        for (from, parts) in &plan {
            for at in parts {
                for to in readers(&claims, &at.topic) {
                    prop_assert!(plan[to].len() + 1 >= plan[from].len());
                }
            }
        }
    }

    #[test]
    fn a_sticky_plan_stays_as_it_is((claims, counts) in group()) {
        let plan = assign(Strategy::Sticky, &claims, &counts);
        let mut claims = claims;
        for (id, claim) in &mut claims {
            claim.owned.clone_from(&plan[id]);
            claim.generation = 9;
        }
        prop_assert_eq!(&assign(Strategy::Sticky, &claims, &counts), &plan);
        prop_assert_eq!(&assign(Strategy::CooperativeSticky, &claims, &counts), &plan);
        // Whoever leaves takes nothing from those who stay.
        let (leaver, _) = claims.pop_first().expect("a member");
        if claims.values().all(|claim| claim.topics == claims.values().next().expect("one").topics) {
            let next = assign(Strategy::Sticky, &claims, &counts);
            for (id, parts) in &next {
                prop_assert!(parts.is_superset(&plan[id]) || plan[id].len() > parts.len(), "{leaver}");
            }
        }
    }

    #[test]
    fn cooperative_takes_away_first_and_hands_over_later((claims, counts) in group()) {
        let first = assign(Strategy::CooperativeSticky, &claims, &counts);
        for (id, parts) in &first {
            for at in parts {
                let holder = claims.iter().find(|(other, claim)| {
                    *other != id && claim.owned.contains(at) && claim.generation >= claims[id].generation
                });
                let stale = holder.is_some_and(|(_, claim)| {
                    claims.values().any(|other| other.generation > claim.generation && other.owned.contains(at))
                });
                prop_assert!(holder.is_none() || stale, "{at} is still read by another member");
            }
        }
        // Where not everybody wants the same, evening out may take a few rounds more.
        let (mut claims, mut plan) = (claims, first);
        for round in 2..8 {
            for (id, claim) in &mut claims {
                claim.owned.clone_from(&plan[id]);
                claim.generation = round;
            }
            plan = assign(Strategy::CooperativeSticky, &claims, &counts);
        }
        let wanted = counts.iter().filter(|(topic, _)| !readers(&claims, topic).is_empty());
        let total: i32 = wanted.map(|(_, count)| *count).sum();
        let given: usize = plan.values().map(BTreeSet::len).sum();
        prop_assert_eq!(given as i32, total, "nothing is held back for good");
    }
}
