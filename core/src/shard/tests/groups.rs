//! Coordinators on a shard's partitions: they learn from the log, answer when it is committed,
//! and end with their partition.

use dohle_wire::id::{Offset, PartitionIndex};

use super::*;
use crate::group::place::OFFSETS_TOPIC;
use crate::group::request::{
    Answer as GroupAnswer, Caller, Commit, CommitPart, Committed, ConsumerHeartbeat, Fetch, Join,
    Request,
};
use crate::image::resource;

pub(super) const OFFSETS: u128 = 50;

/// A node that has been asked for a coordinator.
pub(super) fn coordinating() -> World {
    coordinating_with(&[])
}

pub(super) fn coordinating_with(configs: &[(&str, &str)]) -> World {
    let mut world = World::with(configs);
    world.topic(OFFSETS_TOPIC, OFFSETS, &[("cleanup.policy", "compact")]);
    world.topic("t", 1, &[]);
    world
}

pub(super) fn commit_of(offset: i64) -> Request {
    commit_in("g", offset)
}

pub(super) fn commit_in(group: &str, offset: i64) -> Request {
    let value = Committed {
        offset: Offset(offset),
        leader_epoch: LeaderEpoch(0),
        metadata: "".into(),
        at: Timestamp(1_000),
        expires: None,
        topic_id: Some(topic_id(1)),
    };
    let partition = PartitionIndex(0);
    let part = CommitPart { topic: "t".into(), topic_id: Some(topic_id(1)), partition, value };
    let caller = Caller { group: group.into(), member: "".into(), instance: None, generation: -1 };
    Request::Commit(Commit { caller, knows_epochs: true, offsets: vec![part] })
}

pub(super) fn join() -> Request {
    Request::Join(Join {
        group: "g".into(),
        member: "".into(),
        instance: None,
        client_id: "c".into(),
        client_host: "/h".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Bytes::new())],
        needs_member_id: false,
        can_skip_assignment: false,
        reason: None,
    })
}

impl World {
    pub(super) fn ask(&mut self, request: u64, what: Request) {
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let (seen, partition) = (self.image.offset, partition(OFFSETS));
        self.mail(ToShard::Group { reply, seen, partition, request: Box::new(what) });
    }

