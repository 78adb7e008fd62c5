//! A disk that has no space for a while.

use super::*;
use crate::log::Log;
use crate::log::names::FileKind;

impl World {
    /// No more fits than `room` bytes.
    fn fill(&mut self, room: usize) {
        self.disk.most = Some(self.disk.used() + room);
    }

    fn make_space(&mut self) {
        self.disk.most = None;
        self.wait();
    }

    /// Lets a second and a bit pass.
    fn wait(&mut self) {
        self.mono += 1_001_000_000;
        self.step(Input::Tick);
    }

    fn log(&self) -> &Log {
        self.shard.partitions().next().unwrap().log()
    }

    fn refusal(&self, request: u64) -> Refusal {
        self.produced(request).expect("answered").expect_err("refused")
    }
}

fn check_full(config: &[(&str, &str)], room: usize) {
    let mut world = World::new();
    world.topic("t", 1, config);
    world.produce(1, 1, Acks::All, batch(5, 2, Some(0)));
    assert_eq!(base(world.produced(1)), 0);
    world.fill(room);
    world.produce(2, 1, Acks::All, batch(5, 2, Some(2)));
    assert_eq!(world.refusal(2).code, ErrorCode::KafkaStorageError);
    assert!(world.control.iter().any(|mail| matches!(mail, ToControl::DirFull { dir: 0, .. })));
    assert_eq!(world.bases(1, 0), [0], "what was acknowledged can be read");
    world.produce(3, 1, Acks::All, batch(5, 2, Some(2)));
    let refusal = world.refusal(3);
    assert!(refusal.message.unwrap().contains("no space left in"));
    world.wait();
    world.produce(4, 1, Acks::All, batch(5, 2, Some(2)));
    assert_eq!(world.refusal(4).code, ErrorCode::KafkaStorageError);
    world.make_space();
    assert!(matches!(world.control.last(), Some(ToControl::DirSpace { dir: 0 })));
    world.produce(5, 1, Acks::All, batch(5, 2, Some(2)));
    assert_eq!(base(world.produced(5)), 2, "as if nothing had been");
    world.produce(6, 1, Acks::All, batch(5, 2, Some(0)));
    assert_eq!(base(world.produced(6)), 0, "producers are known");
    assert_eq!(world.bases(1, 0), [0, 2]);
    assert!(!world.disk.names().iter().any(|name| name.contains("probe")), "it is swept away");
}

#[test]
fn a_full_disk_refuses_producers_until_there_is_space() {
    for room in [0, 1, 30, 61, 62, 90] {
        check_full(&[], room);
        check_full(&[("flush.messages", "1")], room);
    }
}

#[test]
fn an_index_that_finds_no_space_stays_in_memory() {
    let mut world = World::new();
    world.topic("t", 1, &[("internal.segment.bytes", "2000"), ("index.interval.bytes", "200")]);
    for request in 0..100 {
        world.produce(request, 1, Acks::All, batch(request as i64, 2, None));
        assert_eq!(base(world.produced(request)), 2 * request as i64);
    }
    assert!(world.log().segments().len() > 3);
    let end = world.log().end();
    let all = world.bases(1, 0);
    // What is found after a crash is scanned, and there is no room for its indexes.
    world.disk.files.retain(|path, _| !path.path.ends_with("index"));
    world.fill(0);
    world.restart(Checkpoints::default());
    assert_eq!(world.bases(1, 0), all);
    assert_eq!((world.log().end(), world.log().recovery_point()), (end, Offset(0)));
    world.produce(2000, 1, Acks::All, batch(5, 2, None));
    assert_eq!(world.refusal(2000).code, ErrorCode::KafkaStorageError);
    world.make_space();
    assert!(world.disk.names().iter().filter(|name| name.ends_with(".index")).count() >= 3);
    assert_eq!(world.bases(1, 0), all);
    world.produce(2001, 1, Acks::All, batch(5, 2, None));
    assert_eq!(base(world.produced(2001)), end.0);
    let checkpoints = world.stop();
    assert_eq!(checkpoints.recovery_points["t-0"], end.plus(1));
}

