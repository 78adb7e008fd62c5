//! Topics, settings, log directories and producer ids.

use dohle_wire::id::{PartitionIndex, ProducerEpoch, ProducerId};
use dohle_wire::message::incremental_alter_configs_request as incremental;
use dohle_wire::message::{
    AlterConfigsRequest, CreatableTopic, CreatePartitionsRequest, CreatePartitionsTopic,
    CreateTopicsRequest, DeleteTopicState, DeleteTopicsRequest, DescribableLogDirTopic,
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResult, DescribeLogDirsRequest,
    DescribeLogDirsResponse, IncrementalAlterConfigsRequest, InitProducerIdRequest,
    alter_configs_request,
};

use super::*;
use crate::image::resource;
use crate::mail::{ConfigOp, CreatedTopic, DirSizes, LogSize, PartitionId, TopicRef};

fn creatable(name: &str) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: -1,
        replication_factor: 3,
        ..Default::default()
    }
}

#[test]
fn topics_are_created() {
    for version in 2..=7 {
        let mut world = World::new();
        let topics = vec![creatable("a"), creatable("b")];
        let request = CreateTopicsRequest { topics, timeout_ms: 5_000, validate_only: true };
        let asked = world.ask(version, &request);
        let made = CreatedTopic {
            id: TopicId(Uuid::from_u128(5000)),
            partitions: 6,
            replication: 3,
            configs: vec![("retention.ms".into(), Some("1234".into()))],
        };
        let refusal = Refusal::new(ErrorCode::TopicAlreadyExists, "it exists");
        let request = world.decide(AdminReply::Created(vec![Ok(made), Err(refusal)]));
        let AdminRequest::CreateTopics { topics, validate_only: true } = request else {
            panic!("{request:?}")
        };
        assert_eq!((topics[0].partitions, topics[0].replication), (None, Some(3)));
        let response = world.response::<CreateTopicsRequest>(asked);
        let [a, b] = &response.topics[..] else { panic!("{response:?}") };
        assert_eq!((a.error_code, b.error_code), (0, ErrorCode::TopicAlreadyExists.code()));
        assert_eq!(b.error_message.as_deref(), Some("it exists"));
        if version >= 5 {
            assert_eq!((a.num_partitions, a.replication_factor), (6, 3));
            let configs = a.configs.as_ref().unwrap();
            let retention = configs.iter().find(|c| c.name == "retention.ms").unwrap();
            assert_eq!((retention.value.as_deref(), retention.config_source), (Some("1234"), 1));
            assert!(configs.len() > 20, "settings that were not set are told too");
        }
        if version >= 7 {
            assert_eq!(a.topic_id, Uuid::from_u128(5000));
        }
    }
}

#[test]
fn control_may_refuse_or_be_late() {
    let mut world = World::new();
    let topics = vec![creatable("a"), creatable("b")];
    let request = CreateTopicsRequest { topics, timeout_ms: 5_000, validate_only: false };
    let asked = world.ask(5, &request);
    world.decide(AdminReply::Refused(Refusal::new(ErrorCode::NotController, "not yet")));
    let response = world.response::<CreateTopicsRequest>(asked);
    assert!(response.topics.iter().all(|t| t.error_code == ErrorCode::NotController.code()));
    let asked = world.ask(5, &request);
    world.wait_ms(5_000);
    let response = world.response::<CreateTopicsRequest>(asked);
    assert!(response.topics.iter().all(|t| t.error_code == ErrorCode::RequestTimedOut.code()));
    world.decide(AdminReply::Created(Vec::new()));
    assert!(world.sent.is_empty(), "an answer that is late means nothing");
}

#[test]
fn no_limit_is_a_generous_one() {
    for timeout_ms in [0, -1, i32::MIN] {
        let mut world = World::new();
        let topics = vec![creatable("a")];
        world.ask(5, &CreateTopicsRequest { topics, timeout_ms, validate_only: false });
        let (at, _) = world.session.deadline().unwrap();
        assert_eq!(at, Instant(0).plus_ms(30_000));
    }
}

