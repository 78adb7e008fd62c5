//! Starts, service, checkpoints, stops.

use std::collections::BTreeMap;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset, PartitionIndex};

use super::*;
use crate::control::Input;
use crate::disk::{DiskOp, FilePath};
use crate::image::resource;
use crate::mail::{AdminReply, AdminRequest, ConfigChange, ConfigOp, ShardId, ToControl};
use crate::mail::{NewTopic, TopicRef};

const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const LOG_STARTS: &str = "log-start-offset-checkpoint";
const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
const CLEAN_STOP: &str = ".kafka_cleanshutdown";
const QUORUM_STATE: &str = "__cluster_metadata-0/quorum-state";

#[test]
fn an_empty_directory_is_ready_after_two_syncs() {
    let world = World::started(&[]);
    assert_eq!(world.sync_rounds, 2, "{:#?}", world.ops);
    world.check_image();
    let ready = "Transitioning from RECOVERY to RUNNING";
    assert!(world.notes.iter().any(|note| note.contains(ready)), "{:?}", world.notes);
    assert_eq!(
        world.file(0, QUORUM_STATE).unwrap(),
        "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\
         \"appliedOffset\":0,\"currentVoters\":[{\"voterId\":1}],\"data_version\":0}"
    );
    let broker = world.image().brokers.get(&NodeId(1)).unwrap();
    assert_eq!((broker.epoch, broker.fenced), (4, false), "C4: the offset of its record");
    assert!(world.file(0, "meta.properties").unwrap().contains("node.id=1"));
}

#[test]
fn nothing_uncommitted_leaves() {
    let mut world = World::started(&[]);
    world.crash_before = Some(world.ops.len() + 1);
    let before = world.image().offset;
    assert_eq!(world.create("t"), None, "the sync did not end");
    assert!(world.crashed);
    assert_eq!(world.image().offset, before);
    assert_eq!(world.published.as_ref().unwrap().offset, before);
}

#[test]
fn requests_are_answered_when_committed_and_in_order() {
    let mut world = World::started(&[]);
    let first = world.send(create("t"));
    let again = world.send(create("t"));
    let syncs = world.sync_rounds;
    let other = world.ask(create("u")).unwrap();
    assert!(matches!(&world.answers[&first], AdminReply::Created(r) if r[0].is_ok()));
    let AdminReply::Created(refused) = &world.answers[&again] else { panic!() };
    assert_eq!(refused[0].as_ref().unwrap_err().code, ErrorCode::TopicAlreadyExists);
    assert!(matches!(other, AdminReply::Created(r) if r[0].is_ok()));
    assert_eq!(world.sync_rounds - syncs, 2, "what came during a sync shares the next one");
    world.check_image();
}

#[test]
fn requests_before_ready_and_after_shutdown_are_refused_for_now() {
    let mut world = World::off(&[]);
    let refusal = |reply: Option<AdminReply>| match reply.expect("answered") {
        AdminReply::Refused(refusal) => refusal.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(world.ask(create("t"))), ErrorCode::NotController);
    let init = AdminRequest::InitProducerId { current: None };
    assert_eq!(refusal(world.ask(init)), ErrorCode::CoordinatorNotAvailable);
    let describe = AdminRequest::DescribeQuorum;
    assert_eq!(refusal(world.ask(describe)), ErrorCode::NotLeaderOrFollower);
    world.boot();
    world.stop();
    assert_eq!(refusal(world.ask(create("t"))), ErrorCode::NotController);
}

#[test]
fn the_quorum_is_described_as_its_leader_sees_it() {
    let mut world = World::started(&[]);
    let mut view = || match world.ask(AdminRequest::DescribeQuorum) {
        Some(AdminReply::Quorum(view)) => view,
        other => panic!("{other:?}"),
    };
    let before = view();
    assert_eq!((before.leader, before.epoch), (NodeId(1), LeaderEpoch(1)));
    assert_eq!(before.voters, [(NodeId(1), before.high_watermark)]);
    world.made("t");
    world.stop();
    world.boot();
    let Some(AdminReply::Quorum(after)) = world.ask(AdminRequest::DescribeQuorum) else { panic!() };
    assert!(after.epoch > before.epoch && after.high_watermark > before.high_watermark);
}

