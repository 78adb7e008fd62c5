//! Who can serve which item of a call.

use std::sync::Arc;

use dohle_wire::ErrorCode;
use dohle_wire::id::NodeId;

use super::group::{self, Coordinators, Plan};
use super::{Call, ConfigResource, GroupCall, ItemError};
use crate::machine::TopicPartition;
use crate::machine::cluster::ClusterView;

/// Who can serve an item.
pub(super) enum Route {
    /// Any broker: what is for the controller is forwarded.
    Any,
    /// This one only.
    Node(NodeId),
    /// Not known yet, for this reason.
    Unknown(&'static str),
    /// Whoever coordinates this group, which is to be looked up.
    Coordinator(Arc<str>),
    /// Nobody.
    Fails(ItemError),
}

/// Number of items of a call. A call that is a single question has one.
pub(super) fn items(call: &Call) -> usize {
    match call {
        Call::CreateTopics(list) => list.len(),
        Call::DeleteTopics(list) => list.len(),
        Call::CreatePartitions(list) => list.len(),
        Call::DescribeConfigs(list) => list.len(),
        Call::AlterConfigs(list) => list.len(),
        Call::DeleteRecords(list) => list.len(),
        Call::ListOffsets(list) => list.len(),
        Call::DescribeTopics(_) | Call::DescribeCluster | Call::DescribeQuorum => 1,
        Call::Group(call) => group::items(call),
    }
}

/// The topics whose leaders have to be known.
pub(super) fn topics_to_know(call: &Call) -> Vec<Arc<str>> {
    match call {
        Call::DeleteRecords(list) => list.iter().map(|(at, _)| Arc::clone(&at.topic)).collect(),
        Call::ListOffsets(list) => list.iter().map(|(at, _)| Arc::clone(&at.topic)).collect(),
        Call::CreateTopics(_)
        | Call::DeleteTopics(_)
        | Call::CreatePartitions(_)
        | Call::DescribeConfigs(_)
        | Call::AlterConfigs(_)
        | Call::DescribeTopics(_)
        | Call::DescribeCluster
        | Call::DescribeQuorum
        | Call::Group(_) => Vec::new(),
    }
}

pub(super) fn route(
    call: &Call,
    item: usize,
    view: &ClusterView,
    plan: &Plan,
    coordinators: &Coordinators,
) -> Route {
    match call {
        Call::DeleteRecords(list) => leader(&list[item].0, view),
        Call::ListOffsets(list) => leader(&list[item].0, view),
        Call::DescribeConfigs(list) => owner(&list[item], view),
        Call::AlterConfigs(list) => owner(&list[item].0, view),
        Call::CreateTopics(_)
        | Call::DeleteTopics(_)
        | Call::CreatePartitions(_)
        | Call::DescribeTopics(_)
        | Call::DescribeCluster
        | Call::DescribeQuorum => Route::Any,
        Call::Group(call) => of_group(call, item, view, plan, coordinators),
    }
}

/// A listing asks each broker, anything else the coordinator of the group.
fn of_group(
    call: &GroupCall,
    item: usize,
    view: &ClusterView,
    plan: &Plan,
    coordinators: &Coordinators,
) -> Route {
    let Some(group) = group::group_of(call, item) else {
        let Some(brokers) = &plan.brokers else { return Route::Unknown("metadata") };
        return broker(brokers[item], view);
    };
    match (coordinators.of(group), coordinators.refusal(group)) {
        (Some(node), _) => Route::Node(node),
        (None, Some(error)) => Route::Fails(error.clone()),
        (None, None) => Route::Coordinator(Arc::clone(group)),
    }
}

fn broker(node: NodeId, view: &ClusterView) -> Route {
    if view.brokers.contains_key(&node) {
        return Route::Node(node);
    }
    Route::Fails(ItemError {
        code: ErrorCode::BrokerNotAvailable,
        message: Some(format!("there is no broker {node}")),
    })
}

/// Settings of a broker are its own affair.
fn owner(resource: &ConfigResource, view: &ClusterView) -> Route {
    match resource {
        ConfigResource::Topic(_) | ConfigResource::Broker(None) => Route::Any,
        ConfigResource::Broker(Some(_)) if view.brokers.is_empty() => Route::Unknown("the brokers"),
        ConfigResource::Broker(Some(node)) => broker(*node, view),
    }
}

fn leader(at: &TopicPartition, view: &ClusterView) -> Route {
    let Some(topic) = view.topics.get(&at.topic) else { return Route::Unknown("metadata") };
    if topic.partitions.is_empty() && topic.error != ErrorCode::None {
        // A leader that is being elected is worth waiting for, a topic that does not exist is not.
        return match topic.error {
            ErrorCode::LeaderNotAvailable => Route::Unknown("an election"),
            code => Route::Fails(ItemError { code, message: None }),
        };
    }
    match view.partition(&at.topic, at.partition) {
        None => Route::Fails(ItemError {
            code: ErrorCode::UnknownTopicOrPartition,
            message: Some(format!("{} has {} partitions", at.topic, topic.partitions.len())),
        }),
        Some(partition) => partition.leader.map_or(Route::Unknown("an election"), Route::Node),
    }
}
