//! ListOffsets and OffsetForLeaderEpoch: where in a log something lies.

use std::collections::BTreeMap;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{LeaderEpoch, Offset, Timestamp};
use dohle_wire::message::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult, offset_for_leader_epoch_response,
};

use crate::mail::{
    Answer, EpochEnd, EpochQuery, FoundOffset, Isolation, OffsetQuery, OffsetSpec, ToShard,
};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// First version of ListOffsets whose answer has the leader epoch.
const EPOCHS_FROM: i16 = 4;

/// A ListOffsets request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct ListOffsets {
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<Option<FoundOffset>, ErrorCode>>,
}

/// What a timestamp in a request stands for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// An offset that a shard knows.
    Spec(OffsetSpec),
    /// An offset in tiered storage, of which there is none.
    Tiered,
}

/// Reads a timestamp; sentinels that the version does not know are refused.
fn wanted(timestamp: i64, version: i16) -> Result<Wanted, ErrorCode> {
    let (wanted, since) = match timestamp {
        -1 => (Wanted::Spec(OffsetSpec::Latest), 1),
        -2 => (Wanted::Spec(OffsetSpec::Earliest), 1),
        -3 => (Wanted::Spec(OffsetSpec::MaxTimestamp), 7),
        // Nothing is tiered, so the earliest local offset is the earliest of all.
        -4 => (Wanted::Spec(OffsetSpec::Earliest), 8),
        -5 => (Wanted::Tiered, 9),
        -6 => (Wanted::Tiered, 11),
        0.. => (Wanted::Spec(OffsetSpec::At(Timestamp(timestamp))), 1),
        _ => return Err(ErrorCode::UnsupportedVersion),
    };
    if version < since { Err(ErrorCode::UnsupportedVersion) } else { Ok(wanted) }
}

pub(super) fn isolation(level: i8) -> Isolation {
    if level == 1 { Isolation::ReadCommitted } else { Isolation::ReadUncommitted }
}

/// A leader epoch as requests carry it: -1 for none.
pub(super) fn epoch(raw: i32) -> Option<LeaderEpoch> {
    (raw >= 0).then_some(LeaderEpoch(raw))
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: ListOffsetsRequest = ctx.decode(body)?;
    let isolation = isolation(request.isolation_level);
    let results = Gather::until(ctx.until(request.timeout_ms));
    let mut work = ListOffsets { topics: Vec::new(), results };
    let mut times: BTreeMap<(&str, i32), u32> = BTreeMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            *times.entry((&topic.name, partition.partition_index)).or_default() += 1;
        }
    }
    for topic in &request.topics {
        for partition in &topic.partitions {
            let twice = times.get(&(&*topic.name, partition.partition_index)) > Some(&1);
            work.ask(ctx, &topic.name, partition, isolation, twice);
        }
        let indexes = topic.partitions.iter().map(|partition| partition.partition_index);
        work.topics.push((topic.name.clone(), indexes.collect()));
    }
    match work.results.progress() {
        Progress::Complete => Ok(Begun::Done(work.finish(ctx))),
        Progress::Waiting => Ok(work.into()),
    }
}

impl ListOffsets {
    fn ask(
        &mut self,
        ctx: &mut Ctx<'_>,
        topic: &str,
        asked: &ListOffsetsPartition,
        isolation: Isolation,
        twice: bool,
    ) {
        let wanted = match wanted(asked.timestamp, ctx.version()) {
            _ if twice => Err(ErrorCode::InvalidRequest),
            other => other,
        };
        let place = wanted.and_then(|spec| {
            ctx.place_by_name(topic, asked.partition_index).map(|place| (spec, place))
        });
        match place {
            Err(code) => self.results.known(Err(code)),
            Ok((Wanted::Tiered, _)) => self.results.known(Ok(None)),
            Ok((Wanted::Spec(spec), place)) => {
                let reply = ctx.reply_to(self.results.ask());
                let (seen, partition) = (ctx.image.offset, place.partition);
                let leader_epoch = epoch(asked.current_leader_epoch);
                let query = OffsetQuery { spec, isolation, leader_epoch };
                ctx.send_shard(place.shard, ToShard::ListOffset { reply, seen, partition, query });
            }
        }
    }
}

impl Work for ListOffsets {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Offset(result) => self.results.put(part, result),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let version = ctx.version();
        let mut results = self.results.finish(|| Err(ErrorCode::RequestTimedOut));
        let topics = self.topics.into_iter().map(|(name, indexes)| {
            let partitions = indexes.into_iter().zip(results.by_ref());
            let partitions =
                partitions.map(|(index, result)| answer_offset(index, result, version));
            ListOffsetsTopicResponse { name, partitions: partitions.collect() }
        });
        let response = ListOffsetsResponse { throttle_time_ms: 0, topics: topics.collect() };
        reply::answer(ctx, &response)
    }
}