#[test]
fn a_clean_stop_is_marked_last_and_its_mark_goes_first() {
    let mut world = World::started(&[]);
    world.made("t");
    world.stop();
    let last = world.ops.iter().rfind(|op| changes(op)).unwrap();
    assert!(matches!(last, DiskOp::Put { path, durable: true, .. } if &*path.path == CLEAN_STOP));
    assert_eq!(world.file(0, CLEAN_STOP).unwrap(), "{\"version\":0,\"brokerEpoch\":4}");
    world.disk.lose_power();
    world.boot();
    assert!(world.ready && world.told.as_ref().unwrap().clean);
    let first = world.ops.iter().find(|op| changes(op)).unwrap();
    assert!(matches!(first, DiskOp::Rename { from, .. } if &*from.path == CLEAN_STOP));
    let left: Vec<_> = world.disk.names().into_iter().filter(|n| n.contains("clean")).collect();
    assert_eq!(left, Vec::<String>::new());
    world.check_image();
    world.kill();
    assert!(!world.told.as_ref().unwrap().clean);
}

#[test]
fn a_mark_of_an_earlier_stop_is_not_believed() {
    let mut world = World::started(&[]);
    world.stop();
    let old = world.file(0, CLEAN_STOP).unwrap();
    world.boot();
    world.disk.kill();
    world.write_file(0, CLEAN_STOP, &old);
    world.boot();
    assert!(world.ready && !world.told.as_ref().unwrap().clean);
    assert!(world.notes.iter().any(|note| note.contains("broker epoch 4")), "{:?}", world.notes);
}

#[test]
fn a_stop_before_ready_stops() {
    let mut world = World::off(&[]);
    world.input(Input::Shutdown);
    assert!(world.stopped);
    let mut world = World::off(&[]);
    world.crash_before = Some(9);
    world.boot();
    assert!(world.crashed && !world.ready);
    world.crash_before = None;
    world.input(Input::Shutdown);
    assert!(world.stopped && world.file(0, CLEAN_STOP).is_none());
}

#[test]
fn checkpoints_are_written_and_read_back() {
    let mut world = World::started(&[]);
    world.made("a-b");
    world.reports.insert("a-b-1".to_owned(), (Offset(40), Some(Offset(30))));
    world.wait_for_checkpoint();
    let metadata = world.image().offset.0 + 1;
    assert_eq!(
        world.file(0, RECOVERY_POINTS).unwrap(),
        format!("0\n3\n__cluster_metadata 0 {metadata}\na-b 0 10\na-b 1 40\n")
    );
    assert_eq!(world.file(0, LOG_STARTS).unwrap(), "0\n1\na-b 1 30\n");
    assert_eq!(world.file(0, HIGH_WATERMARKS).unwrap(), "0\n2\na-b 0 20\na-b 1 20\n");
    let ops = world.ops.len();
    world.wait_for_checkpoint();
    assert_eq!(world.ops.len(), ops, "nothing changed, nothing is written");
    world.power();
    let told = world.told.as_ref().unwrap();
    assert_eq!(told.recovery_points["a-b-1"], Offset(40));
    assert_eq!(told.log_starts["a-b-1"], Offset(30));
    assert_eq!(told.high_watermarks.len(), 2);
}

#[test]
fn a_partition_leaves_the_checkpoints_with_its_topic_and_not_before() {
    let mut world = World::started(&[]);
    world.made("t");
    world.made("u");
    world.wait_for_checkpoint();
    // A shard whose disk failed reports nothing of its partitions any more.
    for shard in [0, 1] {
        world.mail(ToControl::Checkpoint { shard: ShardId(shard), logs: Vec::new() });
    }
    world.wait_for_checkpoint();
    assert!(world.file(0, HIGH_WATERMARKS).unwrap().contains("t 1 20"), "L10");
    world.delete("t").unwrap();
    assert_eq!(world.file(0, HIGH_WATERMARKS).unwrap(), "0\n2\nu 0 20\nu 1 20\n");
    world.made("t");
    world.stop();
    assert!(world.file(0, HIGH_WATERMARKS).unwrap().contains("t 1 20"));
}

