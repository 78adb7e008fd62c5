//! AlterReplicaLogDirs: moves replicas of this node between its data directories
//! (ReplicaManager.alterReplicaLogDirs).
//!
//! The answer says which moves have begun; how far they have come DescribeLogDirs says.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::PartitionIndex;
use dohle_wire::message::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
};

use crate::controller::features::{DIRECTORIES, level};
use crate::mail::{Answer, ToControl, ToShard};
use crate::session::Effect;
use crate::time::Instant;

use super::gather::Gather;
use super::lookup::{Place, is_valid_topic_name};
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// An AlterReplicaLogDirs request that waits for its shards.
#[derive(Clone, Debug)]
pub(crate) struct AlterDirs {
    /// In the order of the request, a topic perhaps more than once.
    topics: Vec<(String, Vec<i32>)>,
    results: Gather<ErrorCode>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: AlterReplicaLogDirsRequest = ctx.decode(body)?;
    let mut work = AlterDirs { topics: Vec::new(), results: Gather::until(ctx.until(0)) };
    for dir in request.dirs {
        let to = ctx.settings.config.log_dirs.iter().position(|path| *path == dir.path);
        let to = to.and_then(|at| u16::try_from(at).ok());
        for topic in dir.topics {
            for index in &topic.partitions {
                work.ask(ctx, &topic.name, *index, to);
            }
            work.topics.push((topic.name, topic.partitions));
        }
    }
    match work.results.progress() {
        Progress::Complete => Ok(Begun::Done(work.finish(ctx))),
        Progress::Waiting => Ok(work.into()),
    }
}

impl AlterDirs {
    fn ask(&mut self, ctx: &mut Ctx<'_>, topic: &str, index: i32, to: Option<u16>) {
        let Some(dir) = to else { return self.results.known(ErrorCode::LogDirNotFound) };
        match admit(ctx, topic, index) {
            Err(code) => {
                if code == ErrorCode::UnknownTopicOrPartition && is_valid_topic_name(topic) {
                    prefer(ctx, topic, index, dir);
                }
                self.results.known(code);
            }
            Ok(Place { partition, shard }) => {
                let reply = ctx.reply_to(self.results.ask());
                let seen = ctx.image.offset;
                ctx.send_shard(shard, ToShard::AlterDir { reply, seen, partition, dir });
            }
        }
    }
}

fn admit(ctx: &Ctx<'_>, topic: &str, index: i32) -> Result<Place, ErrorCode> {
    // Before 3.7 the metadata cannot say where a replica is.
    if level(ctx.image) < DIRECTORIES {
        return Err(ErrorCode::UnsupportedVersion);
    }
    ctx.place_by_name(topic, index).map_err(|code| match code {
        ErrorCode::NotLeaderOrFollower => ErrorCode::ReplicaNotAvailable,
        other => other,
    })
}

/// What is not there yet shall be made there.
fn prefer(ctx: &mut Ctx<'_>, topic: &str, index: i32, dir: u16) {
    let (topic, index) = (topic.to_owned(), PartitionIndex(index));
    ctx.fx.push(Effect::Control(ToControl::Prefer { topic, index, dir }));
}

impl Work for AlterDirs {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::DirAltered(Ok(())) => self.results.put(part, ErrorCode::None),
            Answer::DirAltered(Err(ErrorCode::NotLeaderOrFollower)) => {
                self.results.put(part, ErrorCode::ReplicaNotAvailable)
            }
            Answer::DirAltered(Err(code)) => self.results.put(part, code),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let mut results = self.results.finish(|| ErrorCode::RequestTimedOut);
        let mut answers: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
        for (topic_name, indexes) in self.topics {
            let partitions = indexes.into_iter().zip(results.by_ref()).map(|(index, code)| {
                let error_code = code.code();
                AlterReplicaLogDirPartitionResult { partition_index: index, error_code }
            });
            let partitions: Vec<_> = partitions.collect();
            match answers.iter_mut().find(|answer| answer.topic_name == topic_name) {
                Some(answer) => answer.partitions.extend(partitions),
                None => answers.push(AlterReplicaLogDirTopicResult { topic_name, partitions }),
            }
        }
        let response = AlterReplicaLogDirsResponse { results: answers, ..Default::default() };
        reply::answer(ctx, &response)
    }
}
