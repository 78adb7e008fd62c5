//! A coordinator that begins with what another one has left behind.

use super::*;

#[test]
fn members_go_on_and_have_a_whole_session() {
    let mut world = World::new();
    let ids = world.stable(2);
    world.wait(SESSION_MS - 1);
    world.restart();
    world.wait(SESSION_MS - 1);
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None);
    let request = world.sync(&ids[0], 1, &[]);
    assert_eq!(world.assigned(request), ids[0].as_bytes());
    world.wait(1);
    assert_eq!(world.beat(&ids[1], 1), ErrorCode::UnknownMemberId, "nothing was heard of it");
}

#[test]
fn whoever_waits_is_told_to_ask_elsewhere() {
    let mut world = World::new();
    let ids = world.stable(2);
    let joining = world.join(join(&ids[0]));
    let second = world.join(join(&ids[1]));
    world.joined(joining);
    world.joined(second);
    let syncing = world.sync(&ids[1], 2, &[]);
    let (id, other) = {
        world.leave(&[(&*ids[0], None)]);
        assert_eq!(world.synced(syncing), Err(ErrorCode::RebalanceInProgress));
        world.join_new()
    };
    world.restart();
    let refusal = JoinRefusal { code: ErrorCode::NotCoordinator, member: id };
    assert_eq!(world.join_answer(other), Err(refusal));
    assert_eq!(world.beat(&ids[1], 2), ErrorCode::IllegalGeneration, "2 was not complete");
    assert_eq!(world.beat(&ids[1], 1), ErrorCode::None);
}

#[test]
fn what_was_not_committed_did_not_happen() {
    let mut world = World::new();
    let ids = world.stable(1);
    world.hold = true;
    let commit = Commit {
        caller: caller(&ids[0], 1),
        knows_epochs: true,
        offsets: vec![part("t", 0, 5, "")],
    };
    world.ask(Request::Commit(commit));
    world.leave_unanswered(&ids[0]);
    world.restart();
    world.hold = false;
    assert_eq!(world.committed("t"), None);
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None);
}

impl World {
    fn leave_unanswered(&mut self, member: &MemberId) {
        let members = vec![(Arc::clone(member), None, None)];
        let request = self.ask(Request::Leave(Leave { group: GROUP.into(), members }));
        assert!(self.waits(request));
    }
}

#[test]
fn a_deleted_group_does_not_come_back() {
    let mut world = World::new();
    world.stable(1);
    world.commit(nobody(), 5).unwrap_err();
    world.wait(SESSION_MS);
    world.commit(nobody(), 5).unwrap();
    let request = world.ask(Request::Delete(GROUP.into()));
    assert_eq!(world.answer(request), Answer::Deleted(ErrorCode::None));
    world.restart();
    assert_eq!(world.state(), ClassicState::Dead);
    assert_eq!(world.committed("t"), None);
}

#[test]
fn a_group_that_is_too_large_now_becomes_smaller() {
    let mut world = World::new();
    let ids = world.stable(3);
    world.settings = Arc::new(GroupSettings { max_size: 2, ..settings() });
    world.restart();
    world.wait(0);
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::RebalanceInProgress);
    let joins = [world.join(join(&ids[0])), world.join(join(&ids[1]))];
    assert_eq!(world.refused(join(&ids[2])), ErrorCode::GroupMaxSizeReached);
    for request in joins {
        assert_eq!(world.joined(request).generation, 2);
    }
}

#[test]
fn records_that_no_coordinator_writes_do_no_harm() {
    let member = |id: &str, instance: Option<&str>| super::super::record::MemberValue {
        member: id.into(),
        instance: instance.map(Arc::from),
        client_id: "app".into(),
        client_host: "/127.0.0.1".into(),
        rebalance_timeout_ms: -1,
        session_timeout_ms: -1,
        subscription: Bytes::from_static(b"?"),
        assignment: Bytes::new(),
    };
    let value = GroupValue {
        protocol_type: "consumer".into(),
        generation: i32::MAX,
        protocol: None,
        leader: Some("who".into()),
        since: Timestamp(-1),
        members: vec![member("a", Some("i")), member("b", Some("i")), member("b", None)],
    };
    let mut coordinator = GroupCoordinator::new(Arc::new(settings()), 1);
    coordinator.replay(Record::Group { group: GROUP.into(), value: Some(value.clone()) });
    let group = coordinator.groups().next().unwrap().1.classic().unwrap();
    assert_eq!(group.members().map(|(id, _)| &**id).collect::<Vec<_>>(), ["b"]);
    assert_eq!(group.leader().map(|id| &**id), Some("b"));
    let empty = GroupValue { members: Vec::new(), protocol: Some("range".into()), ..value };
    coordinator.replay(Record::Group { group: "e".into(), value: Some(empty) });
    coordinator.replay(Record::Group { group: "none".into(), value: None });
    let (group, topic, partition) = ("none".into(), "t".into(), PartitionIndex(0));
    coordinator.replay(Record::Offset { group, topic, partition, value: None });
    assert_eq!(coordinator.groups().count(), 2);
    let now = Now { mono: Instant(1), wall: Timestamp(1) };
    coordinator.begin(now);
    let mut fx = Fx::new();
    coordinator.step(now, Input::Tick, &mut fx);
    let states: Vec<_> =
        coordinator.groups().map(|(_, group)| group.classic().unwrap().state()).collect();
    assert_eq!(states, [ClassicState::Empty; 2], "its session was over at once");
}