#[test]
fn a_report_from_before_a_name_was_used_again_is_not_taken() {
    let mut world = World::started(&[]);
    world.made("t");
    world.now_ms += 60_001;
    // The shards are asked, and before their reports come the topic is made anew.
    let mut fx = crate::fx::Fx::new();
    world.control.step(now(&world), Input::Tick, &mut fx);
    world.ask(AdminRequest::DeleteTopics { topics: vec![TopicRef::Name("t".into())] });
    world.made("t");
    for shard in [0, 1] {
        let logs = vec![crate::mail::LogCheckpoint {
            name: "t-0".into(),
            dir: 0,
            recovery_point: Offset(1_000_000),
            durable: Offset(1_000_000),
            log_start: None,
            high_watermark: Offset(1_000_000),
        }];
        world.input(Input::Mail(ToControl::Checkpoint { shard: ShardId(shard), logs }));
    }
    assert!(!world.file(0, RECOVERY_POINTS).unwrap().contains("t 0 1000000"));
    assert_eq!(world.file(0, HIGH_WATERMARKS), None);
}

fn now(world: &World) -> crate::time::Now {
    let wall = dohle_wire::id::Timestamp(i64::try_from(world.now_ms).unwrap());
    crate::time::Now { mono: crate::time::Instant(world.now_ms * 1_000_000), wall }
}

#[test]
fn damaged_checkpoints_are_unknown_and_told() {
    let mut world = World::started(&[]);
    world.made("t");
    world.wait_for_checkpoint();
    world.disk.kill();
    world.write_file(0, HIGH_WATERMARKS, "0\n7\nt 0 1\n");
    world.boot();
    assert!(world.ready, "{:?}", world.fatal);
    assert!(world.told.as_ref().unwrap().high_watermarks.is_empty());
    assert!(world.notes.iter().any(|note| note.contains(HIGH_WATERMARKS)), "{:?}", world.notes);
    world.wait_for_checkpoint();
    assert_eq!(world.file(0, HIGH_WATERMARKS).unwrap(), "0\n2\nt 0 20\nt 1 20\n");
}

#[test]
fn several_directories_share_the_partitions_and_their_checkpoints() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    world.made("t");
    world.wait_for_checkpoint();
    assert_eq!(world.file(0, HIGH_WATERMARKS).unwrap(), "0\n1\nt 0 20\n");
    assert_eq!(world.file(1, HIGH_WATERMARKS).unwrap(), "0\n1\nt 1 20\n");
    world.mail(ToControl::DirFailed { dir: 1, why: "gone".to_owned() });
    world.stop();
    assert!(world.file(0, CLEAN_STOP).is_some() && world.file(1, CLEAN_STOP).is_none());
    world.boot();
    assert!(world.ready && !world.told.as_ref().unwrap().clean, "one of them has to recover");
}

#[test]
fn the_metadata_may_lie_in_any_of_the_directories() {
    let mut world = World::started(&[("log.dirs", "one,two"), ("metadata.log.dir", "two")]);
    world.made("t");
    assert!(world.disk.files.contains_key(&FilePath::new(1, QUORUM_STATE)));
    assert!(!world.disk.files.contains_key(&FilePath::new(0, QUORUM_STATE)));
    world.power();
    assert!(world.image().topic("t").is_some());
    world.set("metadata.log.dir", "three");
    world.boot();
    assert!(world.fatal.unwrap().contains("metadata.log.dir is three"));
}

#[test]
fn metadata_in_another_directory_than_the_configured_one_is_not_passed_over() {
    let settings = [("log.dirs", "one,two"), ("metadata.log.dir", "two")];
    let mut world = World::started(&settings);
    world.made("t");
    world.set("metadata.log.dir", "one");
    world.boot();
    let text = world.fatal.take().expect("it would be a node without topics");
    assert!(text.contains("two/__cluster_metadata-0 is there"), "{text}");
    assert!(text.contains("metadata.log.dir=two"), "{text}");
    assert!(!world.disk.names().iter().any(|name| name.contains("stray")));
    world.set("metadata.log.dir", "two");
    world.boot();
    assert!(world.fatal.is_none() && world.image().topic("t").is_some());
}

