//! Producers that are faster than the disk.

use super::*;

/// Allows two batches and a part of a third.
fn world() -> World {
    let bytes = batch(5, 1, None).bytes().len() * 5 / 2;
    let mut world = World::with(&[("dohle.unflushed.bytes", &bytes.to_string())]);
    world.topic("t", 1, &[]);
    world.topic("other", 2, &[]);
    world.held = Some(What::Flush);
    world
}

fn end(world: &World, topic: u128) -> i64 {
    world.shard.open(&partition(topic)).expect("open").log().end().0
}

#[test]
fn producers_wait_while_too_much_is_not_synced() {
    let mut world = world();
    for request in 1..=3 {
        world.produce(request, 1, Acks::Leader, batch(5, 1, None));
        assert!(world.produced(request).is_some(), "{request}");
    }
    for request in 4..=6 {
        world.produce(request, 1, Acks::Leader, batch(5, 1, None));
        world.produce(10 + request, 2, Acks::Leader, batch(5, 1, None));
        assert_eq!((world.produced(request), world.produced(10 + request)), (None, None));
    }
    assert_eq!((end(&world, 1), end(&world, 2)), (3, 0));
    assert_eq!(world.bases(1, 0), [0, 1, 2], "readers do not wait");
    world.release();
    for request in 4..=6 {
        assert_eq!(base(world.produced(request)), request as i64 - 1, "in their order");
        assert_eq!(base(world.produced(10 + request)), request as i64 - 4);
    }
}

#[test]
fn a_log_that_is_deleted_holds_nobody_back() {
    let mut world = world();
    (1..=4).for_each(|request| world.produce(request, 1, Acks::Leader, batch(5, 1, None)));
    world.produce(5, 2, Acks::Leader, batch(5, 1, None));
    assert_eq!((world.produced(4), world.produced(5)), (None, None));
    world.drop_topic("t");
    world.publish();
    assert_eq!(world.produced(4).unwrap().unwrap_err().code, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(base(world.produced(5)), 0);
}

#[test]
fn a_stop_refuses_those_that_wait() {
    let mut world = world();
    (1..=4).for_each(|request| world.produce(request, 1, Acks::Leader, batch(5, 1, None)));
    world.mail(ToShard::Stop);
    assert_eq!(world.produced(4).unwrap().unwrap_err().code, ErrorCode::NotLeaderOrFollower);
    world.release();
    assert!(world.control.iter().any(|mail| matches!(mail, ToControl::Stopped(_))));
}

#[test]
fn without_a_limit_nobody_waits() {
    let mut world = World::with(&[("dohle.unflushed.bytes", "0")]);
    world.topic("t", 1, &[]);
    world.held = Some(What::Flush);
    (1..=20).for_each(|request| world.produce(request, 1, Acks::Leader, batch(5, 1, None)));
    assert_eq!((end(&world, 1), world.waiting.len()), (20, 0));
}
