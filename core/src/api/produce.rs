//! Produce: every batch is checked here, then sent to the shard that owns its partition.
//!
//! Checks come in this order: existence of the partition, acks, internal topics, whether the request
//! names the partition once, then the batch itself ([`batch::check`]). A partition that fails is
//! answered with its error, the others go on.

use std::collections::BTreeSet;

use bytes::Bytes;
use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::produce_response::{LeaderIdAndEpoch, NodeEndpoint};
use dohle_wire::message::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, ProduceRequest,
    ProduceResponse, TopicProduceResponse,
};
use dohle_wire::records::Records;

use crate::batch::{self, BatchRefusal, Budget, CheckedBatch};
use crate::count::Count;
use crate::image::TopicImage;
use crate::mail::{self, Acks, Answer, Appended, PartitionId, Refusal, ToShard};
use crate::session::{CloseReason, Effect};
use crate::time::Instant;

use super::gather::Gather;
use super::lookup::{Place, TopicKey, is_internal, leader_hint};
use super::{Begun, Ctx, LEAST_WAIT_MS, Outcome, Progress, WAIT_MS, Work, reply};

/// First version that names topics by id.
const IDS_FROM: i16 = 13;

/// First version whose answer says where the leader is.
const HINTS_FROM: i16 = 10;

/// The client id that may write to internal topics (Kafka's own tools).
const ADMIN_CLIENT: &str = "__admin_client";

/// A produce request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct Produce {
    acks: Acks,
    topics: Vec<(TopicKey, Vec<Item>)>,
    results: Gather<Result<Appended, BatchRefusal>>,
}

/// One partition of the request.
#[derive(Clone, Debug)]
struct Item {
    index: i32,
    partition: Option<PartitionId>,
    records: u64,
    bytes: u64,
}

impl Item {
    fn count(&self, appended: bool) -> Count {
        match self.partition.map(|partition| partition.topic) {
            Some(topic) if appended => {
                Count::Appended { topic, records: self.records, bytes: self.bytes }
            }
            topic => Count::Refused(topic),
        }
    }
}

/// What decides on the batches of one request.
struct Terms {
    acks: Option<Acks>,
    /// Partitions that the request names more than once.
    repeated: BTreeSet<(TopicKey, i32)>,
    budget: Budget,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: ProduceRequest = ctx.decode(body)?;
    let acks = acks_of(request.acks);
    let results = Gather::until(deadline(ctx, acks, request.timeout_ms));
    let mut work = Produce { acks: acks.unwrap_or(Acks::Leader), topics: Vec::new(), results };
    let by_id = ctx.version() >= IDS_FROM;
    let topics = request.topic_data.into_iter();
    let topics: Vec<_> = topics
        .map(|topic| (TopicKey::of(by_id, topic.name, topic.topic_id), topic.partition_data))
        .collect();
    let budget = Budget::new(ctx.settings.config.socket_request_max_bytes);
    let mut terms = Terms { acks, repeated: repeated(&topics), budget };
    for (key, partitions) in topics {
        let items = partitions.into_iter();
        let items = items.map(|data| work.begin_partition(ctx, &key, data, &mut terms)).collect();
        work.topics.push((key, items));
    }
    match work.results.progress() {
        Progress::Complete => Ok(Begun::Done(work.finish(ctx))),
        Progress::Waiting => Ok(work.into()),
    }
}

/// Partitions named more than once. Which of their batches a client means nobody knows (Kafka
/// takes the last one and forgets the others).
fn repeated(topics: &[(TopicKey, Vec<PartitionProduceData>)]) -> BTreeSet<(TopicKey, i32)> {
    let all = topics.iter().flat_map(|(key, data)| data.iter().map(move |one| (key, one.index)));
    let mut seen = BTreeSet::new();
    all.filter(|named| !seen.insert(*named)).map(|(key, index)| (key.clone(), index)).collect()
}

fn acks_of(acks: i16) -> Option<Acks> {
    match acks {
        0 => Some(Acks::None),
        1 => Some(Acks::Leader),
        -1 => Some(Acks::All),
        _ => None,
    }
}

/// The client's time limit is one for replication; an append by the leader alone has none in
/// Kafka, so it gets ours.
fn deadline(ctx: &Ctx<'_>, acks: Option<Acks>, timeout_ms: i32) -> Instant {
    let least = if acks == Some(Acks::All) { LEAST_WAIT_MS } else { WAIT_MS };
    ctx.now.mono.plus_ms(i64::from(timeout_ms).max(least))
}

impl Produce {
    fn begin_partition(
        &mut self,
        ctx: &mut Ctx<'_>,
        key: &TopicKey,
        data: PartitionProduceData,
        terms: &mut Terms,
    ) -> Item {
        let index = data.index;
        match admit(ctx, key, data, terms) {
            Ok((place, batch)) => {
                let reply = ctx.reply_to(self.results.ask());
                let (seen, partition, acks) = (ctx.image.offset, place.partition, self.acks);
                let records = u64::try_from(batch.header().records_count).unwrap_or(0);
                let bytes = batch.bytes().len() as u64;
                let mail = mail::Produce { reply, seen, partition, acks, batch };
                ctx.send_shard(place.shard, ToShard::Produce(mail));
                Item { index, partition: Some(partition), records, bytes }
            }
            Err(refusal) => {
                self.results.known(Err(refusal));
                Item { index, partition: None, records: 0, bytes: 0 }
            }
        }
    }

