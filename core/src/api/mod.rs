//! The API layer: where wire versions and their quirks end.
//!
//! One file for each family of requests. A request is *begun* from its bytes: it is answered at
//! once, or mail goes out and a [`Pending`] stays in the session's queue until the answers are in
//! or its deadline passes; then it is *finished* into a frame. Mail carries domain types only, so
//! nothing below this layer knows about versions, and nothing here knows how a log is kept.
//!
//! Must never know: other sessions, the order of requests (the session's queue has that).

mod alter;
mod alter_dirs;
mod authorized;
mod cluster;
mod configs;
mod fetch;
mod find_coordinator;
mod gather;
mod groups;
mod list_offsets;
mod log_dirs;
mod lookup;
mod metadata;
mod partitions;
mod produce;
mod producer_id;
mod quorum;
mod records;
mod reply;
mod topics;
mod versions;

use std::sync::Arc;

use dohle_wire::api_key::ApiKey;
use dohle_wire::codec::{DecodeError, Part, Reader};
use dohle_wire::message::Request;

use crate::fx::Fx;
use crate::image::Image;
use crate::mail::{AdminRequest, Answer, ReplyTo, SessionId, ShardId, ToControl, ToShard};
use crate::session::fetch_session::FetchSessions;
use crate::session::{Client, CloseReason, Effect, SessionSettings};
use crate::time::{Instant, Now};

pub(crate) use lookup::TopicKey;
pub(crate) use versions::unsupported as unsupported_api_versions;
pub use versions::{SERVED, Served};

/// How long a part of the broker may take to answer where the client sets no limit.
const WAIT_MS: i64 = 30_000;

/// Waits asked for by clients are not taken shorter than this: ours cover the work itself, not
/// only the waiting for other brokers as in Kafka.
const LEAST_WAIT_MS: i64 = 1_000;

/// What is known of a request once its header is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Which request.
    pub(crate) key: ApiKey,
    /// In which version; one that is served.
    pub(crate) version: i16,
    /// What the response repeats.
    pub(crate) correlation_id: i32,
    /// What the client calls itself.
    pub(crate) client_id: Option<String>,
    /// Counts the session's requests.
    pub(crate) number: u64,
}

/// What a request works with.
pub(crate) struct Ctx<'a> {
    /// When this happens.
    pub(crate) now: Now,
    /// Whose request it is.
    pub(crate) session: SessionId,
    /// What the session was made with.
    pub(crate) settings: &'a SessionSettings,
    /// The metadata.
    pub(crate) image: &'a Arc<Image>,
    /// What the client said of itself.
    pub(crate) client: &'a mut Client,
    /// The connection's fetch session.
    pub(crate) fetches: &'a mut FetchSessions,
    /// The request.
    pub(crate) call: &'a Call,
    /// Where effects go.
    pub(crate) fx: &'a mut Fx<Effect>,
}

impl Ctx<'_> {
    /// The request's body. What lies behind it is ignored, as in Kafka: librdkafka 2 asks for all
    /// topics in Metadata 13 with three bytes more than there are fields.
    fn decode<R: Request>(&self, body: &mut Reader) -> Result<R, DecodeError> {
        R::decode(body, self.call.version)
    }

    /// The version of the request and of its response.
    fn version(&self) -> i16 {
        self.call.version
    }

    /// Where the answer to part `part` goes.
    fn reply_to(&self, part: u32) -> ReplyTo {
        ReplyTo { session: self.session, request: self.call.number, part }
    }

    fn send_shard(&mut self, shard: ShardId, mail: ToShard) {
        self.fx.push(Effect::Shard(shard, mail));
    }

    fn send_control(&mut self, request: AdminRequest) {
        let reply = self.reply_to(0);
        self.fx.push(Effect::Control(ToControl::Admin { reply, request }));
    }

    /// The end of a wait of which the client says how long it may be; none or less means that the
    /// client does not care.
    fn until(&self, timeout_ms: i32) -> Instant {
        let wait = i64::from(timeout_ms);
        self.now.mono.plus_ms(if wait > 0 { wait.max(LEAST_WAIT_MS) } else { WAIT_MS })
    }
}

/// What became of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// This frame answers it.
    Answer(Vec<Part>),
    /// It has no answer.
    Silent,
    /// The connection has to be closed instead.
    Close(CloseReason),
}

/// Where a request stands after it was begun.
#[derive(Clone, Debug)]
pub(crate) enum Begun {
    /// It is over.
    Done(Outcome),
    /// It waits for answers.
    Waiting(Pending),
}

/// Whether a pending request still waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// For answers, bytes or time.
    Waiting,
    /// It can be finished.
    Complete,
}

impl Progress {
    fn complete_if(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::Waiting }
    }
}

/// A request of one family that waits.
pub(crate) trait Work: Sized {
    /// When [`Self::on_deadline`] is due.
    fn deadline(&self) -> Instant;

