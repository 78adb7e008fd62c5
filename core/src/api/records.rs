//! DeleteRecords: advances the start of logs.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::Offset;
use dohle_wire::message::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use crate::mail::{Answer, ToShard};
use crate::time::Instant;

use super::gather::Gather;
use super::lookup::{Place, is_internal};
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// The offset that stands for the high watermark.
const HIGH_WATERMARK: i64 = -1;

/// A DeleteRecords request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct DeleteRecords {
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<Result<Offset, ErrorCode>>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DeleteRecordsRequest = ctx.decode(body)?;
    let results = Gather::until(ctx.until(request.timeout_ms));
    let mut work = DeleteRecords { topics: Vec::new(), results };
    for topic in request.topics {
        let mut indexes = Vec::with_capacity(topic.partitions.len());
        for partition in topic.partitions {
            indexes.push(partition.partition_index);
            work.ask(ctx, &topic.name, partition.partition_index, partition.offset);
        }
        work.topics.push((topic.name, indexes));
    }
    match work.results.progress() {
        Progress::Complete => Ok(Begun::Done(work.finish(ctx))),
        Progress::Waiting => Ok(work.into()),
    }
}

impl DeleteRecords {
    fn ask(&mut self, ctx: &mut Ctx<'_>, topic: &str, index: i32, offset: i64) {
        match admit(ctx, topic, index, offset) {
            Err(code) => self.results.known(Err(code)),
            Ok(Place { partition, shard }) => {
                let reply = ctx.reply_to(self.results.ask());
                let seen = ctx.image.offset;
                let before = (offset != HIGH_WATERMARK).then_some(Offset(offset));
                ctx.send_shard(shard, ToShard::DeleteRecords { reply, seen, partition, before });
            }
        }
    }
}

fn admit(ctx: &Ctx<'_>, topic: &str, index: i32, offset: i64) -> Result<Place, ErrorCode> {
    let place = ctx.place_by_name(topic, index)?;
    if is_internal(topic) {
        return Err(ErrorCode::InvalidTopicException);
    }
    let config = ctx.image.topic(topic).map(|topic| &topic.config);
    if config.is_some_and(|config| config.cleanup_policy.compact && !config.cleanup_policy.delete) {
        return Err(ErrorCode::PolicyViolation);
    }
    if offset < HIGH_WATERMARK { Err(ErrorCode::OffsetOutOfRange) } else { Ok(place) }
}

impl Work for DeleteRecords {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Deleted(result) => {
                self.results.put(part, result.map_err(|refusal| refusal.code))
            }
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let mut results = self.results.finish(|| Err(ErrorCode::RequestTimedOut));
        let topics = self.topics.into_iter().map(|(name, indexes)| {
            let partitions = indexes.into_iter().zip(results.by_ref()).map(answer_partition);
            DeleteRecordsTopicResult { name, partitions: partitions.collect() }
        });
        let response = DeleteRecordsResponse { throttle_time_ms: 0, topics: topics.collect() };
        reply::answer(ctx, &response)
    }
}

fn answer_partition(
    (partition_index, result): (i32, Result<Offset, ErrorCode>),
) -> DeleteRecordsPartitionResult {
    let (low_watermark, error) = match result {
        Ok(start) => (start.0, ErrorCode::None),
        Err(code) => (-1, code),
    };
    DeleteRecordsPartitionResult { partition_index, low_watermark, error_code: error.code() }
}