fn answer_offset(
    partition_index: i32,
    result: Result<Option<FoundOffset>, ErrorCode>,
    version: i16,
) -> ListOffsetsPartitionResponse {
    let mut answer = ListOffsetsPartitionResponse { partition_index, ..Default::default() };
    match result {
        Ok(None) => {}
        Ok(Some(found)) => {
            answer.offset = found.offset.0;
            answer.timestamp = found.timestamp.0;
            if version >= EPOCHS_FROM {
                answer.leader_epoch = found.epoch.0;
            }
        }
        Err(code) => answer.error_code = code.code(),
    }
    answer
}

/// An OffsetForLeaderEpoch request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct EpochEnds {
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<Option<EpochEnd>, ErrorCode>>,
}

pub(super) fn begin_epochs(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: OffsetForLeaderEpochRequest = ctx.decode(body)?;
    let mut work = EpochEnds { topics: Vec::new(), results: Gather::until(ctx.until(0)) };
    for topic in request.topics {
        let mut indexes = Vec::with_capacity(topic.partitions.len());
        for asked in topic.partitions {
            indexes.push(asked.partition);
            let current = epoch(asked.current_leader_epoch);
            let query = EpochQuery { epoch: LeaderEpoch(asked.leader_epoch), current };
            work.ask(ctx, &topic.topic, asked.partition, query);
        }
        work.topics.push((topic.topic, indexes));
    }
    match work.results.progress() {
        Progress::Complete => Ok(Begun::Done(work.finish(ctx))),
        Progress::Waiting => Ok(work.into()),
    }
}

impl EpochEnds {
    fn ask(&mut self, ctx: &mut Ctx<'_>, topic: &str, index: i32, query: EpochQuery) {
        match ctx.place_by_name(topic, index) {
            Err(code) => self.results.known(Err(code)),
            Ok(place) => {
                let reply = ctx.reply_to(self.results.ask());
                let (seen, partition) = (ctx.image.offset, place.partition);
                ctx.send_shard(place.shard, ToShard::EpochEnd { reply, seen, partition, query });
            }
        }
    }
}

impl Work for EpochEnds {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::EpochEnd(result) => self.results.put(part, result),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let mut results = self.results.finish(|| Err(ErrorCode::RequestTimedOut));
        let topics = self.topics.into_iter().map(|(topic, indexes)| {
            let partitions = indexes.into_iter().zip(results.by_ref()).map(answer_epoch);
            OffsetForLeaderTopicResult { topic, partitions: partitions.collect() }
        });
        let response =
            OffsetForLeaderEpochResponse { throttle_time_ms: 0, topics: topics.collect() };
        reply::answer(ctx, &response)
    }
}

fn answer_epoch(
    (partition, result): (i32, Result<Option<EpochEnd>, ErrorCode>),
) -> offset_for_leader_epoch_response::EpochEndOffset {
    let (found, code) = match result {
        Ok(found) => (found, ErrorCode::None),
        Err(code) => (None, code),
    };
    let none = EpochEnd { epoch: LeaderEpoch(-1), end: Offset(-1) };
    let EpochEnd { epoch, end } = found.unwrap_or(none);
    offset_for_leader_epoch_response::EpochEndOffset {
        error_code: code.code(),
        partition,
        leader_epoch: epoch.0,
        end_offset: end.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(timestamp: i64, version: i16, expected: Result<Wanted, ErrorCode>) {
        assert_eq!(wanted(timestamp, version), expected, "{timestamp} in v{version}");
    }

    #[test]
    fn sentinels_are_known_from_their_version_on() {
        let refused = Err(ErrorCode::UnsupportedVersion);
        check(-1, 1, Ok(Wanted::Spec(OffsetSpec::Latest)));
        check(-2, 1, Ok(Wanted::Spec(OffsetSpec::Earliest)));
        check(-3, 6, refused);
        check(-3, 7, Ok(Wanted::Spec(OffsetSpec::MaxTimestamp)));
        check(-4, 7, refused);
        check(-4, 8, Ok(Wanted::Spec(OffsetSpec::Earliest)));
        check(-5, 8, refused);
        check(-5, 9, Ok(Wanted::Tiered));
        check(-6, 10, refused);
        check(-6, 11, Ok(Wanted::Tiered));
        check(-7, 11, refused);
        check(i64::MIN, 11, refused);
        check(0, 1, Ok(Wanted::Spec(OffsetSpec::At(Timestamp(0)))));
    }
}
