//! Rounds of joins and syncs, who is out when, and what may be done meanwhile.

use super::*;

#[test]
fn followers_wait_for_the_leader_and_everyone_for_the_record() {
    let mut world = World::new();
    let joins = [world.join_new(), world.join_new()];
    world.wait(GATHER_MS);
    let [leader, follower] = joins.map(|(id, request)| {
        world.joined(request);
        id
    });
    world.hold = true;
    let followed = world.sync(&follower, 1, &[]);
    assert!(world.appended.is_empty() && world.waits(followed));
    let led = world.sync(&leader, 1, &[(&follower, "F"), (&Arc::from("who"), "W")]);
    let late = world.sync(&follower, 1, &[]);
    assert!([followed, led, late].iter().all(|request| world.waits(*request)));
    world.commit_all();
    assert_eq!(world.assigned(followed), "F");
    assert_eq!(world.assigned(led), "", "it gave itself nothing");
    assert_eq!(world.assigned(late), "F");
    let value = world.recorded().unwrap();
    assert_eq!((value.generation, value.leader.as_ref()), (1, Some(&leader)));
    let parts: BTreeMap<_, _> =
        value.members.iter().map(|member| (&member.member, &member.assignment)).collect();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[&follower], "F");
}

/// A leader that is answered first may have begun the next rebalance before the others have
/// heard of this one.
#[test]
fn the_leader_is_answered_last() {
    let mut world = World::new();
    let joins: Vec<(MemberId, u64)> = (0..4).map(|_| world.join_new()).collect();
    let (leader, asked) = joins[0].clone();
    let mut fx = Fx::new();
    while fx.is_empty() {
        world.ms += DELAY_MS;
        world.coordinator.step(world.now(), Input::Tick, &mut fx);
    }
    let answered = |effect| match effect {
        Effect::Answer(reply, Answer::Joined(_)) => Some(reply.request),
        _ => None,
    };
    let order: Vec<u64> = fx.drain().filter_map(answered).collect();
    assert_eq!((order.len(), order.last()), (4, Some(&asked)));
    world.hold = true;
    let syncs: Vec<u64> = joins[1..].iter().map(|(id, _)| world.sync(id, 1, &[])).collect();
    let led = world.sync(&leader, 1, &[]);
    let (_, answers) = &world.appended[0];
    let order: Vec<u64> = answers.iter().map(|(reply, _)| reply.request).collect();
    assert!(order.len() == 4 && syncs.iter().all(|request| order.contains(request)));
    assert_eq!(order.last(), Some(&led));
}

#[test]
fn syncs_that_cannot_be() {
    let mut world = World::new();
    let ids = world.stable(1);
    let sync = |member: &str, generation, protocol_type: Option<&str>, protocol: Option<&str>| {
        Request::Sync(Sync {
            caller: caller(member, generation),
            protocol_type: protocol_type.map(Arc::from),
            protocol: protocol.map(Arc::from),
            assignments: Vec::new(),
        })
    };
    let id = &*ids[0];
    for (request, code) in [
        (sync("who", 1, None, None), ErrorCode::UnknownMemberId),
        (sync(id, 0, None, None), ErrorCode::IllegalGeneration),
        (sync(id, 2, None, None), ErrorCode::IllegalGeneration),
        (sync(id, 1, Some("connect"), None), ErrorCode::InconsistentGroupProtocol),
        (sync(id, 1, Some("consumer"), Some("sticky")), ErrorCode::InconsistentGroupProtocol),
    ] {
        let request = world.ask(request);
        assert_eq!(world.synced(request), Err(code));
    }
    let request = world.ask(sync(id, 1, Some("consumer"), Some("range")));
    assert_eq!(world.assigned(request), ids[0].as_bytes());
    world.join(Join { needs_member_id: false, ..join("") });
    let request = world.sync(id, 1, &[]);
    assert_eq!(world.synced(request), Err(ErrorCode::RebalanceInProgress));
}