#[test]
fn topics_are_deleted_by_name_or_id() {
    for version in 1..=5 {
        let mut world = World::new();
        let topic_names = vec!["t".into(), "u".into()];
        let asked = world.ask(
            version,
            &DeleteTopicsRequest { topic_names, timeout_ms: 5_000, ..Default::default() },
        );
        let deleted = Ok(("t".to_owned(), topic_id()));
        let unknown = Err(ErrorCode::UnknownTopicOrPartition.into());
        world.decide(AdminReply::Deleted(vec![deleted, unknown]));
        let response = world.response::<DeleteTopicsRequest>(asked);
        let told: Vec<_> =
            response.responses.iter().map(|r| (r.name.as_deref(), r.error_code)).collect();
        assert_eq!(told, [(Some("t"), 0), (Some("u"), 3)]);
    }
    let mut world = World::new();
    let state =
        |name: Option<&str>, id| DeleteTopicState { name: name.map(str::to_owned), topic_id: id };
    let id = topic_id().0;
    let topics = vec![
        state(None, Uuid::ZERO),
        state(None, id),
        state(Some("t"), id),
        state(Some("u"), Uuid::ZERO),
    ];
    let asked =
        world.ask(6, &DeleteTopicsRequest { topics, timeout_ms: 5_000, ..Default::default() });
    let unknown = Err(ErrorCode::UnknownTopicOrPartition.into());
    let request = world.decide(AdminReply::Deleted(vec![Ok(("t".into(), topic_id())), unknown]));
    let expected = vec![TopicRef::Id(topic_id()), TopicRef::Name("u".into())];
    assert_eq!(request, AdminRequest::DeleteTopics { topics: expected });
    let response = world.response::<DeleteTopicsRequest>(asked);
    let told: Vec<_> =
        response.responses.iter().map(|r| (r.name.as_deref(), r.error_code)).collect();
    assert_eq!(told, [(None, 42), (Some("t"), 0), (Some("t"), 42), (Some("u"), 3)]);
}

#[test]
fn disabled_deletion_has_an_older_name() {
    for (version, code) in [(1, ErrorCode::InvalidRequest), (3, ErrorCode::TopicDeletionDisabled)] {
        let mut world = World::new();
        let topic_names = vec!["t".into()];
        let asked = world.ask(version, &DeleteTopicsRequest { topic_names, ..Default::default() });
        let disabled = Err(ErrorCode::TopicDeletionDisabled.into());
        world.decide(AdminReply::Deleted(vec![disabled]));
        let response = world.response::<DeleteTopicsRequest>(asked);
        assert_eq!(response.responses[0].error_code, code.code());
    }
}

#[test]
fn topics_grow() {
    for version in 0..=3 {
        let mut world = World::new();
        let topic = CreatePartitionsTopic { name: "t".into(), count: 9, assignments: None };
        let topics = vec![topic];
        let request = CreatePartitionsRequest { topics, timeout_ms: 5_000, validate_only: false };
        let asked = world.ask(version, &request);
        let request = world.decide(AdminReply::Grown(vec![Ok(())]));
        let AdminRequest::CreatePartitions { topics, .. } = request else { panic!("{request:?}") };
        assert_eq!((&*topics[0].topic, topics[0].total), ("t", 9));
        let response = world.response::<CreatePartitionsRequest>(asked);
        assert_eq!((&*response.results[0].name, response.results[0].error_code), ("t", 0));
    }
}

