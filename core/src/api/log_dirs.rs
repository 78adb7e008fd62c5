//! DescribeLogDirs: asks every shard for the sizes of its logs.

use std::collections::BTreeMap;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{
    DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use crate::mail::{Answer, LogSize, ShardId, ToShard};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// A DescribeLogDirs request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct LogDirs {
    request: DescribeLogDirsRequest,
    sizes: Gather<Vec<LogSize>>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeLogDirsRequest = ctx.decode(body)?;
    let mut sizes = Gather::until(ctx.now.mono.plus_ms(WAIT_MS));
    for shard in 0..ctx.settings.shards {
        let reply = ctx.reply_to(sizes.ask());
        ctx.send_shard(ShardId(shard), ToShard::LogSizes { reply });
    }
    Ok(LogDirs { request, sizes }.into())
}

impl Work for LogDirs {
    fn deadline(&self) -> Instant {
        self.sizes.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Sizes(sizes) => self.sizes.put(part, sizes),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let request = self.request;
        let sizes: Vec<LogSize> = self.sizes.finish(Vec::new).flatten().collect();
        let dirs = ctx.settings.config.log_dirs.iter().zip(0u16..);
        let results = dirs.map(|(path, dir)| describe(ctx, &request, path, dir, &sizes));
        let response = DescribeLogDirsResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::None.code(),
            results: results.collect(),
        };
        reply::answer(ctx, &response)
    }
}

fn describe(
    ctx: &Ctx<'_>,
    request: &DescribeLogDirsRequest,
    path: &str,
    dir: u16,
    sizes: &[LogSize],
) -> DescribeLogDirsResult {
    let mut topics: BTreeMap<String, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for size in sizes.iter().filter(|size| size.dir == dir) {
        let Some(topic) = ctx.image.topic_by_id(&size.partition.topic) else { continue };
        if is_wanted(request, &topic.name, size.partition.index.0) {
            topics.entry(topic.name.to_string()).or_default().push(DescribeLogDirsPartition {
                partition_index: size.partition.index.0,
                partition_size: i64::try_from(size.bytes).unwrap_or(i64::MAX),
                offset_lag: 0,
                is_future_key: false,
            });
        }
    }
    let topics = topics.into_iter();
    DescribeLogDirsResult {
        error_code: ErrorCode::None.code(),
        log_dir: path.to_owned(),
        topics: topics
            .map(|(name, partitions)| DescribeLogDirsTopic { name, partitions })
            .collect(),
        total_bytes: -1,
        usable_bytes: -1,
        is_cordoned: false,
    }
}

fn is_wanted(request: &DescribeLogDirsRequest, topic: &str, index: i32) -> bool {
    let Some(asked) = &request.topics else { return true };
    asked.iter().any(|wanted| wanted.topic == topic && wanted.partitions.contains(&index))
}
