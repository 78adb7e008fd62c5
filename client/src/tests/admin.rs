//! Scenarios of the admin client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::ErrorCode;
use dohle_wire::id::{NodeId, Offset};

use super::broker::Broker;
use super::world::World;
use crate::config::AdminConfig;
use crate::machine::admin::{
    AdminError, Call, ConfigResource, Effect, Input, NewTopic, OffsetSpec, Reply,
};
use crate::machine::{Admin, Token, TopicPartition};

fn world(broker: Broker) -> World<Admin> {
    let config = AdminConfig::to("node:9001").expect("an address");
    World::new(Admin::new(config, 3).expect("valid settings"), broker)
}

fn call(world: &mut World<Admin>, call: Call) -> Result<Reply, AdminError> {
    world.input(Input::Call { token: Token(9), call });
    world.pass(Duration::from_secs(59));
    if world.out.is_empty() {
        world.pass(Duration::from_secs(2));
    }
    let Some(Effect::Done { token: Token(9), result }) = world.out.pop() else { panic!("no end") };
    assert!(world.out.is_empty());
    result
}

fn two_nodes() -> Broker {
    let mut broker = Broker::new(2);
    broker.create("t", 3);
    broker
}

#[test]
fn topics_are_created_once() {
    let mut world = world(two_nodes());
    let topics = vec![NewTopic::new("t", 1), NewTopic::new("new", 4)];
    let Ok(Reply::Each(each)) = call(&mut world, Call::CreateTopics(topics)) else { panic!() };
    assert_eq!(each["t"].as_ref().map_err(|e| e.code), Err(ErrorCode::TopicAlreadyExists));
    assert_eq!(each["new"], Ok(()));
    assert_eq!(world.broker.topics["new"].logs.len(), 4);
}

#[test]
fn topics_are_described_and_missing_ones_named() {
    let mut world = world(two_nodes());
    let Ok(Reply::Topics(all)) = call(&mut world, Call::DescribeTopics(None)) else { panic!() };
    assert_eq!(all.keys().map(|name| &**name).collect::<Vec<_>>(), ["t"]);
    let names: Vec<Arc<str>> = vec!["t".into(), "missing".into()];
    let Ok(Reply::Topics(some)) = call(&mut world, Call::DescribeTopics(Some(names))) else {
        panic!()
    };
    let topic = some["t"].as_ref().expect("it exists");
    assert_eq!(topic.partitions[1].leader, Some(NodeId(2)));
    assert_eq!(
        some["missing"].as_ref().map_err(|e| e.code),
        Err(ErrorCode::UnknownTopicOrPartition)
    );
    assert!(!world.broker.topics.contains_key("missing"), "a question creates nothing");
}

#[test]
fn offsets_are_asked_of_each_leader() {
    let mut broker = two_nodes();
    broker.log("t", 1).start = 40;
    let mut world = world(broker);
    let wanted: Vec<_> = [0, 1, 2, 7]
        .map(|partition| (TopicPartition::new("t", partition), OffsetSpec::Latest))
        .into_iter()
        .chain([(TopicPartition::new("missing", 0), OffsetSpec::Earliest)])
        .collect();
    let Ok(Reply::Offsets(found)) = call(&mut world, Call::ListOffsets(wanted)) else { panic!() };
    let found: BTreeMap<String, _> = found
        .into_iter()
        .map(|(at, found)| (at.to_string(), found.map(|f| f.offset).map_err(|e| e.code)))
        .collect();
    let unknown = Err(ErrorCode::UnknownTopicOrPartition);
    let expected = [
        ("missing-0", unknown),
        ("t-0", Ok(Offset(0))),
        ("t-1", Ok(Offset(40))),
        ("t-2", Ok(Offset(0))),
        ("t-7", unknown),
    ];
    assert_eq!(found, expected.map(|(at, found)| (at.to_owned(), found)).into());
}

#[test]
fn a_moved_leader_is_followed() {
    let mut world = world(two_nodes());
    let wanted = || Call::ListOffsets(vec![(TopicPartition::new("t", 0), OffsetSpec::Latest)]);
    assert!(call(&mut world, wanted()).is_ok());
    world.broker.log("t", 0).leader = 2;
    world.broker.log("t", 0).epoch = 9;
    let Ok(Reply::Offsets(found)) = call(&mut world, wanted()) else { panic!() };
    assert!(found.values().all(Result::is_ok), "{found:?}");
}

#[test]
fn the_cluster_is_described() {
    let mut world = world(two_nodes());
    let Ok(Reply::Cluster(cluster)) = call(&mut world, Call::DescribeCluster) else { panic!() };
    assert_eq!(cluster.id.as_deref(), Some("test"));
    assert_eq!(cluster.controller, Some(NodeId(1)));
    assert_eq!(cluster.brokers.iter().map(|broker| broker.id.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_request_that_no_broker_knows_is_named() {
    let mut world = world(two_nodes());
    let configs = Call::DescribeConfigs(vec![ConfigResource::Topic("t".into())]);
    assert_eq!(call(&mut world, configs), Err(AdminError::Unsupported("DescribeConfigs")));
}

#[test]
fn a_call_without_any_broker_times_out() {
    let mut world = world(two_nodes());
    world.dark = vec![1, 2];
    let error = call(&mut world, Call::DescribeCluster);
    assert_eq!(error, Err(AdminError::TimedOut("a connection")));
}

#[test]
fn items_that_a_broker_cannot_serve_fail_alone() {
    let mut broker = two_nodes();
    broker.log("t", 1).offline = true;
    let mut world = world(broker);
    let wanted = (0..3).map(|at| (TopicPartition::new("t", at), OffsetSpec::Latest));
    let Ok(Reply::Offsets(found)) = call(&mut world, Call::ListOffsets(wanted.collect())) else {
        panic!()
    };
    let codes: Vec<_> =
        found.values().map(|found| found.as_ref().err().map(|error| error.code)).collect();
    assert_eq!(codes, [None, Some(ErrorCode::KafkaStorageError), None]);
}

#[test]
fn an_answer_lost_is_asked_for_again() {
    let mut world = world(two_nodes());
    world.input(Input::Call { token: Token(1), call: Call::DescribeTopics(None) });
    for _ in 0..20 {
        let Some(conn) = world.open().first().copied() else { break };
        if world.broker.count(dohle_wire::ApiKey::Metadata) > 0 {
            world.cut(conn, true);
            break;
        }
        let _ = world.serve(conn) || world.hear(conn);
    }
    assert!(world.out.is_empty());
    world.pass(Duration::from_secs(2));
    assert!(matches!(world.out[..], [Effect::Done { result: Ok(_), .. }]));
}

#[test]
fn an_empty_call_is_done_at_once() {
    let mut world = world(two_nodes());
    let Ok(Reply::Each(each)) = call(&mut world, Call::DeleteTopics(Vec::new())) else { panic!() };
    assert!(each.is_empty());
}
