//! Who may join, and as whom.

use super::*;

#[test]
fn the_first_members_wait_for_others() {
    let mut world = World::new();
    let (first, first_join) = world.join_new();
    world.wait(DELAY_MS - 1);
    let (second, second_join) = world.join_new();
    world.wait(1);
    assert!(world.waits(first_join), "where one has come others may");
    world.wait(DELAY_MS);
    let (led, followed) = (world.joined(first_join), world.joined(second_join));
    assert_eq!((led.generation, followed.generation), (1, 1));
    assert_eq!((&led.leader, &followed.leader), (&first, &first));
    let members: BTreeSet<_> = led.members.into_iter().map(|member| member.member).collect();
    assert_eq!(members, BTreeSet::from([first, second]), "the leader learns of everyone");
    assert!(followed.members.is_empty(), "the others do not");
    assert_eq!((&*led.protocol_type, &*led.protocol), ("consumer", "range"));
}

#[test]
fn they_do_not_wait_for_ever() {
    let mut world = World::new();
    let quick = Join { rebalance_timeout_ms: 5_000, needs_member_id: false, ..join("") };
    let first = world.join(quick.clone());
    for _ in 0..4 {
        world.wait(1_000);
        world.join(quick.clone());
    }
    world.wait(999);
    assert!(world.waits(first));
    world.wait(1);
    assert_eq!(world.joined(first).members.len(), 5, "no longer than a rebalance may take");
}

#[test]
fn without_a_delay_the_next_tick_is_the_end_of_it() {
    let mut world = World::with(|settings| settings.initial_rebalance_delay_ms = 0);
    let (_, request) = world.join_new();
    assert_eq!(world.coordinator.deadline().map(|(at, _)| at), Some(Instant(0)));
    world.wait(0);
    assert_eq!(world.joined(request).generation, 1);
}

#[test]
fn an_id_is_given_first_and_forgotten_when_nobody_comes_with_it() {
    let mut world = World::new();
    let request = world.join(join(""));
    let given = world.join_answer(request).unwrap_err().member;
    assert!(given.starts_with("app-"), "{given}");
    world.wait(SESSION_MS);
    assert_eq!(world.state(), ClassicState::Dead, "there never was a group");
    assert_eq!(world.refused(join(&given)), ErrorCode::UnknownMemberId);
    assert!(world.log.is_empty());
}

#[test]
fn a_rebalance_waits_for_ids_that_were_given() {
    let mut world = World::new();
    let ids = world.stable(1);
    let request = world.join(join(""));
    let given = world.join_answer(request).unwrap_err().member;
    let again = world.join(join(&ids[0]));
    assert!(world.waits(again), "someone is about to come");
    let second = world.join(join(&given));
    assert_eq!(world.joined(again).members.len(), 2);
    assert_eq!(world.joined(second).generation, 2);
}

#[test]
fn a_rebalance_does_not_wait_for_ids_that_have_ended() {
    let mut world = World::new();
    let ids = world.stable(1);
    world.join(join(""));
    let again = world.join(join(&ids[0]));
    world.wait(SESSION_MS);
    assert_eq!(world.joined(again).generation, 2, "KAFKA-9752");
}

#[test]
fn old_clients_are_given_an_id_with_the_generation() {
    let mut world = World::new();
    let request = world.join(Join { needs_member_id: false, ..join("") });
    world.wait(DELAY_MS);
    let joined = world.joined(request);
    assert_eq!(joined.member, joined.leader);
    assert!(joined.member.starts_with("app-"));
}

#[test]
fn a_new_member_that_is_not_heard_of_waits_five_minutes() {
    let mut world = World::new();
    let ids = world.stable(1);
    let slow = Join { needs_member_id: false, rebalance_timeout_ms: 900_000, ..join("") };
    let request = world.join(slow);
    for _ in 0..60 {
        world.beat(&ids[0], 1);
        assert!(world.waits(request));
        world.wait(5_000);
    }
    assert_eq!(world.join_answer(request).unwrap_err().code, ErrorCode::UnknownMemberId);
}

#[test]
fn joins_that_cannot_be() {
    let mut world = World::new();
    let ids = world.stable(2);
    let other = |name: &str| vec![(name.into(), Bytes::new())];
    let cases = [
        (Join { group: "".into(), ..join("") }, ErrorCode::InvalidGroupId),
        (Join { session_timeout_ms: 5_999, ..join("") }, ErrorCode::InvalidSessionTimeout),
        (Join { session_timeout_ms: 1_800_001, ..join("") }, ErrorCode::InvalidSessionTimeout),
        (join("who"), ErrorCode::UnknownMemberId),
        (Join { group: "new".into(), ..join("who") }, ErrorCode::UnknownMemberId),
        (
            Join { protocol_type: "connect".into(), ..join("") },
            ErrorCode::InconsistentGroupProtocol,
        ),
        (Join { protocols: other("sticky"), ..join("") }, ErrorCode::InconsistentGroupProtocol),
        (Join { protocols: Vec::new(), ..join("") }, ErrorCode::InconsistentGroupProtocol),
        (
            Join { group: "new".into(), protocols: Vec::new(), ..join("") },
            ErrorCode::InconsistentGroupProtocol,
        ),
    ];
    for (join, code) in cases {
        assert_eq!(world.refused(join.clone()), code, "{join:?}");
    }
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None, "nobody noticed");
    let id = &*ids[1];
    assert_eq!(world.refused(join_as("i", id)), ErrorCode::UnknownMemberId);
}

