//! Steps of a shard: batches are appended, fetches find where they lie.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_core::batch::CheckedBatch;
use dohle_core::disk::{DiskOp, FileId, FilePath, IoDone, IoError, IoOk, What};
use dohle_core::fx::Fx;
use dohle_core::log::locate::{ReadAt, locate};
use dohle_core::mail::{
    Acks, Answer, Checkpoints, Directories, Isolation, Produce, Read, ReadPart, ReplyTo, SessionId,
    ShardId, ToSession, ToShard,
};
use dohle_core::memory_disk::MemoryDisk;
use dohle_core::shard::{Effect, Input, Shard};
use dohle_wire::id::{Offset, Sequence};
use dohle_wire::record::{NoCodecs, RawBatch};

use crate::node::{self, now};
use crate::{Case, STEPS};

/// Where all answers go.
const REPLY: ReplyTo = ReplyTo { session: SessionId(5), request: 1, part: 0 };

/// A shard and the disk under it.
struct Broker {
    shard: Shard,
    disk: MemoryDisk,
    /// Paths of files that were opened.
    paths: BTreeMap<FileId, FilePath>,
}

impl Broker {
    /// A node whose partitions are open.
    fn new(settings: &[(&str, &str)]) -> Self {
        let config = node::config();
        let image = node::image(&config, settings);
        let shard = Shard::new(ShardId(0), 1, config, Arc::new(NoCodecs), 7);
        let (disk, paths) = (MemoryDisk::default(), BTreeMap::new());
        let mut broker = Self { shard, disk, paths };
        let directories = Directories { ids: [(0, node::DIR)].into(), ..Default::default() };
        let checkpoints = Checkpoints { directories, ..Default::default() };
        broker.give(ToShard::Start(Arc::new(checkpoints)));
        broker.give(ToShard::Image(image));
        assert_eq!(broker.shard.partitions().count(), usize::from(node::PARTITIONS));
        broker
    }

    /// Gives mail to the shard and carries out all that follows.
    fn give(&mut self, mail: ToShard) {
        let mut fx = Fx::new();
        self.shard.step(now(), Input::Mail(mail), &mut fx);
        while !fx.is_empty() {
            let ops: Vec<_> = fx.drain().filter_map(disk_op).collect();
            for op in ops {
                if let DiskOp::Open { file, path } = &op {
                    self.paths.insert(*file, path.clone());
                }
                if let Some(done) = self.disk.run(op) {
                    self.shard.step(now(), Input::Io(done), &mut fx);
                }
            }
        }
    }

    /// Base offsets of a partition's segments, and its end.
    fn segments(&self) -> (Vec<Offset>, Offset) {
        let id = node::partition(0);
        let partition = self.shard.partitions().find(|p| p.id() == id).expect("it is open");
        let bases = partition.log().segments().iter().map(|segment| segment.base);
        (bases.collect(), partition.log().end())
    }
}

fn disk_op(effect: Effect) -> Option<DiskOp> {
    match effect {
        Effect::Disk(op) => Some(op),
        Effect::Session(..) | Effect::Control(_) | Effect::Note(_) => None,
    }
}

/// What an append is measured from and to.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From a checked batch to the write.
    Batch,
    /// From the end of the write to the acknowledgement.
    Written,
}

/// Appends of 16 KiB by an idempotent producer, to each of some partitions in turn.
pub(crate) struct Append {
    shard: Shard,
    batch: RawBatch,
    sequence: i32,
    phase: Phase,
    next: Vec<Input>,
    fx: Fx<Effect>,
    /// Effects of what is not measured.
    aside: Fx<Effect>,
}

impl Append {
    pub(crate) fn new(phase: Phase) -> Self {
        let mut append = Self {
            shard: Broker::new(&[]).shard,
            batch: node::batch(145, 100),
            sequence: 0,
            phase,
            next: Vec::new(),
            fx: Fx::new(),
            aside: Fx::new(),
        };
        // The first records wait for the file that says whose they are.
        append.produce();
        append.run();
        append.complete();
        append
    }

