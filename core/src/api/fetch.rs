//! Fetch: reads from the shards until there is enough, then makes a response of what fits.
//!
//! Reads go out in rounds, one [`Read`] for each shard involved. A round that brought less than
//! the client's minimum leaves watches behind; a wake-up starts the next round, and when the
//! client's patience ends there is a last round without watches. Every answer of a round carries
//! the round's number, so that one from an earlier round is recognised and dropped.
//!
//! Limits: a partition gets at most what the client allows it, all together at most what client
//! and broker allow a response; the first batch of the first partition that has one passes whole,
//! whatever the limits say, so that a reader is never stuck.

mod answer;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::Offset;
use dohle_wire::message::{FetchRequest, FetchResponse};

use crate::mail::{Answer, Isolation, PartitionId, Read, ReadPart, Readable, ShardId, ToShard};
use crate::session::fetch_session::{Context, PartitionKey, Request, Wanted};
use crate::time::Instant;

use super::list_offsets::{epoch, isolation};
use super::lookup::{Place, TopicKey};
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// First version that names topics by id.
const IDS_FROM: i16 = 13;

/// A fetch request that waits for its shards, or for more bytes.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    context: Context,
    parts: Vec<Part>,
    shards: Vec<AskedShard>,
    isolation: Isolation,
    min_bytes: u64,
    max_bytes: u64,
    round: Round,
    deadline: Instant,
}

/// One partition of the request.
#[derive(Clone, Debug)]
struct Part {
    key: PartitionKey,
    wanted: Wanted,
    place: Option<Place>,
    result: Result<Readable, ErrorCode>,
}

/// A shard that owns some of the partitions.
#[derive(Clone, Debug)]
struct AskedShard {
    shard: ShardId,
    /// Its partitions, as indexes of [`Fetch::parts`].
    slots: Vec<u32>,
    /// Whether this round's answer is still to come.
    asked: bool,
    /// Bytes that can be read there.
    available: u64,
    /// At how many bytes it was told to send a wake-up, while it has not.
    watch: Option<u64>,
    /// Whether one of its partitions must be reported at once.
    urgent: bool,
}

/// A round of reads.
#[derive(Copy, Clone, Debug)]
struct Round {
    number: u16,
    /// No round comes after it.
    last: bool,
    /// A wake-up came while it was under way.
    woken: bool,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: FetchRequest = ctx.decode(body)?;
    let replica = request.replica_id.max(request.replica_state.replica_id);
    let limits = Limits::of(ctx, &request);
    let (context, wanted) = match ctx.fetches.begin(session_request(request, ctx.version())) {
        Ok(begun) => begun,
        Err(error) => return Ok(refuse(ctx, error)),
    };
    let parts = wanted.into_iter().map(|(key, wanted)| Part::new(ctx, key, wanted, replica));
    let mut fetch = Fetch {
        context,
        parts: parts.collect(),
        shards: Vec::new(),
        isolation: limits.isolation,
        min_bytes: limits.min_bytes,
        max_bytes: limits.max_bytes,
        round: Round { number: 0, last: limits.wait_ms.is_none(), woken: false },
        deadline: ctx.now.mono.plus_ms(limits.wait_ms.unwrap_or(WAIT_MS)),
    };
    fetch.spread();
    if fetch.shards.is_empty() {
        return Ok(Begun::Done(fetch.finish(ctx)));
    }
    let share = fetch.share(fetch.min_bytes);
    for asked in &mut fetch.shards {
        asked.watch = Some(share);
    }
    fetch.ask_all(ctx);
    Ok(fetch.into())
}

/// What the client and the broker allow.
struct Limits {
    isolation: Isolation,
    min_bytes: u64,
    max_bytes: u64,
    /// None when the first round is the last.
    wait_ms: Option<i64>,
}

impl Limits {
    fn of(ctx: &Ctx<'_>, request: &FetchRequest) -> Self {
        let most = request.max_bytes.min(ctx.settings.config.fetch_max_bytes);
        let max_bytes = u64::try_from(most).unwrap_or(0);
        let min_bytes = u64::try_from(request.min_bytes).unwrap_or(0).min(max_bytes);
        let waits = request.max_wait_ms > 0 && min_bytes > 0;
        Self {
            isolation: isolation(request.isolation_level),
            min_bytes,
            max_bytes,
            wait_ms: waits.then_some(request.max_wait_ms.into()),
        }
    }
}

