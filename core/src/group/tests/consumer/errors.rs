//! What is refused, and how operators see and end groups of this protocol.

use super::*;
use crate::group::request::GroupState;

#[test]
fn heartbeats_that_say_too_little_or_too_much_are_refused() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    let bad = [
        enter("", &["t"]),
        ConsumerHeartbeat { group: "".into(), ..enter("a", &["t"]) },
        enter_as("", "a", &["t"]),
        ConsumerHeartbeat { rack: Some("".into()), ..enter("a", &["t"]) },
        beat("a", -3),
        beat("a", -2),
        ConsumerHeartbeat { rebalance_timeout_ms: None, ..enter("a", &["t"]) },
        ConsumerHeartbeat { owned: None, ..enter("a", &["t"]) },
        ConsumerHeartbeat { owned: Some(parts("t", 0..1)), ..enter("a", &["t"]) },
        ConsumerHeartbeat { topics: None, ..enter("a", &["t"]) },
        enter(&"a".repeat(10_000), &["t"]),
        enter("a", &[&"t".repeat(300_000)]),
    ];
    for beat in bad {
        assert_eq!(world.code(beat.clone()), ErrorCode::InvalidRequest, "{beat:?}");
        assert_eq!(kinds(&world.last), [""; 0]);
    }
    let odd = ConsumerHeartbeat { assignor: Some("sticky".into()), ..enter("a", &["t"]) };
    let refusal = world.beats(odd).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::UnsupportedAssignor);
    assert!(refusal.message.unwrap().contains("uniform, range"));
    assert_eq!(world.code(enter_by("a", "(")), ErrorCode::InvalidRegularExpression);
    assert!(world.coordinator.groups.is_empty());
    let given = world.told(ConsumerHeartbeat { chooses_id: false, ..enter("", &["t"]) });
    assert!(given.member.starts_with("app-"), "{}", given.member);
}

#[test]
fn a_group_that_is_not_there_cannot_be_gone_on_with() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    assert_eq!(world.code(beat("a", 1)), ErrorCode::GroupIdNotFound);
    assert_eq!(world.code(beat("a", -1)), ErrorCode::GroupIdNotFound);
    assert_eq!(world.describe_consumer(), missing("not found"));
    world.told(enter("a", &["t"]));
    assert_eq!(world.code(beat("b", 1)), ErrorCode::UnknownMemberId);
    assert_eq!(world.code(beat("b", -1)), ErrorCode::UnknownMemberId);
    let odd = ConsumerHeartbeat { instance: Some("i".into()), ..beat("a", 1) };
    assert_eq!(world.code(odd), ErrorCode::UnknownMemberId);
}

#[test]
fn a_full_group_takes_nobody_in() {
    let mut world = World::with_topics(&[("t", 1)], |settings| settings.consumer_max_size = 1);
    world.told(enter("a", &["t"]));
    assert_eq!(world.code(enter("b", &["t"])), ErrorCode::GroupMaxSizeReached);
    world.told(enter("a", &["t"]));
}

#[test]
fn operators_see_a_group_and_end_it_when_it_is_empty() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    assert_eq!(world.commit(nobody(), 5), Ok(vec![ErrorCode::None]));
    assert_eq!(world.describe_consumer(), missing("is not a consumer group"));
    world.told(enter_as("i", "a", &["t"]));
    world.told(enter("b", &["t"]));
    let group = world.describe_consumer().unwrap();
    assert_eq!((group.state, group.epoch, group.target_epoch), (ConsumerState::Reconciling, 2, 2));
    assert_eq!(&*group.assignor, "uniform");
    let member = &group.members[0];
    assert_eq!((&*member.member, member.about.instance.as_deref()), ("a", Some("i")));
    assert_eq!((member.current.epoch, member.target.len()), (1, 1));
    let listed = &world.coordinator.list()[0];
    assert_eq!(listed.state, GroupState::Consumer(ConsumerState::Reconciling));
    assert_eq!((listed.state.kind(), &*listed.protocol_type), ("consumer", "consumer"));
    assert_eq!(world.describe(), missing("is not a classic group"));
    let delete = |world: &mut World| {
        let request = world.ask(Request::Delete(GROUP.into()));
        world.answer(request)
    };
    assert_eq!(delete(&mut world), Answer::Deleted(ErrorCode::NonEmptyGroup));
    let forget = |world: &mut World| {
        let partitions = vec![("t".into(), PartitionIndex(0))];
        let request =
            world.ask(Request::DeleteOffsets(DeleteOffsets { group: GROUP.into(), partitions }));
        world.answer(request)
    };
    let refused = vec![ErrorCode::GroupSubscribedToTopic];
    assert_eq!(forget(&mut world), Answer::OffsetsDeleted(Ok(refused)));
    world.told(beat("a", -1));
    world.told(beat("b", -1));
    assert_eq!(delete(&mut world), Answer::Deleted(ErrorCode::None));
    assert!(world.log.is_empty(), "{:?}", world.log);
    assert_eq!(world.describe_consumer(), missing("not found"));
}

#[test]
fn old_offsets_of_topics_that_are_read_stay() {
    let mut world = World::with_topics(&[("t", 1)], |settings| {
        settings.consumer_session_timeout_ms = 1_000_000;
    });
    let commit = |world: &mut World, topic| {
        let offsets = vec![part(topic, 0, 7, "")];
        let request =
            world.ask(Request::Commit(Commit { caller: nobody(), knows_epochs: true, offsets }));
        assert_eq!(world.answer(request), Answer::Committed(Ok(vec![ErrorCode::None])));
    };
    commit(&mut world, "t");
    commit(&mut world, "other");
    world.told(enter("a", &["t"]));
    for _ in 0..(8 * 24 * 6) {
        world.wait(600_000);
        world.told(beat("a", 1));
    }
    assert_eq!((world.committed("t"), world.committed("other")), (Some(7), None));
    world.told(beat("a", -1));
    world.wait(8 * 24 * 3_600_000);
    assert!(world.log.is_empty(), "{:?}", world.log);
}

#[test]
fn operators_read_why_a_group_rebalances() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.told(ConsumerHeartbeat { topics: Some(["u".into()].into()), ..beat("b", 2) });
    world.set_topic("t", 2);
    world.told(beat("a", 1));
    world.told(beat("b", -1));
    world.wait(60_000);
    let expected = [
        "group \"g\", epoch 1: rebalances: member \"a\" joined",
        "group \"g\", epoch 1: has 1 member, assigned by uniform",
        "group \"g\", epoch 2: rebalances: member \"b\" joined",
        "group \"g\", epoch 2: has 2 members, assigned by uniform",
        "group \"g\", epoch 3: rebalances: member \"b\" changed its subscription",
        "group \"g\", epoch 3: has 2 members, assigned by uniform",
        "group \"g\", epoch 4: rebalances: its topics changed",
        "group \"g\", epoch 4: has 2 members, assigned by uniform",
        "group \"g\", epoch 5: rebalances: member \"b\" left",
        "group \"g\", epoch 5: has 1 member, assigned by uniform",
        "group \"g\", epoch 6: rebalances: member \"a\" timed out",
    ];
    assert_eq!(world.notes, expected);
}