#[test]
fn partitions_whose_metadata_is_gone_are_left_alone() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    let log = FilePath::new(1, "t-0/00000000000000000000.log");
    world.disk.files.insert(log.clone(), vec![1]);
    world.disk.files.retain(|path, _| !path.path.contains("__cluster_metadata-0"));
    world.boot();
    let text = world.fatal.take().expect("it would be a node without topics");
    assert!(text.contains("two holds partitions, but one no metadata"), "{text}");
    assert!(world.disk.files.contains_key(&log));
}

#[test]
fn a_node_whose_every_directory_failed_ends() {
    let mut world = World::started(&[]);
    world.input(Input::Mail(ToControl::DirFailed { dir: 0, why: "EIO".into() }));
    assert!(world.fatal.unwrap().contains("EIO"));
}

#[test]
fn a_failing_metadata_disk_ends_the_node_with_a_clear_text() {
    let mut world = World::started(&[]);
    world.disk.broken = true;
    assert_eq!(world.create("t"), None);
    let text = world.fatal.clone().unwrap();
    assert!(text.contains("./dohle-data/__cluster_metadata-0 cannot be written: broken"), "{text}");
    world.disk.broken = false;
    world.power();
    assert!(world.image().topic("t").is_none());
}

#[test]
fn a_full_metadata_disk_refuses_changes_and_keeps_what_there_is() {
    let mut world = World::started(&[]);
    world.made("t");
    assert_eq!(world.producer_id(), Some(0));
    world.full = true;
    for name in ["u", "v"] {
        let refusal = world.create(name).unwrap().unwrap_err();
        assert_eq!(refusal.code, ErrorCode::KafkaStorageError);
        assert!(refusal.message.unwrap().contains("is full"));
    }
    assert_eq!(world.fatal, None);
    assert!(world.image().topic("t").is_some());
    assert_eq!(world.producer_id(), Some(1), "of a block that was granted before");
    world.stop();
    assert_eq!(world.file(0, CLEAN_STOP), None, "the next start has to look");
    world.boot();
    assert!(world.ready, "{:?}", world.fatal);
    assert!(world.image().topic("t").is_some() && world.image().topic("u").is_none());
    world.check_image();
}

#[test]
fn metadata_can_change_again_when_there_is_space() {
    let mut world = World::started(&[]);
    world.made("t");
    for round in 0..3 {
        world.full = true;
        assert!(world.create("u").unwrap().is_err());
        world.wait_for_retry();
        assert!(world.create("u").unwrap().is_err(), "it is full all the same");
        world.full = false;
        world.wait_for_retry();
        assert!(world.image().topic("t").is_some() && world.image().topic("u").is_none());
        world.made(&format!("v{round}"));
        world.check_image();
    }
    assert_eq!(world.fatal, None);
    world.stop();
    assert!(world.file(0, CLEAN_STOP).is_some());
    world.boot();
    assert!(world.image().topic("v2").is_some());
}

#[test]
fn a_disk_that_fills_up_while_the_metadata_log_is_closed_leaves_no_mark() {
    let mut world = World::started(&[]);
    world.made("t");
    world.full = true;
    world.stop();
    assert_eq!((world.fatal.clone(), world.file(0, CLEAN_STOP)), (None, None));
    world.boot();
    assert!(world.ready && world.image().topic("t").is_some(), "{:?}", world.fatal);
}

#[test]
fn what_is_reserved_is_given_up_when_every_shard_knows_that_the_disk_is_full() {
    let mut world = World::started(&[]);
    let reserved = World::reserved;
    assert_eq!(reserved(&world), Some(1 << 20));
    let full = ToControl::DirFull { dir: 0, why: "no space left".into() };
    for shard in 0..SHARDS {
        assert_eq!(reserved(&world), Some(1 << 20), "after {shard} shards");
        world.input(Input::Mail(full.clone()));
    }
    assert_eq!(reserved(&world), None);
    assert!(world.notes.iter().any(|note| note.contains("is full")));
    world.input(Input::Mail(ToControl::DirSpace { dir: 0 }));
    assert_eq!(reserved(&world), Some(1 << 20), "before the others take what there is");
    world.input(Input::Mail(full));
    assert_eq!(reserved(&world), None);
    for _ in 0..SHARDS {
        world.input(Input::Mail(ToControl::DirSpace { dir: 0 }));
    }
    assert_eq!(reserved(&world), Some(1 << 20));
}

