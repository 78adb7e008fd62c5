//! Requests to the coordinators of groups.
//!
//! Each becomes one or more domain requests, which go to the shard that leads the partition of
//! the group; the answers are put together here.

mod admin;
mod consumer;
mod member;
mod offsets;

use std::sync::Arc;

use dohle_wire::error::ErrorCode;

pub(super) use self::admin::{begin_delete, begin_describe, begin_list};
pub(super) use self::consumer::{begin_beat, begin_describe as begin_describe_consumer};
pub(super) use self::member::{begin_heartbeat, begin_join, begin_leave, begin_sync};
pub(super) use self::offsets::{begin_commit, begin_delete_offsets, begin_fetch};
use crate::controller::features::{CONSUMER_GROUPS, GROUP_VERSION};
use crate::group::place::{OFFSETS_TOPIC, partition_of};
use crate::group::request::{Answer as GroupAnswer, Request as GroupRequest};
use crate::mail::{Answer, ShardId, ToShard};
use crate::time::Instant;

use super::lookup::Place;
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work};

/// The coordinator answers members that wait for one another within the rebalance timeout of
/// their group, which the session does not know.
const MEMBER_WAIT_MS: i64 = 30 * 86_400_000;

/// A request that waits for coordinators.
#[derive(Clone, Debug)]
pub(crate) struct GroupCall {
    /// Answers in the order of what was asked, each a refusal until it comes.
    answers: Vec<GroupAnswer>,
    missing: usize,
    deadline: Instant,
    form: Form,
}

/// What the answers become.
#[derive(Clone, Debug)]
enum Form {
    Join,
    Sync,
    Heartbeat,
    Leave(member::Left),
    ConsumerBeat,
    DescribeConsumer(Vec<String>),
    Commit(offsets::Commits),
    Fetch(offsets::Fetches),
    DeleteOffsets(offsets::Deletions),
    List(admin::Filter),
    /// These, with what may be done with each.
    Describe(Vec<String>, i32),
    Delete(Vec<String>),
}

impl GroupCall {
    fn new(ctx: &Ctx<'_>, form: Form) -> Self {
        let waits_for_others = matches!(form, Form::Join | Form::Sync);
        let wait = if waits_for_others { MEMBER_WAIT_MS } else { WAIT_MS };
        let deadline = ctx.now.mono.plus_ms(wait);
        Self { answers: Vec::new(), missing: 0, deadline, form }
    }

    /// Asks the coordinator of `group`.
    fn ask(&mut self, ctx: &mut Ctx<'_>, group: &str, request: GroupRequest) {
        let place = if is_storable(group) { coordinator(ctx, group) } else { Err(TOO_LONG) };
        match place {
            Err(code) => self.answers.push(request.refused(code)),
            Ok(Place { partition, shard }) => {
                let late = request.refused(ErrorCode::RequestTimedOut);
                let (reply, seen) = (ctx.reply_to(self.expect(late)), ctx.image.offset);
                let request = Box::new(request);
                ctx.send_shard(shard, ToShard::Group { reply, seen, partition, request });
            }
        }
    }

    /// Asks the coordinator of `group` for what only groups of the consumer protocol have.
    fn ask_consumer(&mut self, ctx: &mut Ctx<'_>, group: &str, request: GroupRequest) {
        match serves_consumer_groups(ctx) {
            true => self.ask(ctx, group, request),
            false => self.answers.push(request.refused(ErrorCode::UnsupportedVersion)),
        }
    }

    /// Asks every shard for the groups that it coordinates.
    fn ask_all(&mut self, ctx: &mut Ctx<'_>) {
        for shard in 0..ctx.settings.shards {
            let late = GroupRequest::List.refused(ErrorCode::CoordinatorNotAvailable);
            let reply = ctx.reply_to(self.expect(late));
            ctx.send_shard(ShardId(shard), ToShard::ListGroups { reply });
        }
    }

    /// The mark of an answer that will come; until then it is `late`.
    fn expect(&mut self, late: GroupAnswer) -> u32 {
        self.answers.push(late);
        self.missing += 1;
        u32::try_from(self.answers.len() - 1).expect("a frame has fewer items than 2^32")
    }

    fn begun(self, ctx: &mut Ctx<'_>) -> Begun {
        if self.missing == 0 { Begun::Done(self.finish(ctx)) } else { self.into() }
    }
}

impl Work for GroupCall {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, part: u32, answer: Answer) -> Progress {
        if let (Answer::Group(answer), Some(part)) = (answer, self.answers.get_mut(part as usize)) {
            *part = *answer;
            self.missing -= 1;
        }
        Progress::complete_if(self.missing == 0)
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let mut answers = self.answers.into_iter();
        match self.form {
            Form::Join => member::finish_join(ctx, answers.next()),
            Form::Sync => member::finish_sync(ctx, answers.next()),
            Form::Heartbeat => member::finish_heartbeat(ctx, answers.next()),
            Form::Leave(left) => left.finish(ctx, answers.next()),
            Form::ConsumerBeat => consumer::finish_beat(ctx, answers.next()),
            Form::DescribeConsumer(groups) => consumer::finish_describe(ctx, groups, answers),
            Form::Commit(commits) => commits.finish(ctx, answers.next()),
            Form::Fetch(fetches) => fetches.finish(ctx, answers),
            Form::DeleteOffsets(deletions) => deletions.finish(ctx, answers.next()),
            Form::List(filter) => filter.finish(ctx, answers),
            Form::Describe(groups, rights) => {
                admin::finish_describe(ctx, (groups, rights), answers)
            }
            Form::Delete(groups) => admin::finish_delete(ctx, groups, answers),
        }
    }
}

/// The partition that coordinates a group, if it is led here.
fn coordinator(ctx: &Ctx<'_>, group: &str) -> Result<Place, ErrorCode> {
    let topic = ctx.image.topic(OFFSETS_TOPIC).ok_or(ErrorCode::NotCoordinator)?;
    let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let index = partition_of(group, count);
    ctx.place(topic, index.0).map_err(|_| ErrorCode::NotCoordinator)
}

/// Whether the broker is set up for groups of the consumer protocol, and the cluster has agreed on
/// them (Kafka's `isConsumerGroupProtocolEnabled`). ApiVersions says nothing of it.
fn serves_consumer_groups(ctx: &Ctx<'_>) -> bool {
    let level = ctx.image.features.get(GROUP_VERSION).copied().unwrap_or(0);
    ctx.settings.config.consumer_protocol && level >= CONSUMER_GROUPS
}

/// Whether a text fits the fields of the records that groups are remembered by.
fn is_storable(text: &str) -> bool {
    i16::try_from(text.len()).is_ok()
}

/// What a group is told whose name cannot be remembered.
const TOO_LONG: ErrorCode = ErrorCode::InvalidGroupId;

fn shared(text: String) -> Arc<str> {
    text.into()
}

/// The code of an answer that is of another kind than was asked for, which no coordinator gives.
const ODD: ErrorCode = ErrorCode::UnknownServerError;
