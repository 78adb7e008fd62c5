//! DescribeQuorum.

use dohle_wire::message::describe_quorum_request::{PartitionData as Asked, TopicData};
use dohle_wire::message::describe_quorum_response::PartitionData;
use dohle_wire::message::{DescribeQuorumRequest, DescribeQuorumResponse};

use super::*;
use crate::mail::QuorumView;

fn about(topics: &[(&str, &[i32])]) -> DescribeQuorumRequest {
    let partition = |index: &i32| Asked { partition_index: *index };
    let topic = |(name, partitions): &(&str, &[i32])| TopicData {
        topic_name: (*name).into(),
        partitions: partitions.iter().map(partition).collect(),
    };
    DescribeQuorumRequest { topics: topics.iter().map(topic).collect() }
}

fn partitions(response: &DescribeQuorumResponse) -> Vec<&PartitionData> {
    response.topics.iter().flat_map(|topic| &topic.partitions).collect()
}

#[test]
fn the_leader_tells_what_it_sees() {
    for version in 0..=2 {
        let mut world = World::new();
        let asked = world.ask(version, &about(&[("__cluster_metadata", &[0])]));
        let voters = vec![(NodeId(1), Offset(12)), (NodeId(2), Offset(9))];
        let (leader, epoch, high_watermark) = (NodeId(1), LeaderEpoch(4), Offset(10));
        let view = QuorumView { leader, epoch, high_watermark, voters };
        assert_eq!(world.decide(AdminReply::Quorum(view)), AdminRequest::DescribeQuorum);
        let response = world.response::<DescribeQuorumRequest>(asked);
        let [one] = partitions(&response)[..] else { panic!("{response:?}") };
        let told = (one.error_code, one.leader_id, one.leader_epoch, one.high_watermark);
        assert_eq!(told, (0, 1, 4, 10));
        let ends = one.current_voters.iter().map(|v| (v.replica_id, v.log_end_offset));
        let ends: Vec<_> = ends.collect();
        assert_eq!(ends, [(1, 12), (2, 9)]);
        let seen: Vec<_> = one.current_voters.iter().map(|v| v.last_caught_up_timestamp).collect();
        let now = if version >= 1 { now(world.mono).wall.0 } else { -1 };
        assert_eq!(seen, [now, -1]);
        let nodes: Vec<i32> = response.nodes.iter().map(|node| node.node_id).collect();
        assert_eq!(nodes, if version >= 2 { vec![1, 2] } else { vec![] });
    }
}

#[test]
fn nothing_else_has_a_quorum() {
    let others: [&[(&str, &[i32])]; 5] = [
        &[("__cluster_metadata", &[1])],
        &[("__cluster_metadata", &[0, 1])],
        &[("__cluster_metadata", &[0]), ("t", &[0])],
        &[("t", &[0])],
        &[],
    ];
    for other in others {
        let mut world = World::new();
        let asked = world.ask(2, &about(other));
        let response = world.response::<DescribeQuorumRequest>(asked);
        let unknown = ErrorCode::UnknownTopicOrPartition.code();
        let all = partitions(&response);
        assert!(all.iter().all(|one| one.error_code == unknown), "{response:?}");
        assert_eq!(all.len(), other.iter().map(|(_, indexes)| indexes.len()).sum::<usize>());
    }
}

#[test]
fn a_node_that_does_not_lead_says_so() {
    let mut world = World::new();
    let asked = world.ask(2, &about(&[("__cluster_metadata", &[0])]));
    world.decide(AdminReply::Refused(Refusal::new(ErrorCode::NotLeaderOrFollower, "not yet")));
    let response = world.response::<DescribeQuorumRequest>(asked);
    let [one] = partitions(&response)[..] else { panic!("{response:?}") };
    assert_eq!(one.error_code, ErrorCode::NotLeaderOrFollower.code());
    assert_eq!(one.error_message.as_deref(), Some("not yet"));
}