fn session_request(request: FetchRequest, version: i16) -> Request {
    let by_id = version >= IDS_FROM;
    let mut partitions = Vec::new();
    for topic in request.topics {
        let key = TopicKey::of(by_id, topic.topic, topic.topic_id);
        partitions.extend(topic.partitions.into_iter().map(|asked| {
            let wanted = Wanted {
                offset: asked.fetch_offset,
                max_bytes: asked.partition_max_bytes,
                leader_epoch: asked.current_leader_epoch,
                last_fetched_epoch: asked.last_fetched_epoch,
            };
            (PartitionKey { topic: key.clone(), index: asked.partition }, wanted)
        }));
    }
    let mut forgotten = Vec::new();
    for topic in request.forgotten_topics_data {
        let key = TopicKey::of(by_id, topic.topic, topic.topic_id);
        let indexes = topic.partitions.into_iter();
        forgotten.extend(indexes.map(|index| PartitionKey { topic: key.clone(), index }));
    }
    let (id, epoch) = (request.session_id, request.session_epoch);
    Request { id, epoch, by_id, partitions, forgotten }
}

/// Answers a request that does not fit its session.
fn refuse(ctx: &Ctx<'_>, error: ErrorCode) -> Begun {
    reply::at_once(ctx, &FetchResponse { error_code: error.code(), ..Default::default() })
}

impl Part {
    fn new(ctx: &Ctx<'_>, key: PartitionKey, wanted: Wanted, replica: i32) -> Self {
        let place = if replica >= 0 { Err(not_a_replica(wanted)) } else { find(ctx, &key) };
        let (place, error) = match place {
            Ok(place) => (Some(place), NOT_ANSWERED),
            Err(error) => (None, error),
        };
        Self { key, wanted, place, result: Err(error) }
    }

    fn read(&self, slot: u32, partition: PartitionId, max_bytes: u64) -> ReadPart {
        let own = u32::try_from(self.wanted.max_bytes).unwrap_or(0);
        ReadPart {
            slot,
            partition,
            offset: Offset(self.wanted.offset),
            max_bytes: own.min(u32::try_from(max_bytes).unwrap_or(u32::MAX)),
            leader_epoch: epoch(self.wanted.leader_epoch),
            last_fetched_epoch: epoch(self.wanted.last_fetched_epoch),
        }
    }
}

/// What a partition is told whose shard does not answer; clients refresh and try again.
const NOT_ANSWERED: ErrorCode = ErrorCode::KafkaStorageError;

/// Replicas fetch from the leader of a partition that lists them; none does here
/// (Partition.followerReplicaOrThrow).
fn not_a_replica(wanted: Wanted) -> ErrorCode {
    match epoch(wanted.leader_epoch) {
        Some(_) => ErrorCode::UnknownLeaderEpoch,
        None => ErrorCode::NotLeaderOrFollower,
    }
}

fn find(ctx: &Ctx<'_>, key: &PartitionKey) -> Result<Place, ErrorCode> {
    let topic = key.topic.find(ctx.image)?;
    ctx.place(topic, key.index)
}

impl Fetch {
    /// Sorts the partitions by the shards that own them.
    fn spread(&mut self) {
        for (part, slot) in self.parts.iter().zip(0u32..) {
            let Some(Place { shard, .. }) = part.place else { continue };
            match self.shards.iter_mut().find(|asked| asked.shard == shard) {
                Some(asked) => asked.slots.push(slot),
                None => self.shards.push(AskedShard::new(shard, slot)),
            }
        }
    }

    /// Sends a read to every shard. Each is watched as it says, unless this is the last round.
    fn ask_all(&mut self, ctx: &mut Ctx<'_>) {
        for index in 0..self.shards.len() {
            self.ask(ctx, index);
        }
    }

    fn ask(&mut self, ctx: &mut Ctx<'_>, index: usize) {
        let asked = &mut self.shards[index];
        asked.asked = true;
        if self.round.last {
            asked.watch = None;
        }
        let parts = asked.slots.iter().filter_map(|slot| {
            let part = &self.parts[*slot as usize];
            Some(part.read(*slot, part.place?.partition, self.max_bytes))
        });
        let number = u32::try_from(index).expect("shards are counted in 16 bits");
        let read = Read {
            reply: ctx.reply_to(u32::from(self.round.number) << 16 | number),
            seen: ctx.image.offset,
            parts: parts.collect(),
            isolation: self.isolation,
            watch: asked.watch,
        };
        let shard = asked.shard;
        ctx.send_shard(shard, ToShard::Read(read));
    }