#[test]
fn settings_are_changed() {
    let mut world = World::new();
    let config = |name: &str, config_operation| incremental::AlterableConfig {
        name: name.into(),
        config_operation,
        value: Some("1".into()),
    };
    let on = |resource_type, configs| incremental::AlterConfigsResource {
        resource_type,
        resource_name: "t".into(),
        configs,
    };
    let resources = vec![
        on(resource::TOPIC, vec![config("a", 0), config("b", 3)]),
        on(resource::TOPIC, vec![config("a", 9)]),
        on(8, vec![config("a", 0)]),
    ];
    let asked = world.ask(1, &IncrementalAlterConfigsRequest { resources, validate_only: false });
    let request = world.decide(AdminReply::Altered(vec![Ok(())]));
    let AdminRequest::AlterConfigs { resources, .. } = request else { panic!("{request:?}") };
    let ops: Vec<_> = resources[0].ops.iter().map(|(op, ..)| *op).collect();
    assert_eq!(ops, [ConfigOp::Set, ConfigOp::Subtract]);
    assert!(!resources[0].replace_all);
    let response = world.response::<IncrementalAlterConfigsRequest>(asked);
    let told: Vec<_> = response.responses.iter().map(|r| r.error_code).collect();
    assert_eq!(told, [0, 42, 42]);

    let configs = vec![alter_configs_request::AlterableConfig { name: "a".into(), value: None }];
    let resource = alter_configs_request::AlterConfigsResource {
        resource_type: resource::BROKER,
        resource_name: String::new(),
        configs,
    };
    for version in 0..=2 {
        let resources = vec![resource.clone()];
        let asked = world.ask(version, &AlterConfigsRequest { resources, validate_only: true });
        let refusal = Refusal::new(ErrorCode::InvalidConfig, "no");
        let request = world.decide(AdminReply::Altered(vec![Err(refusal)]));
        let AdminRequest::AlterConfigs { resources, validate_only } = request else {
            panic!("{request:?}")
        };
        assert!(resources[0].replace_all && validate_only);
        let response = world.response::<AlterConfigsRequest>(asked);
        assert_eq!(response.responses[0].error_code, ErrorCode::InvalidConfig.code());
        assert_eq!(response.responses[0].error_message.as_deref(), Some("no"));
    }
}

#[test]
fn settings_of_groups_are_changed() {
    let (key, value) = ("consumer.session.timeout.ms", Some("50000".to_owned()));
    let check = |request: AdminRequest, replace_all: bool| {
        let AdminRequest::AlterConfigs { resources, .. } = request else { panic!("{request:?}") };
        let change = &resources[0];
        assert_eq!((change.resource_type, &*change.name), (32, "g"));
        assert_eq!(change.ops, [(ConfigOp::Set, key.to_owned(), value.clone())]);
        assert_eq!(change.replace_all, replace_all);
    };
    let mut world = World::new();
    let config = incremental::AlterableConfig {
        name: key.into(),
        config_operation: 0,
        value: value.clone(),
    };
    let resource = incremental::AlterConfigsResource {
        resource_type: resource::GROUP,
        resource_name: "g".into(),
        configs: vec![config],
    };
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    let asked = world.ask(1, &request);
    check(world.decide(AdminReply::Altered(vec![Ok(())])), false);
    let told = &world.response::<IncrementalAlterConfigsRequest>(asked).responses[0];
    assert_eq!((told.error_code, told.resource_type, &*told.resource_name), (0, 32, "g"));

    let config = alter_configs_request::AlterableConfig { name: key.into(), value: value.clone() };
    let resource = alter_configs_request::AlterConfigsResource {
        resource_type: resource::GROUP,
        resource_name: "g".into(),
        configs: vec![config],
    };
    let asked =
        world.ask(2, &AlterConfigsRequest { resources: vec![resource], validate_only: false });
    check(world.decide(AdminReply::Altered(vec![Ok(())])), true);
    let told = &world.response::<AlterConfigsRequest>(asked).responses[0];
    assert_eq!((told.error_code, told.resource_type, &*told.resource_name), (0, 32, "g"));
}

