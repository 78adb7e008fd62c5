//! A shard driven by hand over a disk in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use dohle_wire::id::{
    LeaderEpoch, PartitionIndex, ProducerEpoch, ProducerId, Sequence, Timestamp, TopicId, Uuid,
};
use dohle_wire::record::{BatchBuilder, NoCodecs, RawBatch, split_batches};
use dohle_wire::records::Records;

use super::*;
use crate::batch::CheckedBatch;
use crate::config::topic::TopicConfig;
use crate::disk::{FileId, FilePath, IoOk, What};
use crate::image::{PartitionImage, TopicImage};
use crate::mail::{
    Acks, Appended, DirSizes, Directories, Isolation, OffsetQuery, OffsetSpec, Produce, Read,
    ReadOutcome, ReadPart, Refusal,
};
use crate::memory_disk::MemoryDisk;

mod flips;
mod full;
mod groups;
mod moves;
mod reading;
mod scrubbing;
mod transactions;
mod unsynced;

const SESSION: SessionId = SessionId(5);

struct World {
    shard: Shard,
    disk: MemoryDisk,
    image: Image,
    config: Arc<BrokerConfig>,
    /// Operations of this kind wait until they are released.
    held: Option<What>,
    waiting: Vec<DiskOp>,
    answers: BTreeMap<u64, Answer>,
    wakes: Vec<u64>,
    control: Vec<ToControl>,
    notes: Vec<String>,
    checkpoints: Arc<Checkpoints>,
    mono: u64,
    /// So many operations are still carried out, then none.
    crash_after: Option<usize>,
    /// It is known to be full from the start on.
    full: Option<u16>,
}

fn dir_id(dir: u16) -> Uuid {
    Uuid::from_u128(u128::from(dir + 7) << 80)
}

fn dir_ids(count: u16) -> BTreeMap<u16, Uuid> {
    (0..count).map(|dir| (dir, dir_id(dir))).collect()
}

fn broker_config(properties: &[(&str, &str)]) -> Arc<BrokerConfig> {
    let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Arc::new(BrokerConfig::from_properties(&properties).expect("they hold").0)
}

impl World {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(properties: &[(&str, &str)]) -> Self {
        let config = broker_config(properties);
        let mut world = Self {
            shard: Shard::new(ShardId(0), 1, Arc::clone(&config), Arc::new(NoCodecs), 7),
            disk: MemoryDisk::default(),
            image: Image::empty("cluster".into(), Arc::clone(&config)),
            config,
            held: None,
            waiting: Vec::new(),
            answers: BTreeMap::new(),
            wakes: Vec::new(),
            control: Vec::new(),
            notes: Vec::new(),
            checkpoints: Arc::default(),
            mono: 0,
            crash_after: None,
            full: None,
        };
        let ids = dir_ids(u16::try_from(world.config.log_dirs.len()).unwrap());
        let directories = Directories { ids, ..Directories::default() };
        world.checkpoints = Arc::new(Checkpoints { directories, ..Checkpoints::default() });
        world.start();
        world
    }

    fn start(&mut self) {
        self.mail(ToShard::Start(Arc::clone(&self.checkpoints)));
        if let Some(dir) = self.full {
            self.mail(ToShard::DirFull { dir, why: "no space".to_owned() });
        }
        self.mail(ToShard::Image(Arc::new(self.image.clone())));
        assert!(self.control.iter().any(|mail| matches!(mail, ToControl::Ready(_))));
    }

    fn restart(&mut self, checkpoints: Checkpoints) {
        self.checkpoints = Arc::new(checkpoints);
        self.shard = Shard::new(ShardId(0), 1, Arc::clone(&self.config), Arc::new(NoCodecs), 7);
        self.waiting.clear();
        self.control.clear();
        self.answers.clear();
        self.crash_after = None;
        self.start();
    }

    fn now(&self) -> Now {
        Now { mono: Instant(self.mono), wall: Timestamp(1_000) }
    }

    fn mail(&mut self, mail: ToShard) {
        self.step(Input::Mail(mail));
    }

