//! Loss of power before each single disk operation.

use std::collections::BTreeSet;

use dohle_wire::id::TopicId;

use super::*;
use crate::mail::AdminReply;

/// What a run has promised.
#[derive(Default)]
struct Promised {
    topics: Vec<(String, TopicId)>,
    deleted: Vec<TopicId>,
    producer_ids: BTreeSet<i64>,
    topic_ids: BTreeSet<TopicId>,
    epochs: Vec<i64>,
}

impl Promised {
    /// Does a bit of everything, up to a crash.
    fn work(&mut self, world: &mut World, round: usize) {
        let name = |part: &str| format!("{part}{round}");
        self.create(world, &name("a"));
        self.take_producer_ids(world, 3);
        self.create(world, &name("b"));
        world.set_retention(&name("b"));
        self.delete(world, &name("a"));
        self.create(world, &name("a"));
        self.take_producer_ids(world, 2);
    }

    fn create(&mut self, world: &mut World, name: &str) {
        if let Some(Ok(made)) = world.create(name) {
            assert!(self.topic_ids.insert(made.id), "C5: {} was given twice", made.id);
            self.topics.push((name.to_owned(), made.id));
        }
    }

    fn delete(&mut self, world: &mut World, name: &str) {
        if let Some(AdminReply::Deleted(mut results)) = world.delete(name) {
            let (_, id) = results.remove(0).expect("it was there");
            self.deleted.push(id);
        }
        // Without an answer it may be gone or not.
        self.topics.retain(|(other, _)| other != name);
    }

    fn take_producer_ids(&mut self, world: &mut World, count: usize) {
        for _ in 0..count {
            let Some(id) = world.producer_id() else { return };
            assert!(self.producer_ids.insert(id), "C8: producer id {id} was given twice");
        }
    }

    fn check(&mut self, world: &World) {
        world.check_image();
        let image = world.image();
        for (name, id) in &self.topics {
            let topic = image.topic(name).expect("an acknowledged topic is there");
            assert_eq!((topic.id, topic.partitions.len()), (*id, 2), "whole or not at all");
            assert_eq!(topic.config.retention_ms.map(|ms| ms > 0), Some(true));
        }
        assert!(self.deleted.iter().all(|id| image.topic_by_id(id).is_none()));
        let epoch = crate::controller::local_epoch(image).unwrap();
        assert!(self.epochs.iter().all(|before| *before < epoch), "C4: {epoch}");
        self.epochs.push(epoch);
    }
}

impl World {
    fn set_retention(&mut self, topic: &str) {
        let change = crate::mail::ConfigChange {
            resource_type: crate::image::resource::TOPIC,
            name: topic.to_owned(),
            ops: vec![(crate::mail::ConfigOp::Set, "retention.ms".into(), Some("70000".into()))],
            replace_all: false,
        };
        let resources = vec![change];
        self.ask(crate::mail::AdminRequest::AlterConfigs { resources, validate_only: false });
    }
}

/// Operations of a whole run: a start, work, a checkpoint, a stop.
fn ops_of_a_run(world: &mut World, promised: &mut Promised, round: usize) -> usize {
    promised.work(world, round);
    world.wait_for_checkpoint();
    world.stop();
    world.ops.len()
}

#[test]
fn power_lost_before_any_operation_loses_nothing_promised() {
    let ops = ops_of_a_run(&mut World::started(&[]), &mut Promised::default(), 0);
    assert!(ops > 30, "{ops} operations are no test");
    for crash in 0..ops {
        let mut world = World::off(&[]);
        let mut promised = Promised::default();
        world.crash_before = Some(crash);
        world.boot();
        if world.ready {
            promised.work(&mut world, 0);
        }
        if !world.crashed {
            world.now_ms += 60_001;
            world.input(super::super::Input::Tick);
        }
        if !world.crashed {
            world.input(super::super::Input::Shutdown);
        }
        assert!(world.crashed && world.fatal.is_none(), "{crash}: {:?}", world.fatal);
        world.power();
        promised.check(&world);
        promised.work(&mut world, 1);
        promised.check_image_of(&world);
    }
}

impl Promised {
    fn check_image_of(&mut self, world: &World) {
        self.epochs.clear();
        self.check(world);
    }
}

#[test]
fn power_lost_during_a_start_after_a_clean_stop_is_never_taken_for_one() {
    let mut before = World::started(&[]);
    let mut promised = Promised::default();
    ops_of_a_run(&mut before, &mut promised, 0);
    for crash in 0.. {
        let mut world = World::off(&[]);
        world.disk = before.disk.clone();
        world.crash_before = Some(crash);
        world.boot();
        if !world.crashed {
            assert!(crash > 10, "{crash} operations are no test");
            return;
        }
        let wrote = world.ops.iter().any(changes);
        world.power();
        assert_eq!(world.told.as_ref().unwrap().clean, !wrote, "{crash}");
        assert!(promised.topics.iter().all(|(name, _)| world.image().topic(name).is_some()));
    }
}

#[test]
fn many_kills_in_a_row_never_repeat_an_id() {
    let mut world = World::started(&[]);
    let mut promised = Promised::default();
    for round in 0..20 {
        promised.work(&mut world, round);
        match round % 3 {
            0 => world.kill(),
            1 => world.power(),
            _ => {
                world.stop();
                world.boot();
            }
        }
        promised.check(&world);
    }
    assert_eq!(world.image().epoch.0, 21, "Q9: one epoch for each start");
}
