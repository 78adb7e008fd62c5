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
        self.step(Input::Settings(Arc::clone(&self.own)));
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

#[test]
fn assignments_are_as_far_apart_as_the_group_says() {
    let mut world = World::with_topics(&[("t", 4)], |_| ());
    let apart = Some(3_000);
    let config = GroupConfig { consumer_assignment_interval_ms: apart, ..GroupConfig::default() };
    world.set_configs(GROUP, &config);
    world.told(enter("a", &["t"]));
    world.told(enter("b", &["t"]));
    assert_eq!(world.consumer_state(), ConsumerState::Assigning);
    world.wait(2_999);
    assert_eq!(world.told(beat("a", 1)).epoch, 1);
    assert_eq!(world.group().target_epoch(), 1);
    world.wait(1);
    world.told(beat("a", 1));
    assert_eq!(world.group().target_epoch(), 2);
}