/// They would take it, and the next start would find none.
#[test]
fn what_is_reserved_is_not_given_up_while_shards_write() {
    let mut world = World::started(&[]);
    world.full = true;
    assert!(world.create("t").unwrap().is_err());
    assert!(world.notes.iter().any(|note| note.contains("no space")), "{:?}", world.notes);
    assert_eq!(world.reserved(), Some(1 << 20));
    for _ in 0..SHARDS {
        world.input(Input::Mail(ToControl::DirFull { dir: 0, why: "no space left".into() }));
    }
    assert_eq!(world.reserved(), None);
}

#[test]
fn a_node_with_a_reserve_starts_on_a_full_disk() {
    let mut world = World::started(&[]);
    world.made("t");
    world.stop();
    world.disk.most = Some(world.disk.used());
    for _ in 0..20 {
        world.kill();
        let reserved = world.reserved();
        assert!(reserved >= Some(1 << 16), "{reserved:?}");
        assert!(world.image().topic("t").is_some());
    }
}

#[test]
fn who_waits_for_a_producer_id_that_cannot_be_granted_is_told() {
    let mut world = World::started(&[]);
    world.full = true;
    for _ in 0..3 {
        let reply = world.ask(AdminRequest::InitProducerId { current: None });
        let Some(AdminReply::Refused(refusal)) = reply else { panic!("{reply:?}") };
        assert_eq!(refusal.code, ErrorCode::KafkaStorageError);
    }
    assert_eq!(world.fatal, None);
}

#[test]
fn too_many_bytes_in_one_request_are_refused_as_a_whole() {
    let mut world = World::started(&[]);
    let value = format!("{}0:1", "0:1,".repeat(8000));
    let topics = (0..300).map(|number| NewTopic {
        name: format!("t{number}"),
        partitions: Some(1),
        replication: None,
        assignments: Vec::new(),
        configs: vec![("leader.replication.throttled.replicas".to_owned(), Some(value.clone()))],
    });
    let request = AdminRequest::CreateTopics { topics: topics.collect(), validate_only: false };
    let Some(AdminReply::Refused(refusal)) = world.ask(request) else { panic!() };
    assert_eq!(refusal.code, ErrorCode::PolicyViolation);
    assert!(world.image().topics.is_empty());
}

fn check_fatal(change: impl FnOnce(&mut World), parts: &[&str]) {
    let mut world = World::started(&[]);
    world.made("t");
    world.stop();
    change(&mut world);
    let before = world.disk.files.clone();
    world.boot();
    let text = world.fatal.clone().expect("it must not start");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} not in {text}"));
    assert!(!world.ready && world.published.is_none());
    let log = FilePath::new(0, "__cluster_metadata-0/00000000000000000000.log");
    assert_eq!(before.get(&log), world.disk.files.get(&log), "the log is left alone");
}

#[test]
fn a_directory_of_another_node_is_refused() {
    check_fatal(|world| world.set("node.id", "2"), &["node.id 1", "this node is 2"]);
}

#[test]
fn a_quorum_with_other_voters_is_refused() {
    let state = "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":9,\"votedId\":-1,\
        \"appliedOffset\":0,\"currentVoters\":[{\"voterId\":1},{\"voterId\":2}],\
        \"data_version\":0}";
    check_fatal(|world| world.write_file(0, QUORUM_STATE, state), &["voters 1, 2", "node is 1"]);
}

#[test]
fn a_damaged_quorum_state_is_refused() {
    check_fatal(|world| world.write_file(0, QUORUM_STATE, "{"), &["quorum-state is damaged"]);
}

#[test]
fn a_metadata_log_without_its_identity_is_refused() {
    let remove = |world: &mut World| {
        world.disk.files.remove(&FilePath::new(0, "meta.properties"));
    };
    check_fatal(remove, &["metadata log", "meta.properties"]);
}

