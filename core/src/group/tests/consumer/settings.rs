//! Groups that have settings of their own.

use super::*;
use crate::config::group::GroupConfig;

const LONG: GroupConfig = GroupConfig {
    consumer_session_timeout_ms: Some(60_000),
    consumer_heartbeat_interval_ms: Some(15_000),
    consumer_assignment_interval_ms: None,
};

impl World {
    /// The group goes by these configs from now on.
    fn set_configs(&mut self, group: &str, config: &GroupConfig) {
        let mut own = (*self.own).clone();
        own.insert(&group.into(), self.settings.with(config));
        self.own = Arc::new(own);
        self.step(Input::Settings(Arc::clone(&self.settings), Arc::clone(&self.own)));
    }

    /// All groups go by these settings from now on.
    fn set_settings(&mut self, change: impl FnOnce(&mut GroupSettings)) {
        change(Arc::make_mut(&mut self.settings));
        self.step(Input::Settings(Arc::clone(&self.settings), Arc::clone(&self.own)));
    }
}

fn alone() -> World {
    let mut world = World::with_topics(&[("t", 1)], |_| ());
    world.told(enter("a", &["t"]));
    world.wait(40_000);
    world
}

#[test]
fn a_session_is_as_long_as_the_group_says_from_the_next_heartbeat_on() {
    let mut world = alone();
    world.set_configs(GROUP, &LONG);
    world.wait(4_999);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 15_000);
    world.wait(59_999);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 15_000);
    world.set_configs(GROUP, &GroupConfig::default());
    assert_eq!(world.told(beat("a", 1)).interval_ms, 5_000);
    world.wait(45_000);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
}

#[test]
fn a_session_that_has_begun_is_not_made_longer() {
    let mut world = alone();
    world.set_configs(GROUP, &LONG);
    world.wait(5_000);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
}

#[test]
fn other_groups_go_by_the_settings_of_all() {
    let mut world = alone();
    world.set_configs("other", &LONG);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 5_000);
    world.wait(45_000);
    assert_eq!(world.code(beat("a", 1)), ErrorCode::UnknownMemberId);
}

#[test]
fn a_coordinator_that_begins_knows_them() {
    let mut world = alone();
    world.set_configs(GROUP, &LONG);
    world.restart();
    world.wait(59_999);
    assert_eq!(world.told(beat("a", 1)).interval_ms, 15_000);
}

/// A group that waits for its second assignment, which may be made so long after the first.
fn assigning(apart_ms: i64) -> World {
    let mut world = World::with_topics(&[("t", 4)], |settings| {
        settings.consumer_assignment_interval_ms = apart_ms;
    });
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    assert_eq!(world.consumer_state(), ConsumerState::Assigning);
    world
}

fn apart(ms: i64) -> GroupConfig {
    GroupConfig { consumer_assignment_interval_ms: Some(ms), ..GroupConfig::default() }
}

#[test]
fn assignments_are_so_far_apart_and_no_further_though_nobody_asks() {
    let mut world = assigning(3_000);
    world.wait(2_999);
    assert_eq!(world.told(beat("a", 1)).epoch, 1);
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (2, 1));
    world.wait(1);
    assert_eq!(world.group().target_epoch(), 2);
    assert_eq!(kinds(&world.last), ["target", "target", "target epoch"]);
    assert_eq!(world.consumer_state(), ConsumerState::Reconciling);
    world.settle_down(&["a", "b"]);
    world.wait(10_000);
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (2, 2), "no other is made");
}

#[test]
fn an_assignment_nobody_asks_for_is_of_the_topics_that_there_are() {
    let mut world = assigning(3_000);
    world.set_topic("t", 6);
    world.wait(3_000);
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (3, 3));
    assert_eq!(world.group().target("b").map(BTreeSet::len), Some(3));
    world.settle_down(&["a", "b"]);
    assert_eq!(world.group().epoch(), 3);
}

#[test]
fn who_leaves_leaves_its_part_to_others_though_nobody_asks() {
    let mut world = assigning(3_000);
    world.wait(3_000);
    world.told(beat("b", -1));
    world.wait(2_999);
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (3, 2));
    world.wait(1);
    assert_eq!(world.group().target_epoch(), 3);
    assert_eq!(world.group().target("a"), Some(&parts("t", 0..4)));
    world.told(beat("a", -1));
    world.wait(10_000);
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (4, 4), "no other is made");
}

#[test]
fn who_comes_to_a_group_that_was_left_does_not_wait_for_the_next_assignment() {
    let mut world = World::with_topics(&[("t", 2)], |settings| {
        settings.consumer_assignment_interval_ms = 15_000;
    });
    world.told(enter("a", &["t"]));
    world.told(beat("a", -1));
    assert_eq!(kinds(&world.last), ["current", "target", "member", "epoch", "target epoch"]);
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
    assert_eq!(world.news(enter("a", &["t"])), (3, Some(parts("t", 0..2))), "it came back");
    world.wait(45_000);
    assert_eq!(world.consumer_state(), ConsumerState::Empty);
    world.restart();
    assert_eq!((world.group().epoch(), world.group().target_epoch()), (4, 4));
    assert_eq!(world.news(enter("b", &["t"])), (5, Some(parts("t", 0..2))), "after a silent one");
    world.told(enter("c", &["t"]));
    assert_eq!(world.news(beat("c", 5)).1, None, "it is shared as soon as it may be");
}

#[test]
fn assignments_are_as_far_apart_as_the_group_says() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    world.set_configs(GROUP, &apart(3_000));
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    world.wait(2_999);
    assert_eq!(world.group().target_epoch(), 1);
    world.wait(1);
    assert_eq!(world.group().target_epoch(), 2);
}

#[test]
fn a_wait_for_an_assignment_becomes_as_long_as_it_is_said_meanwhile() {
    let shorter: [fn(&mut World); 2] = [
        |world| world.set_settings(|all| all.consumer_assignment_interval_ms = 2_000),
        |world| world.set_configs(GROUP, &apart(2_000)),
    ];
    for change in shorter {
        let mut world = assigning(15_000);
        world.wait(1_000);
        change(&mut world);
        world.wait(999);
        assert_eq!(world.group().target_epoch(), 1);
        world.wait(1);
        assert_eq!(world.group().target_epoch(), 2);
    }
    let longer: [fn(&mut World); 2] = [
        |world| world.set_settings(|all| all.consumer_assignment_interval_ms = 4_000),
        |world| world.set_configs(GROUP, &apart(4_000)),
    ];
    for change in longer {
        let mut world = assigning(2_000);
        change(&mut world);
        world.wait(3_999);
        assert_eq!(world.told(beat("a", 1)).epoch, 1);
        assert_eq!(world.group().target_epoch(), 1);
        world.wait(1);
        assert_eq!(world.group().target_epoch(), 2);
    }
}

#[test]
fn settings_that_come_while_the_log_is_read_touch_no_group() {
    let mut world = assigning(3_000);
    let mut coordinator = GroupCoordinator::new(Arc::clone(&world.settings), 3);
    world.log.values().for_each(|record| coordinator.replay(record.clone()));
    let mut fx = Fx::new();
    let settings = Input::Settings(Arc::clone(&world.settings), Arc::clone(&world.own));
    coordinator.step(world.now(), settings, &mut fx);
    assert_eq!(coordinator.deadline(), None);
    world.restart();
    world.wait(0);
    assert_eq!(world.group().target_epoch(), 2, "it waits for no interval that it did not see");
}