fn describe(
    world: &mut World,
    version: i16,
    resource: (i8, &str),
    keys: Option<&[&str]>,
) -> DescribeConfigsResult {
    let keys = keys.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect());
    let asked = DescribeConfigsResource {
        resource_type: resource.0,
        resource_name: resource.1.into(),
        configuration_keys: keys,
    };
    let request = DescribeConfigsRequest {
        resources: vec![asked],
        include_synonyms: true,
        include_documentation: version >= 3,
    };
    world.call(version, &request).results.remove(0)
}

#[test]
fn settings_are_described() {
    let mut world = World::with(&[("log.retention.ms", "777")], 1);
    let overrides = BTreeMap::from([("segment.ms".to_owned(), "55".to_owned())]);
    world.image.configs.insert_mut((resource::TOPIC, "t".into()), Arc::new(overrides));
    world.publish();
    for version in 1..=4 {
        let all = describe(&mut world, version, (resource::TOPIC, "t"), None);
        assert!(all.configs.len() > 20);
        let keys = ["retention.ms", "segment.ms", "nonsense"];
        let some = describe(&mut world, version, (resource::TOPIC, "t"), Some(&keys));
        let told: Vec<_> =
            some.configs.iter().map(|c| (&*c.name, c.value.as_deref(), c.config_source)).collect();
        let expected = [("retention.ms", Some("777"), 4), ("segment.ms", Some("55"), 1)];
        assert_eq!(told, expected);
        let retention = &some.configs[0];
        assert_eq!(retention.synonyms[0].name, "log.retention.ms");
        assert_eq!(retention.documentation.is_some(), version >= 3);
        assert_eq!(retention.config_type, if version >= 3 { 5 } else { 0 });
    }
    let broker = describe(&mut world, 4, (resource::BROKER, "1"), Some(&["log.retention.ms"]));
    assert_eq!(broker.configs[0].value.as_deref(), Some("777"));
    assert!(describe(&mut world, 4, (resource::BROKER, ""), None).configs.is_empty());
}

#[test]
fn settings_of_groups_are_described_whether_they_exist_or_not() {
    let (session, heartbeat) = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms");
    let mut world = World::with(&[("group.consumer.heartbeat.interval.ms", "6000")], 1);
    let overrides = BTreeMap::from([(session.to_owned(), "50000".to_owned())]);
    world.image.configs.insert_mut((resource::GROUP, "g".into()), Arc::new(overrides));
    world.publish();
    let keys = [session, heartbeat, "share.isolation.level", "retention.ms"];
    for version in 1..=4 {
        let mut told = |group| {
            let result = describe(&mut world, version, (resource::GROUP, group), Some(&keys));
            assert_eq!((result.error_code, result.resource_type), (0, 32));
            let configs = result.configs.into_iter();
            configs.map(|c| (c.name, c.value.unwrap(), c.config_source)).collect::<Vec<_>>()
        };
        let row = |name: &str, value: &str, source| (name.to_owned(), value.to_owned(), source);
        let (beats, level) =
            (row(heartbeat, "6000", 4), row("share.isolation.level", "read_uncommitted", 5));
        let own = row(session, "50000", 8);
        assert_eq!(told("g"), [beats.clone(), own, level.clone()]);
        assert_eq!(told("nobody"), [beats, row(session, "45000", 5), level]);
    }
    let all = describe(&mut world, 4, (resource::GROUP, "g"), None);
    assert_eq!(all.configs.len(), 21, "those that are not internal");
    let session = all.configs.iter().find(|config| config.name == session).unwrap();
    assert!(session.documentation.is_some() && !session.read_only);
    let synonyms: Vec<_> =
        session.synonyms.iter().map(|s| (&*s.name, s.value.as_deref(), s.source)).collect();
    let broker = ("group.consumer.session.timeout.ms", Some("45000"), 5);
    assert_eq!(synonyms, [("consumer.session.timeout.ms", Some("50000"), 8), broker]);
}

