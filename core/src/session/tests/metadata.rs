//! ApiVersions, Metadata, DescribeCluster, DescribeTopicPartitions.

use dohle_wire::message::describe_topic_partitions_request::Cursor;
use dohle_wire::message::{
    ApiVersionsRequest, DescribeClusterRequest, DescribeTopicPartitionsRequest, MetadataRequest,
    MetadataRequestTopic, MetadataResponse, TopicRequest,
};

use super::*;
use crate::mail::CreatedTopic;

fn named(names: &[&str]) -> Option<Vec<MetadataRequestTopic>> {
    let topic =
        |name: &&str| MetadataRequestTopic { name: Some((*name).to_owned()), topic_id: Uuid::ZERO };
    Some(names.iter().map(topic).collect())
}

fn by_id(id: u128) -> Option<Vec<MetadataRequestTopic>> {
    Some(vec![MetadataRequestTopic { name: None, topic_id: Uuid::from_u128(id) }])
}

/// (error, name, partitions) of each topic.
fn topics(response: &MetadataResponse) -> Vec<(ErrorCode, Option<&str>, usize)> {
    let topics = response.topics.iter();
    topics.map(|t| (ErrorCode::from(t.error_code), t.name.as_deref(), t.partitions.len())).collect()
}

fn software() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "test".into(),
        client_software_version: "1".into(),
        ..Default::default()
    }
}

#[test]
fn exactly_what_is_served_is_announced() {
    for version in 0..=5 {
        let mut world = World::new();
        world.image.features.insert_mut("metadata.version".into(), 29);
        world.publish();
        let offset = world.image.offset.0;
        let response = world.call(version, &software());
        assert_eq!(response.error_code, 0);
        assert_eq!(response.api_keys.len(), api::SERVED.len());
        assert!(response.api_keys.is_sorted_by_key(|row| row.api_key));
        let produce = &response.api_keys[0];
        assert_eq!((produce.min_version, produce.max_version), (0, 13));
        let supported: Vec<_> = response.supported_features.iter().map(|f| &*f.name).collect();
        let features = match version {
            0..=2 => vec![],
            3 => vec!["metadata.version"],
            _ => vec!["metadata.version", "kraft.version"],
        };
        assert_eq!(supported, features, "v{version}");
        if version >= 3 {
            assert_eq!(response.finalized_features_epoch, offset);
            assert_eq!(response.finalized_features[0].max_version_level, 29);
            assert_eq!(world.session.client().software, Some(("test".into(), "1".into())));
        }
    }
}

#[test]
fn unknown_versions_of_api_versions_are_answered_in_version_0() {
    for version in [6, 99, i16::MAX, -1] {
        let mut world = World::new();
        let mut newer = frame(3, 5, &software()).to_vec();
        newer[2..4].copy_from_slice(&version.to_be_bytes());
        world.step(Input::Frame(newer.into()));
        let response = world.response::<ApiVersionsRequest>(Asked { version: 0, correlation: 5 });
        assert_eq!(response.error_code, ErrorCode::UnsupportedVersion.code());
        let rows: Vec<_> = response.api_keys.iter().map(|r| (r.api_key, r.max_version)).collect();
        assert_eq!(rows, [(18, 5)]);
        let again = world.call(3, &software());
        assert_eq!(again.error_code, 0, "the client asks again and goes on");
    }
}

#[test]
fn software_names_are_checked() {
    let request = ApiVersionsRequest { client_software_name: "no spaces".into(), ..software() };
    let mut world = World::new();
    let response = world.call(3, &request);
    assert_eq!(response.error_code, ErrorCode::InvalidRequest.code());
    assert_eq!(world.session.client().software, None);
}

#[test]
fn clients_of_another_cluster_or_node_start_over() {
    let check = |cluster: Option<&str>, node_id: i32, expected: ErrorCode| {
        let cluster_id = cluster.map(str::to_owned);
        let request = ApiVersionsRequest { cluster_id, node_id, ..software() };
        let response = World::new().call(5, &request);
        assert_eq!(ErrorCode::from(response.error_code), expected, "{cluster:?} {node_id}");
    };
    check(None, -1, ErrorCode::None);
    check(None, 7, ErrorCode::None);
    check(Some("cluster"), 1, ErrorCode::None);
    check(Some("cluster"), -1, ErrorCode::None);
    check(Some("cluster"), 7, ErrorCode::RebootstrapRequired);
    check(Some("other"), 1, ErrorCode::RebootstrapRequired);
}