#[test]
fn a_log_that_a_full_disk_does_not_open_opens_when_there_is_space() {
    let mut world = World::new();
    world.topic("t", 1, &[("internal.segment.bytes", "300")]);
    for request in 0..10 {
        world.produce(request, 1, Acks::All, batch(5, 2, None));
    }
    let all = world.bases(1, 0);
    let torn = world.log().segments()[1].base;
    assert!(world.log().segments().len() > 3);
    // Segments behind the damage go, and that has to be written down.
    let path = world.log().folder().join(&FileKind::Log.name(torn));
    world.disk.files.get_mut(&path).unwrap()[70] ^= 1;
    world.disk.most = Some(0);
    world.restart(Checkpoints::default());
    world.produce(2000, 1, Acks::All, batch(5, 2, None));
    assert_eq!(world.refusal(2000).code, ErrorCode::KafkaStorageError);
    world.wait();
    world.produce(2001, 1, Acks::All, batch(5, 2, None));
    assert_eq!(world.refusal(2001).code, ErrorCode::KafkaStorageError);
    world.make_space();
    let left: Vec<i64> = all.into_iter().filter(|base| *base < torn.0).collect();
    assert_eq!(world.bases(1, 0), left);
    world.produce(2002, 1, Acks::All, batch(5, 2, None));
    assert_eq!(base(world.produced(2002)), torn.0);
}

#[test]
fn a_stop_on_a_full_disk_leaves_no_mark() {
    let mut world = World::new();
    world.topic("t", 1, &[("index.interval.bytes", "10")]);
    for request in 0..5 {
        world.produce(request, 1, Acks::All, batch(5, 2, None));
    }
    world.fill(0);
    world.mail(ToShard::Stop);
    assert!(world.control.iter().any(|mail| matches!(mail, ToControl::LeftOpen { dir: 0 })));
    assert!(world.control.iter().any(|mail| matches!(mail, ToControl::Stopped(_))));
}

#[test]
fn every_partition_of_a_full_directory_is_spared() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.topic("u", 2, &[]);
    world.produce(1, 2, Acks::All, batch(5, 2, None));
    world.mail(ToShard::DirFull { dir: 0, why: "another shard says so".to_owned() });
    for topic in [1, 2] {
        world.produce(10 + topic as u64, topic, Acks::All, batch(5, 2, None));
        assert_eq!(world.refusal(10 + topic as u64).code, ErrorCode::KafkaStorageError);
    }
    world.produce(20, 9, Acks::All, batch(5, 2, None));
    assert_eq!(world.refusal(20).code, ErrorCode::UnknownTopicOrPartition);
    world.wait();
    world.produce(21, 1, Acks::All, batch(5, 2, None));
    assert_eq!(base(world.produced(21)), 0);
}

#[test]
fn coordinators_go_on_as_long_as_they_have_nothing_to_write() {
    let mut world = World::new();
    world.topic(crate::group::place::OFFSETS_TOPIC, groups::OFFSETS, &[]);
    world.topic("t", 1, &[]);
    world.ask(1, groups::commit_of(5));
    assert_eq!(world.fetched(), Some(5));
    world.fill(0);
    world.mail(ToShard::DirFull { dir: 0, why: "full".to_owned() });
    world.ask(2, groups::commit_of(6));
    let refused = crate::group::request::Answer::Committed(Err(ErrorCode::CoordinatorNotAvailable));
    assert_eq!(world.told(2), Some(refused));
    assert_eq!(world.fetched(), Some(5), "what was not written was not taken in");
    let told = world.image.topics["t"].name.clone();
    world.drop_topic("t");
    world.publish();
    assert_eq!(world.fetched(), Some(5), "{told} is gone, and that cannot be written");
    world.make_space();
    assert_eq!(world.fetched(), None);
    world.ask(3, groups::commit_in("h", 7));
}
