//! DescribeTopicPartitions (KIP-966): partitions page by page.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::describe_topic_partitions_response::Cursor;
use dohle_wire::message::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};

use crate::image::PartitionImage;

use super::lookup::{is_internal, is_valid_topic_name, numbers};
use super::{Begun, Ctx, authorized, reply};

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeTopicPartitionsRequest = ctx.decode(body)?;
    let broker_limit = ctx.settings.config.max_request_partition_size_limit.max(1);
    let limit = request.response_partition_limit.clamp(1, broker_limit);
    let mut page = Page {
        response: DescribeTopicPartitionsResponse::default(),
        left: usize::try_from(limit).unwrap_or(1),
    };
    let start = request.cursor.as_ref().map(|c| (c.topic_name.clone(), c.partition_index));
    for name in names(ctx, &request) {
        let from = match &start {
            Some((topic, _)) if name < *topic => continue,
            Some((topic, index)) if name == *topic => usize::try_from(*index).unwrap_or(0),
            _ => 0,
        };
        page.add_topic(ctx, &name, from);
        if page.response.next_cursor.is_some() {
            break;
        }
    }
    Ok(reply::at_once(ctx, &page.response))
}

/// Names asked for, or all there are, in order.
fn names(ctx: &Ctx<'_>, request: &DescribeTopicPartitionsRequest) -> Vec<String> {
    if request.topics.is_empty() {
        return ctx.image.topics.keys().map(ToString::to_string).collect();
    }
    let mut names: Vec<_> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// A response that fills up.
struct Page {
    response: DescribeTopicPartitionsResponse,
    left: usize,
}

impl Page {
    fn add_topic(&mut self, ctx: &Ctx<'_>, name: &str, from: usize) {
        let cursor = |index: usize| {
            let partition_index = i32::try_from(index).unwrap_or(i32::MAX);
            Some(Cursor { topic_name: name.to_owned(), partition_index })
        };
        if self.left == 0 {
            self.response.next_cursor = cursor(from);
            return;
        }
        let Some(topic) = ctx.image.topic(name) else {
            self.response.topics.push(unknown(name));
            return;
        };
        let shown: Vec<_> =
            topic.partitions.iter().enumerate().skip(from).take(self.left).collect();
        self.left -= shown.len();
        let end = from + shown.len();
        if end < topic.partitions.len() {
            self.response.next_cursor = cursor(end);
        }
        self.response.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: ErrorCode::None.code(),
            name: Some(name.to_owned()),
            topic_id: topic.id.0,
            is_internal: is_internal(name),
            partitions: shown.into_iter().map(|(at, state)| describe(ctx, at, state)).collect(),
            topic_authorized_operations: authorized::TOPIC,
        });
    }
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let code = if is_valid_topic_name(name) {
        ErrorCode::UnknownTopicOrPartition
    } else {
        ErrorCode::InvalidTopicException
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: code.code(),
        name: Some(name.to_owned()),
        is_internal: is_internal(name),
        ..Default::default()
    }
}

fn describe(
    ctx: &Ctx<'_>,
    index: usize,
    state: &PartitionImage,
) -> DescribeTopicPartitionsResponsePartition {
    let leader = state.leader.filter(|leader| ctx.is_alive(*leader));
    let error = if leader.is_some() { ErrorCode::None } else { ErrorCode::LeaderNotAvailable };
    DescribeTopicPartitionsResponsePartition {
        error_code: error.code(),
        partition_index: i32::try_from(index).unwrap_or(i32::MAX),
        leader_id: leader.map_or(-1, |leader| leader.0),
        leader_epoch: state.leader_epoch.0,
        replica_nodes: numbers(&state.replicas),
        isr_nodes: numbers(&state.isr),
        eligible_leader_replicas: Some(numbers(&state.elr)),
        last_known_elr: Some(numbers(&state.last_known_elr)),
        offline_replicas: ctx.offline(state),
    }
}
