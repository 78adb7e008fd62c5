//! Who may commit offsets, what is shown of them, and when they end.

use super::*;

const DAY_MS: u64 = 24 * 3_600_000;

#[test]
fn members_commit_by_the_state_of_their_group() {
    let mut world = World::new();
    assert_eq!(world.commit(caller("who", 1), 1), Err(ErrorCode::GroupIdNotFound));
    let (id, request) = world.join_new();
    world.wait(DELAY_MS);
    world.joined(request);
    assert_eq!(world.commit(caller(&id, 1), 1), Err(ErrorCode::RebalanceInProgress));
    world.sync_all(1, &id, &[Arc::clone(&id)]);
    assert_eq!(world.commit(caller(&id, 1), 2), Ok(vec![ErrorCode::None]));
    assert_eq!(world.commit(caller(&id, 0), 3), Err(ErrorCode::IllegalGeneration));
    assert_eq!(world.commit(caller(&id, -1), 3), Err(ErrorCode::IllegalGeneration));
    assert_eq!(world.commit(caller("who", 1), 3), Err(ErrorCode::UnknownMemberId));
    assert_eq!(world.commit(nobody(), 3), Err(ErrorCode::UnknownMemberId), "it has members");
    world.join(Join { needs_member_id: false, ..join("") });
    assert_eq!(world.commit(caller(&id, 1), 4), Ok(vec![ErrorCode::None]), "before it joins");
    assert_eq!(world.committed("t"), Some(4));
    world.leave(&[(&id, None)]);
    world.wait(400_000);
    assert_eq!(world.state(), ClassicState::Empty);
    assert_eq!(world.commit(caller(&id, 1), 5), Err(ErrorCode::UnknownMemberId));
    assert_eq!(world.commit(nobody(), 6), Ok(vec![ErrorCode::None]));
    assert_eq!(world.committed("t"), Some(6));
}

#[test]
fn a_commit_is_a_sign_of_life() {
    let mut world = World::new();
    let ids = world.stable(1);
    for _ in 0..4 {
        world.wait(SESSION_MS - 1);
        world.commit(caller(&ids[0], 1), 1).unwrap();
    }
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None);
}

#[test]
fn whoever_assigns_by_hand_needs_no_group() {
    let mut world = World::new();
    assert_eq!(world.committed("t"), None, "nobody has heard of the group");
    assert_eq!(world.state(), ClassicState::Dead);
    world.commit(nobody(), 7).unwrap();
    assert_eq!(world.committed("t"), Some(7));
    assert_eq!(world.committed("u"), None);
    assert_eq!(world.recorded(), None);
    let described = world.describe().unwrap();
    assert_eq!((described.state, &*described.protocol_type), (ClassicState::Empty, ""));
}

#[test]
fn a_fetch_shows_what_is_committed_and_no_less() {
    let mut world = World::new();
    world.hold = true;
    let commit =
        Commit { caller: nobody(), knows_epochs: true, offsets: vec![part("t", 1, 5, "m")] };
    let committing = world.ask(Request::Commit(commit));
    let all = Fetch { group: GROUP.into(), member: None, partitions: None };
    let fetching = world.ask(Request::Fetch(all));
    assert!(world.waits(committing) && world.waits(fetching));
    world.commit_one();
    assert!(!world.waits(committing) && world.waits(fetching));
    world.commit_one();
    let Answer::Fetched(Ok(found)) = world.answer(fetching) else { panic!("fetched") };
    let value = Committed { at: world.now().wall, ..part("t", 1, 5, "m").value };
    assert_eq!(found, [("t".into(), PartitionIndex(1), Some(value))]);
}

#[test]
fn metadata_has_a_limit_in_characters() {
    let mut world = World::new();
    let (long, wide) = ("0123456789abcdef!", "ääääääääääääääää");
    let offsets = vec![part("t", 0, 1, long), part("t", 1, 2, wide), part("t", 2, 3, "")];
    let request =
        world.ask(Request::Commit(Commit { caller: nobody(), knows_epochs: true, offsets }));
    let codes = [ErrorCode::OffsetMetadataTooLarge, ErrorCode::None, ErrorCode::None];
    assert_eq!(world.answer(request), Answer::Committed(Ok(codes.to_vec())));
    assert_eq!(world.committed("t"), None);
    assert_eq!(world.log.len(), 2);
}