#[test]
fn the_protocol_that_most_like_best_is_chosen() {
    let protocols = |names: &[&str]| {
        names.iter().map(|name| ((*name).into(), Bytes::new())).collect::<Vec<(Arc<str>, _)>>()
    };
    for (members, chosen) in [
        (vec![vec!["a", "b"], vec!["b", "a"], vec!["b", "a"]], "b"),
        (vec![vec!["a", "b"], vec!["b", "a"]], "a"),
        (vec![vec!["a", "b"], vec!["a", "b"], vec!["b"]], "b"),
        (vec![vec!["c", "c", "b"], vec!["b", "c", "c"], vec!["c", "b"]], "c"),
    ] {
        let mut world = World::new();
        let mut requests = Vec::new();
        for names in &members {
            let protocols = protocols(names);
            requests.push(world.join(Join { protocols, needs_member_id: false, ..join("") }));
        }
        world.wait(GATHER_MS);
        for request in requests {
            assert_eq!(&*world.joined(request).protocol, chosen, "{members:?}");
        }
    }
}

#[test]
fn a_full_group_takes_nobody() {
    let mut world = World::with(|settings| settings.max_size = 2);
    let ids = world.stable(2);
    assert_eq!(world.refused(join("")), ErrorCode::GroupMaxSizeReached);
    let again = world.join(join(&ids[0]));
    assert_eq!(world.refused(join("who")), ErrorCode::UnknownMemberId, "one has joined");
    let second = world.join(join(&ids[1]));
    assert_eq!((world.joined(again).generation, world.joined(second).generation), (2, 2));
}

#[test]
fn a_full_group_takes_back_an_instance() {
    let mut world = World::with(|settings| settings.max_size = 1);
    let request = world.join(join_as("i", ""));
    world.wait(DELAY_MS);
    let id = world.joined(request).member;
    world.sync_all(1, &id, &[Arc::clone(&id)]);
    let again = world.join(join_as("i", ""));
    assert_eq!(world.joined(again).generation, 1);
    assert_eq!(world.refused(join_as("j", "")), ErrorCode::GroupMaxSizeReached);
}

#[test]
fn while_members_join_who_comes_last_is_out() {
    let mut world = World::with(|settings| settings.max_size = 2);
    let ids = world.stable(2);
    let first = world.join(join(&ids[0]));
    let (_, other) = world.join_new();
    assert_eq!(world.refused(join(&ids[1])), ErrorCode::GroupMaxSizeReached);
    assert_eq!(world.joined(first).members.len(), 2);
    assert_eq!(world.joined(other).generation, 2);
}

#[test]
fn an_unchanged_follower_is_told_of_the_generation_again() {
    let mut world = World::new();
    let ids = world.stable(2);
    let again = world.join(join(&ids[1]));
    let joined = world.joined(again);
    assert_eq!((joined.generation, joined.members.len()), (1, 0));
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None, "nobody else noticed");
    let request = world.sync(&ids[1], 1, &[]);
    assert_eq!(world.assigned(request), ids[1].as_bytes());
}

#[test]
fn a_leader_that_joins_again_begins_a_rebalance() {
    let mut world = World::new();
    let ids = world.stable(2);
    let again = world.join(join(&ids[0]));
    assert_eq!(world.beat(&ids[1], 1), ErrorCode::RebalanceInProgress);
    let second = world.join(join(&ids[1]));
    assert_eq!((world.joined(again).generation, world.joined(second).generation), (2, 2));
}

#[test]
fn a_follower_that_subscribes_to_something_else_begins_a_rebalance() {
    let mut world = World::new();
    let ids = world.stable(2);
    let protocols = vec![("range".into(), subscription(&["t", "u"]))];
    let changed = world.join(Join { protocols, ..join(&ids[1]) });
    assert!(world.waits(changed));
    let leader = world.join(join(&ids[0]));
    let led = world.joined(leader);
    let told = led.members.iter().find(|member| member.member == ids[1]).unwrap();
    assert_eq!(told.metadata, subscription(&["t", "u"]));
}

#[test]
fn while_the_leader_assigns_a_join_is_answered_again_unless_it_is_another_one() {
    let mut world = World::new();
    let joins = [world.join_new(), world.join_new()];
    world.wait(GATHER_MS);
    let ids = joins.map(|(id, request)| world.joined(request).member.max(id));
    let again = world.join(join(&ids[0]));
    assert_eq!(world.joined(again).members.len(), 2, "its answer was lost");
    let waiting = world.sync(&ids[1], 1, &[]);
    let protocols = vec![("range".into(), subscription(&["u"]))];
    world.join(Join { protocols, ..join(&ids[0]) });
    assert_eq!(world.synced(waiting), Err(ErrorCode::RebalanceInProgress));
}

#[test]
fn a_join_that_is_sent_again_takes_the_place_of_the_one_that_waits() {
    let mut world = World::new();
    let ids = world.stable(2);
    let first = world.join(join(&ids[0]));
    let second = world.join(join(&ids[0]));
    assert_eq!(world.join_answer(first).unwrap_err().code, ErrorCode::RebalanceInProgress);
    world.join(join(&ids[1]));
    assert_eq!(world.joined(second).generation, 2);
}

#[test]
fn an_empty_group_may_become_another_kind_of_group() {
    let mut world = World::new();
    let ids = world.stable(1);
    assert_eq!(world.leave(&[(&*ids[0], None)]), [ErrorCode::None]);
    let other = Join { protocol_type: "connect".into(), needs_member_id: false, ..join("") };
    let request = world.join(other);
    world.wait(DELAY_MS);
    let joined = world.joined(request);
    assert_eq!((&*joined.protocol_type, joined.generation), ("connect", 3));
}