#[test]
fn rot_in_committed_metadata_is_refused() {
    let rot = |world: &mut World| {
        let log = FilePath::new(0, "__cluster_metadata-0/00000000000000000000.log");
        world.disk.files.get_mut(&log).unwrap()[200] ^= 1;
    };
    check_fatal(rot, &["__cluster_metadata-0", "damaged at byte"]);
}

#[test]
fn metadata_that_the_disk_lost_is_noticed() {
    let mut world = World::started(&[]);
    world.made("t");
    world.wait_for_checkpoint();
    world.disk.kill();
    let log = FilePath::new(0, "__cluster_metadata-0/00000000000000000000.log");
    let content = world.disk.files.get_mut(&log).unwrap();
    let batches = dohle_wire::record::split_batches(content.clone().into());
    let last = batches.last().unwrap().unwrap();
    content.truncate(content.len() - last.bytes.len());
    world.boot();
    let text = world.fatal.unwrap();
    assert!(text.contains("the disk has lost committed metadata"), "{text}");
}

#[test]
fn a_new_directory_joins_and_a_missing_one_leaves_its_partitions_offline() {
    let mut world = World::started(&[]);
    world.made("t");
    world.stop();
    world.set("log.dirs", "./dohle-data,more");
    world.boot();
    assert!(world.ready && world.told.as_ref().unwrap().clean, "{:?}", world.fatal);
    world.made("u");
    let led = |world: &World, topic: &str| -> Vec<bool> {
        let topic = world.image().topic(topic).unwrap();
        topic.partitions.iter().map(|partition| partition.leader.is_some()).collect()
    };
    assert_eq!(led(&world, "u"), [true, true]);
    world.stop();
    world.set("log.dirs", "./dohle-data");
    world.boot();
    assert_eq!(led(&world, "t"), [true, true]);
    assert_eq!(led(&world, "u"), [false, false], "both went to the emptier directory");
    world.check_image();
}

#[test]
fn changed_configs_reach_shards_with_the_image() {
    let mut world = World::started(&[]);
    world.made("t");
    let change = ConfigChange {
        resource_type: resource::TOPIC,
        name: "t".to_owned(),
        ops: vec![(ConfigOp::Set, "retention.ms".to_owned(), Some("5".to_owned()))],
        replace_all: false,
    };
    world.ask(AdminRequest::AlterConfigs { resources: vec![change], validate_only: false });
    let shard = world.shards[1].as_ref().unwrap();
    assert_eq!(shard.topic("t").unwrap().config.retention_ms, Some(5));
    world.check_image();
}

#[test]
fn a_directory_that_cannot_be_read_is_offline_alone() {
    let mut world = World::started(&[("log.dirs", "one,two,three")]);
    world.made("t");
    world.made("u");
    world.stop();
    world.disk.broken_dirs.insert(1);
    world.boot();
    assert!(world.ready, "fatal: {:?}", world.fatal);
    let offline = world.notes.iter().find(|note| note.contains("two failed")).expect("told");
    assert!(offline.contains("broken"), "{offline}");
    assert!(world.notes.iter().any(|note| note.contains("1 partitions are in a data directory")));
    let led = |world: &World, topic: &str, at: usize| {
        world.image().topic(topic).unwrap().partitions[at].leader.is_some()
    };
    assert!(led(&world, "t", 0) && !led(&world, "t", 1) && led(&world, "u", 0));
    let directories = &world.told.as_ref().unwrap().directories;
    assert_eq!(directories.ids.keys().collect::<Vec<_>>(), [&0, &2]);
    assert_eq!(directories.failed.iter().collect::<Vec<_>>(), [&1]);
    world.made("v");
    assert!(led(&world, "v", 0) && led(&world, "v", 1), "new ones go elsewhere");
    world.check_image();
    world.stop();
    world.disk.broken_dirs.clear();
    world.boot();
    assert!(led(&world, "t", 1) && world.told.as_ref().unwrap().directories.failed.is_empty());
}

#[test]
fn a_directory_whose_checkpoints_cannot_be_written_is_offline_alone() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    world.made("t");
    world.disk.broken_dirs.insert(1);
    world.wait_for_checkpoint();
    assert_eq!(world.fatal, None);
    assert!(world.notes.iter().any(|note| note.contains("two failed")), "{:?}", world.notes);
    let topic = world.image().topic("t").unwrap().clone();
    let led: Vec<bool> = topic.partitions.iter().map(|at| at.leader.is_some()).collect();
    assert_eq!(led, [true, false]);
    world.check_image();
}