#[test]
fn a_commit_of_nothing_leaves_no_group_behind() {
    let mut world = World::new();
    let offsets = vec![part("t", 0, 1, "0123456789abcdef!")];
    world.ask(Request::Commit(Commit { caller: nobody(), knows_epochs: true, offsets }));
    assert_eq!(world.state(), ClassicState::Dead);
}

/// Commits topics `t` and `u`, then waits day by day. Gives after how many days each was gone.
fn days_kept(world: &mut World, caller: &Caller, beat: bool) -> [Option<u64>; 2] {
    let offsets = vec![part("t", 0, 1, ""), part("u", 0, 1, "")];
    world.ask(Request::Commit(Commit { caller: caller.clone(), knows_epochs: true, offsets }));
    let mut days = [None; 2];
    for day in 1..12 {
        let step = if beat { SESSION_MS / 2 } else { DAY_MS };
        for _ in 0..(DAY_MS / step) {
            world.wait(step);
            if beat {
                let mut fx = Fx::new();
                let reply = ReplyTo { session: SessionId(1), request: 0, part: 0 };
                let input = Input::Request(reply, Request::Heartbeat(caller.clone()));
                world.coordinator.step(world.now(), input, &mut fx);
            }
        }
        for (days, topic) in days.iter_mut().zip(["t", "u"]) {
            if days.is_none() && world.committed(topic).is_none() {
                *days = Some(day);
            }
        }
    }
    days
}

#[test]
fn by_hand_they_are_kept_from_the_last_commit_on() {
    let mut world = World::new();
    assert_eq!(days_kept(&mut world, &nobody(), false), [Some(7); 2]);
    assert!(world.log.is_empty(), "nothing is left of the group");
}

#[test]
fn without_members_they_are_kept_from_when_the_last_one_left() {
    let mut world = World::new();
    let ids = world.stable(1);
    world.commit(caller(&ids[0], 1), 1).unwrap();
    for _ in 0..(3 * DAY_MS / 5_000) {
        world.ms += 5_000;
        world.beat(&ids[0], 1);
    }
    world.wait(SESSION_MS);
    assert_eq!(world.state(), ClassicState::Empty);
    world.wait(7 * DAY_MS - 600_000);
    assert_eq!(world.committed("t"), Some(1));
    world.restart();
    world.wait(600_000 * 2);
    assert_eq!(world.committed("t"), None);
    assert!(world.log.is_empty());
}

#[test]
fn members_keep_what_they_subscribe_to() {
    let mut world = World::new();
    let ids = world.stable(1);
    let caller = caller(&ids[0], 1);
    assert_eq!(days_kept(&mut world, &caller, true), [None, Some(8)]);
}

#[test]
fn members_that_say_what_nobody_understands_keep_everything() {
    for protocol_type in ["consumer", "connect"] {
        let mut world = World::new();
        let protocols = vec![("range".into(), Bytes::from_static(b"?"))];
        let kind: Arc<str> = protocol_type.into();
        let request =
            world.join(Join { protocols, protocol_type: kind, needs_member_id: false, ..join("") });
        world.wait(DELAY_MS);
        let id = world.joined(request).member;
        world.sync_all(1, &id, &[Arc::clone(&id)]);
        assert_eq!(days_kept(&mut world, &caller(&id, 1), true), [None; 2], "{protocol_type}");
    }
}

#[test]
fn nothing_ends_while_members_join() {
    let mut world = World::new();
    let ids = world.stable(1);
    let offsets = vec![part("u", 0, 1, "")];
    world.ask(Request::Commit(Commit { caller: caller(&ids[0], 1), knows_epochs: true, offsets }));
    world.join(join(""));
    world.join(join(&ids[0]));
    world.ms += 8 * DAY_MS;
    // Only the clean-up is late.
    world.coordinator.alarms.clear();
    assert_eq!(
        world.coordinator.groups[GROUP].classic().unwrap().state(),
        ClassicState::PreparingRebalance
    );
    let mut fx = Fx::new();
    world.coordinator.step(world.now(), Input::Tick, &mut fx);
    assert_eq!(fx.as_slice(), [], "KAFKA-13636");
}

