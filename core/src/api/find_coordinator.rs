//! FindCoordinator: which node coordinates a group.
//!
//! The topic that remembers groups is made when it is asked for the first time; the answer waits
//! until it is there.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};

use crate::config::broker::BrokerConfig;
use crate::group::place::{OFFSETS_TOPIC, partition_of};
use crate::mail::{AdminReply, AdminRequest, Answer, NewTopic};
use crate::time::Instant;

use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// The keys are group ids.
const GROUP: i8 = 0;

/// First version that asks for several keys.
const SEVERAL_FROM: i16 = 4;

/// A request that waits for the topic to be made.
#[derive(Clone, Debug)]
pub(crate) struct FindCoordinator {
    keys: Vec<String>,
    key_type: i8,
    refused: bool,
    deadline: Instant,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: FindCoordinatorRequest = ctx.decode(body)?;
    let several = ctx.version() >= SEVERAL_FROM;
    let keys = if several { request.coordinator_keys } else { vec![request.key] };
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    let work = FindCoordinator { keys, key_type: request.key_type, refused: false, deadline };
    if work.key_type != GROUP || ctx.image.topic(OFFSETS_TOPIC).is_some() {
        return Ok(Begun::Done(work.finish(ctx)));
    }
    let topics = vec![offsets_topic(&ctx.settings.config)];
    ctx.send_control(AdminRequest::CreateTopics { topics, validate_only: false });
    Ok(work.into())
}

/// `__consumer_offsets` as the broker's configs want it.
fn offsets_topic(config: &BrokerConfig) -> NewTopic {
    let number = |key| config.integer(key).unwrap_or_default();
    let codec = match number("offsets.topic.compression.codec") {
        1 => "gzip",
        2 => "snappy",
        3 => "lz4",
        4 => "zstd",
        _ => "producer",
    };
    let segment = number("offsets.topic.segment.bytes").to_string();
    let configs =
        [("cleanup.policy", "compact"), ("compression.type", codec), ("segment.bytes", &segment)];
    NewTopic {
        name: OFFSETS_TOPIC.to_owned(),
        partitions: i32::try_from(number("offsets.topic.num.partitions")).ok(),
        replication: i16::try_from(number("offsets.topic.replication.factor")).ok(),
        assignments: Vec::new(),
        configs: configs.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into(),
    }
}

impl FindCoordinator {
    fn progress(&self, ctx: &Ctx<'_>) -> Progress {
        Progress::complete_if(self.refused || ctx.image.topic(OFFSETS_TOPIC).is_some())
    }
}

impl Work for FindCoordinator {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        let Answer::Admin(reply) = answer else { return Progress::Waiting };
        // Somebody else may have made it at the same time.
        self.refused = match reply {
            AdminReply::Created(results) => results.into_iter().any(|result| {
                result.is_err_and(|refusal| refusal.code != ErrorCode::TopicAlreadyExists)
            }),
            _ => true,
        };
        self.progress(ctx)
    }

    fn on_image(&mut self, ctx: &mut Ctx<'_>) -> Progress {
        self.progress(ctx)
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let found = self.keys.into_iter().map(|key| find(ctx, self.key_type, key));
        let mut coordinators: Vec<_> = found.collect();
        if ctx.version() >= SEVERAL_FROM {
            return reply::answer(
                ctx,
                &FindCoordinatorResponse { coordinators, ..Default::default() },
            );
        }
        let only = coordinators.pop().unwrap_or_default();
        let response = FindCoordinatorResponse {
            error_code: only.error_code,
            error_message: only.error_message,
            node_id: only.node_id,
            host: only.host,
            port: only.port,
            ..Default::default()
        };
        reply::answer(ctx, &response)
    }
}

fn find(ctx: &Ctx<'_>, key_type: i8, key: String) -> Coordinator {
    match leader(ctx, key_type, &key) {
        Ok((node_id, host, port)) => {
            let port = i32::from(port);
            Coordinator { key, node_id, host, port, ..Default::default() }
        }
        Err((error, message)) => Coordinator {
            key,
            node_id: -1,
            port: -1,
            error_code: error.code(),
            error_message: Some(message.to_owned()),
            ..Default::default()
        },
    }
}

fn leader(
    ctx: &Ctx<'_>,
    key_type: i8,
    key: &str,
) -> Result<(i32, String, u16), (ErrorCode, &'static str)> {
    if key_type != GROUP {
        let text = "only groups are coordinated here: transactions and share groups are not served";
        return Err((ErrorCode::InvalidRequest, text));
    }
    let none = (ErrorCode::CoordinatorNotAvailable, "the coordinator is not available now");
    let topic = ctx.image.topic(OFFSETS_TOPIC).ok_or(none)?;
    let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    let partition = topic.partition(partition_of(key, count)).ok_or(none)?;
    let node = partition.leader.filter(|node| ctx.is_alive(*node)).ok_or(none)?;
    let (host, port) = ctx.address(node).ok_or(none)?;
    Ok((node.0, host, port))
}