#[test]
fn all_no_or_some_topics() {
    let check = |version: i16, topics_asked, expected: &[(ErrorCode, Option<&str>, usize)]| {
        let request = MetadataRequest {
            topics: topics_asked,
            allow_auto_topic_creation: version < 4,
            ..Default::default()
        };
        let mut world = World::with(&[("auto.create.topics.enable", "false")], 1);
        let response = world.call(version, &request);
        assert_eq!(topics(&response), expected, "v{version}");
    };
    let t = (ErrorCode::None, Some("t"), 4);
    for version in 0..=13 {
        check(version, named(&["t"]), &[t]);
        check(version, named(&["t", "t"]), &[t]);
        let unknown = (ErrorCode::UnknownTopicOrPartition, Some("u"), 0);
        check(version, named(&["u", "t"]), &[unknown, t]);
        check(version, named(&["a b"]), &[(ErrorCode::InvalidTopicException, Some("a b"), 0)]);
    }
    check(0, Some(Vec::new()), &[t]);
    for version in 1..=13 {
        check(version, None, &[t]);
        check(version, Some(Vec::new()), &[]);
    }
    for version in [12, 13] {
        check(version, by_id(9 << 64), &[t]);
        check(version, by_id(8 << 64), &[(ErrorCode::UnknownTopicId, None, 0)]);
    }
    for version in [10, 11] {
        check(version, by_id(9 << 64), &[(ErrorCode::InvalidRequest, Some(""), 0)]);
    }
}

#[test]
fn a_node_alone_is_where_the_client_dialled() {
    let check = |world: &mut World, expected: &[(&str, i32)]| {
        let response = world.call(9, &MetadataRequest { topics: None, ..Default::default() });
        let found: Vec<_> = response.brokers.iter().map(|b| (&*b.host, b.port)).collect();
        assert_eq!(found, expected);
        assert_eq!(response.controller_id, 1);
        assert_eq!(response.cluster_id.as_deref(), Some("cluster"));
        let cluster =
            world.call(1, &DescribeClusterRequest { endpoint_type: 1, ..Default::default() });
        let found: Vec<_> = cluster.brokers.iter().map(|b| (&*b.host, b.port)).collect();
        assert_eq!(found, expected);
        assert_eq!(cluster.cluster_authorized_operations, i32::MIN);
    };
    check(&mut World::new(), &[("dialled.example", 9092)]);
    let told = [("advertised.listeners", "PLAINTEXT://advertised.example:9999")];
    check(&mut World::with(&told, 1), &[("advertised.example", 9999)]);
    let mut two = World::new();
    two.image.brokers.insert_mut(NodeId(2), Arc::new(broker(2, "")));
    two.publish();
    check(&mut two, &[("advertised.example", 9999), ("dialled.example", 9999)]);
}

#[test]
fn fenced_brokers_are_left_out_unless_asked_for() {
    let mut world = World::new();
    let fenced = BrokerImage { fenced: true, ..broker(2, "two.example") };
    world.image.brokers.insert_mut(NodeId(2), Arc::new(fenced));
    world.publish();
    let request = DescribeClusterRequest { endpoint_type: 1, ..Default::default() };
    assert_eq!(world.call(2, &request).brokers.len(), 1);
    let request = DescribeClusterRequest { include_fenced_brokers: true, ..request };
    let all = world.call(2, &request).brokers;
    assert_eq!(
        all.iter().map(|b| (b.broker_id, b.is_fenced)).collect::<Vec<_>>(),
        [(1, false), (2, true)]
    );
    for (endpoint_type, error) in
        [(2, ErrorCode::MismatchedEndpointType), (7, ErrorCode::UnsupportedEndpointType)]
    {
        let request = DescribeClusterRequest { endpoint_type, ..Default::default() };
        assert_eq!(ErrorCode::from(world.call(1, &request).error_code), error);
    }
}