#[test]
fn one_request_describes_so_many_groups_and_no_more() {
    let group = |number: usize| DescribeConfigsResource {
        resource_type: resource::GROUP,
        resource_name: number.to_string(),
        configuration_keys: Some(vec!["nonsense".into()]),
    };
    let topic = DescribeConfigsResource {
        resource_type: resource::TOPIC,
        resource_name: "t".into(),
        configuration_keys: None,
    };
    let resources = (0..1_001).map(group).chain([topic]).collect();
    let request = DescribeConfigsRequest { resources, ..Default::default() };
    let results = World::new().call(4, &request).results;
    let codes: Vec<_> = results.iter().map(|result| result.error_code).collect();
    assert!(codes[..1_000].iter().all(|code| *code == 0));
    assert_eq!(codes[1_000..], [ErrorCode::InvalidRequest.code(), 0]);
    let text = "One request describes at most 1000 groups";
    assert_eq!(results[1_000].error_message.as_deref(), Some(text));
}

#[test]
fn no_names_of_settings_are_all_of_them() {
    for resource in [(resource::TOPIC, "t"), (resource::BROKER, "1"), (resource::GROUP, "g")] {
        let mut world = World::new();
        let all = describe(&mut world, 4, resource, None);
        assert!(all.configs.len() > 20);
        assert_eq!(describe(&mut world, 4, resource, Some(&[])), all);
    }
}

#[test]
fn each_resource_is_described_once() {
    let names = |asked: &[(i8, &str)]| {
        let resource = |(resource_type, name): &(i8, &str)| DescribeConfigsResource {
            resource_type: *resource_type,
            resource_name: (*name).to_owned(),
            configuration_keys: None,
        };
        let resources = asked.iter().map(resource).collect();
        let request = DescribeConfigsRequest { resources, ..Default::default() };
        let results = World::new().call(4, &request).results;
        results.into_iter().map(|r| (r.resource_type, r.resource_name)).collect::<Vec<_>>()
    };
    let (topic, broker) = (resource::TOPIC, resource::BROKER);
    let asked = [(topic, "t"), (topic, "u"), (topic, "t"), (broker, "t"), (topic, "u")];
    assert_eq!(names(&asked), [(topic, "t"), (topic, "u"), (broker, "t")].map(owned));
    let asked = [(broker, "1"), (broker, "01"), (broker, "+1"), (broker, ""), (topic, "01")];
    assert_eq!(names(&asked), [(broker, "1"), (broker, ""), (topic, "01")].map(owned));
}

fn owned((resource_type, name): (i8, &str)) -> (i8, String) {
    (resource_type, name.to_owned())
}

#[test]
fn what_cannot_be_described_says_why() {
    let check = |resource: (i8, &str), expected: ErrorCode| {
        let result = describe(&mut World::new(), 4, resource, None);
        assert_eq!(ErrorCode::from(result.error_code), expected, "{resource:?}");
        assert!(result.configs.is_empty());
    };
    check((resource::TOPIC, "u"), ErrorCode::UnknownTopicOrPartition);
    check((resource::TOPIC, "a b"), ErrorCode::InvalidTopicException);
    check((resource::BROKER, "2"), ErrorCode::InvalidRequest);
    check((resource::BROKER, "x"), ErrorCode::InvalidRequest);
    check((resource::GROUP, ""), ErrorCode::InvalidRequest);
    check((8, "1"), ErrorCode::InvalidRequest);
    check((99, ""), ErrorCode::InvalidRequest);
}

/// Asks for partitions 0, 1 and 3 of `t` on two directories, and answers for two shards,
/// the last one first.
fn log_dirs(version: i16, sizes: [Vec<DirSizes>; 2]) -> DescribeLogDirsResponse {
    let mut world = World::with(&[("log.dirs", "/a,/b")], 2);
    let topic = DescribableLogDirTopic { topic: "t".into(), partitions: vec![0, 1, 3] };
    let asked = world.ask(version, &DescribeLogDirsRequest { topics: Some(vec![topic]) });
    let mail = std::mem::take(&mut world.shard);
    assert_eq!(mail.iter().map(|(shard, _)| shard.0).collect::<Vec<_>>(), [0, 1]);
    for ((_, mail), sizes) in mail.into_iter().zip(sizes).rev() {
        assert!(world.sent.is_empty());
        let ToShard::LogSizes { reply } = mail else { panic!("{mail:?}") };
        world.answer(reply, Answer::Sizes(sizes));
    }
    world.response::<DescribeLogDirsRequest>(asked)
}