#[test]
fn old_records_without_times_are_not_as_old_as_time() {
    let mut world = World::new();
    let at = world.now().wall;
    let value = GroupValue {
        protocol_type: "consumer".into(),
        generation: 3,
        protocol: None,
        leader: None,
        since: Timestamp(-1),
        members: Vec::new(),
    };
    let offset = Committed { at, expires: Some(Timestamp(-1)), ..part("t", 0, 1, "").value };
    let group: Arc<str> = GROUP.into();
    let (topic, partition) = (Arc::from("t"), PartitionIndex(0));
    let records = [
        Record::Group { group: Arc::clone(&group), value: Some(value) },
        Record::Offset { group, topic, partition, value: Some(offset) },
    ];
    world.log = records.into_iter().map(|record| (subject(&record), record)).collect();
    world.restart();
    world.wait(6 * DAY_MS);
    assert_eq!(world.committed("t"), Some(1), "KAFKA-8069, KAFKA-10401");
    world.wait(2 * DAY_MS);
    assert_eq!(world.committed("t"), None);
}

#[test]
fn old_clients_say_how_long() {
    let mut world = World::new();
    let expires = Some(Timestamp(world.now().wall.0 + 1_800_000));
    let mut offset = part("t", 0, 1, "");
    offset.value.expires = expires;
    world.ask(Request::Commit(Commit {
        caller: nobody(),
        knows_epochs: true,
        offsets: vec![offset],
    }));
    world.wait(1_200_000);
    assert_eq!(world.committed("t"), Some(1));
    world.wait(600_000);
    assert_eq!(world.committed("t"), None);
}

#[test]
fn they_end_with_their_topic() {
    let mut world = World::new();
    let offsets = vec![part("t", 0, 1, ""), part("t", 3, 1, ""), part("tt", 0, 2, "")];
    world.ask(Request::Commit(Commit { caller: nobody(), knows_epochs: true, offsets }));
    world.step(Input::TopicsGone(vec!["t".into(), "who".into()]));
    assert_eq!((world.committed("t"), world.committed("tt")), (None, Some(2)));
    assert_eq!(world.log.len(), 1);
    world.step(Input::TopicsGone(vec!["tt".into()]));
    assert_eq!(world.state(), ClassicState::Dead);
}

fn delete(world: &mut World, group: &str, topics: &[&str]) -> Result<Vec<ErrorCode>, ErrorCode> {
    let partitions = topics.iter().map(|topic| ((*topic).into(), PartitionIndex(0))).collect();
    let request = DeleteOffsets { group: group.into(), partitions };
    let request = world.ask(Request::DeleteOffsets(request));
    match world.answer(request) {
        Answer::OffsetsDeleted(codes) => codes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_delete_what_nobody_subscribes_to() {
    let mut world = World::new();
    assert_eq!(delete(&mut world, "", &["t"]), Err(ErrorCode::InvalidGroupId));
    assert_eq!(delete(&mut world, GROUP, &["t"]), Err(ErrorCode::GroupIdNotFound));
    let ids = world.stable(1);
    let offsets = vec![part("t", 0, 1, ""), part("u", 0, 2, "")];
    world.ask(Request::Commit(Commit { caller: caller(&ids[0], 1), knows_epochs: true, offsets }));
    let codes = [ErrorCode::GroupSubscribedToTopic, ErrorCode::None, ErrorCode::None];
    assert_eq!(delete(&mut world, GROUP, &["t", "u", "u"]), Ok(codes.to_vec()));
    assert_eq!((world.committed("t"), world.committed("u")), (Some(1), None));
    assert!(
        !world.log.contains_key(&(GROUP.into(), Matter::Offset("u".into(), PartitionIndex(0))))
    );
    world.leave(&[(&*ids[0], None)]);
    assert_eq!(delete(&mut world, GROUP, &["t"]), Ok(vec![ErrorCode::None]));
    assert_eq!(world.committed("t"), None);
}

#[test]
fn what_is_not_understood_counts_as_subscribed_to() {
    let mut world = World::new();
    let unclear = vec![("range".into(), Bytes::from_static(b"?"))];
    world.join(Join { protocols: unclear, needs_member_id: false, ..join("") });
    let subscribed = Ok(vec![ErrorCode::GroupSubscribedToTopic]);
    assert_eq!(delete(&mut world, GROUP, &["t"]), subscribed, "nobody knows yet");
    world.wait(DELAY_MS);
    assert_eq!(delete(&mut world, GROUP, &["t"]), subscribed);
    let mut world = World::new();
    world.join(Join { protocol_type: "connect".into(), needs_member_id: false, ..join("") });
    assert_eq!(delete(&mut world, GROUP, &["t"]), Err(ErrorCode::NonEmptyGroup));
}
