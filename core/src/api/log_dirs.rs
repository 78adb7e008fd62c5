//! DescribeLogDirs: every shard is asked for the sizes of its logs.

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{
    DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use crate::disk::Space;
use crate::mail::{Answer, DirSizes, LogSize, ShardId, ToShard};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// A size that is not known.
const UNKNOWN: i64 = -1;

/// What is said of a directory that failed.
const STORAGE_ERROR: i16 = ErrorCode::KafkaStorageError.code();

/// A DescribeLogDirs request that waits for the shards.
#[derive(Clone, Debug)]
pub(crate) struct LogDirs {
    /// Which partitions are asked for; all of them when there is none.
    wanted: Option<BTreeMap<String, BTreeSet<i32>>>,
    sizes: Gather<Vec<DirSizes>>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeLogDirsRequest = ctx.decode(body)?;
    let wanted = request.topics.map(|topics| {
        let mut wanted: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
        for topic in topics {
            wanted.entry(topic.topic).or_default().extend(topic.partitions);
        }
        wanted
    });
    let mut work = LogDirs { wanted, sizes: Gather::until(ctx.until(0)) };
    for shard in 0..ctx.settings.shards {
        let reply = ctx.reply_to(work.sizes.ask());
        ctx.send_shard(ShardId(shard), ToShard::LogSizes { reply });
    }
    Ok(work.into())
}

impl LogDirs {
    fn wants(&self, topic: &str, index: i32) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        wanted.get(topic).is_some_and(|indexes| indexes.contains(&index))
    }
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

    fn finish(mut self, ctx: &mut Ctx<'_>) -> Outcome {
        let gathered = std::mem::replace(&mut self.sizes, Gather::until(Instant(0)));
        let mut failed = BTreeSet::new();
        let mut logs: BTreeMap<u16, Vec<LogSize>> = BTreeMap::new();
        let mut spaces = BTreeMap::new();
        for sizes in gathered.finish(Vec::new).flatten() {
            if sizes.failed {
                failed.insert(sizes.dir);
            }
            spaces.extend(sizes.space.map(|space| (sizes.dir, space)));
            logs.entry(sizes.dir).or_default().extend(sizes.logs);
        }
        let results = ctx.settings.config.log_dirs.iter().zip(0u16..).map(|(path, dir)| {
            let space: Option<&Space> = spaces.get(&dir);
            let answer = DescribeLogDirsResult {
                log_dir: path.clone(),
                total_bytes: space.map_or(UNKNOWN, |space| number(space.total)),
                usable_bytes: space.map_or(UNKNOWN, |space| number(space.usable)),
                ..Default::default()
            };
            match failed.contains(&dir) {
                true => DescribeLogDirsResult { error_code: STORAGE_ERROR, ..answer },
                false => {
                    let topics = self.topics(ctx, logs.remove(&dir).unwrap_or_default());
                    DescribeLogDirsResult { topics, ..answer }
                }
            }
        });
        let response = DescribeLogDirsResponse { results: results.collect(), ..Default::default() };
        reply::answer(ctx, &response)
    }
}

fn number(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl LogDirs {
    /// What is asked for of the logs in one directory, by topic.
    fn topics(&self, ctx: &Ctx<'_>, logs: Vec<LogSize>) -> Vec<DescribeLogDirsTopic> {
        let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
        for log in logs {
            let Some(topic) = ctx.image.topic_by_id(&log.partition.topic) else { continue };
            let partition_index = log.partition.index.0;
            if self.wants(&topic.name, partition_index) {
                let partition_size = number(log.bytes);
                let partition = DescribeLogDirsPartition {
                    partition_index,
                    partition_size,
                    offset_lag: log.future.unwrap_or(0),
                    is_future_key: log.future.is_some(),
                };
                topics.entry(&*topic.name).or_default().push(partition);
            }
        }
        let topics = topics
            .into_iter()
            .map(|(name, partitions)| DescribeLogDirsTopic { name: name.to_owned(), partitions });
        topics.collect()
    }
}
