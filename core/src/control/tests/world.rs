//! The world a control unit is tested in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dohle_wire::id::{Offset, ProducerEpoch, ProducerId, Timestamp, TopicId, Uuid};

use super::super::{Control, ControlSettings, Effect, FreshIds, Input};
use crate::config::broker::BrokerConfig;
use crate::controller::apply;
use crate::disk::{DiskOp, FilePath, IoDone, IoError};
use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{
    AdminReply, AdminRequest, Answer, Checkpoints, CreatedTopic, LogCheckpoint, NewTopic, Refusal,
    ReplyTo, SessionId, ShardId, ToControl, ToSession, ToShard, TopicRef,
};
use crate::memory_disk::MemoryDisk;
use crate::quorum::batches::{self, EntryKind};
use crate::time::{Instant, Now};

/// Shards of the node.
pub(super) const SHARDS: u16 = 2;

/// A node's control unit with its disk and its shards.
pub(super) struct World {
    pub(super) disk: MemoryDisk,
    pub(super) control: Control,
    properties: BTreeMap<String, String>,
    /// Starts so far; makes ids fresh.
    starts: u64,
    pub(super) now_ms: u64,
    /// Inputs that wait for their turn.
    queue: VecDeque<Input>,
    /// The image each shard has.
    pub(super) shards: Vec<Option<Arc<Image>>>,
    /// What the shards were told at the start.
    pub(super) told: Option<Arc<Checkpoints>>,
    /// What shards report of a log, beside the default.
    pub(super) reports: BTreeMap<String, (Offset, Option<Offset>)>,
    pub(super) published: Option<Arc<Image>>,
    pub(super) answers: BTreeMap<u64, AdminReply>,
    pub(super) notes: Vec<String>,
    pub(super) ready: bool,
    pub(super) stopped: bool,
    pub(super) fatal: Option<String>,
    /// Disk operations of this start, in order.
    pub(super) ops: Vec<DiskOp>,
    /// Rounds of operations that were waited for and had a sync among them.
    pub(super) sync_rounds: usize,
    /// The power goes before this operation of the start.
    pub(super) crash_before: Option<usize>,
    pub(super) crashed: bool,
    /// The disk takes nothing more.
    pub(super) full: bool,
    /// Directories that the driver cannot use.
    pub(super) unusable: BTreeMap<u16, String>,
    next_request: u64,
}

impl World {
    /// A node that has started on empty directories.
    pub(super) fn started(properties: &[(&str, &str)]) -> Self {
        let mut world = Self::off(properties);
        world.boot();
        assert!(world.ready, "fatal: {:?}", world.fatal);
        world
    }

