//! Assignors against what everyone may expect of them.

use dohle_wire::id::{PartitionIndex, Uuid};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

fn id(topic: u32) -> TopicId {
    TopicId(Uuid::from_u128(u128::from(topic) + 1_000))
}

/// A member with the topics that it reads and, after an assignment, what it has.
struct Member {
    id: MemberId,
    instance: Option<Arc<str>>,
    topics: BTreeSet<u32>,
    held: BTreeSet<Part>,
}

fn member(name: &str, topics: &[u32]) -> Member {
    let topics = topics.iter().copied().collect();
    Member { id: name.into(), instance: None, topics, held: BTreeSet::new() }
}

fn members(count: u32, topics: &[u32]) -> Vec<Member> {
    (0..count).map(|number| member(&format!("m{number:04}"), topics)).collect()
}

/// Assigns topics with so many partitions each, and checks what holds for every assignor.
fn assign(assignor: Assignor, members: &mut [Member], partitions: &[usize]) {
    let names = partitions.iter().enumerate().map(|(number, count)| {
        let number = u32::try_from(number).unwrap();
        let racks = vec![BTreeSet::new(); *count];
        (id(number), Arc::new(Topic::new(format!("t{number}").into(), id(number), &racks)))
    });
    let mut topics: BTreeMap<TopicId, Arc<Topic>> = names.collect();
    let read: BTreeSet<TopicId> = members.iter().flat_map(|m| &m.topics).map(|t| id(*t)).collect();
    topics.retain(|id, _| read.contains(id));
    let subscribers = members.iter().map(|member| {
        let own = member.topics.iter().map(|topic| id(*topic));
        Subscriber {
            member: &member.id,
            instance: member.instance.as_ref(),
            topics: Arc::new(own.filter(|topic| topics.contains_key(topic)).collect()),
            held: Some(&member.held),
        }
    });
    let spec = Spec { subscribers: subscribers.collect(), topics: topics.clone() };
    let result = assignor.assign(&spec);
    let all: Vec<Part> = result.iter().flatten().copied().collect();
    let distinct: BTreeSet<Part> = all.iter().copied().collect();
    assert_eq!(distinct.len(), all.len(), "a partition has two owners");
    assert_eq!(distinct, topics.values().flat_map(|topic| topic.parts()).collect());
    for (member, parts) in members.iter_mut().zip(result) {
        assert!(parts.iter().all(|(topic, _)| member.topics.iter().any(|t| id(*t) == *topic)));
        member.held = parts;
    }
}

fn counts(members: &[Member]) -> Vec<usize> {
    members.iter().map(|member| member.held.len()).collect()
}

fn numbers(member: &Member, topic: u32) -> Vec<i32> {
    let own = member.held.iter().filter(|(of, _)| *of == id(topic));
    own.map(|(_, index)| index.0).collect()
}

#[test]
fn uniform_gives_everyone_as_much() {
    let mut group = members(3, &[0, 1]);
    assign(Assignor::Uniform, &mut group, &[4, 4]);
    assert_eq!(counts(&group), [3, 3, 2]);
    let mut crowd = members(5, &[0]);
    assign(Assignor::Uniform, &mut crowd, &[3]);
    assert_eq!(counts(&crowd), [1, 1, 1, 0, 0]);
    let mut alone = members(1, &[0, 7]);
    assign(Assignor::Uniform, &mut alone, &[2]);
    assert_eq!(counts(&alone), [2], "a topic that is not there");
}

#[test]
fn uniform_moves_no_more_than_it_must() {
    let mut group = members(2, &[0]);
    assign(Assignor::Uniform, &mut group, &[7]);
    let before: Vec<_> = group.iter().map(|member| member.held.clone()).collect();
    group.push(member("z", &[0]));
    assign(Assignor::Uniform, &mut group, &[7]);
    assert_eq!(counts(&group), [3, 2, 2]);
    let kept = before.iter().zip(&group).map(|(was, is)| was.intersection(&is.held).count());
    assert_eq!(kept.sum::<usize>(), 5);
    group.remove(0);
    let before: Vec<_> = group.iter().map(|member| member.held.clone()).collect();
    assign(Assignor::Uniform, &mut group, &[7]);
    let keeps = before.iter().zip(&group).all(|(was, is)| was.is_subset(&is.held));
    assert!(keeps, "who stays keeps all");
}

