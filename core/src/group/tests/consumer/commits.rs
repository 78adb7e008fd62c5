//! What becomes of commits by what a client can understand and by whom it speaks for.

use super::*;

const DONE: Result<ErrorCode, ErrorCode> = Ok(ErrorCode::None);

/// A client that understands epochs, or an older one, commits for a partition of `t`.
#[track_caller]
fn commit(
    world: &mut World,
    caller: Caller,
    knows_epochs: bool,
    index: i32,
) -> Result<ErrorCode, ErrorCode> {
    let offsets = vec![CommitPart { topic_id: Some(topic_id("t")), ..part("t", index, 9, "") }];
    let request = world.ask(Request::Commit(Commit { caller, knows_epochs, offsets }));
    match world.answer(request) {
        Answer::Committed(codes) => codes.map(|codes| codes[0]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_speaks_for_a_group_that_is_not_there_is_told_what_it_understands() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    for epoch in [0, 1] {
        let (new, old) = (ErrorCode::GroupIdNotFound, ErrorCode::IllegalGeneration);
        assert_eq!(commit(&mut world, caller("a", epoch), true, 0), Err(new));
        assert_eq!(commit(&mut world, caller("a", epoch), false, 0), Err(old));
    }
    assert!(world.coordinator.groups.is_empty());
    assert_eq!(commit(&mut world, nobody(), false, 0), DONE);
    // There is one now, of nobody.
    assert_eq!(commit(&mut world, caller("a", 1), true, 0), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn members_of_the_consumer_protocol_have_to_know_of_epochs() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t"]));
    for epoch in [-1, 0, 1, 2] {
        let refused = Err(ErrorCode::UnsupportedVersion);
        assert_eq!(commit(&mut world, caller("a", epoch), false, 0), refused, "epoch {epoch}");
    }
    let unknown = Err(ErrorCode::UnknownMemberId);
    assert_eq!(commit(&mut world, caller("who", 1), false, 0), unknown);
    assert_eq!(commit(&mut world, nobody(), false, 0), unknown);
    assert_eq!(world.committed("t"), None);
    assert_eq!(commit(&mut world, caller("a", 1), true, 0), DONE);
    for epoch in [-1, 0, 2] {
        let refused = Err(ErrorCode::StaleMemberEpoch);
        assert_eq!(commit(&mut world, caller("a", epoch), true, 0), refused, "epoch {epoch}");
    }
    // Nobody is in it: whoever assigns by hand may be as old as it likes.
    world.told(beat("a", -1));
    assert_eq!(commit(&mut world, nobody(), false, 0), DONE);
    assert_eq!(commit(&mut world, caller("a", 1), false, 0), unknown);
}

#[test]
fn members_of_the_classic_protocol_may_be_old_and_are_told_of_generations() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    let id = migration::classic(&mut world);
    world.told(enter("new", &["t"]));
    migration::round(&mut world, &id, &[0, 1, 2, 3]);
    assert_eq!(migration::round(&mut world, &id, &[0, 1]), (2, vec![0, 1]));
    for knows_epochs in [false, true] {
        let mut commit =
            |generation, index| commit(&mut world, caller(&id, generation), knows_epochs, index);
        let refused = Err(ErrorCode::IllegalGeneration);
        assert_eq!(commit(2, 3), DONE);
        assert_eq!(commit(1, 0), DONE, "it has that since generation 1");
        assert_eq!(commit(1, 3), refused, "it gave that up");
        assert_eq!(commit(0, 0), refused);
        assert_eq!(commit(3, 0), refused);
    }
}

#[test]
fn an_instance_is_not_looked_at() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter_as("i", "a", &["t"]));
    let odd = Caller { instance: Some("other".into()), ..caller("a", 1) };
    assert_eq!(commit(&mut world, odd, true, 0), DONE);
    let away = ConsumerHeartbeat { instance: Some("i".into()), ..beat("a", -2) };
    world.told(away);
    world.told(enter_as("i", "b", &["t"]));
    let replaced = Caller { instance: Some("i".into()), ..caller("a", 1) };
    assert_eq!(commit(&mut world, replaced, true, 0), Err(ErrorCode::UnknownMemberId));
}