fn in_dir(dir: u16, sizes: &[(i32, u64)]) -> DirSizes {
    let size = |&(index, bytes): &(i32, u64)| LogSize {
        partition: PartitionId { topic: topic_id(), index: PartitionIndex(index) },
        bytes,
        future: None,
    };
    DirSizes { dir, logs: sizes.iter().map(size).collect(), ..DirSizes::default() }
}

/// A directory, its error, sizes by partition.
type ToldDir<'a> = (&'a str, ErrorCode, Vec<(i32, i64)>);

fn told_of(response: &DescribeLogDirsResponse) -> Vec<ToldDir<'_>> {
    let dirs = response.results.iter().map(|dir| {
        let partitions = dir.topics.iter().flat_map(|topic| &topic.partitions);
        let sizes = partitions.map(|p| (p.partition_index, p.partition_size)).collect();
        (&*dir.log_dir, ErrorCode::from(dir.error_code), sizes)
    });
    dirs.collect()
}

#[test]
fn log_dirs_are_told_by_all_shards() {
    for version in 1..=5 {
        let one = vec![in_dir(0, &[(0, 10)]), in_dir(1, &[(3, 40)])];
        let other = vec![in_dir(1, &[(1, 20), (2, 30)])];
        let response = log_dirs(version, [one, other]);
        let expected = [
            ("/a", ErrorCode::None, vec![(0, 10)]),
            ("/b", ErrorCode::None, vec![(3, 40), (1, 20)]),
        ];
        assert_eq!(told_of(&response), expected);
        assert_eq!(response.results[0].total_bytes, -1);
    }
}

#[test]
fn a_directory_that_failed_is_told() {
    let failed = DirSizes { dir: 1, failed: true, ..DirSizes::default() };
    let one = vec![in_dir(0, &[(0, 10)]), failed];
    let response = log_dirs(5, [one, vec![in_dir(1, &[(1, 20)])]]);
    let expected =
        [("/a", ErrorCode::None, vec![(0, 10)]), ("/b", ErrorCode::KafkaStorageError, vec![])];
    assert_eq!(told_of(&response), expected);
}

#[test]
fn idempotent_producers_get_an_id() {
    for version in 0..=5 {
        let mut world = World::new();
        let mut request = InitProducerIdRequest::default();
        if version >= 3 {
            (request.producer_id, request.producer_epoch) = (44, 2);
        } else {
            (request.producer_id, request.producer_epoch) = (-1, -1);
        }
        let asked = world.ask(version, &request);
        let decided = world.decide(AdminReply::ProducerId(ProducerId(1000), ProducerEpoch(0)));
        assert_eq!(decided, AdminRequest::InitProducerId { current: None });
        let response = world.response::<InitProducerIdRequest>(asked);
        let told = (response.error_code, response.producer_id, response.producer_epoch);
        assert_eq!(told, (0, 1000, 0));
    }
}

#[test]
fn other_producers_do_not() {
    let check = |request: InitProducerIdRequest, expected: ErrorCode| {
        let response = World::new().call(4, &request);
        let told = (ErrorCode::from(response.error_code), response.producer_id);
        assert_eq!(told, (expected, -1));
    };
    let none = InitProducerIdRequest { producer_epoch: -1, ..Default::default() };
    let transactional = Some("x".to_owned());
    check(
        InitProducerIdRequest { transactional_id: transactional, ..none },
        ErrorCode::UnsupportedVersion,
    );
    check(InitProducerIdRequest { producer_id: 5, ..none }, ErrorCode::InvalidRequest);
}