    /// Part `part` is answered. Answers to parts that are over are ignored.
    fn on_answer(&mut self, ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress;

    /// A watched read has more to give.
    fn on_wake(&mut self, _ctx: &mut Ctx<'_>) -> Progress {
        Progress::Waiting
    }

    /// Newer metadata came.
    fn on_image(&mut self, _ctx: &mut Ctx<'_>) -> Progress {
        Progress::Waiting
    }

    /// The deadline passed.
    fn on_deadline(&mut self, _ctx: &mut Ctx<'_>) -> Progress {
        Progress::Complete
    }

    /// The connection is gone: nobody waits for this any more.
    fn on_closed(&mut self, _ctx: &mut Ctx<'_>) {}

    /// The answer, with errors for the parts that have none.
    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome;
}

macro_rules! pending {
    ($($name:ident($kind:ty),)*) => {
        /// A request that waits, by family.
        #[derive(Clone, Debug)]
        pub(crate) enum Pending {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`].")]
                $name($kind),
            )*
        }

        $(
            impl From<$kind> for Begun {
                fn from(work: $kind) -> Self {
                    Self::Waiting(Pending::$name(work))
                }
            }
        )*

        impl Work for Pending {
            fn deadline(&self) -> Instant {
                match self { $(Self::$name(work) => work.deadline(),)* }
            }

            fn on_answer(&mut self, ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
                match self { $(Self::$name(work) => work.on_answer(ctx, part, answer),)* }
            }

            fn on_wake(&mut self, ctx: &mut Ctx<'_>) -> Progress {
                match self { $(Self::$name(work) => work.on_wake(ctx),)* }
            }

            fn on_image(&mut self, ctx: &mut Ctx<'_>) -> Progress {
                match self { $(Self::$name(work) => work.on_image(ctx),)* }
            }

            fn on_deadline(&mut self, ctx: &mut Ctx<'_>) -> Progress {
                match self { $(Self::$name(work) => work.on_deadline(ctx),)* }
            }

            fn on_closed(&mut self, ctx: &mut Ctx<'_>) {
                match self { $(Self::$name(work) => work.on_closed(ctx),)* }
            }

            fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
                match self { $(Self::$name(work) => work.finish(ctx),)* }
            }
        }
    };
}

pending! {
    Produce(produce::Produce),
    Fetch(fetch::Fetch),
    ListOffsets(list_offsets::ListOffsets),
    EpochEnds(list_offsets::EpochEnds),
    DeleteRecords(records::DeleteRecords),
    LogDirs(log_dirs::LogDirs),
    AlterDirs(alter_dirs::AlterDirs),
    Metadata(metadata::AutoCreation),
    CreateTopics(topics::CreateTopics),
    DeleteTopics(topics::DeleteTopics),
    CreatePartitions(topics::CreatePartitions),
    AlterConfigs(alter::AlterConfigs),
    ProducerId(producer_id::ProducerIdWanted),
    Quorum(quorum::Described),
    FindCoordinator(find_coordinator::FindCoordinator),
    Group(groups::GroupCall),
}

/// Begins a request: decodes its body and answers it or sends the mail that it takes.
///
/// # Errors
/// The body is not one of this request and version.
pub(crate) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    match ctx.call.key {
        ApiKey::ApiVersions => versions::begin(ctx, body),
        ApiKey::Metadata => metadata::begin(ctx, body),
        ApiKey::Produce => produce::begin(ctx, body),
        ApiKey::Fetch => fetch::begin(ctx, body),
        ApiKey::ListOffsets => list_offsets::begin(ctx, body),
        ApiKey::OffsetForLeaderEpoch => list_offsets::begin_epochs(ctx, body),
        ApiKey::DeleteRecords => records::begin(ctx, body),
        ApiKey::CreateTopics => topics::begin_create(ctx, body),
        ApiKey::DeleteTopics => topics::begin_delete(ctx, body),
        ApiKey::CreatePartitions => topics::begin_grow(ctx, body),
        ApiKey::DescribeConfigs => configs::begin(ctx, body),
        ApiKey::AlterConfigs => alter::begin(ctx, body),
        ApiKey::IncrementalAlterConfigs => alter::begin_incremental(ctx, body),
        ApiKey::DescribeCluster => cluster::begin(ctx, body),
        ApiKey::DescribeQuorum => quorum::begin(ctx, body),
        ApiKey::DescribeTopicPartitions => partitions::begin(ctx, body),
        ApiKey::DescribeLogDirs => log_dirs::begin(ctx, body),
        ApiKey::AlterReplicaLogDirs => alter_dirs::begin(ctx, body),
        ApiKey::InitProducerId => producer_id::begin(ctx, body),
        ApiKey::FindCoordinator => find_coordinator::begin(ctx, body),
        ApiKey::JoinGroup => groups::begin_join(ctx, body),
        ApiKey::SyncGroup => groups::begin_sync(ctx, body),
        ApiKey::Heartbeat => groups::begin_heartbeat(ctx, body),
        ApiKey::LeaveGroup => groups::begin_leave(ctx, body),
        ApiKey::OffsetCommit => groups::begin_commit(ctx, body),
        ApiKey::OffsetFetch => groups::begin_fetch(ctx, body),
        ApiKey::OffsetDelete => groups::begin_delete_offsets(ctx, body),
        ApiKey::ConsumerGroupHeartbeat => groups::begin_beat(ctx, body),
        ApiKey::ConsumerGroupDescribe => groups::begin_describe_consumer(ctx, body),
        ApiKey::ListGroups => groups::begin_list(ctx, body),
        ApiKey::DescribeGroups => groups::begin_describe(ctx, body),
        ApiKey::DeleteGroups => groups::begin_delete(ctx, body),
        other => unreachable!("{other} is not in the table of served requests"),
    }
}
