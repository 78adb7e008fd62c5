//! From one assignment to the next: who gives up what, and who gets it when.

use super::*;

#[test]
fn the_first_member_has_everything_at_once() {
    let mut world = World::with_topics(&[("t", 3)], |_| ());
    let told = world.told(enter("a", &["t", "nowhere"]));
    assert_eq!((&*told.member, told.epoch), ("a", 1));
    assert_eq!(told.assigned, Some(parts("t", 0..3)));
    assert_eq!(kinds(&world.last), ["member", "epoch", "target", "target epoch", "current"]);
    assert_eq!(world.consumer_state(), ConsumerState::Stable);
    let told = world.told(beat_with("a", 1, parts("t", 0..3)));
    assert_eq!((told.epoch, told.assigned), (1, None), "nothing is new");
    assert_eq!(kinds(&world.last), [""; 0]);
}

#[test]
fn a_partition_is_given_once_its_owner_has_given_it_up() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.told(enter("a", &["t"]));
    let (epoch, assigned) = world.news(enter("b", &["t"]));
    assert_eq!((epoch, assigned), (2, Some(parts("t", []))), "all is somebody else's");
    assert_eq!(world.current("b").state, MemberState::Unreleased);
    assert_eq!(world.consumer_state(), ConsumerState::Reconciling);
    let (epoch, assigned) = world.news(beat_with("a", 1, parts("t", 0..4)));
    assert_eq!((epoch, assigned), (1, Some(parts("t", 0..2))), "its epoch until it gave them up");
    assert_eq!(world.current("a").state, MemberState::Unrevoked);
    assert_eq!(world.news(beat("b", 2)), (2, None));
    assert_eq!(world.news(beat_with("a", 1, parts("t", 0..3))), (1, None), "one is left");
    assert_eq!(world.news(beat("a", 1)), (1, None), "it says nothing of it");
    assert_eq!(world.news(beat_with("a", 1, parts("t", 0..2))), (2, None));
    assert_eq!(kinds(&world.last), ["current"]);
    assert_eq!(world.news(beat("b", 2)), (2, Some(parts("t", 2..4))));
    assert_eq!(world.consumer_state(), ConsumerState::Stable);
}

#[test]
fn who_leaves_makes_room() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.settle_down(&["a", "b"]);
    let told = world.told(beat("b", -1));
    assert_eq!((&*told.member, told.epoch, told.assigned), ("b", -1, None));
    assert_eq!(kinds(&world.last), ["current", "target", "member", "epoch"]);
    assert_eq!(world.news(beat("a", 2)), (3, Some(parts("t", 0..4))));
    world.told(beat("a", -1));
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
    assert_eq!(world.told(enter("a", &["t"])).epoch, 5, "epochs go on");
}

#[test]
fn who_is_silent_is_out() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter("a", &["t"]));
    world.wait(44_000);
    world.told(beat("a", 1));
    world.wait(44_999);
    assert_eq!(world.group().members().count(), 1);
    world.wait(2);
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
}

#[test]
fn who_does_not_give_up_what_it_has_to_is_out() {
    let mut world = World::with_topics(&[("t", 2)], |_| ());
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.told(beat("a", 1));
    for _ in 0..5 {
        world.wait(10_000);
        world.told(beat("a", 1));
        world.told(beat("b", 2));
    }
    world.wait(10_001);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
    assert_eq!(world.news(beat("b", 2)), (3, Some(parts("t", 0..2))));
}

#[test]
fn topics_that_grow_come_and_go_are_followed() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t", "u"]));
    world.set_topic("t", 2);
    assert_eq!(world.news(beat("a", 1)), (2, Some(parts("t", 0..2))));
    assert_eq!(kinds(&world.last), ["epoch", "target", "target epoch", "current"]);
    world.set_topic("other", 2);
    assert_eq!(world.news(beat("a", 2)), (2, None), "nobody reads it");
    world.set_topic("u", 1);
    let both = parts("t", 0..2).into_iter().chain(parts("u", 0..1)).collect();
    assert_eq!(world.news(beat("a", 2)), (3, Some(both)));
    world.set_topic("t", 0);
    assert_eq!(world.news(beat("a", 3)), (3, Some(parts("u", 0..1))));
    assert_eq!(world.current("a").state, MemberState::Unrevoked, "it has to let them go");
    assert_eq!(world.news(beat_with("a", 3, parts("u", 0..1))), (4, None));
}

#[test]
fn a_topic_made_anew_is_another_one() {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t"]));
    world.set_topic_as("t", topic_id("new"), 1);
    assert_eq!(world.news(beat("a", 1)), (1, Some(BTreeSet::new())));
    assert_eq!(world.news(beat_with("a", 1, BTreeSet::new())), (2, Some(parts("new", 0..1))));
}

#[test]
fn a_member_that_reads_other_topics_gives_up_the_old_ones() {
    let mut world = World::with_topics(&[("t", 2), ("u", 2)], |_| ());
    world.told(enter("a", &["t"]));
    let change = ConsumerHeartbeat { topics: Some(["u".into()].into()), ..beat("a", 1) };
    assert_eq!(world.news(change), (1, Some(BTreeSet::new())));
    let (epoch, assigned) = world.news(beat_with("a", 1, BTreeSet::new()));
    assert_eq!((epoch, assigned), (2, Some(parts("u", 0..2))));
}

