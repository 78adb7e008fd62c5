//! Members that stand for an instance (KIP-345).

use super::*;

/// A stable group in generation 1: the leader stands for `a`, the other one for `b`.
fn stable(world: &mut World) -> [MemberId; 2] {
    let requests = ["a", "b"].map(|instance| world.join(join_as(instance, "")));
    world.wait(GATHER_MS);
    let ids = requests.map(|request| world.joined(request).member);
    world.sync_all(1, &ids[0], &ids);
    ids
}

#[test]
fn a_static_member_needs_no_second_join() {
    let mut world = World::new();
    let [a, _] = stable(&mut world);
    assert!(a.starts_with("a-"), "{a}");
    let instances = world.recorded().unwrap().members.iter().map(|member| member.instance.clone());
    assert_eq!(instances.collect::<Vec<_>>(), [Some("a".into()), Some("b".into())]);
}

#[test]
fn started_anew_it_goes_on_where_it_was() {
    let mut world = World::new();
    let [a, b] = stable(&mut world);
    world.hold = true;
    let again = world.join(join_as("b", ""));
    assert!(world.waits(again), "its new id is remembered first");
    world.commit_all();
    world.hold = false;
    let joined = world.joined(again);
    assert_ne!(joined.member, b);
    assert_eq!((joined.generation, &joined.leader), (1, &a));
    assert!(!joined.skip_assignment && joined.members.is_empty());
    let request = world.sync(&joined.member, 1, &[]);
    assert_eq!(world.assigned(request), b.as_bytes(), "the part of the one before it");
    assert_eq!(world.beat(&a, 1), ErrorCode::None, "nobody else noticed");
    assert_eq!(world.beat(&b, 1), ErrorCode::UnknownMemberId);
    let fenced = Caller { instance: Some("b".into()), ..caller(&b, 1) };
    let request = world.ask(Request::Heartbeat(fenced.clone()));
    assert_eq!(world.answer(request), Answer::Beaten(ErrorCode::FencedInstanceId));
    assert_eq!(world.commit(fenced, 1), Err(ErrorCode::FencedInstanceId));
    assert_eq!(world.refused(join_as("b", &b)), ErrorCode::FencedInstanceId);
    world.restart();
    assert_eq!(world.beat(&joined.member, 1), ErrorCode::None, "across a restart");
}

#[test]
fn a_leader_started_anew_need_not_assign() {
    for can_skip_assignment in [true, false] {
        let mut world = World::new();
        let [a, _] = stable(&mut world);
        let again = world.join(Join { can_skip_assignment, ..join_as("a", "") });
        let joined = world.joined(again);
        assert_eq!(joined.skip_assignment, can_skip_assignment);
        if can_skip_assignment {
            assert_eq!((&joined.leader, joined.members.len()), (&joined.member, 2), "KIP-814");
        } else {
            assert_eq!((&joined.leader, joined.members.len()), (&a, 0), "it would assign anew");
        }
        assert_eq!(world.recorded().unwrap().leader.as_ref(), Some(&joined.member));
        assert_eq!(world.beat(&joined.member, 1), ErrorCode::None);
    }
}

#[test]
fn what_a_consumer_remembers_of_its_generation_is_no_change() {
    let mut world = World::new();
    let [a, _] = stable(&mut world);
    let mut metadata = subscription(&["t"]).to_vec();
    metadata.extend(b"its partitions, its generation");
    let protocols = vec![("range".into(), metadata.into())];
    let again = world.join(Join { protocols, ..join_as("b", "") });
    assert_eq!(world.joined(again).generation, 1);
    assert_eq!(world.beat(&a, 1), ErrorCode::None);
}

#[test]
fn started_anew_with_another_subscription_it_begins_a_rebalance() {
    let other = vec![("range".into(), subscription(&["u"]))];
    let both = vec![("range".into(), subscription(&["t"])), ("sticky".into(), Bytes::new())];
    for (protocols, rebalances) in [(other, true), (both, false)] {
        let mut world = World::new();
        let [a, _] = stable(&mut world);
        let again = world.join(Join { protocols, ..join_as("b", "") });
        assert_eq!(world.waits(again), rebalances);
        let code = if rebalances { ErrorCode::RebalanceInProgress } else { ErrorCode::None };
        assert_eq!(world.beat(&a, 1), code);
    }
}

#[test]
fn whoever_waits_in_its_place_is_fenced() {
    let mut world = World::new();
    let first = world.join(join_as("a", ""));
    let second = world.join(join_as("a", ""));
    assert_eq!(world.join_answer(first).unwrap_err().code, ErrorCode::FencedInstanceId);
    world.wait(DELAY_MS);
    let joined = world.joined(second);
    assert_eq!(joined.members.len(), 1, "KAFKA-8500: there is one of each");
    assert_eq!(joined.leader, joined.member);
}

#[test]
fn while_the_leader_assigns_a_new_one_is_not_what_it_knows_of() {
    let mut world = World::new();
    let requests = ["a", "b"].map(|instance| world.join(join_as(instance, "")));
    world.wait(GATHER_MS);
    let [_, b] = requests.map(|request| world.joined(request).member);
    let waiting = world.sync(&b, 1, &[]);
    let again = world.join(join_as("b", ""));
    assert_eq!(world.synced(waiting), Err(ErrorCode::FencedInstanceId));
    assert!(world.waits(again));
    assert_eq!(world.state(), ClassicState::PreparingRebalance);
}

#[test]
fn one_that_has_not_synced_still_has_to() {
    let mut world = World::new();
    let requests = ["a", "b"].map(|instance| world.join(join_as(instance, "")));
    world.wait(GATHER_MS);
    let [a, b] = requests.map(|request| world.joined(request).member);
    let request = world.sync(&a, 1, &[(&a, "A"), (&b, "B")]);
    assert_eq!(world.assigned(request), "A");
    let again = world.join(join_as("b", ""));
    let b = world.joined(again).member;
    for _ in 0..(REBALANCE_MS / 5_000) {
        world.beat(&a, 1);
        world.beat(&b, 1);
        world.wait(5_000);
    }
    assert_eq!(world.beat(&b, 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.beat(&a, 1), ErrorCode::RebalanceInProgress);
}

#[test]
fn operators_remove_instances() {
    let mut world = World::new();
    let [a, b] = stable(&mut world);
    assert_eq!(world.leave(&[("", Some("who")), ("", None)]), [ErrorCode::UnknownMemberId; 2]);
    assert_eq!(world.leave(&[(&*a, Some("b"))]), [ErrorCode::FencedInstanceId]);
    assert_eq!(world.beat(&a, 1), ErrorCode::None);
    assert_eq!(world.leave(&[("", Some("a"))]), [ErrorCode::None]);
    assert_eq!(world.beat(&a, 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.beat(&b, 1), ErrorCode::RebalanceInProgress);
}

#[test]
fn static_members_that_do_not_join_in_time_are_out() {
    let mut world = World::new();
    let [a, b] = stable(&mut world);
    let again = world.join(join_as("a", &a));
    for _ in 0..(REBALANCE_MS / 5_000) {
        assert_eq!(world.beat(&b, 1), ErrorCode::RebalanceInProgress);
        world.wait(5_000);
    }
    assert_eq!(world.joined(again).members.len(), 1);
    assert_eq!(world.beat(&b, 1), ErrorCode::UnknownMemberId);
}