    /// The answer of a request that wants none: an error closes the connection.
    fn finish_unacknowledged(self, ctx: &mut Ctx<'_>) -> Outcome {
        // A shard that is late has not failed: the client did not ask to know.
        let late_is_well = self.results.finish(|| Ok(nowhere()));
        let items = self.topics.iter().flat_map(|(_, items)| items);
        let mut failed = false;
        for (item, result) in items.zip(late_is_well) {
            ctx.fx.push(Effect::Count(item.count(result.is_ok())));
            failed |= result.is_err();
        }
        if failed { Outcome::Close(CloseReason::UnacknowledgedError) } else { Outcome::Silent }
    }
}

/// The batch for one partition, if it may be sent there.
fn admit(
    ctx: &Ctx<'_>,
    key: &TopicKey,
    data: PartitionProduceData,
    terms: &mut Terms,
) -> Result<(Place, CheckedBatch), BatchRefusal> {
    let topic = key.find(ctx.image).map_err(plain)?;
    let place = ctx.place(topic, data.index).map_err(plain)?;
    if terms.acks.is_none() {
        return Err(plain(ErrorCode::InvalidRequiredAcks));
    }
    refuse_internal(ctx, topic)?;
    if terms.repeated.contains(&(key.clone(), data.index)) {
        let message = "the request names the partition more than once";
        return Err(refused(Refusal::new(ErrorCode::InvalidRequest, message)));
    }
    let bytes = match data.records {
        Some(Records::Bytes(bytes)) => bytes,
        Some(Records::Holes(_)) | None => Bytes::new(),
    };
    let (now, codecs) = (ctx.now.wall, &*ctx.settings.codecs);
    let (version, budget) = (ctx.version(), &mut terms.budget);
    let batch = batch::check(bytes, &topic.config, now, version, codecs, budget)?;
    if batch.header().is_transactional() {
        let message = "transactions are not served by this broker";
        return Err(refused(Refusal::new(ErrorCode::InvalidTxnState, message)));
    }
    Ok((place, batch))
}

fn refuse_internal(ctx: &Ctx<'_>, topic: &TopicImage) -> Result<(), BatchRefusal> {
    if is_internal(&topic.name) && ctx.call.client_id.as_deref() != Some(ADMIN_CLIENT) {
        let message = format!("cannot append to internal topic {}", topic.name);
        return Err(refused(Refusal::new(ErrorCode::InvalidTopicException, message)));
    }
    Ok(())
}

fn plain(code: ErrorCode) -> BatchRefusal {
    refused(code.into())
}

fn refused(refusal: Refusal) -> BatchRefusal {
    let Refusal { code, message } = refusal;
    BatchRefusal { code, message: message.unwrap_or_default(), records: Vec::new() }
}

/// An append of which nothing is known.
fn nowhere() -> Appended {
    let unknown = dohle_wire::id::Offset(-1);
    Appended { base: unknown, log_append_time: None, log_start: unknown }
}

impl Work for Produce {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Produced(result) => self.results.put(part, result.map_err(refused)),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        if self.acks == Acks::None {
            return self.finish_unacknowledged(ctx);
        }
        let mut response = ProduceResponse::default();
        let mut results = self.results.finish(|| Err(plain(ErrorCode::RequestTimedOut)));
        for (key, items) in self.topics {
            let answers = items.iter().zip(results.by_ref());
            let partition_responses = answers
                .map(|(item, result)| {
                    ctx.fx.push(Effect::Count(item.count(result.is_ok())));
                    answer_partition(ctx, item, result, &mut response)
                })
                .collect();
            let (name, topic_id) = (key.name(), key.id());
            response.responses.push(TopicProduceResponse { name, topic_id, partition_responses });
        }
        reply::answer(ctx, &response)
    }
}

fn answer_partition(
    ctx: &Ctx<'_>,
    item: &Item,
    result: Result<Appended, BatchRefusal>,
    response: &mut ProduceResponse,
) -> PartitionProduceResponse {
    let mut answer = PartitionProduceResponse { index: item.index, ..Default::default() };
    match result {
        Ok(appended) => {
            answer.base_offset = appended.base.0;
            answer.log_append_time_ms = appended.log_append_time.map_or(-1, |time| time.0);
            answer.log_start_offset = appended.log_start.0;
        }
        Err(refusal) => {
            answer.base_offset = -1;
            answer.error_code = refusal.code.code();
            answer.error_message = (!refusal.message.is_empty()).then_some(refusal.message);
            answer.record_errors = refusal.records.into_iter().map(record_error).collect();
            if ctx.version() >= HINTS_FROM && refusal.code == ErrorCode::NotLeaderOrFollower {
                answer.current_leader = point_to_leader(ctx, item, &mut response.node_endpoints);
            }
        }
    }
    answer
}

fn record_error((batch_index, message): (i32, String)) -> BatchIndexAndErrorMessage {
    BatchIndexAndErrorMessage { batch_index, batch_index_error_message: Some(message) }
}

/// Where the partition's leader is; its address goes to `endpoints` (KIP-951).
fn point_to_leader(
    ctx: &Ctx<'_>,
    item: &Item,
    endpoints: &mut Vec<NodeEndpoint>,
) -> LeaderIdAndEpoch {
    let hint = item.partition.and_then(|partition| leader_hint(ctx.image, &partition));
    let Some((leader, leader_epoch)) = hint else { return LeaderIdAndEpoch::default() };
    let node_id = leader.0;
    if let Some((host, port)) = ctx.address(leader) {
        let rack = ctx.image.brokers.get(&leader).and_then(|broker| broker.rack.clone());
        if endpoints.iter().all(|known| known.node_id != node_id) {
            endpoints.push(NodeEndpoint { node_id, host, port: port.into(), rack });
        }
    }
    LeaderIdAndEpoch { leader_id: node_id, leader_epoch }
}
