//! DescribeQuorum: the request, and what its answer says.

use std::collections::BTreeMap;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, Timestamp};
use dohle_wire::message::DescribeQuorumRequest;
use dohle_wire::message::describe_quorum_request::{PartitionData, TopicData};
use dohle_wire::message::describe_quorum_response::{self as response, ReplicaState};
use dohle_wire::{DecodeError, ErrorCode};

use super::read::{Outcome, UNANSWERED, error};
use super::{ItemError, QuorumDescription, QuorumReplica, Tag};
use crate::machine::cluster::Answer;

/// The topic of the metadata log, whose only partition is 0.
const TOPIC: &str = "__cluster_metadata";

pub(super) fn request() -> DescribeQuorumRequest {
    let partitions = vec![PartitionData { partition_index: 0 }];
    DescribeQuorumRequest { topics: vec![TopicData { topic_name: TOPIC.to_owned(), partitions }] }
}

pub(super) fn read(
    answer: &Answer<Tag>,
    items: &[usize],
    into: &mut QuorumDescription,
) -> Result<Outcome, DecodeError> {
    let response = answer.decode::<DescribeQuorumRequest>()?;
    let parts = response.topics.into_iter().flat_map(|topic| topic.partitions);
    let part = parts.into_iter().find(|part| part.partition_index == 0);
    let whole = error(ErrorCode::from(response.error_code), response.error_message);
    let found = whole.and_then(|()| {
        let part = part.ok_or(ItemError { code: UNANSWERED, message: None })?;
        error(ErrorCode::from(part.error_code), part.error_message.clone())?;
        Ok(described(part))
    });
    match found {
        Ok(found) => *into = found,
        Err(refused) if refused.code.is_retriable() => {
            let retry: BTreeMap<_, _> = items.iter().map(|item| (*item, refused.code)).collect();
            return Ok(Outcome { retry, ..Outcome::default() });
        }
        Err(refused) => return Ok(Outcome { refused: Some(refused), ..Outcome::default() }),
    }
    Ok(Outcome::default())
}

fn described(part: response::PartitionData) -> QuorumDescription {
    let all = |replicas: Vec<ReplicaState>| replicas.into_iter().map(replica).collect();
    QuorumDescription {
        leader: (part.leader_id >= 0).then_some(NodeId(part.leader_id)),
        epoch: LeaderEpoch(part.leader_epoch),
        high_watermark: Offset(part.high_watermark),
        voters: all(part.current_voters),
        observers: all(part.observers),
    }
}

fn replica(state: ReplicaState) -> QuorumReplica {
    QuorumReplica {
        node: NodeId(state.replica_id),
        directory: state.replica_directory_id,
        log_end: Offset(state.log_end_offset),
        last_fetch: Timestamp(state.last_fetch_timestamp),
        last_caught_up: Timestamp(state.last_caught_up_timestamp),
    }
}
