//! What the driven units say to one another.
//!
//! Sessions, shards and the control unit share nothing but immutable images of the metadata;
//! everything else travels as the values below, in order for each pair of units.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{
    LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicId,
    Uuid,
};
use dohle_wire::records::Records;

use crate::batch::CheckedBatch;
use crate::disk::{FilePath, Space};
use crate::group::request as group;
use crate::image::Image;

/// One client connection of a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One shard of a node, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

/// A partition by identity: a topic made anew under an old name is another one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The topic.
    pub topic: TopicId,
    /// The partition's number in it.
    pub index: PartitionIndex,
}

/// Where an answer belongs: part `part` of request `request` of a session.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyTo {
    /// The session that asked.
    pub session: SessionId,
    /// Counts the session's requests.
    pub request: u64,
    /// The session's own mark for the part.
    pub part: u32,
}

/// A refusal as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Kafka's error code.
    pub code: ErrorCode,
    /// What a person should know, where the code alone does not say it.
    pub message: Option<String>,
}

impl Refusal {
    /// A refusal that explains itself.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self { code, message: None }
    }
}

/// To a shard. Requests carry the offset of the image they were routed by (`seen`): a shard that
/// has not been given that image yet keeps them until it has.
#[allow(missing_docs, reason = "the text of a variant names its fields")]
#[derive(Clone, Debug)]
pub enum ToShard {
    /// Another shard found a data directory full.
    DirFull { dir: u16, why: String },
    /// The node comes up: what its data directories' checkpoints say. Sent once, first.
    Start(Arc<Checkpoints>),
    /// The metadata changed.
    Image(Arc<Image>),
    /// Append one batch to one partition.
    Produce(Produce),
    /// Read from partitions, perhaps to be woken later.
    Read(Read),
    /// The session has answered a read that may still be watched.
    Unwatch { session: SessionId, request: u64 },
    /// Look up an offset.
    ListOffset { reply: ReplyTo, seen: Offset, partition: PartitionId, query: OffsetQuery },
    /// Advance a log's start; `None` is the high watermark.
    DeleteRecords { reply: ReplyTo, seen: Offset, partition: PartitionId, before: Option<Offset> },
    /// Where a leader epoch ended.
    EpochEnd { reply: ReplyTo, seen: Offset, partition: PartitionId, query: EpochQuery },
    /// Ask the coordinator that leads a partition of `__consumer_offsets`.
    Group { reply: ReplyTo, seen: Offset, partition: PartitionId, request: Box<group::Request> },
    /// Ask every coordinator of the shard for its groups.
    ListGroups { reply: ReplyTo },
    /// Move a replica to another data directory.
    AlterDir { reply: ReplyTo, seen: Offset, partition: PartitionId, dir: u16 },
    /// Sizes of all logs, and which data directories failed.
    LogSizes { reply: ReplyTo },
    /// What the shard's logs amount to.
    Statistics { reply: ReplyTo },
    /// Report a checkpoint of all logs to control.
    Checkpoint,
    /// Flush and close every log, report a last checkpoint, then say `Stopped`.
    Stop,
}

/// What was found at start, by log name (`topic-partition`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// Whether the node was stopped cleanly before.
    pub clean: bool,
    /// Offsets from which logs have to be recovered.
    pub recovery_points: BTreeMap<String, Offset>,
    /// Log starts past the first segment's base.
    pub log_starts: BTreeMap<String, Offset>,
    /// High watermarks.
    pub high_watermarks: BTreeMap<String, Offset>,
    /// Offsets below which the log of this very topic was durable, and has to be there still;
    /// none where only Kafka, which does not say so, has written checkpoints.
    pub durable: Option<BTreeMap<PartitionId, Offset>>,
    /// Offsets up to which Kafka has compacted logs: what is missing below was taken out.
    pub cleaned: BTreeMap<String, Offset>,
    /// Where logs can be.
    pub directories: Directories,
}

impl Checkpoints {
    /// How far the log of this very topic was durable; none where no checkpoint of ours is.
    #[must_use]
    pub fn durable_of(&self, id: PartitionId) -> Option<Offset> {
        let known = self.durable.as_ref();
        known.map(|known| known.get(&id).copied().unwrap_or(Offset(0)))
    }
}