#[test]
fn uniform_levels_members_with_different_topics() {
    let mut group = vec![member("a", &[0, 1]), member("b", &[1]), member("c", &[0, 1, 2])];
    assign(Assignor::Uniform, &mut group, &[2, 6, 1]);
    assert_eq!(counts(&group), [3, 3, 3]);
    // Only one of them reads the large topic.
    let mut group = vec![member("a", &[0]), member("b", &[0, 1])];
    assign(Assignor::Uniform, &mut group, &[4, 8]);
    assert_eq!(counts(&group), [4, 8]);
}

#[test]
fn uniform_holds_in_random_groups() {
    let mut dice = ChaCha8Rng::seed_from_u64(3);
    let mut roll = |sides: u64| usize::try_from(dice.next_u64() % sides).unwrap();
    for _ in 0..200 {
        let topics = 1 + roll(5);
        let partitions: Vec<usize> = (0..topics).map(|_| roll(12)).collect();
        let same = roll(2) == 0;
        let mut group: Vec<Member> = Vec::new();
        for round in 0..6 {
            if roll(3) == 0 && !group.is_empty() {
                group.remove(roll(group.len() as u64));
            }
            let reads: Vec<u32> =
                (0..u32::try_from(topics).unwrap()).filter(|_| same || roll(2) == 0).collect();
            group.push(member(&format!("m{round}"), &reads));
            assign(Assignor::Uniform, &mut group, &partitions);
            check_level(&group);
        }
    }
}

/// Nobody has two more than another reader of one of its partitions.
fn check_level(group: &[Member]) {
    for rich in group {
        for poor in group {
            let could =
                rich.held.iter().any(|(topic, _)| poor.topics.iter().any(|t| id(*t) == *topic));
            let (more, less) = (rich.held.len(), poor.held.len());
            assert!(!could || more <= less + 1, "{} has {more}, {} has {less}", rich.id, poor.id);
        }
    }
}

#[test]
fn range_lines_topics_up() {
    let mut group = members(3, &[0, 1]);
    assign(Assignor::Range, &mut group, &[5, 5]);
    for topic in [0, 1] {
        let parts: Vec<_> = group.iter().map(|member| numbers(member, topic)).collect();
        assert_eq!(parts, [vec![0, 1], vec![2, 3], vec![4]]);
    }
}

#[test]
fn range_has_static_members_first_and_readers_only() {
    let mut group = members(3, &[0]);
    group[2].instance = Some("i".into());
    group.push(member("z", &[1]));
    assign(Assignor::Range, &mut group, &[4, 1]);
    assert_eq!(numbers(&group[2], 0), [0, 1]);
    assert_eq!(numbers(&group[0], 0), [2]);
    assert_eq!(numbers(&group[3], 1), [0]);
    let mut crowd = members(4, &[0]);
    assign(Assignor::Range, &mut crowd, &[2]);
    assert_eq!(counts(&crowd), [1, 1, 0, 0]);
}

/// The time that this takes is that of one assignment in a large group.
#[test]
fn large_groups_are_assigned() {
    for assignor in [Assignor::Uniform, Assignor::Range] {
        let mut group = members(1_000, &[0, 1]);
        assign(assignor, &mut group, &[1_000, 1_000]);
        assert!(counts(&group).iter().all(|count| *count == 2));
        group.push(member("z", &[1]));
        assign(assignor, &mut group, &[1_000, 1_000]);
        assert_eq!(group.iter().map(|member| member.held.len()).sum::<usize>(), 2_000);
    }
    let topics: Vec<u32> = (0..200).collect();
    let mut group: Vec<Member> = members(1_000, &[]);
    for (number, member) in group.iter_mut().enumerate() {
        member.topics = topics.iter().copied().skip(number % 7).collect();
    }
    assign(Assignor::Uniform, &mut group, &[10; 200]);
    check_counts(&counts(&group));
}

fn check_counts(counts: &[usize]) {
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= 1, "{least} to {most}");
}

#[test]
fn a_partition_that_is_no_more_is_let_go() {
    let mut group = members(1, &[0]);
    group[0].held = [(id(0), PartitionIndex(5)), (id(9), PartitionIndex(0))].into();
    assign(Assignor::Uniform, &mut group, &[2]);
    assert_eq!(numbers(&group[0], 0), [0, 1]);
}