    /// The next batch for each of the partitions.
    fn produce(&mut self) {
        let mut header = self.batch.header;
        header.base_sequence = Sequence(self.sequence);
        // Sequences begin anew past the greatest one.
        self.sequence = self.sequence.wrapping_add(header.records_count) & i32::MAX;
        let mail = (0..STEPS).map(|index| {
            let index = u16::try_from(index).expect("few partitions");
            ToShard::Produce(Produce {
                reply: REPLY,
                seen: Offset(1),
                partition: node::partition(index),
                acks: Acks::All,
                batch: CheckedBatch::trusted(header, self.batch.bytes.clone(), None),
            })
        });
        self.next = mail.map(Input::Mail).collect();
    }

    /// Every operation of the last round has ended. Nothing is kept: nobody reads it.
    fn complete(&mut self) {
        let mut ended: Vec<_> = self.fx.drain().filter_map(ended).collect();
        while let Some(done) = ended.pop() {
            self.shard.step(now(), Input::Io(done), &mut self.aside);
            ended.extend(self.aside.drain().filter_map(self::ended));
        }
    }

    /// Takes the appends, and makes the ends of their writes the next inputs.
    fn append(&mut self) {
        for input in self.next.drain(..) {
            self.shard.step(now(), input, &mut self.fx);
        }
        for done in self.fx.drain().filter_map(ended) {
            match done.id.what {
                What::Append => self.next.push(Input::Io(done)),
                _ => self.shard.step(now(), Input::Io(done), &mut self.aside),
            }
        }
        assert_eq!(self.next.len(), STEPS);
    }

    /// Checks that the last round did what it is about.
    fn check(&self) {
        let hit = |effect: &Effect| match (self.phase, effect) {
            (Phase::Batch, Effect::Disk(DiskOp::Write { .. })) => true,
            (Phase::Written, Effect::Session(_, ToSession::Answer { answer, .. })) => {
                matches!(answer, Answer::Produced(Ok(_)))
            }
            _ => false,
        };
        let hits = self.fx.as_slice().iter().filter(|effect| hit(effect)).count();
        assert!(self.fx.is_empty() || hits == STEPS, "{hits} of {STEPS}");
    }
}

/// The successful end of an operation that has one.
fn ended(effect: Effect) -> Option<IoDone> {
    let id = disk_op(effect)?.id()?;
    Some(IoDone { id, result: Ok(IoOk::Done) })
}

impl Case for Append {
    fn prepare(&mut self) {
        self.check();
        self.complete();
        self.produce();
        if self.phase == Phase::Written {
            self.append();
        }
    }

    fn run(&mut self) {
        for input in self.next.drain(..) {
            self.shard.step(now(), input, &mut self.fx);
        }
    }
}

/// Where a reader reads.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among the latest batches, which a log remembers.
    Tail,
    /// In the active segment, whose index is in memory.
    Active,
    /// In a closed segment, whose index is a file.
    Closed,
}

/// So many batches lie between the end and what is read at the tail.
const NEAR: i64 = 100;

/// A log remembers fewer batches than this at its end.
const FAR: i64 = 600;

/// Fetches of one partition. What the driver does for a look-up counts too, the reading excepted.
pub(crate) struct Fetch {
    shard: Shard,
    files: Files,
    place: Place,
    /// Offsets to read from.
    offsets: std::ops::Range<i64>,
    at: i64,
    next: Vec<Input>,
    fx: Fx<Effect>,
}

impl Fetch {
    pub(crate) fn new(place: Place) -> Self {
        // Two segments, with an index entry for nearly every batch.
        let batch = node::batch(4, 1_024);
        let per_batch = i64::from(batch.header.records_count);
        let mut broker = Broker::new(&[("segment.bytes", "16777216")]);
        let whole = (16 << 20) / batch.bytes.len();
        for _ in 0..whole + 1_000 {
            let batch = CheckedBatch::trusted(unsequenced(&batch), batch.bytes.clone(), None);
            let (reply, seen, partition) = (REPLY, Offset(1), node::partition(0));
            let acks = Acks::All;
            broker.give(ToShard::Produce(Produce { reply, seen, partition, acks, batch }));
        }
        let (bases, end) = broker.segments();
        let [_, active] = bases[..] else { panic!("{} segments", bases.len()) };
        let offsets = match place {
            Place::Tail => end.0 - NEAR * per_batch..end.0,
            Place::Active => active.0..end.0 - FAR * per_batch,
            Place::Closed => 0..active.0,
        };
        let (shard, files) = (broker.shard.clone(), Files::of(&broker));
        Self { shard, files, place, offsets, at: 0, next: Vec::new(), fx: Fx::new() }
    }