/// The data directories of a node as its start found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    /// Ids of those that can be used.
    pub ids: BTreeMap<u16, Uuid>,
    /// Those that cannot.
    pub failed: BTreeSet<u16>,
    /// In which of them there is a folder of a partition, by its name.
    pub folders: BTreeMap<String, BTreeSet<u16>>,
    /// Logs on their way to another directory, by the name of their partition.
    pub futures: BTreeMap<String, Vec<FilePath>>,
}

/// Whom a produce request wants to have the records before it is answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Nobody: no answer is sent.
    None,
    /// The leader.
    Leader,
    /// All in-sync replicas.
    All,
}

/// One batch for one partition.
#[derive(Clone, Debug)]
pub struct Produce {
    /// Where the [`Answer::Produced`] goes.
    pub reply: ReplyTo,
    /// Offset of the image it was routed by.
    pub seen: Offset,
    /// Where it goes.
    pub partition: PartitionId,
    /// When it may be answered.
    pub acks: Acks,
    /// What to append.
    pub batch: CheckedBatch,
}

/// Reads from some partitions of a shard.
#[derive(Clone, Debug)]
pub struct Read {
    /// Where the [`Answer::Read`] goes.
    pub reply: ReplyTo,
    /// Offset of the image it was routed by.
    pub seen: Offset,
    /// What to read.
    pub parts: Vec<ReadPart>,
    /// How far a reader may see.
    pub isolation: Isolation,
    /// When set and fewer than this many bytes can be read, watch the partitions and send
    /// [`ToSession::Wake`] once this many more bytes came.
    pub watch: Option<u64>,
}

/// How far a reader may see.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the high watermark.
    ReadUncommitted,
    /// Up to the last stable offset, with the list of aborted transactions.
    ReadCommitted,
}

/// A read of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPart {
    /// The session's mark for it.
    pub slot: u32,
    /// From where.
    pub partition: PartitionId,
    /// First offset wanted.
    pub offset: Offset,
    /// Bytes wanted at most; the first batch comes whole all the same.
    pub max_bytes: u32,
    /// The leader epoch that the client believes in.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record before `offset` as the client has it.
    pub last_fetched_epoch: Option<LeaderEpoch>,
}

/// A position to look up (ListOffsets).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OffsetQuery {
    /// Which offset.
    pub spec: OffsetSpec,
    /// How far the client may see.
    pub isolation: Isolation,
    /// The leader epoch that the client believes in.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// Which offset is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first one.
    Earliest,
    /// One past the last visible one.
    Latest,
    /// The record with the greatest timestamp.
    MaxTimestamp,
    /// The first record at or after a time.
    At(Timestamp),
}

/// Where an epoch ended (OffsetForLeaderEpoch).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EpochQuery {
    /// The epoch asked for.
    pub epoch: LeaderEpoch,
    /// The leader epoch that the client believes in.
    pub current: Option<LeaderEpoch>,
}

/// To a session.
#[allow(missing_docs, reason = "the text of a variant names its fields")]
#[derive(Clone, Debug)]
pub enum ToSession {
    /// A part of a request is answered.
    Answer { reply: ReplyTo, answer: Answer },
    /// A watched read has more to give: read again.
    Wake { request: u64 },
}

/// Answers of shards and of control.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`ToShard::Produce`].
    Produced(Result<Appended, Refusal>),
    /// To [`ToShard::Read`]: one outcome for each part, in its order.
    Read(Vec<ReadOutcome>),
    /// To [`ToShard::ListOffset`]: none when no record fits.
    Offset(Result<Option<FoundOffset>, ErrorCode>),
    /// To [`ToShard::DeleteRecords`]: the new log start.
    Deleted(Result<Offset, Refusal>),
    /// To [`ToShard::EpochEnd`].
    EpochEnd(Result<Option<EpochEnd>, ErrorCode>),
    /// To [`ToShard::Group`] and [`ToShard::ListGroups`].
    Group(Box<group::Answer>),
    /// To [`ToShard::LogSizes`].
    Sizes(Vec<DirSizes>),
    /// To [`ToShard::Statistics`].
    Statistics(Box<ShardStatistics>),
    /// To [`ToShard::AlterDir`]: the move has begun, or there is nothing to move.
    DirAltered(Result<(), ErrorCode>),
    /// To [`ToControl::Admin`].
    Admin(AdminReply),
}