    pub(super) fn told(&mut self, request: u64) -> Option<GroupAnswer> {
        match self.answers.remove(&request)? {
            Answer::Group(answer) => Some(*answer),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn fetched(&mut self) -> Option<i64> {
        let partitions = Some(vec![("t".into(), PartitionIndex(0))]);
        let fetch = Fetch { group: "g".into(), member: None, partitions };
        self.ask(99, Request::Fetch(fetch));
        match self.told(99) {
            Some(GroupAnswer::Fetched(Ok(found))) => {
                found.first().and_then(|(.., value)| value.as_ref()).map(|value| value.offset.0)
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_offset_is_committed_when_its_record_is() {
    let mut world = coordinating();
    world.held = Some(What::Append);
    world.ask(1, commit_of(7));
    assert_eq!(world.told(1), None);
    world.ask(2, Request::List);
    assert_eq!(world.told(2), None, "what is shown rests on it");
    world.release();
    assert_eq!(world.told(1), Some(GroupAnswer::Committed(Ok(vec![ErrorCode::None]))));
    assert!(matches!(world.told(2), Some(GroupAnswer::Listed(Ok(groups))) if groups.len() == 1));
    assert_eq!(world.fetched(), Some(7));
}

#[test]
fn a_coordinator_learns_what_its_log_says() {
    // More than the tail of a log remembers, so that look-ups are needed too.
    for count in [3, 700] {
        let mut world = coordinating();
        for offset in 0..count {
            world.ask(1, commit_of(offset));
            world.told(1);
        }
        let checkpoints = world.stop();
        world.restart(checkpoints);
        assert_eq!(world.fetched(), Some(count - 1));
    }
}

#[test]
fn requests_wait_while_the_log_is_read() {
    let mut world = coordinating();
    world.ask(1, commit_of(7));
    let checkpoints = world.stop();
    world.held = Some(What::Load);
    world.restart(checkpoints);
    world.ask(2, commit_of(8));
    assert_eq!(world.told(2), None);
    world.release();
    assert_eq!(world.told(2), Some(GroupAnswer::Committed(Ok(vec![ErrorCode::None]))));
    assert_eq!(world.fetched(), Some(8));
}

#[test]
fn whoever_waits_is_told_when_the_coordinator_ends() {
    let gone = |world: &mut World, request| match world.told(request) {
        Some(GroupAnswer::Joined(Err(refusal))) => refusal.code,
        Some(GroupAnswer::Committed(Err(code))) => code,
        other => panic!("{other:?}"),
    };
    let mut world = coordinating();
    world.ask(1, join());
    world.held = Some(What::Append);
    world.ask(2, commit_in("other", 7));
    world.mail(ToShard::Stop);
    assert_eq!(gone(&mut world, 1), ErrorCode::NotCoordinator);
    assert_eq!(gone(&mut world, 2), ErrorCode::NotCoordinator);
    let mut world = coordinating();
    world.ask(1, join());
    world.disk.broken = true;
    world.ask(2, commit_in("other", 7));
    assert_eq!(gone(&mut world, 1), ErrorCode::NotCoordinator);
    assert_eq!(gone(&mut world, 2), ErrorCode::NotCoordinator);
    world.ask(3, commit_of(8));
    assert_eq!(gone(&mut world, 3), ErrorCode::NotCoordinator);
}

#[test]
fn the_initial_delay_is_a_deadline_of_the_shard() {
    let mut world = coordinating();
    world.ask(1, join());
    assert_eq!(world.told(1), None);
    let (at, _) = world.shard.deadline().expect("a join waits for others");
    world.mono = at.0;
    world.step(Input::Tick);
    assert!(
        matches!(world.told(1), Some(GroupAnswer::Joined(Ok(joined))) if joined.generation == 1)
    );
}

#[test]
fn records_that_fit_no_segment_are_refused_for_good_and_change_nothing() {
    let mut world = World::new();
    let configs = [("cleanup.policy", "compact"), ("internal.segment.bytes", "300")];
    world.topic(OFFSETS_TOPIC, OFFSETS, &configs);
    world.topic("t", 1, &[]);
    world.ask(1, commit_of(7));
    assert_eq!(world.told(1), Some(GroupAnswer::Committed(Ok(vec![ErrorCode::None]))));
    let Request::Commit(mut large) = commit_of(8) else { unreachable!("a commit") };
    large.offsets[0].value.metadata = "m".repeat(400).into();
    world.ask(2, Request::Commit(large));
    let refused = ErrorCode::InvalidCommitOffsetSize;
    assert_eq!(world.told(2), Some(GroupAnswer::Committed(Err(refused))));
    assert_eq!(world.fetched(), Some(7));
    world.ask(3, commit_of(9));
    assert_eq!(world.told(3), Some(GroupAnswer::Committed(Ok(vec![ErrorCode::None]))));
}

#[test]
fn a_topic_deleted_while_the_log_is_read_is_forgotten_too() {
    let mut world = coordinating();
    world.ask(1, commit_of(7));
    let checkpoints = world.stop();
    world.held = Some(What::Load);
    world.restart(checkpoints);
    world.drop_topic("t");
    world.publish();
    world.release();
    assert_eq!(world.fetched(), None);
}

#[test]
fn offsets_of_a_deleted_topic_are_forgotten() {
    let mut world = coordinating();
    world.ask(1, commit_of(7));
    assert_eq!(world.fetched(), Some(7));
    world.drop_topic("t");
    world.publish();
    assert_eq!(world.fetched(), None);
}

/// A member of a consumer group says that it is there.
fn beat(epoch: i32) -> Request {
    let joins = epoch == 0;
    Request::ConsumerHeartbeat(Box::new(ConsumerHeartbeat {
        group: "g".into(),
        member: "m".into(),
        epoch,
        instance: None,
        rack: None,
        client_id: "c".into(),
        client_host: "/h".into(),
        rebalance_timeout_ms: joins.then_some(60_000),
        topics: joins.then(|| ["t".into(), "u".into(), "v".into()].into()),
        pattern: None,
        assignor: None,
        owned: joins.then(Default::default),
        chooses_id: true,
    }))
}

#[test]
fn consumer_groups_follow_the_topics_of_the_image() {
    let mut world = coordinating();
    let assigned = |world: &mut World, epoch| {
        world.ask(1, beat(epoch));
        match world.told(1) {
            Some(GroupAnswer::ConsumerBeaten(Ok(told))) => told.assigned.map(|parts| parts.len()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(assigned(&mut world, 0), Some(1));
    world.topic("other", 2, &[]);
    assert_eq!(assigned(&mut world, 1), None);
    world.topic("u", 3, &[]);
    world.mono += 20_000_000_000;
    assert_eq!(assigned(&mut world, 1), Some(2));
    let checkpoints = world.stop();
    world.restart(checkpoints);
    assert_eq!(assigned(&mut world, 2), None, "it remembers");
    world.drop_topic("u");
    world.publish();
    assert_eq!(assigned(&mut world, 2), Some(1));
}

#[test]
fn groups_follow_their_configs_in_the_image() {
    let mut world = coordinating();
    let interval = |world: &mut World, epoch| {
        world.mono += 30_000_000_000;
        world.ask(1, beat(epoch));
        match world.told(1) {
            Some(GroupAnswer::ConsumerBeaten(Ok(told))) => told.interval_ms,
            other => panic!("{other:?}"),
        }
    };
    let set = |world: &mut World, group: &str, key: &str, value: &str| {
        let overrides = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        world.image.configs.insert_mut((resource::GROUP, group.into()), Arc::new(overrides));
        world.publish();
    };
    interval(&mut world, 0);
    assert_eq!(interval(&mut world, 1), 5_000);
    let key = "consumer.heartbeat.interval.ms";
    set(&mut world, "other", key, "7000");
    assert_eq!(interval(&mut world, 1), 5_000);
    set(&mut world, "g", key, "7000");
    assert_eq!(interval(&mut world, 1), 7_000);
    set(&mut world, "g", key, "99999");
    assert_eq!(interval(&mut world, 1), 15_000, "no more than the broker allows");
    let checkpoints = world.stop();
    world.restart(checkpoints);
    assert_eq!(interval(&mut world, 1), 15_000, "a new coordinator knows it");
    world.image.configs.remove_mut(&(resource::GROUP, "g".into()));
    world.publish();
    assert_eq!(interval(&mut world, 1), 5_000);
}

#[test]
fn all_groups_follow_the_configs_of_brokers_in_the_image() {
    for own in [false, true] {
        let mut world = coordinating();
        let assigned = |world: &mut World, epoch| {
            world.mono += 3_000_000_000;
            world.ask(1, beat(epoch));
            match world.told(1) {
                Some(GroupAnswer::ConsumerBeaten(Ok(told))) => told.assigned.map(|p| p.len()),
                other => panic!("{other:?}"),
            }
        };
        let set = |world: &mut World, resource: (i8, &str), key: &str, value: &str| {
            let overrides = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            let key = (resource.0, resource.1.into());
            world.image.configs.insert_mut(key, Arc::new(overrides));
            world.publish();
        };
        if own {
            // What a group sets itself does not keep it from following all else.
            set(&mut world, (resource::GROUP, "g"), "consumer.heartbeat.interval.ms", "7000");
        }
        let key = "group.consumer.assignment.interval.ms";
        set(&mut world, (resource::BROKER, ""), key, "15000");
        assert_eq!(assigned(&mut world, 0), Some(1));
        let checkpoints = world.stop();
        world.restart(checkpoints);
        world.topic("u", 3, &[]);
        assert_eq!(assigned(&mut world, 1), Some(2), "the first of this coordinator");
        world.topic("v", 4, &[]);
        assert_eq!(assigned(&mut world, 2), None, "not so soon");
        set(&mut world, (resource::BROKER, "1"), key, "99999");
        assert_eq!(assigned(&mut world, 2), None, "what a broker does not allow changes nothing");
        set(&mut world, (resource::BROKER, "1"), key, "2000");
        assert_eq!(assigned(&mut world, 2), Some(3));
    }
}