#[test]
fn partitions_without_a_reachable_leader() {
    let check = |version: i16, leader: Option<i32>, expected: ErrorCode| {
        let mut world = World::new();
        let mut topic = (**world.image.topic("t").unwrap()).clone();
        let mut partition = (*topic.partitions[0]).clone();
        partition.leader = leader.map(NodeId);
        partition.replicas.push(NodeId(5));
        topic.partitions = vec![Arc::new(partition)];
        world.image.topics.insert_mut("t".into(), Arc::new(topic));
        world.publish();
        let response =
            world.call(version, &MetadataRequest { topics: named(&["t"]), ..Default::default() });
        let partition = &response.topics[0].partitions[0];
        assert_eq!(ErrorCode::from(partition.error_code), expected);
        assert_eq!(partition.leader_id, if expected == ErrorCode::None { 1 } else { -1 });
        assert_eq!(partition.offline_replicas, if version >= 5 { vec![5] } else { vec![] });
    };
    check(5, Some(1), ErrorCode::None);
    check(5, None, ErrorCode::LeaderNotAvailable);
    check(5, Some(5), ErrorCode::LeaderNotAvailable);
    check(6, Some(5), ErrorCode::ListenerNotFound);
}

fn auto(names: &[&str]) -> MetadataRequest {
    MetadataRequest { topics: named(names), allow_auto_topic_creation: true, ..Default::default() }
}

fn created(id: u128) -> Result<CreatedTopic, Refusal> {
    let id = TopicId(Uuid::from_u128(id));
    Ok(CreatedTopic { id, partitions: 2, replication: 1, configs: Vec::new() })
}

#[test]
fn topics_are_made_when_asked_for() {
    let mut world = World::new();
    let asked = world.ask(9, &auto(&["new", "t", "a b", "new"]));
    let request = world.decide(AdminReply::Created(vec![created(11 << 64)]));
    let AdminRequest::CreateTopics { topics: made, validate_only: false } = request else {
        panic!("{request:?}")
    };
    assert_eq!(made.iter().map(|topic| &*topic.name).collect::<Vec<_>>(), ["new"]);
    assert!(world.sent.is_empty(), "the metadata does not have it yet");
    world.add_topic("new", TopicId(Uuid::from_u128(11 << 64)), 2);
    world.publish();
    let response = world.response::<MetadataRequest>(asked);
    let expected = [
        (ErrorCode::None, Some("new"), 2),
        (ErrorCode::None, Some("t"), 4),
        (ErrorCode::InvalidTopicException, Some("a b"), 0),
    ];
    assert_eq!(topics(&response), expected);
}

#[test]
fn topics_that_cannot_be_made_say_why() {
    let check = |reply: AdminReply, expected: ErrorCode| {
        let mut world = World::new();
        let asked = world.ask(9, &auto(&["new"]));
        world.decide(reply);
        world.wait_ms(200);
        let response = world.response::<MetadataRequest>(asked);
        assert_eq!(topics(&response), [(expected, Some("new"), 0)]);
    };
    let refused = |code: ErrorCode| AdminReply::Created(vec![Err(code.into())]);
    let replication = ErrorCode::InvalidReplicationFactor;
    check(refused(replication), replication);
    check(refused(ErrorCode::TopicAlreadyExists), ErrorCode::LeaderNotAvailable);
    check(AdminReply::Created(vec![created(11 << 64)]), ErrorCode::LeaderNotAvailable);
    let all = AdminReply::Refused(ErrorCode::NotController.into());
    check(all, ErrorCode::LeaderNotAvailable);
}

#[test]
fn each_topic_gets_its_own_outcome() {
    let mut world = World::new();
    let asked = world.ask(9, &auto(&["z", "t", "m", "a"]));
    let replication = ErrorCode::InvalidReplicationFactor;
    let policy = ErrorCode::PolicyViolation;
    let results = vec![Err(replication.into()), created(11 << 64), Err(policy.into())];
    let request = world.decide(AdminReply::Created(results));
    let AdminRequest::CreateTopics { topics: made, .. } = request else { panic!("{request:?}") };
    assert_eq!(made.iter().map(|topic| &*topic.name).collect::<Vec<_>>(), ["z", "m", "a"]);
    world.add_topic("m", TopicId(Uuid::from_u128(11 << 64)), 2);
    world.publish();
    let response = world.response::<MetadataRequest>(asked);
    let expected = [
        (replication, Some("z"), 0),
        (ErrorCode::None, Some("t"), 4),
        (ErrorCode::None, Some("m"), 2),
        (policy, Some("a"), 0),
    ];
    assert_eq!(topics(&response), expected);
}