#[test]
fn the_driver_may_know_that_a_directory_cannot_be_used() {
    let mut world = World::off(&[("log.dirs", "one,two")]);
    world.unusable = BTreeMap::from([(1, "read-only file system".to_owned())]);
    world.boot();
    assert!(world.ready && world.notes.iter().any(|note| note.contains("read-only")));
    world.made("t");
    assert!(!world.disk.files.keys().any(|path| path.dir == 1), "nothing is written there");
    world.unusable = BTreeMap::from([(0, "read-only file system".to_owned())]);
    world.boot();
    let text = world.fatal.clone().expect("the metadata is there");
    assert!(text.contains("one") && text.contains("read-only"), "{text}");
}

#[test]
fn a_directory_of_another_cluster_is_offline_alone() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    world.made("t");
    world.stop();
    let own = world.file(1, "meta.properties").unwrap();
    let id = own.lines().find_map(|line| line.strip_prefix("cluster.id=")).unwrap();
    world.write_file(1, "meta.properties", &own.replace(id, "4L6g3nShT-eMCtK--X86sw"));
    world.boot();
    assert!(world.ready && world.notes.iter().any(|note| note.contains("4L6g3nShT")));
    let partitions = &world.image().topic("t").unwrap().partitions;
    assert!(partitions[0].leader.is_some() && partitions[1].leader.is_none());
    assert!(!world.ops.iter().any(|op| changes_dir(op, 1)), "what is not ours is not touched");
}

fn changes_dir(op: &DiskOp, dir: u16) -> bool {
    match op {
        DiskOp::Put { path, .. } | DiskOp::Remove { path, .. } => path.dir == dir,
        DiskOp::Rename { from, .. } => from.dir == dir,
        _ => false,
    }
}

#[test]
fn what_a_failing_directory_led_has_no_leader_until_the_next_start() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    world.made("t");
    world.input(Input::Mail(ToControl::DirFailed { dir: 1, why: "EIO".into() }));
    let partitions = &world.image().topic("t").unwrap().partitions;
    assert!(partitions[0].leader.is_some() && partitions[1].leader.is_none());
    world.check_image();
    world.made("u");
    assert!(world.image().topic("u").unwrap().partitions.iter().all(|p| p.leader.is_some()));
    world.kill();
    let partitions = &world.image().topic("t").unwrap().partitions;
    assert!(partitions.iter().all(|partition| partition.leader.is_some()));
    world.check_image();
    world.input(Input::Mail(ToControl::DirFailed { dir: 0, why: "EIO".into() }));
    let text = world.fatal.clone().expect("the metadata is there");
    assert!(text.contains("one, which holds the metadata, failed: EIO"), "{text}");
}

#[test]
fn where_a_replica_is_can_change_and_be_wished_for() {
    let mut world = World::started(&[("log.dirs", "one,two")]);
    let id = world.made("t");
    let dirs: Vec<_> = world.image().brokers.get(&NodeId(1)).unwrap().log_dirs.clone();
    let partition = crate::mail::PartitionId { topic: id, index: PartitionIndex(0) };
    world.input(Input::Mail(ToControl::Placed { partition, dir: 1 }));
    let moved = world.image().topic("t").unwrap().partitions[0].clone();
    assert_eq!((&moved.directories[..], moved.leader_epoch.0), (&dirs[1..], 0));
    let before = world.image().offset;
    world.input(Input::Mail(ToControl::Placed { partition, dir: 1 }));
    assert_eq!(world.image().offset, before, "that was known");
    world.check_image();
    for index in [0, 1] {
        let index = PartitionIndex(index);
        world.input(Input::Mail(ToControl::Prefer { topic: "u".into(), index, dir: 1 }));
    }
    world.made("u");
    let made = world.image().topic("u").unwrap();
    assert!(made.partitions.iter().all(|partition| partition.directories == dirs[1..]));
    world.made("v");
    assert_eq!(world.image().topic("v").unwrap().partitions[0].directories, dirs[..1]);
}