#[test]
fn heartbeats_say_how_things_stand() {
    let mut world = World::new();
    assert_eq!(world.beat("who", 1), ErrorCode::UnknownMemberId, "no group");
    let (id, request) = world.join_new();
    world.wait(DELAY_MS);
    world.joined(request);
    assert_eq!(world.beat(&id, 1), ErrorCode::None, "the leader assigns");
    world.sync_all(1, &id, &[Arc::clone(&id)]);
    assert_eq!(world.beat(&id, 1), ErrorCode::None);
    assert_eq!(world.beat(&id, 0), ErrorCode::IllegalGeneration);
    assert_eq!(world.beat("who", 1), ErrorCode::UnknownMemberId);
    world.join(Join { needs_member_id: false, ..join("") });
    assert_eq!(world.beat(&id, 1), ErrorCode::RebalanceInProgress);
    let request = world.ask(Request::Heartbeat(Caller { group: "".into(), ..nobody() }));
    assert_eq!(world.answer(request), Answer::Beaten(ErrorCode::InvalidGroupId));
}

#[test]
fn a_silent_member_is_out_and_the_others_join_again() {
    let mut world = World::new();
    let ids = world.stable(2);
    for _ in 0..2 {
        world.wait(SESSION_MS / 2);
        world.beat(&ids[1], 1);
    }
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.beat(&ids[1], 1), ErrorCode::RebalanceInProgress);
    let again = world.join(join(&ids[1]));
    let joined = world.joined(again);
    assert_eq!((joined.generation, &joined.leader), (2, &ids[1]));
}

#[test]
fn the_last_one_to_go_leaves_an_empty_group_that_is_remembered() {
    let mut world = World::new();
    world.stable(2);
    world.wait(SESSION_MS);
    assert_eq!(world.state(), ClassicState::Empty);
    let value = world.recorded().unwrap();
    assert_eq!((value.generation, &*value.protocol_type), (2, "consumer"));
    assert_eq!((value.protocol.as_ref(), value.leader.as_ref()), (None, None));
    assert!(value.members.is_empty());
    assert_eq!(value.since, world.now().wall, "it is empty from now on");
}

#[test]
fn a_group_without_members_and_offsets_is_forgotten() {
    let mut world = World::new();
    world.stable(1);
    world.wait(600_000);
    assert_eq!(world.state(), ClassicState::Dead);
    assert!(world.log.is_empty(), "{:?}", world.log);
}

#[test]
fn whoever_does_not_join_in_time_is_out() {
    let mut world = World::new();
    let ids = world.stable(3);
    let joins = [world.join(join(&ids[0])), world.join(join(&ids[1]))];
    for _ in 0..(REBALANCE_MS / 5_000) {
        assert!(world.waits(joins[0]));
        assert_eq!(world.beat(&ids[2], 1), ErrorCode::RebalanceInProgress);
        world.wait(5_000);
    }
    for request in joins {
        assert_eq!(world.joined(request).generation, 2);
    }
    assert_eq!(world.beat(&ids[2], 1), ErrorCode::UnknownMemberId);
}

#[test]
fn the_next_one_leads_when_the_leader_does_not_come() {
    let mut world = World::new();
    let ids = world.stable(2);
    let protocols = vec![("range".into(), subscription(&["u"]))];
    let again = world.join(Join { protocols, ..join(&ids[1]) });
    world.wait(SESSION_MS);
    let joined = world.joined(again);
    assert_eq!(joined.leader, ids[1]);
    assert_eq!(joined.members.len(), 1);
}