#[test]
fn patterns_stand_for_topics_that_come_and_go() {
    let mut world = World::with_topics(&[("orders-eu", 1), ("other", 1)], |_| ());
    let (_, assigned) = world.news(enter_by("a", "orders-.*"));
    assert_eq!(assigned, Some(parts("orders-eu", 0..1)));
    let all = ["member", "pattern", "epoch", "target", "target epoch", "current"];
    assert_eq!(kinds(&world.last), all);
    world.set_topic("orders-us", 1);
    let both = parts("orders-eu", 0..1).into_iter().chain(parts("orders-us", 0..1)).collect();
    assert_eq!(world.news(beat("a", 1)), (2, Some(both)));
    let (_, assigned) = world.news(enter_by("b", "orders-us"));
    assert_eq!(assigned, Some(BTreeSet::new()));
    world.settle_down(&["a", "b"]);
    assert_eq!(world.owns("b"), parts("orders-us", 0..1));
    world.told(beat("a", -1));
    let gone = ["current", "target", "member", "pattern", "epoch"];
    assert_eq!(kinds(&world.last), gone, "nobody has its pattern any more");
    let none = ConsumerHeartbeat {
        pattern: Some("".into()),
        topics: Some(["other".into()].into()),
        ..beat("b", world.current("b").epoch)
    };
    world.told(none);
    assert_eq!(world.group().facts().iter().filter(|f| matches!(f, Fact::Pattern(..))).count(), 0);
}

#[test]
fn who_joins_at_the_same_time_shares_an_assignment() {
    let mut world = World::with_topics(&[("t", 4)], |settings| {
        settings.consumer_assignment_interval_ms = 1_000;
    });
    world.told(enter("a", &["t"]));
    for id in ["b", "c"] {
        let (epoch, assigned) = world.news(enter(id, &["t"]));
        assert_eq!((epoch, assigned), (1, Some(BTreeSet::new())), "the assignment there is");
        assert_eq!(world.current(id).state, MemberState::Stable);
    }
    assert_eq!(world.consumer_state(), ConsumerState::Assigning);
    assert_eq!(world.group().target_epoch(), 1);
    world.wait(1_000);
    assert_eq!(world.told(beat("b", 1)).epoch, 3, "one assignment for both");
    world.settle_down(&["a", "b", "c"]);
    assert_eq!(world.owns("a").len(), 2);
}

#[test]
fn a_group_that_changed_is_asked_again_soon() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    assert_eq!(world.told(enter("a", &["t"])).interval_ms, 50);
    world.wait(2_000);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 2_000);
    world.wait(20_000);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 5_000);
}

#[test]
fn the_assignor_that_most_want_is_used() {
    let mut world = World::with_topics(&[("t", 3), ("u", 3)], |_| ());
    let wants = |id| ConsumerHeartbeat { assignor: Some("range".into()), ..enter(id, &["t", "u"]) };
    world.told(wants("a"));
    world.told(wants("b"));
    world.told(enter("c", &["t", "u"]));
    assert_eq!(&*world.describe_consumer().unwrap().assignor, "range");
    world.settle_down(&["a", "b", "c"]);
    let both = |index| [p("t", index), p("u", index)].into();
    assert_eq!(world.owns("b"), both(1));
}

/// Many members that start at once have their parts within five seconds.
#[test]
fn a_thousand_members_settle_soon() {
    settle_a_thousand(1_000, 8);
    settle_a_thousand(100, 30);
}

fn settle_a_thousand(assignment_interval_ms: i64, most_assignments: usize) {
    let mut world = World::with_topics(&[("t", 1_000), ("u", 1_000)], |settings| {
        settings.consumer_assignment_interval_ms = assignment_interval_ms;
    });
    world.quick = true;
    let ids: Vec<String> = (0..1_000).map(|number| format!("m{number:04}")).collect();
    let mut due: BTreeMap<(u64, usize), ()> = (0..1_000).map(|at| ((at as u64, at), ())).collect();
    let mut held: BTreeMap<usize, (i32, BTreeSet<Part>)> = BTreeMap::new();
    while world.ms < 5_000 {
        let Some(((ms, at), ())) = due.pop_first() else { break };
        world.ms = world.ms.max(ms);
        let request = match held.get(&at) {
            None => enter(&ids[at], &["t", "u"]),
            Some((epoch, owned)) => beat_with(&ids[at], *epoch, owned.clone()),
        };
        let told = world.told(request);
        let own = held.entry(at).or_default();
        own.0 = told.epoch;
        own.1 = told.assigned.unwrap_or_else(|| own.1.clone());
        let wait = u64::try_from(told.interval_ms).unwrap();
        due.insert((world.ms + wait, at), ());
    }
    assert_eq!(world.group().state(), ConsumerState::Stable, "at {} ms", world.ms);
    assert!(held.values().all(|(_, owned)| owned.len() == 2));
    let made = world.notes.iter().filter(|note| note.contains("assigned by")).count();
    assert!(made < most_assignments, "{made} assignments");
    let told = world.told(enter("later", &["t", "u"]));
    assert_eq!(told.interval_ms, 250, "so many must not come too often");
}