    /// A node with empty directories that is off.
    pub(super) fn off(properties: &[(&str, &str)]) -> Self {
        let properties: BTreeMap<String, String> = properties
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            disk: MemoryDisk::default(),
            control: Control::new(settings(&properties, 0)),
            properties,
            starts: 0,
            now_ms: 1000,
            queue: VecDeque::new(),
            shards: Vec::new(),
            told: None,
            reports: BTreeMap::new(),
            published: None,
            answers: BTreeMap::new(),
            notes: Vec::new(),
            ready: false,
            stopped: false,
            fatal: None,
            ops: Vec::new(),
            sync_rounds: 0,
            crash_before: None,
            crashed: false,
            full: false,
            unusable: BTreeMap::new(),
            next_request: 0,
        }
    }

    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.properties.insert(key.to_owned(), value.to_owned());
    }

    /// Starts the process.
    pub(super) fn boot(&mut self) {
        self.starts += 1;
        let settings = settings(&self.properties, self.starts);
        self.control =
            Control::new(ControlSettings { unusable: self.unusable.clone(), ..settings });
        self.shards = vec![None; usize::from(SHARDS)];
        (self.told, self.published, self.fatal) = (None, None, None);
        (self.ready, self.stopped, self.crashed) = (false, false, false);
        (self.sync_rounds, self.full) = (0, false);
        self.notes.clear();
        self.ops.clear();
        self.queue.clear();
        self.input(Input::Boot);
    }

    /// The machine loses power and starts again.
    pub(super) fn power(&mut self) {
        self.crash_before = None;
        self.disk.lose_power();
        self.boot();
        assert!(self.ready, "fatal: {:?}", self.fatal);
    }

    /// The process is killed and starts again.
    pub(super) fn kill(&mut self) {
        self.disk.kill();
        self.boot();
        assert!(self.ready, "fatal: {:?}", self.fatal);
    }

    /// Stops cleanly.
    pub(super) fn stop(&mut self) {
        self.input(Input::Shutdown);
        assert!(self.stopped, "fatal: {:?}", self.fatal);
        self.disk.kill();
    }

    pub(super) fn input(&mut self, input: Input) {
        self.queue.push_back(input);
        self.run();
    }

    /// Bytes that the reserve has, if there is one.
    pub(super) fn reserved(&self) -> Option<usize> {
        self.disk.files.get(&FilePath::new(0, "dohle-reserve")).map(Vec::len)
    }

    /// Lets a second and a bit pass.
    pub(super) fn wait_for_retry(&mut self) {
        self.now_ms += 1001;
        self.input(Input::Tick);
    }

    /// Lets a minute and a bit pass.
    pub(super) fn wait_for_checkpoint(&mut self) {
        self.now_ms += 60_001;
        let due = self.control.deadline().is_some_and(|(at, _)| at <= self.now().mono);
        assert!(due, "a running node checkpoints");
        self.input(Input::Tick);
    }

    fn now(&self) -> Now {
        let wall = Timestamp(i64::try_from(self.now_ms).unwrap());
        Now { mono: Instant(self.now_ms * 1_000_000), wall }
    }

    /// Runs until nothing is left to do. What waits for the disk itself is slow: it goes, as one
    /// round, when nothing else is left.
    fn run(&mut self) {
        let mut asked: VecDeque<DiskOp> = VecDeque::new();
        let mut fx = Fx::new();
        loop {
            while let Some(input) = self.queue.pop_front() {
                self.control.step(self.now(), input, &mut fx);
                let effects: Vec<Effect> = fx.drain().collect();
                for effect in effects {
                    self.carry_out(effect, &mut asked);
                }
            }
            let quick = asked.iter().position(|op| !makes_durable(op));
            let round: Vec<DiskOp> = match quick {
                Some(at) => asked.remove(at).into_iter().collect(),
                None => asked.drain(..).collect(),
            };
            if round.is_empty() {
                return;
            }
            self.sync_rounds += usize::from(round.iter().any(makes_durable));
            if !self.run_round(round) {
                return;
            }
        }
    }

    /// Whether the power stayed on.
    fn run_round(&mut self, round: Vec<DiskOp>) -> bool {
        for op in round {
            if self.crash_before == Some(self.ops.len()) {
                self.crashed = true;
                self.queue.clear();
                return false;
            }
            self.ops.push(op.clone());
            let done = self.run_op(op);
            self.queue.extend(done.map(Input::Io));
        }
        true
    }

    fn run_op(&mut self, op: DiskOp) -> Option<IoDone> {
        let grows = matches!(op, DiskOp::Write { .. } | DiskOp::Put { .. });
        match op.id().filter(|_| self.full && grows) {
            Some(id) => Some(IoDone { id, result: Err(IoError::NoSpace("quota".to_owned())) }),
            None => self.disk.run(op),
        }
    }

    fn carry_out(&mut self, effect: Effect, asked: &mut VecDeque<DiskOp>) {
        match effect {
            Effect::Disk(op) => asked.push_back(op),
            Effect::Session(session, ToSession::Answer { reply, answer: Answer::Admin(what) }) => {
                assert_eq!(session, reply.session);
                let before = self.answers.insert(reply.request, what);
                assert!(before.is_none(), "request {} is answered twice", reply.request);
            }
            Effect::Session(_, other) => panic!("{other:?} is not for control to send"),
            Effect::Shard(shard, mail) => self.shard(shard, mail),
            Effect::Publish(image) => self.published = Some(image),
            Effect::Ready => self.ready = true,
            Effect::Stopped => self.stopped = true,
            Effect::Fatal(why) => self.fatal = Some(why),
            Effect::Note(note) => self.notes.push(note.text.to_string()),
        }
    }

    fn shard(&mut self, shard: ShardId, mail: ToShard) {
        let at = usize::from(shard.0);
        match mail {
            ToShard::Start(checkpoints) => self.told = Some(checkpoints),
            ToShard::Image(image) => {
                assert!(self.told.is_some(), "an image before the start");
                if self.shards[at].replace(image).is_none() {
                    self.mail(ToControl::Ready(shard));
                }
            }
            ToShard::Checkpoint => self.report(shard),
            ToShard::Stop => {
                self.report(shard);
                self.mail(ToControl::Stopped(shard));
            }
            ToShard::DirFull { .. } => {}
            other => panic!("{other:?} is not for control to send"),
        }
    }

    /// The first shard reports everything; that is all the same to control.
    fn report(&mut self, shard: ShardId) {
        let image = self.shards[usize::from(shard.0)].clone().expect("started");
        let mut logs = Vec::new();
        for topic in image.topics.values().filter(|_| shard == ShardId(0)) {
            for index in 0..topic.partitions.len() {
                let name = format!("{}-{index}", topic.name);
                let default = (Offset(10), None);
                let (recovery_point, log_start) =
                    self.reports.get(&name).copied().unwrap_or(default);
                let directory = topic.partitions[index].directories[0];
                let ids = &self.told.as_ref().unwrap().directories.ids;
                let found = ids.iter().find(|(_, id)| **id == directory);
                let Some((dir, _)) = found else { continue };
                logs.push(LogCheckpoint {
                    name: name.into(),
                    dir: *dir,
                    recovery_point,
                    durable: recovery_point,
                    log_start,
                    high_watermark: Offset(20),
                });
            }
        }
        self.mail(ToControl::Checkpoint { shard, logs });
    }

    pub(super) fn mail(&mut self, mail: ToControl) {
        self.queue.push_back(Input::Mail(mail));
    }

    /// Queues a request and gives its number.
    pub(super) fn send(&mut self, request: AdminRequest) -> u64 {
        self.next_request += 1;
        let reply = ReplyTo { session: SessionId(7), request: self.next_request, part: 0 };
        self.mail(ToControl::Admin { reply, request });
        self.next_request
    }

    pub(super) fn ask(&mut self, request: AdminRequest) -> Option<AdminReply> {
        let number = self.send(request);
        self.run();
        self.answers.get(&number).cloned()
    }

    pub(super) fn create(&mut self, name: &str) -> Option<Result<CreatedTopic, Refusal>> {
        match self.ask(create(name))? {
            AdminReply::Created(mut results) => Some(results.remove(0)),
            AdminReply::Refused(refusal) => Some(Err(refusal)),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn made(&mut self, name: &str) -> TopicId {
        self.create(name).expect("answered").expect("made").id
    }

    pub(super) fn delete(&mut self, name: &str) -> Option<AdminReply> {
        self.ask(AdminRequest::DeleteTopics { topics: vec![TopicRef::Name(name.to_owned())] })
    }

    pub(super) fn producer_id(&mut self) -> Option<i64> {
        match self.ask(AdminRequest::InitProducerId { current: None })? {
            AdminReply::ProducerId(ProducerId(id), ProducerEpoch(0)) => Some(id),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn image(&self) -> &Arc<Image> {
        self.control.committed().expect("there is an image")
    }

    pub(super) fn file(&self, dir: u16, path: &str) -> Option<String> {
        let content = self.disk.files.get(&FilePath::new(dir, path));
        content.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn write_file(&mut self, dir: u16, path: &str, content: &str) {
        self.disk.files.insert(FilePath::new(dir, path), content.as_bytes().to_vec());
    }

    /// What a replay of the log from its first byte comes to.
    pub(super) fn replayed(&self) -> Image {
        let path = FilePath::new(0, "__cluster_metadata-0/00000000000000000000.log");
        let bytes = self.disk.files[&path].clone();
        let now = self.image();
        let mut image = Image::empty(now.cluster_id.clone(), now.local.clone());
        for batch in dohle_wire::record::split_batches(bytes.into()) {
            for entry in batches::read(&batch.unwrap()).unwrap() {
                let (at, epoch) = (entry.offset, entry.epoch);
                match entry.what {
                    EntryKind::Leader(node) => apply::apply_leader(&mut image, at, epoch, node),
                    EntryKind::Metadata(record) => {
                        apply::apply(&mut image, at, epoch, &record).unwrap();
                    }
                    other => panic!("{other:?} is not written"),
                }
            }
        }
        image
    }

    /// Asserts that shards, sessions and control see the same, and that it is what the log says.
    pub(super) fn check_image(&self) {
        let image = self.image();
        assert_same(image, &self.replayed());
        assert_same(image, self.published.as_ref().expect("published"));
        for shard in &self.shards {
            assert_same(image, shard.as_ref().expect("told"));
        }
    }
}

/// Asserts that two images say the same.
pub(super) fn assert_same(a: &Image, b: &Image) {
    assert_eq!((a.offset, a.epoch, a.controller), (b.offset, b.epoch, b.controller));
    assert_eq!(a.next_producer_id, b.next_producer_id);
    assert_eq!(a.features, b.features);
    assert_eq!(a.configs, b.configs);
    assert_eq!(a.topic_names, b.topic_names);
    assert_eq!(a.brokers, b.brokers);
    assert_eq!(a.controllers, b.controllers);
    let topics = |image: &Image| -> Vec<_> {
        let parts = |t: &Arc<crate::image::TopicImage>| {
            (t.name.clone(), t.id, t.partitions.clone(), t.config.clone())
        };
        image.topics.values().map(parts).collect()
    };
    assert_eq!(topics(a), topics(b));
}

pub(super) fn create(name: &str) -> AdminRequest {
    let topic = NewTopic {
        name: name.to_owned(),
        partitions: Some(2),
        replication: None,
        assignments: Vec::new(),
        configs: vec![("retention.ms".to_owned(), Some("60000".to_owned()))],
    };
    AdminRequest::CreateTopics { topics: vec![topic], validate_only: false }
}

/// Whether an operation waits for the disk itself.
pub(super) fn makes_durable(op: &DiskOp) -> bool {
    match op {
        DiskOp::Sync { .. } | DiskOp::Truncate { .. } | DiskOp::Rename { .. } => true,
        DiskOp::Put { durable, .. } => *durable,
        _ => false,
    }
}

/// Whether an operation changes the disk.
pub(super) fn changes(op: &DiskOp) -> bool {
    matches!(
        op,
        DiskOp::Write { .. }
            | DiskOp::Put { .. }
            | DiskOp::Remove { .. }
            | DiskOp::Reserve { .. }
            | DiskOp::Truncate { .. }
            | DiskOp::Rename { .. }
    )
}

fn settings(properties: &BTreeMap<String, String>, start: u64) -> ControlSettings {
    let config = Arc::new(BrokerConfig::from_properties(properties).unwrap().0);
    let uuid = |kind: u128| Uuid::from_u128(kind << 100 | u128::from(start + 1) << 50);
    let directories = (0..config.log_dirs.len()).map(|dir| uuid(2 + dir as u128)).collect();
    ControlSettings {
        config,
        shards: SHARDS,
        fresh: FreshIds { cluster: uuid(100), directories, incarnation: uuid(101) },
        // The same for each start: ids must not repeat even so.
        seed: 4,
        unusable: BTreeMap::new(),
    }
}