/// What the logs of a shard amount to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStatistics {
    /// Those that are open.
    pub logs: Vec<LogStatistics>,
    /// How many are still being opened.
    pub opening: usize,
    /// How many cannot be used.
    pub offline: usize,
    /// Written bytes that wait for a sync, by data directory.
    pub unflushed: Vec<(u16, u64)>,
    /// Data directories that failed.
    pub failed_dirs: Vec<u16>,
}

/// One log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStatistics {
    /// Of this partition.
    pub partition: PartitionId,
    /// Its first offset.
    pub start: Offset,
    /// One past its last.
    pub end: Offset,
    /// Visible to everyone below it.
    pub high_watermark: Offset,
    /// In all its segments.
    pub bytes: u64,
    /// How many those are.
    pub segments: usize,
}

/// A batch that is in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Offset of its first record.
    pub base: Offset,
    /// When the broker stamped it, for topics that ask for that.
    pub log_append_time: Option<Timestamp>,
    /// Where the log starts.
    pub log_start: Offset,
}

/// What came of reading one partition.
#[derive(Clone, Debug)]
pub struct ReadOutcome {
    /// The session's mark from [`ReadPart::slot`].
    pub slot: u32,
    /// Records and bounds, or why not.
    pub result: Result<Readable, ErrorCode>,
}

/// What can be read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// Visible to everyone below it.
    pub high_watermark: Offset,
    /// Decided below it.
    pub last_stable: Offset,
    /// First offset there is.
    pub log_start: Offset,
    /// The bytes: whole batches from the one that holds the offset asked for, the last one
    /// perhaps cut by the limit.
    pub records: Records,
    /// Size of the first batch, which goes out whole when it is the first of the response.
    pub first_batch_len: u32,
    /// More can be read after these bytes than one read gives: whoever waits for bytes has enough
    /// (DelayedFetch, case "on an older segment").
    pub more: bool,
    /// Aborted transactions that touch the range (read committed).
    pub aborted: Vec<(ProducerId, Offset)>,
    /// The client's log parts from ours: the greatest epoch we share and where it ended.
    pub diverging: Option<EpochEnd>,
}

/// An answer to an [`OffsetQuery`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The offset.
    pub offset: Offset,
    /// The record's time, -1 where none was asked for.
    pub timestamp: Timestamp,
    /// The leader epoch it was written in.
    pub epoch: LeaderEpoch,
}

/// An epoch and the offset at which it ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// One past its last offset.
    pub end: Offset,
}

/// What a shard has in one data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirSizes {
    /// Which.
    pub dir: u16,
    /// Whether it failed, so that nothing of it is served.
    pub failed: bool,
    /// The logs in it.
    pub logs: Vec<LogSize>,
    /// How much fits into it, if the shard has looked.
    pub space: Option<Space>,
}

/// The size of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Whose.
    pub partition: PartitionId,
    /// Bytes of records.
    pub bytes: u64,
    /// For a log on its way here: records that it is behind the one it will replace.
    pub future: Option<i64>,
}

/// To the control unit.
#[allow(missing_docs, reason = "the text of a variant names its fields")]
#[derive(Clone, Debug)]
pub enum ToControl {
    /// A request of a client that changes or asks for metadata.
    Admin { reply: ReplyTo, request: AdminRequest },
    /// All logs of the shard that the first image names are open.
    Ready(ShardId),
    /// What the shard's logs have on disk.
    Checkpoint { shard: ShardId, logs: Vec<LogCheckpoint> },
    /// Much was synced since the last checkpoint.
    CheckpointDue,
    /// The shard has closed everything.
    Stopped(ShardId),
    /// A data directory failed; the shard serves nothing of it any more.
    DirFailed { dir: u16, why: String },
    /// A data directory is full; the shard reads it, and writes nothing until there is space.
    DirFull { dir: u16, why: String },
    /// There is space again.
    DirSpace { dir: u16 },
    /// A log in the directory could not be closed: a start has to recover it.
    LeftOpen { dir: u16 },
    /// This node's replica of the partition is in that directory, or is about to be.
    Placed { partition: PartitionId, dir: u16 },
    /// When a partition of that name is made, it shall be in that directory.
    Prefer { topic: String, index: PartitionIndex, dir: u16 },
}