#[test]
fn internal_topics_are_not_made_like_others() {
    for name in ["__consumer_offsets", "__transaction_state", "__share_group_state"] {
        let response = World::new().call(9, &auto(&[name]));
        let expected = [(ErrorCode::UnknownTopicOrPartition, Some(name), 0)];
        assert_eq!(topics(&response), expected);
        assert!(response.topics[0].is_internal);
    }
}

#[test]
fn both_sides_must_allow_creation() {
    let unknown = [(ErrorCode::UnknownTopicOrPartition, Some("new"), 0)];
    let request = MetadataRequest { allow_auto_topic_creation: false, ..auto(&["new"]) };
    assert_eq!(topics(&World::new().call(9, &request)), unknown);
    let mut world = World::with(&[("auto.create.topics.enable", "false")], 1);
    assert_eq!(topics(&world.call(9, &auto(&["new"]))), unknown);
}

#[test]
fn pages_of_partitions() {
    let mut world = World::new();
    world.add_topic("a", TopicId(Uuid::from_u128(1000)), 2);
    world.add_topic("z", TopicId(Uuid::from_u128(2000)), 2);
    world.publish();
    let mut request =
        DescribeTopicPartitionsRequest { response_partition_limit: 3, ..Default::default() };
    let mut pages = Vec::new();
    loop {
        let response = world.call(0, &request);
        let rows = response.topics.iter().flat_map(|topic| {
            let name = topic.name.clone().unwrap();
            topic.partitions.iter().map(move |p| format!("{name}{}", p.partition_index))
        });
        pages.push(rows.collect::<Vec<_>>().join(" "));
        let Some(next) = response.next_cursor else { break };
        let (topic_name, partition_index) = (next.topic_name, next.partition_index);
        request.cursor = Some(Cursor { topic_name, partition_index });
    }
    assert_eq!(pages, ["a0 a1 t0", "t1 t2 t3", "z0 z1"]);
}

#[test]
fn pages_of_named_topics() {
    let names = ["t", "nope", "a b", "t"];
    let topics = names.map(|name| TopicRequest { name: name.into() }).into();
    let request = DescribeTopicPartitionsRequest { topics, ..Default::default() };
    let response = World::new().call(0, &request);
    let told: Vec<_> = response
        .topics
        .iter()
        .map(|t| (t.name.as_deref().unwrap(), ErrorCode::from(t.error_code), t.partitions.len()))
        .collect();
    let expected = [
        ("a b", ErrorCode::InvalidTopicException, 0),
        ("nope", ErrorCode::UnknownTopicOrPartition, 0),
        ("t", ErrorCode::None, 4),
    ];
    assert_eq!(told, expected);
    assert_eq!(response.next_cursor, None);
    let odd = Cursor { topic_name: "t".into(), partition_index: -7 };
    let request = DescribeTopicPartitionsRequest {
        response_partition_limit: i32::MIN,
        cursor: Some(odd),
        ..Default::default()
    };
    let response = World::new().call(0, &request);
    assert_eq!(response.topics[0].partitions.len(), 1, "a page has at least one");
}

#[test]
fn everything_may_be_done_and_whoever_asks_is_told() {
    let (unasked, mut world) = (i32::MIN, World::new());
    world.add_topic("a", TopicId(Uuid::from_u128(11 << 64)), 1);
    world.publish();
    for asked in [false, true] {
        let told = |all| if asked { all } else { unasked };
        for version in 8..=10 {
            let request = MetadataRequest {
                topics: named(&["a", "b"]),
                allow_auto_topic_creation: false,
                include_cluster_authorized_operations: asked,
                include_topic_authorized_operations: asked,
            };
            let response = world.call(version, &request);
            assert_eq!(response.cluster_authorized_operations, told(8096), "v{version}");
            let topics = response.topics.iter().map(|topic| topic.topic_authorized_operations);
            assert_eq!(topics.collect::<Vec<_>>(), [told(3576), unasked], "v{version}");
        }
        let include_cluster_authorized_operations = asked;
        let request =
            DescribeClusterRequest { include_cluster_authorized_operations, ..Default::default() };
        assert_eq!(world.call(0, &request).cluster_authorized_operations, told(8096));
    }
    let described = world.call(0, &DescribeTopicPartitionsRequest::default());
    assert_eq!(described.topics[0].topic_authorized_operations, 3576);
}
