//! Groups as operators see and end them.

use super::*;

fn delete(world: &mut World) -> ErrorCode {
    let request = world.ask(Request::Delete(GROUP.into()));
    match world.answer(request) {
        Answer::Deleted(code) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_group_is_described_in_each_state() {
    let mut world = World::new();
    assert_eq!(world.describe(), missing("not found"));
    let (id, request) = world.join_new();
    let described = world.describe().unwrap();
    assert_eq!(described.state.name(), "PreparingRebalance");
    assert_eq!((&*described.protocol_type, &*described.protocol), ("consumer", ""));
    world.wait(DELAY_MS);
    world.joined(request);
    let described = world.describe().unwrap();
    assert_eq!(described.state.name(), "CompletingRebalance");
    assert!(described.members[0].metadata.is_empty());
    world.sync_all(1, &id, &[Arc::clone(&id)]);
    let described = world.describe().unwrap();
    assert_eq!((described.state.name(), &*described.protocol), ("Stable", "range"));
    let [member] = &described.members[..] else { panic!("{described:?}") };
    assert_eq!((&*member.client_id, &*member.client_host), ("app", "/127.0.0.1"));
    assert_eq!((&member.member, &member.instance), (&id, &None));
    assert_eq!(member.metadata, subscription(&["t"]));
    assert_eq!(member.assignment, id.as_bytes());
    world.leave(&[(&id, None)]);
    let described = world.describe().unwrap();
    assert_eq!((described.state.name(), described.members.len()), ("Empty", 0));
}

#[test]
fn all_groups_are_listed() {
    let mut world = World::new();
    world.stable(1);
    let caller = Caller { group: "by hand".into(), ..nobody() };
    world.commit(caller, 1).unwrap();
    let request = world.ask(Request::List);
    let Answer::Listed(Ok(listed)) = world.answer(request) else { panic!("listed") };
    let listed: Vec<_> = listed
        .iter()
        .map(|group| (&*group.group, &*group.protocol_type, group.state.name()))
        .collect();
    assert_eq!(listed, [("by hand", "", "Empty"), ("g", "consumer", "Stable")]);
}

/// Ticks come late: clients that wait for exactly a session timeout are right all the same.
#[test]
fn operators_see_what_is_due() {
    let mut world = World::new();
    let ids = world.stable(1);
    world.commit(caller(&ids[0], 1), 1).unwrap();
    world.ms += SESSION_MS;
    assert_eq!(world.describe().unwrap().state.name(), "Empty");
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::UnknownMemberId);
    let mut world = World::new();
    let ids = world.stable(1);
    world.ms += SESSION_MS;
    assert_eq!(world.beat(&ids[0], 1), ErrorCode::None, "it came before the tick");
    assert_eq!(delete(&mut world), ErrorCode::NonEmptyGroup);
}

#[test]
fn only_groups_without_members_are_deleted() {
    let mut world = World::new();
    assert_eq!(delete(&mut world), ErrorCode::GroupIdNotFound);
    let ids = world.stable(1);
    world.commit(caller(&ids[0], 1), 1).unwrap();
    assert_eq!(delete(&mut world), ErrorCode::NonEmptyGroup);
    world.leave(&[(&*ids[0], None)]);
    assert_eq!(delete(&mut world), ErrorCode::None);
    assert!(world.last.iter().all(is_tombstone), "{:?}", world.last);
    assert_eq!(world.last.len(), 2, "of the offset and of the group");
    assert_eq!(world.state(), ClassicState::Dead);
    assert_eq!(delete(&mut world), ErrorCode::GroupIdNotFound);
}

#[test]
fn an_id_that_was_given_goes_with_its_group() {
    let mut world = World::new();
    let request = world.join(join(""));
    let given = world.join_answer(request).unwrap_err().member;
    world.commit(nobody(), 1).unwrap();
    assert_eq!(delete(&mut world), ErrorCode::None);
    assert_eq!(world.refused(join(&given)), ErrorCode::UnknownMemberId);
}
