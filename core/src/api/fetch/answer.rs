//! Making a response of what was read: what fits, and what is news.

use bytes::Bytes;
use dohle_wire::codec::Hole;
use dohle_wire::error::ErrorCode;
use dohle_wire::id::TopicId;
use dohle_wire::message::fetch_response::{
    EpochEndOffset, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use dohle_wire::message::{AbortedTransaction, FetchResponse, FetchableTopicResponse};
use dohle_wire::records::Records;

use crate::api::lookup::{TopicKey, leader_hint};
use crate::api::{Ctx, Outcome, reply};
use crate::count::Count;
use crate::mail::{Isolation, Readable};
use crate::session::Effect;
use crate::session::fetch_session::{Context, PartitionKey, Told, Wanted};

use super::{Fetch, IDS_FROM, Part};

/// First version whose answer says where the leader is.
const HINTS_FROM: i16 = 16;

/// A partition's share of the response.
struct Answered {
    key: PartitionKey,
    wanted: Wanted,
    told: Told,
    topic: Option<TopicId>,
    data: PartitionData,
}

impl Answered {
    fn count(&self) -> Option<Count> {
        if self.data.error_code != ErrorCode::None.code() {
            return Some(Count::Unread(self.topic));
        }
        let bytes = self.data.records.as_ref().map_or(0, Records::len) as u64;
        self.topic.filter(|_| bytes > 0).map(|topic| Count::Read { topic, bytes })
    }
}

pub(super) fn answer(ctx: &mut Ctx<'_>, fetch: Fetch) -> Outcome {
    let mut response = FetchResponse::default();
    let mut budget = Budget { left: fetch.max_bytes, empty: true };
    let parts = fetch.parts.into_iter();
    let mut answered: Vec<Answered> = parts
        .map(|part| {
            let endpoints = &mut response.node_endpoints;
            answer_part(ctx, part, fetch.isolation, &mut budget, endpoints)
        })
        .collect();
    match fetch.context {
        Context::Sessionless => {}
        Context::Opening => {
            let all = answered.iter().map(|each| (each.key.clone(), each.wanted, each.told));
            response.session_id = ctx.fetches.open(ctx.call.version >= IDS_FROM, all);
        }
        Context::Incremental(id) => {
            response.session_id = id;
            answered.retain(|each| ctx.fetches.tell(&each.key, each.told));
        }
    }
    for each in &answered {
        ctx.fx.extend(each.count().map(Effect::Count));
    }
    for each in answered {
        push(&mut response.responses, each.key.topic, each.data);
    }
    reply::answer(ctx, &response)
}

/// Adds a partition, to the last topic if it is the same.
fn push(topics: &mut Vec<FetchableTopicResponse>, key: TopicKey, data: PartitionData) {
    let (topic, topic_id) = (key.name(), key.id());
    match topics.last_mut() {
        Some(last) if last.topic == topic && last.topic_id == topic_id => {
            last.partitions.push(data);
        }
        _ => topics.push(FetchableTopicResponse { topic, topic_id, partitions: vec![data] }),
    }
}

fn answer_part(
    ctx: &Ctx<'_>,
    part: Part,
    isolation: Isolation,
    budget: &mut Budget,
    endpoints: &mut Vec<NodeEndpoint>,
) -> Answered {
    let mut data = match part.result {
        Ok(readable) => read(readable, isolation, part.wanted, budget),
        Err(error) => failed(error),
    };
    data.partition_index = part.key.index;
    if ctx.call.version >= HINTS_FROM && leads_elsewhere(data.error_code) {
        let hint = part.place.and_then(|place| leader_hint(ctx.image, &place.partition));
        if let Some((leader, leader_epoch)) = hint {
            data.current_leader = LeaderIdAndEpoch { leader_id: leader.0, leader_epoch };
            add_endpoint(ctx, leader, endpoints);
        }
    }
    let told = Told {
        high_watermark: data.high_watermark,
        log_start: data.log_start_offset,
        records: data.records.as_ref().is_some_and(|records| !records.is_empty()),
        always: data.error_code != ErrorCode::None.code() || data.diverging_epoch.epoch >= 0,
    };
    let topic = part.place.map(|place| place.partition.topic);
    Answered { key: part.key, wanted: part.wanted, told, topic, data }
}

/// Whether an error makes a client look for another leader (KIP-951).
fn leads_elsewhere(error: i16) -> bool {
    matches!(ErrorCode::from(error), ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch)
}

fn add_endpoint(ctx: &Ctx<'_>, leader: dohle_wire::id::NodeId, endpoints: &mut Vec<NodeEndpoint>) {
    let node_id = leader.0;
    let Some((host, port)) = ctx.address(leader) else { return };
    if endpoints.iter().all(|known| known.node_id != node_id) {
        let rack = ctx.image.brokers.get(&leader).and_then(|broker| broker.rack.clone());
        endpoints.push(NodeEndpoint { node_id, host, port: port.into(), rack });
    }
}

fn failed(error: ErrorCode) -> PartitionData {
    PartitionData {
        error_code: error.code(),
        high_watermark: -1,
        records: Some(Records::default()),
        ..Default::default()
    }
}

fn read(
    readable: Readable,
    isolation: Isolation,
    wanted: Wanted,
    budget: &mut Budget,
) -> PartitionData {
    let own = u64::try_from(wanted.max_bytes).unwrap_or(0);
    let records = budget.take(readable.records, readable.first_batch_len.into(), own);
    let aborted = readable.aborted.into_iter().map(|(producer, first)| AbortedTransaction {
        producer_id: producer.0,
        first_offset: first.0,
    });
    let mut data = PartitionData {
        high_watermark: readable.high_watermark.0,
        last_stable_offset: readable.last_stable.0,
        log_start_offset: readable.log_start.0,
        aborted_transactions: (isolation == Isolation::ReadCommitted).then(|| aborted.collect()),
        records: Some(records),
        ..Default::default()
    };
    if let Some(end) = readable.diverging {
        data.diverging_epoch = EpochEndOffset { epoch: end.epoch.0, end_offset: end.end.0 };
        data.records = Some(Records::default());
    }
    data
}

/// What the response may still hold.
struct Budget {
    left: u64,
    /// Whether no partition has given records yet.
    empty: bool,
}

impl Budget {
    /// As much of `records`, whose first batch has `first` bytes, as fits: at most `own` bytes for
    /// this partition. A first batch too large goes out whole if it is the first of all, and
    /// otherwise not at all.
    fn take(&mut self, records: Records, first: u64, own: u64) -> Records {
        let limit = own.min(self.left);
        let limit = if self.empty { limit.max(first) } else { limit };
        if records.is_empty() || first > limit {
            return Records::default();
        }
        let taken = cut(records, limit);
        self.empty = false;
        self.left = self.left.saturating_sub(taken.len() as u64);
        taken
    }
}

/// The first `len` bytes of `records`, or all if there are fewer.
fn cut(records: Records, len: u64) -> Records {
    match records {
        Records::Bytes(bytes) => Records::Bytes(head(bytes, len)),
        Records::Holes(holes) => Records::Holes(head_of_holes(holes, len)),
    }
}

fn head(mut bytes: Bytes, len: u64) -> Bytes {
    bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
    bytes
}

fn head_of_holes(mut holes: Vec<Hole>, len: u64) -> Vec<Hole> {
    let mut left = len;
    for hole in &mut holes {
        let taken = left.min(hole.len.into());
        hole.len = u32::try_from(taken).expect("no more than the hole had");
        left -= taken;
    }
    holes.retain(|hole| hole.len > 0);
    holes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_take(empty: bool, left: u64, sizes: (u64, u64, u64), taken: usize, left_after: u64) {
        let (all, first, own) = sizes;
        let mut budget = Budget { left, empty };
        let hole = |position, len| Hole { file: 1, position, len };
        let half = u32::try_from(all / 2).unwrap();
        let rest = u32::try_from(all).unwrap() - half;
        let records = Records::Holes(vec![hole(0, half), hole(1000, rest)]);
        assert_eq!(budget.take(records, first, own).len(), taken);
        assert_eq!(budget.left, left_after);
    }

    #[test]
    fn budgets_of_partition_and_response() {
        // (all bytes, first batch, partition limit)
        check_take(true, 100, (60, 20, 1000), 60, 40);
        check_take(true, 100, (60, 20, 30), 30, 70);
        check_take(true, 100, (200, 20, 1000), 100, 0);
        // Too large a first batch goes out whole, but only if it is the first of all.
        check_take(true, 100, (300, 250, 1000), 250, 0);
        check_take(true, 100, (300, 50, 10), 50, 50);
        check_take(false, 100, (300, 250, 1000), 0, 100);
        check_take(false, 100, (300, 50, 10), 0, 100);
        check_take(false, 100, (80, 50, 1000), 80, 20);
        check_take(false, 0, (80, 50, 1000), 0, 0);
    }

    #[test]
    fn cutting_drops_empty_holes() {
        let hole = |len| Hole { file: 1, position: 0, len };
        assert_eq!(head_of_holes(vec![hole(5), hole(5)], 5), vec![hole(5)]);
        assert_eq!(head_of_holes(vec![hole(5), hole(5)], 7), vec![hole(5), hole(2)]);
        assert_eq!(head_of_holes(vec![hole(5)], 9), vec![hole(5)]);
    }
}