/// A log's entry in the checkpoint files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCheckpoint {
    /// `topic-partition`.
    pub name: Arc<str>,
    /// In which data directory.
    pub dir: u16,
    /// Recovery begins here: [`crate::log::Log::stated_recovery_point`].
    pub recovery_point: Offset,
    /// Durable below it, side files included.
    pub durable: Offset,
    /// Log start, when it is past the first segment's base.
    pub log_start: Option<Offset>,
    /// High watermark.
    pub high_watermark: Offset,
}

/// What control is asked to do.
#[allow(missing_docs, reason = "the text of a variant names its fields")]
#[derive(Clone, Debug, PartialEq)]
pub enum AdminRequest {
    /// CreateTopics (also from auto-creation).
    CreateTopics { topics: Vec<NewTopic>, validate_only: bool },
    /// DeleteTopics.
    DeleteTopics { topics: Vec<TopicRef> },
    /// CreatePartitions.
    CreatePartitions { topics: Vec<MorePartitions>, validate_only: bool },
    /// IncrementalAlterConfigs.
    AlterConfigs { resources: Vec<ConfigChange>, validate_only: bool },
    /// InitProducerId without a transactional id: a producer id never given before, or the
    /// given one with its next epoch.
    InitProducerId { current: Option<(ProducerId, ProducerEpoch)> },
    /// DescribeQuorum.
    DescribeQuorum,
}

/// A topic by name or by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicRef {
    /// By name.
    Name(String),
    /// By id.
    Id(TopicId),
}

/// A topic to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` for `num.partitions`.
    pub partitions: Option<i32>,
    /// How many replicas; `None` for `default.replication.factor`.
    pub replication: Option<i16>,
    /// Replicas of each partition, given by hand: (partition, brokers).
    pub assignments: Vec<(PartitionIndex, Vec<NodeId>)>,
    /// Config overrides.
    pub configs: Vec<(String, Option<String>)>,
}

/// Partitions to add to a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MorePartitions {
    /// Which topic.
    pub topic: String,
    /// How many it shall have in total.
    pub total: i32,
    /// Replicas of the new ones, given by hand.
    pub assignments: Option<Vec<Vec<NodeId>>>,
}

/// Changes to the configs of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// DescribeConfigs' resource type: 2 topic, 4 broker.
    pub resource_type: i8,
    /// Its name; empty for the default of all brokers.
    pub name: String,
    /// (operation, key, value); in order.
    pub ops: Vec<(ConfigOp, String, Option<String>)>,
    /// AlterConfigs: keys that are not named lose their override.
    pub replace_all: bool,
}

/// IncrementalAlterConfigs' operations.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ConfigOp {
    /// 0
    Set,
    /// 1
    Delete,
    /// 2
    Append,
    /// 3
    Subtract,
}

/// What became of an [`AdminRequest`], in the order of its items.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminReply {
    /// The whole request is refused.
    Refused(Refusal),
    /// One result for each topic.
    Created(Vec<Result<CreatedTopic, Refusal>>),
    /// One result for each topic: its name and id.
    Deleted(Vec<Result<(String, TopicId), Refusal>>),
    /// One result for each topic.
    Grown(Vec<Result<(), Refusal>>),
    /// One result for each resource.
    Altered(Vec<Result<(), Refusal>>),
    /// A producer id and epoch.
    ProducerId(ProducerId, ProducerEpoch),
    /// What the leader of the metadata quorum sees.
    Quorum(QuorumView),
}

/// The metadata quorum as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumView {
    /// The leader, who sees this.
    pub leader: NodeId,
    /// Its epoch.
    pub epoch: LeaderEpoch,
    /// Everything below is committed.
    pub high_watermark: Offset,
    /// Those that vote, and how far each has come.
    pub voters: Vec<(NodeId, Offset)>,
}

/// A topic that was made (or would be).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id, zero if only validated.
    pub id: TopicId,
    /// How many partitions.
    pub partitions: i32,
    /// How many replicas each.
    pub replication: i16,
    /// Config overrides it has.
    pub configs: Vec<(String, Option<String>)>,
}

/// A frame that a session received, without its length prefix.
pub type Frame = Bytes;