#[test]
fn whoever_does_not_sync_in_time_is_out() {
    let mut world = World::new();
    let joins = [world.join_new(), world.join_new(), world.join_new()];
    world.wait(GATHER_MS);
    let ids = joins.map(|(id, request)| {
        world.joined(request);
        id
    });
    let waiting = world.sync(&ids[1], 1, &[]);
    for _ in 0..(REBALANCE_MS / 5_000) {
        assert!(world.waits(waiting), "KAFKA-12890: but not for ever");
        world.beat(&ids[0], 1);
        world.beat(&ids[2], 1);
        world.wait(5_000);
    }
    assert_eq!(world.synced(waiting), Err(ErrorCode::RebalanceInProgress));
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.beat(&ids[2], 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.beat(&ids[1], 1), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_member_that_waits_is_not_silent() {
    let mut world = World::new();
    let ids = world.stable(2);
    let again = world.join(join(&ids[0]));
    for _ in 0..4 {
        world.beat(&ids[1], 1);
        world.wait(SESSION_MS - 1);
    }
    assert!(world.waits(again));
    let second = world.join(join(&ids[1]));
    world.joined(again);
    world.joined(second);
    let waiting = world.sync(&ids[1], 2, &[]);
    for _ in 0..4 {
        world.beat(&ids[0], 2);
        world.wait(SESSION_MS - 1);
    }
    assert!(world.waits(waiting));
    let led = world.sync(&ids[0], 2, &[(&ids[1], "F")]);
    world.assigned(led);
    assert_eq!(world.assigned(waiting), "F");
    world.wait(SESSION_MS - 1);
    assert_eq!(world.beat(&ids[1], 2), ErrorCode::None, "its session begins anew");
}

#[test]
fn leaving() {
    let mut world = World::new();
    assert_eq!(world.leave(&[("who", None)]), [ErrorCode::UnknownMemberId], "no group");
    let ids = world.stable(3);
    let (one, two) = (&*ids[0], &*ids[1]);
    let codes = world.leave(&[(one, None), ("who", None), (two, None)]);
    assert_eq!(codes, [ErrorCode::None, ErrorCode::UnknownMemberId, ErrorCode::None]);
    assert_eq!(world.beat(&ids[2], 1), ErrorCode::RebalanceInProgress);
    let again = world.join(join(&ids[2]));
    assert_eq!(world.joined(again).members.len(), 1);
    assert_eq!(world.leave(&[(&*ids[2], None)]), [ErrorCode::None]);
    assert_eq!(world.state(), ClassicState::Empty);
    let leave = Leave { group: "".into(), members: Vec::new() };
    let request = world.ask(Request::Leave(leave));
    assert_eq!(world.answer(request), Answer::Left(Err(ErrorCode::InvalidGroupId)));
}

#[test]
fn leaving_before_it_was_in() {
    let mut world = World::new();
    let ids = world.stable(1);
    let request = world.join(join(""));
    let given = world.join_answer(request).unwrap_err().member;
    assert_eq!(world.leave(&[(&given, None)]), [ErrorCode::None]);
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None, "nobody noticed");
    assert_eq!(world.refused(join(&given)), ErrorCode::UnknownMemberId);
}

#[test]
fn whoever_waits_is_told_when_it_is_taken_out() {
    let mut world = World::new();
    let ids = world.stable(2);
    let joining = world.join(join(&ids[0]));
    world.leave(&[(&*ids[0], None)]);
    assert_eq!(world.join_answer(joining).unwrap_err().code, ErrorCode::UnknownMemberId);
    let alone = world.join(join(&ids[1]));
    world.joined(alone);
    let (_, other) = world.join_new();
    let alone = world.join(join(&ids[1]));
    let generation = world.joined(alone).generation;
    let other = world.joined(other).member;
    let syncing = world.sync(&other, generation, &[]);
    world.leave(&[(&*other, None)]);
    assert_eq!(world.synced(syncing), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn a_rebalance_that_may_take_no_time_ends_at_once() {
    let mut world = World::new();
    let hasty = Join { rebalance_timeout_ms: -1, needs_member_id: false, ..join("") };
    let request = world.join(hasty);
    world.wait(DELAY_MS);
    assert_eq!(world.joined(request).generation, 1);
    world.wait(0);
    assert_eq!(world.state(), ClassicState::Empty, "it had no time to sync");
}
