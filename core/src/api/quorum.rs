//! DescribeQuorum: who forms the metadata quorum, and how far each of them has come.
//!
//! There is one partition to ask about, alone (RaftUtil.hasValidTopicPartition): of whatever else a
//! request names, nothing is served.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, Offset};
use dohle_wire::message::describe_quorum_request::TopicData as Asked;
use dohle_wire::message::describe_quorum_response::{Node, PartitionData, ReplicaState, TopicData};
use dohle_wire::message::{DescribeQuorumRequest, DescribeQuorumResponse};

use crate::mail::{AdminReply, AdminRequest, Answer, QuorumView, Refusal};
use crate::time::{Instant, Now};

use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// The topic of the metadata log, whose only partition is 0.
const TOPIC: &str = "__cluster_metadata";

/// A DescribeQuorum request that waits for what control sees.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    result: Result<QuorumView, Refusal>,
    deadline: Instant,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeQuorumRequest = ctx.decode(body)?;
    if !asks_for_the_metadata(&request.topics) {
        return Ok(reply::at_once(ctx, &unknown(request.topics)));
    }
    ctx.send_control(AdminRequest::DescribeQuorum);
    let late = Refusal::new(ErrorCode::RequestTimedOut, "the controller did not answer in time");
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    Ok(Described { result: Err(late), deadline }.into())
}

fn asks_for_the_metadata(topics: &[Asked]) -> bool {
    let [topic] = topics else { return false };
    let partitions: Vec<i32> = topic.partitions.iter().map(|one| one.partition_index).collect();
    topic.topic_name == TOPIC && partitions == [0]
}

fn unknown(topics: Vec<Asked>) -> DescribeQuorumResponse {
    let code = ErrorCode::UnknownTopicOrPartition;
    let refusal = Refusal::new(code, format!("only partition 0 of {TOPIC} has a quorum"));
    let topics = topics.into_iter().map(|topic| TopicData {
        topic_name: topic.topic_name,
        partitions: topic
            .partitions
            .iter()
            .map(|one| refused(one.partition_index, &refusal))
            .collect(),
    });
    DescribeQuorumResponse { topics: topics.collect(), ..Default::default() }
}

fn refused(partition_index: i32, refusal: &Refusal) -> PartitionData {
    PartitionData {
        partition_index,
        error_code: refusal.code.code(),
        error_message: refusal.message.clone(),
        ..Default::default()
    }
}

impl Work for Described {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        self.result = match answer {
            Answer::Admin(AdminReply::Quorum(view)) => Ok(view),
            Answer::Admin(AdminReply::Refused(refusal)) => Err(refusal),
            _ => return Progress::Waiting,
        };
        Progress::Complete
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let partition = match &self.result {
            Ok(view) => described(ctx.now, view),
            Err(refusal) => refused(0, refusal),
        };
        let voters = self.result.into_iter().flat_map(|view| view.voters);
        // Where voters listen for one another is nothing yet: there is but one.
        let node = |(voter, _): (NodeId, Offset)| Node { node_id: voter.0, listeners: Vec::new() };
        let topic = TopicData { topic_name: TOPIC.to_owned(), partitions: vec![partition] };
        let nodes = voters.map(node).collect();
        let response = DescribeQuorumResponse { topics: vec![topic], nodes, ..Default::default() };
        reply::answer(ctx, &response)
    }
}

/// The leader has fetched, and has everything, now (LeaderState.describeReplicaState).
fn described(now: Now, view: &QuorumView) -> PartitionData {
    let replica = |(node, end): &(NodeId, Offset)| {
        let seen = if *node == view.leader { now.wall.0 } else { -1 };
        ReplicaState {
            replica_id: node.0,
            log_end_offset: end.0,
            last_fetch_timestamp: seen,
            last_caught_up_timestamp: seen,
            ..Default::default()
        }
    };
    PartitionData {
        leader_id: view.leader.0,
        leader_epoch: view.epoch.0,
        high_watermark: view.high_watermark.0,
        current_voters: view.voters.iter().map(replica).collect(),
        ..Default::default()
    }
}