    fn step(&mut self, input: Input) {
        let mut queue = vec![input];
        while let Some(input) = queue.pop() {
            let mut fx = Fx::new();
            self.shard.step(self.now(), input, &mut fx);
            for effect in fx.drain() {
                self.carry_out(effect, &mut queue);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, queue: &mut Vec<Input>) {
        match effect {
            Effect::Disk(op) if op.id().is_some_and(|id| Some(id.what) == self.held) => {
                self.waiting.push(op);
            }
            Effect::Disk(_) if self.crash_after == Some(0) => {}
            Effect::Disk(op) => {
                if let (Some(left), true) = (&mut self.crash_after, op.id().is_some()) {
                    *left -= 1;
                }
                queue.splice(0..0, self.disk.run(op).map(Input::Io)).for_each(drop);
            }
            Effect::Session(_, ToSession::Answer { reply, answer }) => {
                let twice = self.answers.insert(reply.request, answer);
                assert!(twice.is_none(), "request {} answered twice", reply.request);
            }
            Effect::Session(_, ToSession::Wake { request }) => self.wakes.push(request),
            Effect::Control(mail) => self.control.push(mail),
            Effect::Note(note) => self.notes.push(note.text.to_string()),
        }
    }

    fn release(&mut self) {
        self.held = None;
        for op in std::mem::take(&mut self.waiting) {
            if let Some(done) = self.disk.run(op) {
                self.step(Input::Io(done));
            }
        }
    }

    fn topic(&mut self, name: &str, id: u128, configs: &[(&str, &str)]) {
        let overrides = configs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let none = BTreeMap::new();
        let config = TopicConfig::resolve(&overrides, &none, &none, &self.config);
        let me = NodeId(self.config.node_id);
        let partition = PartitionImage {
            replicas: vec![me],
            isr: vec![me],
            directories: vec![dir_id(0)],
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            removing: Vec::new(),
            adding: Vec::new(),
            leader: Some(me),
            recovering: false,
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
        };
        let topic = TopicImage {
            name: name.into(),
            id: topic_id(id),
            partitions: vec![Arc::new(partition)],
            config: Arc::new(config),
        };
        self.image.topic_names.insert_mut(topic.id, Arc::clone(&topic.name));
        self.image.topics.insert_mut(Arc::clone(&topic.name), Arc::new(topic));
        self.publish();
    }

    fn drop_topic(&mut self, name: &str) {
        let id = self.image.topics[name].id;
        self.image.topics.remove_mut(name);
        self.image.topic_names.remove_mut(&id);
    }

    fn publish(&mut self) {
        self.image.offset = self.image.offset.plus(1);
        self.mail(ToShard::Image(Arc::new(self.image.clone())));
    }

    fn produce(&mut self, request: u64, topic: u128, acks: Acks, batch: CheckedBatch) {
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let partition = partition(topic);
        let seen = self.image.offset;
        self.mail(ToShard::Produce(Produce { reply, seen, partition, acks, batch }));
    }

    fn produced(&self, request: u64) -> Option<Result<Appended, Refusal>> {
        match self.answers.get(&request)? {
            Answer::Produced(result) => Some(result.clone()),
            other => panic!("{other:?}"),
        }
    }

    fn read(&mut self, request: u64, topic: u128, offset: i64, watch: Option<u64>) -> ReadOutcome {
        let part = ReadPart {
            slot: 0,
            partition: partition(topic),
            offset: Offset(offset),
            max_bytes: 1 << 20,
            leader_epoch: None,
            last_fetched_epoch: None,
        };
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let seen = self.image.offset;
        let isolation = Isolation::ReadUncommitted;
        self.mail(ToShard::Read(Read { reply, seen, parts: vec![part], isolation, watch }));
        match self.answers.remove(&request) {
            Some(Answer::Read(mut outcomes)) => outcomes.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// Base offsets of the batches that a read from `offset` gives.
    fn bases(&mut self, topic: u128, offset: i64) -> Vec<i64> {
        let readable = self.read(9_999, topic, offset, None).result.expect("readable");
        let bytes = match readable.records {
            Records::Bytes(bytes) => bytes,
            Records::Holes(holes) => self.load(holes[0].file, holes[0].position, holes[0].len),
        };
        split_batches(bytes).map(|batch| batch.unwrap().header.base_offset.0).collect()
    }

    fn load(&mut self, file: u64, position: u64, len: u32) -> Bytes {
        let id = IoId { owner: 0, generation: 0, what: What::Recover, end: 0 };
        let read = DiskOp::Read { id, file: FileId(file), position, len };
        match self.disk.run(read).unwrap().result {
            Ok(IoOk::Read(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    fn list(&mut self, request: u64, spec: OffsetSpec) -> Option<i64> {
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let isolation = Isolation::ReadUncommitted;
        let query = OffsetQuery { spec, isolation, leader_epoch: None };
        let (seen, partition) = (self.image.offset, partition(1));
        self.mail(ToShard::ListOffset { reply, seen, partition, query });
        match self.answers.remove(&request) {
            Some(Answer::Offset(found)) => found.unwrap().map(|found| found.offset.0),
            other => panic!("{other:?}"),
        }
    }

    fn stop(&mut self) -> Checkpoints {
        self.mail(ToShard::Stop);
        let mut checkpoints = Checkpoints { clean: true, ..Checkpoints::default() };
        assert!(matches!(self.control.last(), Some(ToControl::Stopped(_))));
        for mail in &self.control {
            let ToControl::Checkpoint { logs, .. } = mail else { continue };
            for log in logs {
                let name = log.name.to_string();
                checkpoints.recovery_points.insert(name.clone(), log.recovery_point);
                if let Some(start) = log.log_start {
                    checkpoints.log_starts.insert(name, start);
                }
            }
        }
        checkpoints
    }
}

fn topic_id(id: u128) -> TopicId {
    TopicId(Uuid::from_u128(id << 64))
}

fn partition(topic: u128) -> PartitionId {
    PartitionId { topic: topic_id(topic), index: PartitionIndex(0) }
}

fn batch(time: i64, records: i32, sequence: Option<i32>) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Offset(0));
    if let Some(sequence) = sequence {
        builder = builder.producer(ProducerId(7), ProducerEpoch(0), Sequence(sequence));
    }
    for _ in 0..records {
        builder.push(Timestamp(time), Some(b"key"), Some(b"value"), &[]).unwrap();
    }
    let raw = RawBatch::parse(builder.build(&NoCodecs).unwrap()).unwrap();
    CheckedBatch::trusted(raw.header, raw.bytes, None)
}

fn base(produced: Option<Result<Appended, Refusal>>) -> i64 {
    produced.expect("answered").expect("appended").base.0
}

#[test]
fn an_acknowledgement_waits_for_the_write() {
    for acks in [Acks::Leader, Acks::All] {
        let mut world = World::new();
        world.topic("t", 1, &[]);
        world.held = Some(What::Append);
        world.produce(1, 1, acks, batch(5, 2, None));
        assert_eq!(world.produced(1), None);
        assert_eq!(world.bases(1, 0), [0; 0], "R14: nothing is visible before it is written");
        world.release();
        assert_eq!(base(world.produced(1)), 0);
        assert_eq!(world.bases(1, 1), [0]);
    }
}

#[test]
fn with_flush_messages_1_it_waits_for_the_sync() {
    let mut world = World::new();
    world.topic("t", 1, &[("flush.messages", "1")]);
    world.held = Some(What::Flush);
    for request in 1..4 {
        world.produce(request, 1, Acks::All, batch(5, 1, None));
        assert_eq!(world.produced(request), None);
    }
    assert_eq!(world.waiting.len(), 1, "one sync is under way for all of them");
    world.release();
    assert_eq!((1..4).map(|request| base(world.produced(request))).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn retries_are_answered_with_the_first_offset_once_it_is_safe() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.produce(1, 1, Acks::All, batch(5, 2, Some(0)));
    world.held = Some(What::Append);
    world.produce(2, 1, Acks::All, batch(5, 3, Some(2)));
    world.produce(3, 1, Acks::All, batch(5, 3, Some(2)));
    world.produce(4, 1, Acks::All, batch(5, 2, Some(0)));
    assert_eq!(base(world.produced(4)), 0, "an old batch is safe already");
    assert_eq!(world.produced(3), None);
    world.produce(5, 1, Acks::All, batch(5, 1, Some(9)));
    let refusal = world.produced(5).unwrap().unwrap_err();
    assert_eq!(refusal.code, ErrorCode::OutOfOrderSequenceNumber);
    world.release();
    assert_eq!((base(world.produced(2)), base(world.produced(3))), (2, 2));
    assert_eq!(world.bases(1, 0), [0, 2]);
}

#[test]
fn a_reader_is_woken_when_enough_has_come() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    let size = batch(5, 1, None).bytes().len() as u64;
    world.read(1, 1, 0, Some(size + 1));
    world.produce(2, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.wakes, [0; 0]);
    world.produce(3, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.wakes, [1]);
    world.produce(4, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.wakes, [1], "woken once");
    world.read(5, 1, 3, Some(1));
    world.mail(ToShard::Unwatch { session: SESSION, request: 5 });
    world.produce(6, 1, Acks::All, batch(5, 1, None));
    assert_eq!(world.wakes, [1], "nobody watches any more");
}

#[test]
fn requests_wait_for_the_image_they_were_routed_by() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.image.offset = world.image.offset.plus(1);
    world.produce(1, 1, Acks::All, batch(5, 1, Some(0)));
    world.produce(2, 1, Acks::All, batch(5, 1, Some(1)));
    assert_eq!(world.produced(1), None);
    world.publish();
    assert_eq!((base(world.produced(1)), base(world.produced(2))), (0, 1));
}

#[test]
fn offsets_by_time() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    for (request, time) in [(1, 50), (2, 70), (3, 60)] {
        world.produce(request, 1, Acks::All, batch(time, 2, None));
    }
    let found: Vec<_> = [OffsetSpec::Earliest, OffsetSpec::Latest, OffsetSpec::MaxTimestamp]
        .into_iter()
        .chain([0, 51, 70, 71].map(|time| OffsetSpec::At(Timestamp(time))))
        .map(|spec| world.list(9, spec))
        .collect();
    assert_eq!(found, [Some(0), Some(6), Some(2), Some(0), Some(2), Some(2), None]);
}

#[test]
fn a_topic_made_anew_starts_empty_and_the_old_folder_goes() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.produce(1, 1, Acks::All, batch(5, 1, None));
    world.read(2, 1, 1, Some(1));
    world.drop_topic("t");
    world.topic("t", 2, &[]);
    assert_eq!(world.wakes, [2], "who watched the old topic is told");
    assert_eq!(world.read(3, 1, 0, None).result.unwrap_err(), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(world.bases(2, 0), [0; 0]);
    assert!(world.disk.names().is_empty(), "{:?}", world.disk.names());
}

#[test]
fn a_clean_stop_and_a_start_find_everything() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    for request in 0..10 {
        let sequence = i32::try_from(request).unwrap();
        world.produce(request, 1, Acks::All, batch(5, 1, Some(sequence)));
    }
    let checkpoints = world.stop();
    assert_eq!(checkpoints.recovery_points["t-0"], Offset(9));
    world.disk.lose_power();
    world.restart(checkpoints);
    assert_eq!(world.bases(1, 0).len(), 10);
    world.produce(20, 1, Acks::All, batch(5, 1, Some(5)));
    assert_eq!(base(world.produced(20)), 5, "a retry across the restart");
}

#[test]
fn a_failed_write_takes_the_directory_offline() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    world.topic("u", 2, &[]);
    world.produce(1, 1, Acks::All, batch(5, 1, None));
    world.disk.broken = true;
    world.produce(2, 1, Acks::All, batch(5, 1, None));
    let storage = |world: &World, request| world.produced(request).unwrap().unwrap_err().code;
    assert_eq!(storage(&world, 2), ErrorCode::KafkaStorageError);
    world.disk.broken = false;
    for (request, topic) in [(3, 1), (4, 2)] {
        world.produce(request, topic, Acks::All, batch(5, 1, None));
        assert_eq!(storage(&world, request), ErrorCode::KafkaStorageError);
    }
    let told = world.control.iter().filter(|mail| matches!(mail, ToControl::DirFailed { .. }));
    assert_eq!(told.count(), 1);
}

#[test]
fn deleted_records_are_gone_and_the_bounds_are_kept() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    for request in 0..4 {
        world.produce(request, 1, Acks::All, batch(5, 1, None));
    }
    let mut delete = |request, before| {
        let reply = ReplyTo { session: SESSION, request, part: 0 };
        let (seen, partition) = (world.image.offset, partition(1));
        world.mail(ToShard::DeleteRecords { reply, seen, partition, before });
        match world.answers.remove(&request) {
            Some(Answer::Deleted(result)) => result.map(|o| o.0).map_err(|refusal| refusal.code),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(delete(10, Some(Offset(2))), Ok(2));
    assert_eq!(delete(11, Some(Offset(1))), Ok(2));
    assert_eq!(delete(12, Some(Offset(9))), Err(ErrorCode::OffsetOutOfRange));
    assert_eq!(world.read(13, 1, 1, None).result.unwrap_err(), ErrorCode::OffsetOutOfRange);
    assert_eq!(world.bases(1, 2), [2, 3]);
}

#[test]
fn a_read_that_nobody_waits_for_is_not_watched_when_its_look_ups_end() {
    let mut world = World::new();
    world.topic("t", 1, &[]);
    // More than the tail of a log remembers: the first batches have to be looked up.
    for request in 0..2_000 {
        world.produce(request, 1, Acks::All, batch(5, 1, None));
    }
    world.held = Some(What::Locate);
    let reply = ReplyTo { session: SESSION, request: 5_000, part: 0 };
    let part = ReadPart {
        slot: 0,
        partition: partition(1),
        offset: Offset(0),
        max_bytes: 1,
        leader_epoch: None,
        last_fetched_epoch: None,
    };
    let seen = world.image.offset;
    let isolation = Isolation::ReadUncommitted;
    let watch = Some(1 << 30);
    world.mail(ToShard::Read(Read { reply, seen, parts: vec![part], isolation, watch }));
    assert_eq!(world.waiting.len(), 1, "it waits for the look-up");
    world.mail(ToShard::Unwatch { session: SESSION, request: 5_000 });
    world.release();
    assert!(matches!(world.answers[&5_000], Answer::Read(_)));
    world.drop_topic("t");
    world.publish();
    assert_eq!(world.wakes, [0; 0], "the end of a topic wakes all who watch it");
}

#[test]
fn the_first_tick_that_a_partition_wants_is_the_shards() {
    let mut world = World::with(&[("dohle.scrub.max.bytes.per.second", "0")]);
    world.topic("slow", 1, &[("flush.ms", "2000")]);
    world.topic("fast", 2, &[("flush.ms", "100")]);
    world.topic("never", 3, &[]);
    for (request, topic) in [(1, 1), (2, 2), (3, 3)] {
        world.produce(request, topic, Acks::All, batch(5, 1, None));
    }
    let due = |world: &World| world.shard.deadline().map(|(at, why)| (at.0 / 1_000_000, why));
    assert_eq!(due(&world), Some((100, "flush.ms")));
    world.mono = 100 * 1_000_000;
    world.step(Input::Tick);
    assert_eq!(due(&world), Some((2_000, "flush.ms")));
    world.drop_topic("slow");
    world.publish();
    assert_eq!(due(&world).unwrap().1, "producer.id.expiration.ms");
}

#[test]
fn only_folders_of_deletions_are_removed_at_start() {
    let mut world = World::new();
    let (ours, theirs) = (format!("t-0.{}-delete", "0a".repeat(16)), "to-delete".to_owned());
    for folder in [&ours, &theirs] {
        world.disk.files.insert(FilePath::new(0, format!("{folder}/a")), vec![1]);
    }
    world.restart(Checkpoints::default());
    assert_eq!(world.disk.names().into_iter().collect::<Vec<_>>(), ["to-delete/a"]);
}
