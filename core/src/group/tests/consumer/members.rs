//! Members that come, and that come back: after a lost answer, under an instance, after a restart.

use super::*;

#[test]
fn a_member_may_join_before_there_is_anything_that_it_reads() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    assert_eq!(world.news(enter("a", &[])), (1, Some(BTreeSet::new())));
    assert_eq!(world.news(enter_by("b", "")), (2, Some(BTreeSet::new())));
    world.settle_down(&["a", "b"]);
    let topics = Some(["t".into()].into());
    let later = ConsumerHeartbeat { topics, ..beat("a", 2) };
    assert_eq!(world.news(later), (3, Some(parts("t", 0..2))));
}

#[test]
fn a_member_that_missed_an_answer_is_told_again() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.told(beat_with("a", 1, parts("t", 0..4)));
    world.told(beat_with("a", 1, parts("t", 0..2)));
    assert_eq!(world.current("a").epoch, 2);
    assert_eq!(world.news(beat_with("a", 1, parts("t", 0..2))), (2, None), "again");
    assert_eq!(world.code(beat_with("a", 1, parts("t", 0..3))), ErrorCode::FencedMemberEpoch);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::FencedMemberEpoch, "who knows what it owns");
    assert_eq!(world.code(beat("a", 3)), ErrorCode::FencedMemberEpoch);
    // It joins again, and has what it had.
    assert_eq!(world.news(enter("a", &["t"])), (2, Some(parts("t", 0..2))));
    assert_eq!(kinds(&world.last), [""; 0]);
}

#[test]
fn a_lost_first_answer_is_given_again() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter("a", &["t"]));
    assert_eq!(world.news(enter("a", &["t"])), (1, Some(parts("t", 0..2))));
    assert_eq!(world.group().epoch(), 1);
}

#[test]
fn a_whole_heartbeat_is_told_everything() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter("a", &["t"]));
    let whole = ConsumerHeartbeat { epoch: 1, owned: Some(parts("t", 0..2)), ..enter("a", &["t"]) };
    assert_eq!(world.news(whole), (1, Some(parts("t", 0..2))));
}

#[test]
fn a_static_member_goes_on_with_what_it_had() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.told(enter_as("i", "a", &["t"]));
    world.told(enter("b", &["t"]));
    world.settle_down(&["a", "b"]);
    let had = world.owns("a");
    assert_eq!(world.code(enter_as("i", "c", &["t"])), ErrorCode::UnreleasedInstanceId);
    let away = ConsumerHeartbeat { instance: Some("i".into()), ..beat("a", -2) };
    let told = world.told(away.clone());
    assert_eq!((told.epoch, told.assigned), (-2, None));
    assert_eq!(kinds(&world.last), ["current"]);
    assert_eq!(world.told(away).epoch, -2);
    let (epoch, group) = (world.current("b").epoch, world.group().epoch());
    assert_eq!(world.news(beat("b", epoch)), (epoch, None), "nobody gets its part");
    let told = world.told(enter_as("i", "c", &["t"]));
    assert_eq!((told.epoch, told.assigned), (group, Some(had)));
    assert_eq!(world.group().epoch(), group, "nobody else notices");
    let replaced = ["current", "target", "member", "member", "target", "current", "current"];
    assert_eq!(kinds(&world.last), replaced);
    let old = ConsumerHeartbeat { instance: Some("i".into()), ..beat("a", epoch) };
    assert_eq!(world.code(old), ErrorCode::FencedInstanceId);
    assert_eq!(world.code(beat("a", epoch)), ErrorCode::UnknownMemberId);
}

#[test]
fn a_static_member_that_stays_away_is_out() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter_as("i", "a", &["t"]));
    world.told(ConsumerHeartbeat { instance: Some("i".into()), ..beat("a", -2) });
    assert_eq!(world.code(beat("a", 1)), ErrorCode::FencedMemberEpoch, "it has to join");
    world.wait(45_001);
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
}

#[test]
fn a_coordinator_that_begins_knows_everyone() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter_as("i", "b", &["t"]));
    world.told(beat("a", 1));
    let facts = world.group().facts();
    world.restart();
    assert_eq!(world.group().facts(), facts);
    assert_eq!(world.news(beat_with("a", 1, parts("t", 0..2))), (2, None));
    assert_eq!(world.news(beat("b", 2)), (2, Some(parts("t", 2..4))));
    world.restart();
    world.wait(45_001);
    assert_eq!(world.consumer_state(), ConsumerState::Empty, "nobody was heard of");
    world.restart();
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
}

#[test]
fn who_had_to_give_up_partitions_still_has_to_after_a_restart() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.told(beat("a", 1));
    world.restart();
    for _ in 0..3 {
        world.wait(20_001);
        let _ = world.beats(beat("a", 1));
        let _ = world.beats(beat("b", 2));
    }
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
}

#[test]
fn offsets_are_committed_in_the_members_epoch() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    assert_eq!(world.commit(nobody(), 1), Ok(vec![ErrorCode::None]));
    world.told(enter("a", &["t"]));
    assert_eq!(world.commit(nobody(), 2), Err(ErrorCode::UnknownMemberId));
    assert_eq!(world.commit(caller("who", 1), 2), Err(ErrorCode::UnknownMemberId));
    assert_eq!(world.commit(caller("a", 1), 2), Ok(vec![ErrorCode::None]));
    assert_eq!(world.commit(caller("a", 2), 2), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(world.commit(caller("a", 0), 2), Err(ErrorCode::StaleMemberEpoch));
    // It may commit what it has owned for longer than it knows.
    world.told(enter("b", &["t"]));
    world.told(beat("a", 1));
    world.told(beat_with("a", 1, parts("t", 0..2)));
    world.told(beat("b", 2));
    let mut commit = |member: &str, epoch, index| {
        let part = CommitPart { topic_id: Some(topic_id("t")), ..part("t", index, 9, "") };
        let commit =
            Commit { caller: caller(member, epoch), knows_epochs: true, offsets: vec![part] };
        let request = world.ask(Request::Commit(commit));
        world.answer(request)
    };
    let (done, stale) = (Ok(vec![ErrorCode::None]), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(commit("a", 1, 0), Answer::Committed(done.clone()));
    assert_eq!(commit("a", 1, 2), Answer::Committed(stale.clone()), "it gave that up");
    assert_eq!(commit("b", 1, 2), Answer::Committed(stale), "it has that since epoch 2");
    assert_eq!(commit("b", 2, 2), Answer::Committed(done));
}

#[test]
fn offsets_are_fetched_in_the_members_epoch() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t"]));
    let mut fetch = |member: Option<(&str, i32)>| {
        let member = member.map(|(id, epoch)| (id.into(), epoch));
        let fetch = Fetch { group: GROUP.into(), member, partitions: None };
        let request = world.ask(Request::Fetch(fetch));
        match world.answer(request) {
            Answer::Fetched(found) => found.map(|found| found.len()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fetch(None), Ok(0));
    assert_eq!(fetch(Some(("a", 1))), Ok(0));
    assert_eq!(fetch(Some(("a", 2))), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(fetch(Some(("who", 1))), Err(ErrorCode::UnknownMemberId));
    assert_eq!(fetch(Some(("", -1))), Err(ErrorCode::UnknownMemberId));
}