    /// A read from the next offset; they go all over the place.
    fn read(&mut self) -> ToShard {
        const STRIDE: i64 = 1_009;
        let len = self.offsets.end - self.offsets.start;
        self.at = (self.at + STRIDE) % len;
        let part = ReadPart {
            slot: 0,
            partition: node::partition(0),
            offset: Offset(self.offsets.start + self.at),
            max_bytes: 1 << 20,
            leader_epoch: None,
            last_fetched_epoch: None,
        };
        let (isolation, watch) = (Isolation::ReadUncommitted, Some(1));
        let (reply, seen, parts) = (REPLY, Offset(1), vec![part]);
        ToShard::Read(Read { reply, seen, parts, isolation, watch })
    }

    /// Checks that every read of the last round was answered with records, from where it should.
    fn check(&mut self) {
        let (mut looked_up, mut answered) = (0, 0);
        for effect in self.fx.drain() {
            match effect {
                Effect::Disk(DiskOp::Locate { plan, .. }) => {
                    looked_up += 1;
                    assert_eq!(plan.index.is_some(), self.place == Place::Closed);
                }
                Effect::Session(_, ToSession::Answer { answer: Answer::Read(read), .. }) => {
                    answered += 1;
                    assert!(read[0].result.as_ref().is_ok_and(|read| !read.records.is_empty()));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(looked_up, if self.place == Place::Tail { 0 } else { answered });
    }
}

/// The header without a producer: the log does not ask for its sequence.
fn unsequenced(batch: &RawBatch) -> dohle_wire::record::BatchHeader {
    let mut header = batch.header;
    header.producer_id = dohle_wire::id::ProducerId(-1);
    header
}

impl Case for Fetch {
    fn prepare(&mut self) {
        self.check();
        self.next = (0..STEPS).map(|_| Input::Mail(self.read())).collect();
    }

    fn run(&mut self) {
        for input in self.next.drain(..) {
            self.shard.step(now(), input, &mut self.fx);
            if let Some(Effect::Disk(DiskOp::Locate { id, plan })) = self.fx.as_slice().last() {
                let mut file = File { files: &self.files, file: plan.file };
                let result = locate(plan, &mut file).map(IoOk::Located);
                let done = IoDone { id: *id, result };
                self.shard.step(now(), Input::Io(done), &mut self.fx);
            }
        }
    }
}

/// Files that are read at no cost.
struct Files {
    segments: BTreeMap<FileId, Bytes>,
    indexes: BTreeMap<FilePath, Bytes>,
}

impl Files {
    fn of(broker: &Broker) -> Self {
        let content = |path| broker.disk.files.get(path).map(|data| Bytes::from(data.clone()));
        let segments = broker.paths.iter().filter_map(|(file, path)| Some((*file, content(path)?)));
        let names = broker.disk.files.keys().filter(|path| path.path.ends_with("index"));
        let indexes = names.filter_map(|path| Some((path.clone(), content(path)?)));
        Self { segments: segments.collect(), indexes: indexes.collect() }
    }
}

/// One of the segments.
struct File<'a> {
    files: &'a Files,
    file: FileId,
}

impl ReadAt for File<'_> {
    fn read(&mut self, position: u64, len: u32) -> Result<Bytes, IoError> {
        Ok(part(&self.files.segments[&self.file], position, len))
    }

    fn size(&mut self, path: &FilePath) -> Result<Option<u64>, IoError> {
        Ok(self.files.indexes.get(path).map(|file| file.len() as u64))
    }

    fn piece(&mut self, path: &FilePath, position: u64, len: u32) -> Result<Bytes, IoError> {
        Ok(part(&self.files.indexes[path], position, len))
    }
}

fn part(file: &Bytes, position: u64, len: u32) -> Bytes {
    let from = usize::try_from(position).expect("small files").min(file.len());
    file.slice(from..file.len().min(from + len as usize))
}