    /// One shard's part of `bytes`, rounded up: when this many come in all, some shard gets its
    /// part.
    fn share(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.shards.len().max(1) as u64).max(1)
    }

    fn available(&self) -> u64 {
        self.shards.iter().map(|asked| asked.available).sum()
    }

    fn is_asking(&self) -> bool {
        self.shards.iter().any(|asked| asked.asked)
    }

    /// Decides what follows a round.
    fn after_round(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        if self.is_asking() {
            return Progress::Waiting;
        }
        let enough = self.available() >= self.min_bytes;
        if enough || self.round.last || self.shards.iter().any(|asked| asked.urgent) {
            return Progress::Complete;
        }
        if self.round.woken {
            self.next_round(ctx);
            return Progress::Waiting;
        }
        self.watch_closer(ctx);
        Progress::Waiting
    }

    /// A shard that has some bytes, but with the others not enough, watches for its part of what
    /// is missing in all.
    fn watch_closer(&mut self, ctx: &mut Ctx<'_>) {
        let share = self.share(self.min_bytes - self.available());
        let late = |asked: &AskedShard| asked.watch != Some(asked.available + share);
        if !self.shards.iter().any(late) {
            return;
        }
        for asked in &mut self.shards {
            asked.watch = Some(asked.available + share);
        }
        self.next_round(ctx);
    }

    fn next_round(&mut self, ctx: &mut Ctx<'_>) {
        self.round.number = self.round.number.wrapping_add(1);
        self.round.woken = false;
        self.ask_all(ctx);
    }

    /// Tells the shards that nobody waits for their wake-ups any more.
    fn unwatch(&self, ctx: &mut Ctx<'_>) {
        let (session, request) = (ctx.session, ctx.call.number);
        for asked in self.shards.iter().filter(|asked| asked.may_watch()) {
            ctx.send_shard(asked.shard, ToShard::Unwatch { session, request });
        }
    }
}

impl AskedShard {
    fn new(shard: ShardId, slot: u32) -> Self {
        Self { shard, slots: vec![slot], asked: false, available: 0, watch: None, urgent: false }
    }

    /// Whether the shard may still watch: a read that finds enough leaves no watch behind.
    fn may_watch(&self) -> bool {
        self.watch.is_some_and(|bytes| self.asked || self.available < bytes)
    }
}

impl Work for Fetch {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        let Answer::Read(outcomes) = answer else { return Progress::Waiting };
        let (round, index) = (part >> 16, part & 0xffff);
        let asked = self.shards.get_mut(index as usize);
        let Some(asked) = asked.filter(|a| a.asked && round == u32::from(self.round.number)) else {
            return Progress::Waiting;
        };
        asked.asked = false;
        asked.available = 0;
        asked.urgent = false;
        for outcome in outcomes {
            let Some(part) = self.parts.get_mut(outcome.slot as usize) else { continue };
            part.result = outcome.result;
            match &part.result {
                Ok(readable) => {
                    asked.available += readable.records.len() as u64;
                    asked.urgent |= readable.diverging.is_some() || readable.more;
                }
                Err(_) => asked.urgent = true,
            }
        }
        self.after_round(ctx)
    }

    fn on_wake(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        self.round.woken = true;
        if !self.is_asking() && !self.round.last {
            self.next_round(ctx);
        }
        Progress::Waiting
    }

    fn on_deadline(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        // With a minimum of one byte, what there is has been announced; a larger minimum may
        // have left some bytes unannounced.
        let nothing_new = !self.is_asking() && self.min_bytes <= 1;
        if nothing_new || self.round.last {
            return Progress::Complete;
        }
        self.round.last = true;
        self.deadline = ctx.now.mono.plus_ms(WAIT_MS);
        if !self.is_asking() {
            self.unwatch(ctx);
            self.next_round(ctx);
        }
        Progress::Waiting
    }

    fn on_closed(&mut self, ctx: &mut Ctx<'_>) {
        self.unwatch(ctx);
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        self.unwatch(ctx);
        answer::answer(ctx, self)
    }
}
